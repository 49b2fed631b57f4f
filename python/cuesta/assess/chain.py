"""Which of the alignments of a contig tell best where it comes from.

Repeats give a contig more alignments than it has places. Those are kept that follow each other on
the contig and together have the most aligned bases, less a price for each misassembly between two
of them: a contig is not called misassembled for the sake of a few bases. After QUAST-LG
(Mikheenko et al. 2018, section 2.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from cuesta.assess.alignment import Alignment
from cuesta.assess.joints import EXTENSIVE, LOCAL_BASES, Gaps, Genome, Joint, between

ALIGNMENT_BASES_MIN = 65
IDENTITY_MIN = 0.95
ALIGNMENTS_MAX = 1000
"""Of a contig with more only those with the best scores are looked at; time grows by the square."""

WHOLE_SHARE = 0.99
WHOLE_MISSING_MAX = 10
"""An alignment of so much of a contig, or without fewer bases than these, is all there is."""

_EXTENSIVE_PRICE, _EXTENSIVE_SHARE, _EXTENSIVE_LEAST = 250, 0.05, 50
_LOCAL_PRICE, _LOCAL_SHARE, _LOCAL_LEAST = 25, 0.01, 2
_OVERLAP_PRICE = 0.5
_RANK = {kind: rank for rank, kind in enumerate(("inversion", "relocation", "translocation"))}


def usable(alignments: Iterable[Alignment]) -> list[Alignment]:
    """Those that are long and equal enough; what is too unequal is split first."""
    found: list[Alignment] = []
    for one in alignments:
        found += [one] if one.identity >= IDENTITY_MIN else one.split()
    good = [
        one for one in found
        if one.bases >= ALIGNMENT_BASES_MIN and one.identity >= IDENTITY_MIN
    ]  # fmt: skip
    return sorted(good, key=_rank)[:ALIGNMENTS_MAX]


def best(
    alignments: Sequence[Alignment], length: int, genome: Genome, gaps: Gaps = ()
) -> list[Alignment]:
    """The best of the alignments, as `usable` gives them, of a contig of `length` bases, or of a
    scaffold with `gaps`.

    They follow each other on the contig, and no base is in two of them. Ties go to what comes
    first on the reference. Cost: O(n^2) for n alignments.
    """
    if not alignments:
        return []
    top = min(alignments, key=_rank)
    if top.bases > WHOLE_SHARE * length or length - top.bases < WHOLE_MISSING_MAX:
        return [top]
    ranked = sorted(alignments, key=lambda one: (one.last, one.first, one.sequence, one.begin))
    prices = _Prices(length, genome, gaps)
    scores: list[float] = []
    before: list[int] = []
    for index, one in enumerate(ranked):
        score, place = one.score, -1
        for other, left in enumerate(ranked[:index]):
            gain = _gain(left, one, prices)
            if gain is not None and scores[other] + gain > score:
                score, place = scores[other] + gain, other
        scores.append(score)
        before.append(place)
    place = max(range(len(scores)), key=scores.__getitem__)
    found = []
    while place >= 0:
        found.append(ranked[place])
        place = before[place]
    return _without_overlaps(found[::-1])


class _Prices:
    """What a misassembly costs in a contig of a length, in bases, and what tells that it is one."""

    def __init__(self, length: int, genome: Genome, gaps: Gaps) -> None:
        self.genome = genome
        self.gaps = gaps
        share = min(_EXTENSIVE_PRICE, round(_EXTENSIVE_SHARE * length))
        self.extensive = max(_EXTENSIVE_LEAST, share) - 1
        self.local = max(_LOCAL_LEAST, min(_LOCAL_PRICE, round(_LOCAL_SHARE * length))) - 1

    def of(self, joint: Joint) -> int:
        if joint.kind in EXTENSIVE:
            return self.extensive
        return self.local if abs(joint.excess) >= LOCAL_BASES else 0


def _gain(left: Alignment, right: Alignment, prices: _Prices) -> float | None:
    """What `right` adds to a chain that ends with `left`; None where it cannot follow it."""
    overlap = max(0, left.last - right.first)
    shorter = min(left, right, key=lambda one: one.bases)
    inside = left.first >= right.first or left.last >= right.last
    if inside or shorter.bases - overlap < ALIGNMENT_BASES_MIN:
        return None
    joint = between(left, right, prices.genome, prices.gaps)
    price = prices.of(joint)
    gain = right.score - overlap * shorter.identity - price
    gain -= min(overlap * _OVERLAP_PRICE, price)
    if joint.kind in EXTENSIVE:
        gain -= _RANK[joint.kind] + abs(joint.excess) / prices.genome.lengths[left.sequence]
    return gain


def _without_overlaps(chain: list[Alignment]) -> list[Alignment]:
    """Bases in two alignments are cut from the shorter one."""
    found = list(chain)
    for index, (_, right) in enumerate(pairwise(chain), start=1):
        left = found[index - 1]
        if left.last <= right.first:
            continue
        if left.bases >= right.bases:
            found[index] = right.from_base(left.last)
        else:
            found[index - 1] = left.up_to_base(right.first)
    return [one for one in found if one.bases > 0]


def _rank(one: Alignment) -> tuple[float, int, str, int]:
    return (-one.score, -one.bases, one.sequence, one.begin)
