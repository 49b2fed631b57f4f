"""Best chain of alignments of a contig, which shows its origin on the reference.

Because of repeats a contig has more alignments than places of origin. The best chain consists of
alignments that follow each other on the contig and together have the most aligned bases, less a
penalty for each misassembly between two of them: a few bases do not make a contig misassembled.
After QUAST-LG (Mikheenko et al. 2018, section 2.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from cuesta.assess.alignment import Alignment
from cuesta.assess.joints import EXTENSIVE, LOCAL_BASES, Gaps, Genome, Joint, between

ALIGNMENT_BASES_MIN = 65
IDENTITY_MIN = 0.95
ALIGNMENTS_MAX = 1000
"""Most alignments of a contig that are chained, those with the best scores; time is quadratic."""

WHOLE_SHARE = 0.99
WHOLE_MISSING_MAX = 10
"""Share of a contig from which an alignment is the only one in the chain, or fewer missing bases
than which make it so."""

_EXTENSIVE_PENALTY, _EXTENSIVE_SHARE, _EXTENSIVE_LEAST = 250, 0.05, 50
_LOCAL_PENALTY, _LOCAL_SHARE, _LOCAL_LEAST = 25, 0.01, 2
_OVERLAP_PENALTY = 0.5
_RANK = {kind: rank for rank, kind in enumerate(("inversion", "relocation", "translocation"))}


def usable(alignments: Iterable[Alignment]) -> list[Alignment]:
    """Select alignments of sufficient length and identity, best first, `ALIGNMENTS_MAX` at most.

    Alignments of low identity are split before.
    """
    parts: list[Alignment] = []
    for alignment in alignments:
        parts += [alignment] if alignment.identity >= IDENTITY_MIN else alignment.split()
    good = [
        alignment for alignment in parts
        if alignment.bases >= ALIGNMENT_BASES_MIN and alignment.identity >= IDENTITY_MIN
    ]  # fmt: skip
    return sorted(good, key=_rank)[:ALIGNMENTS_MAX]


def best(
    alignments: Sequence[Alignment], length: int, genome: Genome, gaps: Gaps = ()
) -> list[Alignment]:
    """Find the best chain of alignments, from `usable`, of a contig of `length` bases.

    They follow each other on the contig, or on a scaffold with `gaps`, and no base is in two of
    them. Ties go to the alignment that is first on the reference. Cost: O(n^2) for n alignments.
    """
    if not alignments:
        return []
    top = min(alignments, key=_rank)
    if top.bases > WHOLE_SHARE * length or length - top.bases < WHOLE_MISSING_MAX:
        return [top]
    ranked = sorted(
        alignments,
        key=lambda alignment: (
            alignment.last,
            alignment.first,
            alignment.sequence,
            alignment.begin,
        ),
    )
    penalties = _Penalties(length, genome, gaps)
    scores: list[float] = []
    before: list[int] = []
    for index, right in enumerate(ranked):
        score, place = right.score, -1
        for previous, left in enumerate(ranked[:index]):
            gain = _gain(left, right, penalties)
            if gain is not None and scores[previous] + gain > score:
                score, place = scores[previous] + gain, previous
        scores.append(score)
        before.append(place)
    place = max(range(len(scores)), key=scores.__getitem__)
    path = []
    while place >= 0:
        path.append(ranked[place])
        place = before[place]
    return _without_overlaps(path[::-1])


class _Penalties:
    """Penalties of misassemblies in a contig of a length, in bases."""

    def __init__(self, length: int, genome: Genome, gaps: Gaps) -> None:
        self.genome = genome
        self.gaps = gaps
        share = min(_EXTENSIVE_PENALTY, round(_EXTENSIVE_SHARE * length))
        self.extensive = max(_EXTENSIVE_LEAST, share) - 1
        self.local = max(_LOCAL_LEAST, min(_LOCAL_PENALTY, round(_LOCAL_SHARE * length))) - 1

    def of(self, joint: Joint) -> int:
        if joint.kind in EXTENSIVE:
            return self.extensive
        return self.local if abs(joint.excess) >= LOCAL_BASES else 0


def _gain(left: Alignment, right: Alignment, penalties: _Penalties) -> float | None:
    """Gain of adding `right` to a chain that ends with `left`; None if it cannot follow."""
    overlap = max(0, left.last - right.first)
    shorter = min(left, right, key=lambda alignment: alignment.bases)
    inside = left.first >= right.first or left.last >= right.last
    if inside or shorter.bases - overlap < ALIGNMENT_BASES_MIN:
        return None
    joint = between(left, right, penalties.genome, penalties.gaps)
    penalty = penalties.of(joint)
    gain = right.score - overlap * shorter.identity - penalty
    gain -= min(overlap * _OVERLAP_PENALTY, penalty)
    if joint.kind in EXTENSIVE:
        gain -= _RANK[joint.kind] + abs(joint.excess) / penalties.genome.lengths[left.sequence]
    return gain


def _without_overlaps(chain: list[Alignment]) -> list[Alignment]:
    """Cut bases that are in two alignments from the shorter one."""
    parts = list(chain)
    for index, (_, right) in enumerate(pairwise(chain), start=1):
        left = parts[index - 1]
        if left.last <= right.first:
            continue
        if left.bases >= right.bases:
            parts[index] = right.from_base(left.last)
        else:
            parts[index - 1] = left.up_to_base(right.first)
    return [alignment for alignment in parts if alignment.bases > 0]


def _rank(alignment: Alignment) -> tuple[float, int, str, int]:
    return (-alignment.score, -alignment.bases, alignment.sequence, alignment.begin)
