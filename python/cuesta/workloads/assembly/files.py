"""The files of an assembly, each read when it is asked for."""

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
"""A graph of more segments is not looked at: it would take too long and too much memory."""

LEFT, RIGHT = 0, 1
"""The two ends of a segment; end `2 * segment + side` is one of them."""


@dataclass(frozen=True, kw_only=True)
class Contig:
    """What the head of a contig says."""

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
        Bases of each.
    depths
        How many reads lie over a base of each, on average.
    gc
        The part of G and C in each, from 0 to 1.
    circular
        Numbers of those that are circles.
    links
        Pairs of ends.
    closed
        Scaffolds that are circles, by their paths.
    """

    lengths: array[int] = field(default_factory=lambda: array("q"))
    depths: array[float] = field(default_factory=lambda: array("d"))
    gc: array[float] = field(default_factory=lambda: array("d"))
    circular: set[int] = field(default_factory=set)
    links: list[tuple[int, int]] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)

    @cached_property
    def components(self) -> list[list[int]]:
        """Segments that hang together, those with the most bases first."""
        groups = Groups(len(self.lengths))
        for one, other in self.links:
            groups.join(one >> 1, other >> 1)
        found: dict[int, list[int]] = {}
        for segment in range(len(self.lengths)):
            found.setdefault(groups.of(segment), []).append(segment)
        return sorted(
            found.values(), key=lambda one: (-sum(map(self.lengths.__getitem__, one)), one)
        )

    @cached_property
    def linked(self) -> bytearray:
        """By end, whether a link is there."""
        found = bytearray(2 * len(self.lengths))
        for one, other in self.links:
            found[one] = found[other] = 1
        return found

    def is_linked(self, segment: int) -> bool:
        """Whether a link is at either end of a segment."""
        return bool(self.linked[2 * segment] or self.linked[2 * segment + 1])

    @cached_property
    def usual_depth(self) -> float:
        """Half of all bases are in segments of less depth, half in segments of more."""
        return middle(self.depths, self.lengths)

    @cached_property
    def usual_gc(self) -> float:
        """Half of all bases are in segments of less GC, half in segments of more."""
        return middle(self.gc, self.lengths)


class Groups:
    """Numbers from 0 on that are joined into groups (union-find)."""

    def __init__(self, size: int) -> None:
        self._parents = list(range(size))

    def of(self, one: int) -> int:
        """The smallest number of the group of `one`."""
        parents = self._parents
        while parents[one] != one:
            parents[one] = parents[parents[one]]
            one = parents[one]
        return one

    def join(self, one: int, other: int) -> None:
        """Make one group of two."""
        low, high = sorted((self.of(one), self.of(other)))
        self._parents[high] = low


@dataclass(frozen=True)
class Files:
    """The files of an answer, and the number of rows that a table may have."""

    folder: Path
    rows: int

    @cached_property
    def stats(self) -> dict[str, Any]:
        """What `stats.json` says."""
        found: dict[str, Any] = json.loads((self.folder / "stats.json").read_text("utf-8"))
        return found

    @cached_property
    def spectrum(self) -> dict[int, int]:
        """Distinct k-mers by how often they were seen."""
        lines = (self.folder / "spectrum.tsv").read_text("ascii").splitlines()[1:]
        return {int(count): int(kmers) for count, kmers in (line.split("\t") for line in lines)}

    @cached_property
    def contigs(self) -> list[Contig]:
        """The longest first, whatever their order in the file."""
        heads = _heads(self.folder / "contigs.fa")
        return sorted(heads, key=lambda contig: -contig.length)

    @cached_property
    def circles(self) -> list[Contig]:
        """Contigs that are circles, then scaffolds of contigs that are none; those of at least the
        length that was asked for.
        """
        circles = [contig for contig in self.contigs if contig.circular]
        closed = set(self.graph.closed)
        if closed:
            scaffolds = _heads(self.folder / "scaffolds.fa")
            circles += [one for one in scaffolds if one.name in closed]
        return circles

    @cached_property
    def graph(self) -> Graph:
        """Errors: `ValueError` where it is not as this version writes it, or too large."""
        return _graph(self.folder / "graph.gfa")


def middle(values: Iterable[float], weights: Iterable[int]) -> float:
    """The value at which half of all weight is reached (the weighted median); 0 of none."""
    pairs = sorted(zip(values, weights, strict=True))
    left = sum(weight for _, weight in pairs) / 2
    for value, weight in pairs:
        left -= weight
        if left <= 0:
            return value
    return 0.0


def name_of(segment: int) -> str:
    """What a segment is called in the files."""
    return f"contig_{segment + 1}"


def _heads(path: Path) -> Iterator[Contig]:
    """The heads of all contigs, whose bases are passed over."""
    with path.open("rb") as file:
        while head := file.readline():
            if not head.startswith(b">"):
                raise ValueError(f"{path}: no contig begins at byte {file.tell() - len(head)}")
            name, *pairs = head[1:].decode("ascii").split()
            facts = dict(pair.split("=") for pair in pairs)
            length = int(facts["length"])
            yield Contig(
                name=name,
                length=length,
                depth=float(facts["depth"]),
                circular=facts.get("circular") == "true",
            )
            file.seek(length + 1, 1)


def _graph(path: Path) -> Graph:
    graph = Graph()
    with path.open("rb") as file:
        for line in file:
            if line.startswith(b"S\t"):
                _add_segment(graph, line)
            elif line.startswith(b"L\t"):
                _, one, way, other, other_way, *_ = line.split(b"\t")
                ends = _end(one, way == b"+"), _end(other, other_way == b"-")
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
