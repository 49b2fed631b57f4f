"""An alignment of a part of a contig to a part of the reference, and how it is cut."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

Step = tuple[str, int]
"""What a stretch is, and how long: `=` equal bases, `X` unequal ones, `N` a base that stands for
several, `+` bases of the contig alone, `-` bases of the reference alone."""

SPLIT_BASES = 20
"""Alignments that are too unequal are split where more bases than this fit to nothing."""

_TAG = re.compile(r":(\d+)|\*(\w)(\w)|([+-])(\w+)")


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """Places are 0-based and half open; `steps` go along the contig, whatever its strand.

    Attributes
    ----------
    sequence
        Name of the sequence of the reference.
    begin, end
        Place on it.
    first, last
        Place on the contig: `first` is its first base, `last` the one after its last.
    forward
        Whether contig and reference are on one strand.
    """

    sequence: str
    begin: int
    end: int
    first: int
    last: int
    forward: bool
    steps: tuple[Step, ...]

    @property
    def bases(self) -> int:
        """Bases of the contig."""
        return self.last - self.first

    @property
    def identity(self) -> float:
        """Equal bases of all columns."""
        columns = sum(length for _, length in self.steps)
        return sum(length for kind, length in self.steps if kind == "=") / max(columns, 1)

    @property
    def score(self) -> float:
        """Bases of the contig times identity."""
        return self.bases * self.identity

    def from_base(self, first: int) -> Alignment:
        """What is left from base `first` of the contig on."""
        gone, kept = _cut(self.steps, first - self.first)
        moved = sum(length for kind, length in gone if kind != "+")
        begin, end = (moved, 0) if self.forward else (0, moved)
        return replace(
            self,
            begin=self.begin + begin,
            end=self.end - end,
            first=max(first, self.first),
            steps=kept,
        )

    def up_to_base(self, last: int) -> Alignment:
        """What is left up to base `last` of the contig, which is not in it."""
        gone, kept = _cut(self.steps[::-1], self.last - last)
        moved = sum(length for kind, length in gone if kind != "+")
        begin, end = (0, moved) if self.forward else (moved, 0)
        return replace(
            self,
            begin=self.begin + begin,
            end=self.end - end,
            last=min(last, self.last),
            steps=kept[::-1],
        )

    def split(self) -> Iterator[Alignment]:
        """The parts between stretches of more than `SPLIT_BASES` that fit to nothing."""
        begin = place = self.first
        for kind, length in self.steps:
            bases = 0 if kind == "-" else length
            if kind != "=" and length > SPLIT_BASES:
                if place > begin:
                    yield self.from_base(begin).up_to_base(place)
                begin = place + bases
            place += bases
        if place > begin:
            yield self.from_base(begin).up_to_base(place)


def steps_of(tag: str, forward: bool) -> tuple[Step, ...]:
    """The steps of minimap2's short `cs` tag, turned to go along the contig."""
    found: list[Step] = []
    for same, theirs, ours, sign, bases in _TAG.findall(tag):
        if same:
            found.append(("=", int(same)))
        elif sign:
            found.append((sign, len(bases)))
        else:
            kind = "N" if {theirs.upper(), ours.upper()} - set("ACGT") else "X"
            if found and found[-1][0] == kind:
                found[-1] = (kind, found[-1][1] + 1)
            else:
                found.append((kind, 1))
    return tuple(found if forward else found[::-1])


def _cut(steps: Sequence[Step], bases: int) -> tuple[list[Step], tuple[Step, ...]]:
    """Steps that hold the first `bases` of the contig, and the rest, which begins with no gap."""
    gone: list[Step] = []
    left = bases
    for index, (kind, length) in enumerate(steps):
        if left <= 0 and kind != "-":
            return gone, tuple(steps[index:])
        if kind == "-":
            gone.append((kind, length))
        elif length <= left:
            gone.append((kind, length))
            left -= length
        else:
            gone.append((kind, left))
            return gone, ((kind, length - left), *steps[index + 1 :])
    return gone, ()
