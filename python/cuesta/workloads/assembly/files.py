"""The files of an assembly, each read on first use."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

View = dict[str, object]

SEGMENTS_MAX = 1 << 20
"""Limit of segments of a graph, by time and memory."""

USUAL_BASES_MIN = 1000
"""Least length of the contigs whose depth is that of one copy: shorter ones are often repeats."""

LEFT, RIGHT = 0, 1
"""Sides of a segment; its ends have the numbers `2 * segment + side`."""


@dataclass(frozen=True, kw_only=True)
class Contig:
    """The header of a contig."""

    name: str
    length: int
    depth: float
    circular: bool


@dataclass(frozen=True, kw_only=True)
class Graph:
    """`graph.gfa`: its segments by their numbers from 0 on, and links between their ends.

    Attributes
    ----------
    lengths
        Bases of each segment.
    depths
        Mean number of reads over a base of each segment.
    gc
        Fraction of G and C in each segment.
    circular
        Numbers of circular segments.
    links
        Pairs of ends.
    closed
        Circular scaffolds, by their paths.
    """

    lengths: array[int] = field(default_factory=lambda: array("q"))
    depths: array[float] = field(default_factory=lambda: array("d"))
    gc: array[float] = field(default_factory=lambda: array("d"))
    circular: set[int] = field(default_factory=set)
    links: list[tuple[int, int]] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)

    @cached_property
    def components(self) -> list[list[int]]:
        """Connected components of segments, those with the most bases first."""
        groups = Groups(len(self.lengths))
        for end, linked_end in self.links:
            groups.join(end >> 1, linked_end >> 1)
        members: dict[int, list[int]] = {}
        for segment in range(len(self.lengths)):
            members.setdefault(groups.find(segment), []).append(segment)
        return sorted(
            members.values(),
            key=lambda component: (-sum(map(self.lengths.__getitem__, component)), component),
        )

    @cached_property
    def linked(self) -> bytearray:
        """Whether an end has a link, by end."""
        is_linked = bytearray(2 * len(self.lengths))
        for end, linked_end in self.links:
            is_linked[end] = is_linked[linked_end] = 1
        return is_linked

    def is_linked(self, segment: int) -> bool:
        """Whether an end of a segment has a link."""
        return bool(self.linked[2 * segment] or self.linked[2 * segment + 1])

    @cached_property
    def usual_depth(self) -> float:
        """Median depth of the bases."""
        return middle(self.depths, self.lengths)

    @cached_property
    def usual_gc(self) -> float:
        """Median GC of the segments, weighted by bases."""
        return middle(self.gc, self.lengths)


class Groups:
    """Numbers from 0 on that are joined into groups (union-find)."""

    def __init__(self, size: int) -> None:
        self._parents = list(range(size))

    def find(self, number: int) -> int:
        """Return the smallest number in the group of `number`."""
        parents = self._parents
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    def join(self, left: int, right: int) -> None:
        """Merge the groups of two numbers."""
        low, high = sorted((self.find(left), self.find(right)))
        self._parents[high] = low


@dataclass(frozen=True)
class Files:
    """The files of an answer, and the number of rows that a table may have."""

    folder: Path
    rows: int

    @cached_property
    def stats(self) -> dict[str, Any]:
        """Content of `stats.json`."""
        stats: dict[str, Any] = json.loads((self.folder / "stats.json").read_text("utf-8"))
        return stats

    @cached_property
    def spectrum(self) -> dict[int, int]:
        """Number of distinct k-mers by their count."""
        lines = (self.folder / "spectrum.tsv").read_text("ascii").splitlines()[1:]
        return {int(count): int(kmers) for count, kmers in (line.split("\t") for line in lines)}

    @cached_property
    def contigs(self) -> list[Contig]:
        """Contigs, the longest first."""
        heads = _heads(self.folder / "contigs.fa")
        return sorted(heads, key=lambda contig: -contig.length)

    @cached_property
    def circles(self) -> list[Contig]:
        """Circular contigs, then circular scaffolds of linear contigs, of the requested length."""
        circles = [contig for contig in self.contigs if contig.circular]
        closed = set(self.graph.closed)
        if closed:
            scaffolds = _heads(self.folder / "scaffolds.fa")
            circles += [scaffold for scaffold in scaffolds if scaffold.name in closed]
        return circles

    @cached_property
    def sequences_file(self) -> str:
        """Name of the file of the longest sequences: scaffolds where read pairs gave them."""
        return "scaffolds.fa" if (self.folder / "scaffolds.fa").exists() else "contigs.fa"

    @cached_property
    def sequences(self) -> list[Contig]:
        """Headers of the longest sequences, in the order of their file."""
        return list(_heads(self.folder / self.sequences_file))

    @cached_property
    def circular(self) -> list[Contig]:
        """Circular sequences among these, the longest first."""
        circles = [sequence for sequence in self.sequences if sequence.circular]
        return sorted(circles, key=lambda circle: -circle.length)

    @cached_property
    def usual_depth(self) -> float:
        """Median depth of the bases in contigs of `USUAL_BASES_MIN` bases, or of all contigs."""
        contigs = [contig for contig in self.contigs if contig.length >= USUAL_BASES_MIN]
        contigs = contigs or self.contigs
        return middle([row.depth for row in contigs], [row.length for row in contigs])

    @cached_property
    def graph(self) -> Graph:
        """The graph. Errors: `ValueError` if it is of another version, or too large."""
        return _graph(self.folder / "graph.gfa")


def middle(values: Iterable[float], weights: Iterable[int]) -> float:
    """Return the weighted median of values; 0 for no values."""
    pairs = sorted(zip(values, weights, strict=True))
    remaining = sum(weight for _, weight in pairs) / 2
    for value, weight in pairs:
        remaining -= weight
        if remaining <= 0:
            return value
    return 0.0


def name_of(segment: int) -> str:
    """Return the name of a segment in the files."""
    return f"contig_{segment + 1}"


def records_of(path: Path) -> Iterator[tuple[Contig, bytes]]:
    """Yield the header of each sequence in a file of the answer, and the line of its bases.

    Errors: `ValueError` where no sequence begins.
    """
    with path.open("rb") as file:
        while head := file.readline():
            yield _contig(path, head), file.readline()


def _heads(path: Path) -> Iterator[Contig]:
    """Yield the headers of all contigs, skipping their bases."""
    with path.open("rb") as file:
        while head := file.readline():
            contig = _contig(path, head)
            yield contig
            file.seek(contig.length + 1, 1)


def _contig(path: Path, head: bytes) -> Contig:
    if not head.startswith(b">"):
        raise ValueError(f"{path}: no sequence begins at {head[:40]!r}")
    name, *pairs = head[1:].decode("ascii").split()
    facts = dict(pair.split("=") for pair in pairs)
    return Contig(
        name=name,
        length=int(facts["length"]),
        depth=float(facts["depth"]),
        circular=facts.get("circular") == "true",
    )


def _graph(path: Path) -> Graph:
    graph = Graph()
    with path.open("rb") as file:
        for line in file:
            if line.startswith(b"S\t"):
                _add_segment(graph, line)
            elif line.startswith(b"L\t"):
                _, source, strand, target, target_strand, *_ = line.split(b"\t")
                ends = _end(source, strand == b"+"), _end(target, target_strand == b"-")
                graph.links.append(ends)
            elif line.startswith(b"P\t") and line.endswith(b"\tTP:Z:circular\n"):
                graph.closed.append(line.split(b"\t")[1].decode())
    if any(end >= 2 * len(graph.lengths) for link in graph.links for end in link):
        raise ValueError(f"{path}: a link of a segment that is not there")
    return graph


def _add_segment(graph: Graph, line: bytes) -> None:
    _, name, bases, *tags = line.rstrip().split(b"\t")
    number = len(graph.lengths)
    if number >= SEGMENTS_MAX or name.decode() != name_of(number) or not bases:
        raise ValueError(f"segment {name!r} is not the {number + 1}th, or one too many")
    facts = {tag[:2]: tag[5:] for tag in tags}
    graph.lengths.append(len(bases))
    graph.depths.append(float(facts[b"DP"]))
    graph.gc.append((bases.count(b"G") + bases.count(b"C")) / len(bases))
    if facts.get(b"TP") == b"circular":
        graph.circular.add(number)


def _end(name: bytes, right: bool) -> int:
    return 2 * (int(name.rpartition(b"_")[2]) - 1) + (RIGHT if right else LEFT)
