"""Recipes of package managers: they ask for what `pyproject.toml` asks for, and a release fills
them."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml  # type: ignore[import-untyped]

import distributions
import recipes
import release

ROOT = Path(__file__).resolve().parents[1]
CONDA = ROOT / "recipes" / "conda"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def make_release(folder: Path) -> Path:
    """A folder with a source archive and a wheel of this version."""
    folder.mkdir()
    stem = f"cuesta-{distributions.version()}"
    (folder / f"{stem}.tar.gz").write_bytes(b"source")
    (folder / f"{stem}-cp311-abi3-manylinux_2_17_x86_64.whl").write_bytes(b"wheel")
    return folder


def wanted() -> set[str]:
    """Requirements of the package, as conda writes them."""
    names = [re.sub(r"(?<=\w)(?=>=)", " ", name) for name in PROJECT["project"]["dependencies"]]
    return {*names, f"python {PROJECT['project']['requires-python']}"}


def meta() -> dict[str, Any]:
    """The recipe for bioconda, as conda-build renders it."""
    functions = {
        "PYTHON": "python",
        "compiler": lambda name: f"{name}_linux-64",
        "stdlib": lambda name: f"stdlib_{name}",
        "pin_subpackage": lambda name, max_pin: f"{name} {max_pin}",
    }
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    template = environment.from_string((CONDA / "meta.yaml").read_text())
    document: dict[str, Any] = yaml.safe_load(template.render(functions))
    return document


def test_the_recipe_of_conda_needs_what_the_package_needs() -> None:
    document = meta()
    assert set(document["requirements"]["run"]) == wanted()
    (backend,) = PROJECT["build-system"]["requires"]
    assert backend.replace("maturin", "maturin ") in document["requirements"]["host"]
    assert document["package"] == {"name": "cuesta", "version": distributions.version()}


def test_the_recipe_of_conda_keeps_the_rules_of_bioconda() -> None:
    document = meta()
    assert {"rust_linux-64", "c_linux-64", "stdlib_c"} == set(document["requirements"]["build"])
    assert document["build"]["run_exports"] == ["cuesta x.x"]
    assert document["build"]["number"] == 0
    for name in document["about"]["license_file"]:
        assert (ROOT / name).is_file()
    assert document["test"]["commands"]
    assert {"home", "license", "summary"} <= set(document["about"])


def test_both_recipes_of_conda_are_equal() -> None:
    second = yaml.safe_load((CONDA / "recipe.yaml").read_text())
    assert second["context"] == meta()["package"]
    for part in ("host", "run"):
        assert second["requirements"][part] == meta()["requirements"][part]
    assert second["about"]["summary"] == meta()["about"]["summary"]


def test_the_recipe_of_spack_needs_what_the_package_needs() -> None:
    text = (ROOT / "recipes" / "spack" / "py-cuesta" / "package.py").read_text()
    ast.parse(text)
    needed = dict(re.findall(r'depends_on\("(?:py-)?(\w+)@([\d.]+)', text))
    for requirement in PROJECT["project"]["dependencies"]:
        name, _, bounds = requirement.partition(">=")
        assert needed[name] == bounds.partition(",")[0]
    assert needed["python"] == PROJECT["project"]["requires-python"].removeprefix(">=")
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    assert needed["rust"] == workspace["package"]["rust-version"]


def test_a_release_fills_all_recipes(tmp_path: Path) -> None:
    folder = make_release(tmp_path / "release")
    files = recipes.fill(folder, "https://example.org/cuesta/", tmp_path / "out")
    assert len(files) == 5
    texts = {file.name: file.read_text() for file in files}
    assert not any(re.search("@[A-Z0-9_]+@", text) for text in texts.values())
    source = release.digest(folder / f"cuesta-{distributions.version()}.tar.gz")
    named = [name for name, text in texts.items() if source in text]
    assert len(named) == 4
    assert 'url: "https://example.org/cuesta/cuesta-' in texts["meta.yaml"]
    built = texts[f"cuesta-{distributions.version()}-GCCcore-14.3.0.eb"]
    crates = recipes.crates_of_lock()
    assert len(crates) > 100
    assert all(f"('{name}', '{version}')," in built for name, version, _ in crates)
    for name, text in texts.items():
        if name.endswith((".eb", ".py")):
            ast.parse(text)


def test_a_folder_without_a_release_and_an_unknown_mark_are_refused(tmp_path: Path) -> None:
    with pytest.raises(recipes.RecipeError, match=r"has 0 files cuesta-.*; run make release"):
        recipes.fill(tmp_path, "", tmp_path / "out")
    with pytest.raises(recipes.RecipeError, match=r"x.eb has marks .*: NOTHING"):
        recipes.filled("a @NOTHING@", {}, "x.eb")


def test_recipes_have_the_version_of_the_release() -> None:
    version = distributions.version()
    for file in (ROOT / "recipes" / "easybuild").iterdir():
        assert file.name.startswith(f"cuesta-{version}")
        assert f"version = '{version}'" in file.read_text()
    spack = (ROOT / "recipes" / "spack" / "py-cuesta" / "package.py").read_text()
    assert f'version("{version}", sha256' in spack
