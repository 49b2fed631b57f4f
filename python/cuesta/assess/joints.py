"""Joints between two neighbouring alignments of a contig: consistent, or a misassembly.

The rules are QUAST's. Two alignments are as far apart on the reference as on the contig, or else
they are inconsistent by the difference: by more than `EXTENSIVE_BASES` it is a relocation, by at
least `LOCAL_BASES` a local misassembly. On different strands it is an inversion, on different
sequences a translocation. Across a gap of a scaffold, a difference of up to `GAP_BASES_MAX` is no
misassembly but an error of the gap's size.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cuesta.assess.alignment import Alignment

EXTENSIVE_BASES = 1000
LOCAL_BASES = 200
GAP_BASES_MAX = 10_000

RELOCATION, TRANSLOCATION, INVERSION = "relocation", "translocation", "inversion"
EXTENSIVE = (RELOCATION, TRANSLOCATION, INVERSION)
LOCAL, INDEL, GAP = "local", "indel", "gap"


Gaps = Sequence[tuple[int, int]]
"""Begin and end of the gaps of a scaffold, 0-based and half open, in their order."""


@dataclass(frozen=True, kw_only=True)
class Joint:
    """A joint between two alignments.

    Attributes
    ----------
    kind
        One of `EXTENSIVE`, or `LOCAL`, or `INDEL`: a small difference, perhaps none; or `GAP`.
    gap
        Bases of the contig between the two; negative if they overlap.
    excess
        Bases of the reference between the two, minus those of the contig.
    """

    kind: str
    gap: int
    excess: int


@dataclass(frozen=True, kw_only=True)
class Genome:
    """Lengths of the reference's sequences, and whether they are circular."""

    lengths: Mapping[str, int]
    circular: bool


def between(
    left: Alignment,
    right: Alignment,
    genome: Genome,
    gaps: Gaps = (),
    bases_between: int | None = None,
) -> Joint:
    """Classify the joint of `left` and `right`, which follow each other on a contig or scaffold.

    `gaps` are those of the scaffold, `bases_between` the number of bases between the two if it
    is not the difference of their places.
    """
    bases = right.first - left.last if bases_between is None else bases_between
    if left.sequence != right.sequence:
        return Joint(kind=TRANSLOCATION, gap=bases, excess=0)
    excess = _distance(left, right) - bases
    if genome.circular:
        around = genome.lengths[left.sequence]
        excess = min(excess, excess + around, excess - around, key=abs)
    small = abs(excess) <= GAP_BASES_MAX and left.forward == right.forward
    if small and _has_gap(left, right, gaps):
        kind = GAP
    elif abs(excess) > EXTENSIVE_BASES:
        kind = RELOCATION
    elif left.forward != right.forward:
        kind = INVERSION
    else:
        kind = LOCAL if abs(excess) >= LOCAL_BASES or bases >= LOCAL_BASES else INDEL
    return Joint(kind=kind, gap=bases, excess=excess)


def _has_gap(left: Alignment, right: Alignment, gaps: Gaps) -> bool:
    index = bisect_left(gaps, (left.last, 0))
    return index < len(gaps) and gaps[index][1] <= right.first


def _distance(left: Alignment, right: Alignment) -> int:
    """Bases of the reference between two alignments, in the direction of the contig."""
    if left.forward != right.forward:
        low, high = sorted((left, right), key=lambda alignment: alignment.begin)
        return high.begin - low.end
    return right.begin - left.end if left.forward else left.begin - right.end
