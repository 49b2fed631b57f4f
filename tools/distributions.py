"""Distributions of this repository: a line each, read by `make release` and its checks."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Distribution:
    """A folder with a `pyproject.toml`, and whether it has a native module."""

    name: str
    folder: Path
    is_native: bool = False

    @property
    def stem(self) -> str:
        """Beginning of the names of its archives."""
        return self.name.replace("-", "_")


DISTRIBUTIONS = (
    Distribution("cuesta", ROOT, is_native=True),
    Distribution("cuesta-lab", ROOT / "packages" / "lab"),
)


def version() -> str:
    """The version that all distributions have."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    text: str = manifest["workspace"]["package"]["version"]
    return text
