"""Distributions of this repository: a line each, read by `make release` and its checks."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Distribution:
    """A folder with a `pyproject.toml`, and the crate of its native module where it has one."""

    name: str
    folder: Path
    crate: str = ""

    @property
    def is_native(self) -> bool:
        """Whether its wheels contain a compiled module."""
        return bool(self.crate)

    @property
    def stem(self) -> str:
        """Beginning of the names of its archives."""
        return self.name.replace("-", "_")


DISTRIBUTIONS = (
    Distribution("cuesta", ROOT, crate="cuesta-python"),
    Distribution("cuesta-lab", ROOT / "packages" / "lab"),
    Distribution("cuesta-store", ROOT / "packages" / "store", crate="cuesta-store-python"),
)


def version() -> str:
    """The version that all distributions have."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    text: str = manifest["workspace"]["package"]["version"]
    return text


def versions() -> dict[str, str]:
    """The version in each file that has one of its own; empty where it has none."""
    patterns = {
        "python/cuesta/__init__.py": r'^__version__ = "(.+)"',
        "packages/store/cuesta_store/__init__.py": r'^__version__ = "(.+)"',
        "CITATION.cff": r"^version: (.+)$",
        "CHANGELOG.md": r"^## (\d\S*)",
    }
    by_file = {name: _first(pattern, ROOT / name) for name, pattern in patterns.items()}
    for distribution in DISTRIBUTIONS:
        file = distribution.folder / "pyproject.toml"
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        # That of a native module is the version of its crate.
        if "version" not in project.get("dynamic", ()):
            by_file[str(file.relative_to(ROOT))] = project["version"]
    return by_file


def _first(pattern: str, file: Path) -> str:
    match = re.search(pattern, file.read_text(encoding="utf-8"), re.MULTILINE)
    return match[1] if match else ""
