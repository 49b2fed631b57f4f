"""A contig beside the reference: what of it aligns where, and where it is joined wrongly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from cuesta.assess import joints
from cuesta.assess.alignment import Alignment
from cuesta.assess.joints import Gaps, Genome, Joint

UNALIGNED_BASES_MIN = 500
"""Shorter stretches that align nowhere do not make a contig unaligned in part."""

ALIGNED_SHARE_MIN = 0.5
"""A contig of which less aligns is not called misassembled."""

CIRCLE_SHARE = 0.95
"""A contig of so much of a circular sequence may go on at its begin where it ends."""


@dataclass(frozen=True, kw_only=True)
class Contig:
    """A contig with the alignments that tell where it comes from, in its own order."""

    name: str
    length: int
    alignments: tuple[Alignment, ...]
    joints: tuple[Joint, ...]
    blocks: tuple[int, ...]
    unaligned: int
    gaps: Gaps = ()

    @property
    def known(self) -> int:
        """Bases that are not in gaps."""
        return self.length - sum(end - begin for begin, end in self.gaps)

    @property
    def aligned(self) -> int:
        """Bases in alignments."""
        return sum(one.bases for one in self.alignments)

    @property
    def whole(self) -> bool:
        """Whether enough of it aligns to speak of misassemblies."""
        return self.aligned >= ALIGNED_SHARE_MIN * self.known

    def breaks(self) -> list[tuple[int, Joint]]:
        """Misassemblies, each with the index of the alignment before it."""
        if not self.whole:
            return []
        return [(at, one) for at, one in enumerate(self.joints) if one.kind in joints.EXTENSIVE]


def judge(
    name: str, length: int, chain: Sequence[Alignment], genome: Genome, gaps: Gaps = ()
) -> Contig:
    """A contig of `length` bases with the best of its alignments, as `chain.best` gives them; or a
    scaffold, with its gaps.
    """
    between = tuple(joints.between(left, right, genome, gaps) for left, right in pairwise(chain))
    return Contig(
        name=name,
        length=length,
        alignments=tuple(chain),
        joints=between,
        blocks=_blocks(length, chain, between, genome),
        unaligned=_unaligned(length, chain, gaps),
        gaps=gaps,
    )


def differences(contigs: Sequence[Contig]) -> tuple[int, int]:
    """Mismatches and indels, those between alignments included."""
    mismatches = indels = 0
    for contig in contigs:
        for alignment in contig.alignments:
            mismatches += sum(length for kind, length in alignment.steps if kind == "X")
            indels += sum(kind in "+-" for kind, _ in alignment.steps)
        small = [one for one in contig.joints if one.kind == joints.INDEL and contig.whole]
        mismatches += sum(max(0, one.gap - abs(one.excess)) for one in small)
        indels += sum(one.excess != 0 for one in small)
    return mismatches, indels


def covered(contigs: Sequence[Contig], reference: Mapping[str, bytes]) -> int:
    """Bases of the reference, other than N, that are in at least one alignment."""
    places: dict[str, list[tuple[int, int]]] = {}
    for contig in contigs:
        for one in contig.alignments:
            places.setdefault(one.sequence, []).append((one.begin, one.end))
    found = 0
    for name, stretches in places.items():
        done = 0
        for begin, end in sorted(stretches):
            start = max(begin, done)
            if end > start:
                found += end - start - reference[name].count(b"N", start, end)
                done = end
    return found


def _blocks(
    length: int, chain: Sequence[Alignment], between: Sequence[Joint], genome: Genome
) -> tuple[int, ...]:
    """Aligned bases of a contig broken at its misassemblies."""
    if sum(one.bases for one in chain) < ALIGNED_SHARE_MIN * length:
        return tuple(one.bases for one in chain)
    blocks = [0]
    for index, one in enumerate(chain):
        if index and between[index - 1].kind in joints.EXTENSIVE:
            blocks.append(0)
        blocks[-1] += one.bases
    if len(blocks) > 1 and _closes(length, chain, genome):
        blocks[0] += blocks.pop()
    return tuple(blocks)


def _closes(length: int, chain: Sequence[Alignment], genome: Genome) -> bool:
    """Whether a contig is a circular sequence, so that it goes on at its begin where it ends."""
    left, right = chain[-1], chain[0]
    if not genome.circular or left.sequence != right.sequence:
        return False
    if sum(one.bases for one in chain) < CIRCLE_SHARE * genome.lengths[left.sequence]:
        return False
    gap = length - left.last + right.first
    return joints.between(left, right, genome, bases_between=gap).kind not in joints.EXTENSIVE


def _unaligned(length: int, chain: Sequence[Alignment], gaps: Gaps) -> int:
    """Bases in no alignment, if a stretch of them is long; of a contig without one, all.

    Those of gaps are none.
    """
    places = [0, *(place for one in chain for place in (one.first, one.last)), length]
    left = [
        end - begin - sum(max(0, min(end, last) - max(begin, first)) for first, last in gaps)
        for begin, end in zip(places[::2], places[1::2], strict=True)
    ]
    long = not chain or any(bases >= UNALIGNED_BASES_MIN for bases in left)
    return sum(left) if long else 0
