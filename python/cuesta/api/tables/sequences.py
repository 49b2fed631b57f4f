"""Reads sequences and their graph: FASTA with facts in its headers, and GFA 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cuesta.api.tables.columns import Column, Columns, Kind, chosen

_NAMES = {"LN": "length", "KC": "kmer_counts", "km": "kmer_coverage", "DP": "depth"}
"""Columns of the tags of GFA and of BCALM's headers; other facts keep their own name."""

_KINDS: dict[str, Kind] = {
    "name": "text",
    "length": "integer",
    "kmer_counts": "integer",
    "weight": "integer",
    "circular": "flag",
    "sequence": "sequence",
}
"""Kinds of facts; all others are `number`."""

_LINK_KINDS: dict[str, Kind] = {
    "source": "text",
    "source_strand": "text",
    "target": "text",
    "target_strand": "text",
    "overlap": "integer",
}

Record = dict[str, Any]


def read_fasta(path: Path, wanted: Sequence[str] | None) -> Columns:
    """A row a sequence."""
    return _sequences(list(_fasta(path)), fasta_columns(path), wanted)


def fasta_columns(path: Path) -> tuple[str, ...]:
    """Columns of `read_fasta`: the facts of the first header."""
    return _column_names(next(_fasta(path), {"length": 0, "circular": False}))


def read_segments(path: Path, wanted: Sequence[str] | None) -> Columns:
    """A row a path of the graph."""
    return _sequences(list(_segments(path)), segment_columns(path), wanted)


def segment_columns(path: Path) -> tuple[str, ...]:
    """Columns of `read_segments`."""
    return _column_names(next(_segments(path), {"circular": False}))


def read_links(path: Path, wanted: Sequence[str] | None) -> Columns:
    """A row a link: the end of its source overlaps the beginning of its target by so many bases."""
    rows = [
        (source, strand, target, other, int(overlap.removesuffix("M")))
        for _, source, strand, target, other, overlap, *_ in _lines(path, "L")
    ]
    columns = {
        name: Column(kind=kind, values=[row[index] for row in rows])
        for index, (name, kind) in enumerate(_LINK_KINDS.items())
    }
    return chosen(columns, wanted)


def link_columns(_path: Path) -> tuple[str, ...]:
    """Columns of `read_links`."""
    return tuple(_LINK_KINDS)


def _fasta(path: Path) -> Iterator[Record]:
    record: Record = {}
    parts: list[str] = []
    with path.open(encoding="ascii") as file:
        for line in file:
            if not line.startswith(">"):
                parts.append(line.rstrip("\n"))
                continue
            if record:
                yield record | {"sequence": "".join(parts)}
            record, parts = _of_header(*line[1:].split()), []
    if record:
        yield record | {"sequence": "".join(parts)}


def _of_header(name: str, *words: str) -> Record:
    """`contig_1 length=30 circular=true`, or `1 LN:i:30 L:+:2:-` as BCALM writes it."""
    facts = _facts(word.replace("=", ":", 1) for word in words if not word.startswith("L:"))
    shape = {"circular": False} if "length" in facts else {}
    return {"name": name, **shape, **facts}


def _segments(path: Path) -> Iterator[Record]:
    for _, name, sequence, *tags in _lines(path, "S"):
        yield {"name": name, "sequence": sequence, "circular": False, **_facts(tags)}


def _facts(words: Iterator[str] | Sequence[str]) -> Record:
    """Values by column of words such as `length:30` and `LN:i:30`."""
    facts: Record = {}
    for word in words:
        name, _, value = word.partition(":")
        column = "circular" if name == "TP" else _NAMES.get(name, name)
        facts[column] = _READERS[_KINDS.get(column, "number")](value.rpartition(":")[2])
    return facts


_READERS: dict[Kind, Callable[[str], Any]] = {
    "integer": int,
    "number": float,
    "flag": lambda value: value in ("true", "circular"),
}


def _column_names(first: Record) -> tuple[str, ...]:
    """The name and the length first, the sequence last."""
    facts = [name for name in first if name not in ("name", "length", "sequence", "circular")]
    last = ("circular", "sequence") if "circular" in first else ("sequence",)
    return ("name", "length", *facts, *last)


def _sequences(
    records: Sequence[Record], names: Sequence[str], wanted: Sequence[str] | None
) -> Columns:
    for record in records:
        record["length"] = len(record["sequence"])
    columns = {
        name: Column(
            kind=_KINDS.get(name, "number"), values=[record.get(name) for record in records]
        )
        for name in names
    }
    return chosen(columns, wanted)


def _lines(path: Path, kind: str) -> Iterator[list[str]]:
    with path.open(encoding="ascii") as file:
        for line in file:
            if line.startswith(f"{kind}\t"):
                yield line.rstrip("\n").split("\t")
