"""What lies between two neighbouring alignments of a contig: nothing special, or a misassembly.

The rules are QUAST's. Two alignments are as far apart on the reference as on the contig, or else
they are inconsistent by the difference: by more than `EXTENSIVE_BASES` it is a relocation, by at
least `LOCAL_BASES` a local misassembly. On different strands it is an inversion, on different
sequences a translocation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cuesta.assess.alignment import Alignment

EXTENSIVE_BASES = 1000
LOCAL_BASES = 200

RELOCATION, TRANSLOCATION, INVERSION = "relocation", "translocation", "inversion"
EXTENSIVE = (RELOCATION, TRANSLOCATION, INVERSION)
LOCAL, INDEL = "local", "indel"


@dataclass(frozen=True, kw_only=True)
class Joint:
    """What is between two alignments.

    Attributes
    ----------
    kind
        One of `EXTENSIVE`, or `LOCAL`, or `INDEL`: a small difference, perhaps none.
    gap
        Bases of the contig between the two; negative where both have them.
    excess
        Bases that the reference has more between them than the contig.
    """

    kind: str
    gap: int
    excess: int


@dataclass(frozen=True, kw_only=True)
class Genome:
    """The lengths of the reference's sequences, and whether their ends are joined."""

    lengths: Mapping[str, int]
    circular: bool


def between(left: Alignment, right: Alignment, genome: Genome, gap: int | None = None) -> Joint:
    """What is between `left` and `right`, which follow each other on a contig.

    `gap` is the number of bases between them where it is not the difference of their places.
    """
    bases = right.first - left.last if gap is None else gap
    if left.sequence != right.sequence:
        return Joint(kind=TRANSLOCATION, gap=bases, excess=0)
    excess = _distance(left, right) - bases
    if genome.circular:
        around = genome.lengths[left.sequence]
        excess = min(excess, excess + around, excess - around, key=abs)
    if abs(excess) > EXTENSIVE_BASES:
        kind = RELOCATION
    elif left.forward != right.forward:
        kind = INVERSION
    else:
        kind = LOCAL if abs(excess) >= LOCAL_BASES or bases >= LOCAL_BASES else INDEL
    return Joint(kind=kind, gap=bases, excess=excess)


def _distance(left: Alignment, right: Alignment) -> int:
    """Bases of the reference between two alignments, in the direction of the contig."""
    if left.forward != right.forward:
        low, high = sorted((left, right), key=lambda one: one.begin)
        return high.begin - low.end
    return right.begin - left.end if left.forward else left.begin - right.end
