"""Alignment of a part of a contig to a part of the reference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

Step = tuple[str, int]
"""Kind and length of a stretch: `=` equal bases, `X` unequal ones, `N` a base that stands for
several, `+` bases of the contig alone, `-` bases of the reference alone."""

SPLIT_BASES = 20
"""Longest unmatched stretch at which an alignment of low identity is not split."""

_TAG = re.compile(r":(\d+)|\*(\w)(\w)|([+-])(\w+)")


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """An alignment; places are 0-based and half open, `steps` follow the contig on either strand.

    Attributes
    ----------
    sequence
        Name of the sequence of the reference.
    begin, end
        Place on the reference sequence.
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
        """Share of equal bases in all columns."""
        columns = sum(length for _, length in self.steps)
        return sum(length for kind, length in self.steps if kind == "=") / max(columns, 1)

    @property
    def score(self) -> float:
        """Bases of the contig times identity."""
        return self.bases * self.identity

    def from_base(self, first: int) -> Alignment:
        """Cut the alignment to the part from base `first` of the contig on."""
        cut, rest = _cut(self.steps, first - self.first)
        moved = sum(length for kind, length in cut if kind != "+")
        begin, end = (moved, 0) if self.forward else (0, moved)
        return replace(
            self,
            begin=self.begin + begin,
            end=self.end - end,
            first=max(first, self.first),
            steps=rest,
        )

    def up_to_base(self, last: int) -> Alignment:
        """Cut the alignment to the part before base `last` of the contig."""
        cut, rest = _cut(self.steps[::-1], self.last - last)
        moved = sum(length for kind, length in cut if kind != "+")
        begin, end = (0, moved) if self.forward else (moved, 0)
        return replace(
            self,
            begin=self.begin + begin,
            end=self.end - end,
            last=min(last, self.last),
            steps=rest[::-1],
        )

    def split(self) -> Iterator[Alignment]:
        """Split the alignment at unmatched stretches of more than `SPLIT_BASES`."""
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
    """Parse the steps of minimap2's short `cs` tag, turned to follow the contig."""
    steps: list[Step] = []
    for same, reference_base, contig_base, sign, bases in _TAG.findall(tag):
        if same:
            steps.append(("=", int(same)))
        elif sign:
            steps.append((sign, len(bases)))
        else:
            kind = "N" if {reference_base.upper(), contig_base.upper()} - set("ACGT") else "X"
            if steps and steps[-1][0] == kind:
                steps[-1] = (kind, steps[-1][1] + 1)
            else:
                steps.append((kind, 1))
    return tuple(steps if forward else steps[::-1])


def _cut(steps: Sequence[Step], bases: int) -> tuple[list[Step], tuple[Step, ...]]:
    """Split steps after the first `bases` of the contig; the rest does not begin with a gap."""
    cut: list[Step] = []
    remaining = bases
    for index, (kind, length) in enumerate(steps):
        if remaining <= 0 and kind != "-":
            return cut, tuple(steps[index:])
        if kind == "-":
            cut.append((kind, length))
        elif length <= remaining:
            cut.append((kind, length))
            remaining -= length
        else:
            cut.append((kind, remaining))
            return cut, ((kind, length - remaining), *steps[index + 1 :])
    return cut, ()
