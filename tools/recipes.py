"""Fill the recipes of package managers for a release, in `dist/recipes`.

    python tools/recipes.py [--base URL] [--release DIR] [--out DIR]

Recipes in `recipes` have marks for what only a release has: where its files are (`@BASE@`, by
default the folder of the release as a URL), the sums of its source archive and its wheel, and for
EasyBuild each crate of `Cargo.lock` with its sum.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import distributions
import release

ROOT = Path(__file__).resolve().parent.parent
RECIPES = ROOT / "recipes"
OUT = ROOT / "dist" / "recipes"
MANAGERS = ("conda", "easybuild", "spack")
_MARK = re.compile(r"@([A-Z0-9_]+)@")


class RecipeError(Exception):
    """A fault of a recipe, in one line."""


def main(arguments: Sequence[str]) -> int:
    """Fill all recipes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", default="")
    parser.add_argument("--release", type=Path, default=release.OUT)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    try:
        files = fill(options.release, options.base, options.out)
    except RecipeError as error:
        print(f"recipes: {error}", file=sys.stderr)
        return 1
    print(f"recipes: {len(files)} in {options.out}")
    return 0


def fill(folder: Path, base: str, out: Path) -> list[Path]:
    """Write the recipes for the files of a release; return them. Errors: `RecipeError`."""
    values = values_of(folder, base)
    written = []
    for manager in MANAGERS:
        for recipe in sorted(path for path in (RECIPES / manager).rglob("*") if path.is_file()):
            target = out / recipe.relative_to(RECIPES)
            target.parent.mkdir(parents=True, exist_ok=True)
            text = recipe.read_text(encoding="utf-8")
            target.write_text(filled(text, values, recipe.name), encoding="utf-8")
            written.append(target)
    return written


def filled(text: str, values: dict[str, str], name: str) -> str:
    """A recipe with values for its marks. Errors: `RecipeError` for a mark without one."""
    if unknown := set(_MARK.findall(text)) - set(values):
        raise RecipeError(f"{name} has marks that no release fills: {', '.join(sorted(unknown))}")
    return _MARK.sub(lambda mark: values[mark[1]], text)


def values_of(folder: Path, base: str) -> dict[str, str]:
    """Values of a release, by mark."""
    source = _only(folder, f"cuesta-{distributions.version()}.tar.gz")
    wheel = _only(folder, f"cuesta-{distributions.version()}-*x86_64.whl")
    crates = crates_of_lock()
    return {
        "BASE": base.rstrip("/") or folder.resolve().as_uri(),
        "SHA256": release.digest(source),
        "WHEEL": wheel.name,
        "WHEEL_SHA256": release.digest(wheel),
        "CRATES": "\n".join(f"    ('{name}', '{version}')," for name, version, _ in crates),
        "CRATE_SUMS": "\n".join(
            f"    {{'{name}-{version}.tar.gz': '{checksum}'}},"
            for name, version, checksum in crates
        ),
    }


def crates_of_lock() -> list[tuple[str, str, str]]:
    """Name, version and SHA-256 of each crate that a build from source obtains."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    return [
        (package["name"], package["version"], package["checksum"])
        for package in lock["package"]
        if "checksum" in package
    ]


def _only(folder: Path, pattern: str) -> Path:
    files = sorted(folder.glob(pattern))
    if len(files) != 1:
        raise RecipeError(f"{folder} has {len(files)} files {pattern}; run make release")
    return files[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
