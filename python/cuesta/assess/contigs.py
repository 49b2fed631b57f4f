"""Judgement of a contig by the reference: its aligned parts and its misassemblies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from cuesta.assess import joints
from cuesta.assess.alignment import Alignment
from cuesta.assess.joints import Gaps, Genome, Joint

UNALIGNED_BASES_MIN = 500
"""Length of an unaligned stretch from which a contig counts as partly unaligned."""

ALIGNED_SHARE_MIN = 0.5
"""Least aligned share of a contig that may count as misassembled."""

CIRCLE_SHARE = 0.95
"""Least share of a circular sequence for a contig whose end may continue at its begin."""


@dataclass(frozen=True, kw_only=True)
class Contig:
    """A contig with the best chain of its alignments, in the order of the contig."""

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
        return sum(alignment.bases for alignment in self.alignments)

    @property
    def is_judgeable(self) -> bool:
        """Whether enough of the contig aligns to count misassemblies."""
        return self.aligned >= ALIGNED_SHARE_MIN * self.known

    def breaks(self) -> list[tuple[int, Joint]]:
        """List misassemblies, each with the index of the alignment before it."""
        if not self.is_judgeable:
            return []
        return [
            (at, joint) for at, joint in enumerate(self.joints) if joint.kind in joints.EXTENSIVE
        ]


def judge(
    name: str, length: int, chain: Sequence[Alignment], genome: Genome, gaps: Gaps = ()
) -> Contig:
    """Judge a contig of `length` bases by its best alignments, from `chain.best`.

    A scaffold also has its `gaps`.
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
    """Count mismatches and indels, including those between alignments."""
    mismatches = indels = 0
    for contig in contigs:
        for alignment in contig.alignments:
            mismatches += sum(length for kind, length in alignment.steps if kind == "X")
            indels += sum(kind in "+-" for kind, _ in alignment.steps)
        small = [
            joint for joint in contig.joints if joint.kind == joints.INDEL and contig.is_judgeable
        ]
        mismatches += sum(max(0, joint.gap - abs(joint.excess)) for joint in small)
        indels += sum(joint.excess != 0 for joint in small)
    return mismatches, indels


def covered(contigs: Sequence[Contig], reference: Mapping[str, bytes]) -> int:
    """Count bases of the reference, other than N, that are in at least one alignment."""
    places: dict[str, list[tuple[int, int]]] = {}
    for contig in contigs:
        for alignment in contig.alignments:
            places.setdefault(alignment.sequence, []).append((alignment.begin, alignment.end))
    total = 0
    for name, stretches in places.items():
        done = 0
        for begin, end in sorted(stretches):
            start = max(begin, done)
            if end > start:
                total += end - start - reference[name].count(b"N", start, end)
                done = end
    return total


def _blocks(
    length: int, chain: Sequence[Alignment], between: Sequence[Joint], genome: Genome
) -> tuple[int, ...]:
    """Aligned bases of the blocks of a contig, which is broken at its misassemblies."""
    if sum(alignment.bases for alignment in chain) < ALIGNED_SHARE_MIN * length:
        return tuple(alignment.bases for alignment in chain)
    blocks = [0]
    for index, alignment in enumerate(chain):
        if index and between[index - 1].kind in joints.EXTENSIVE:
            blocks.append(0)
        blocks[-1] += alignment.bases
    if len(blocks) > 1 and _closes(length, chain, genome):
        blocks[0] += blocks.pop()
    return tuple(blocks)


def _closes(length: int, chain: Sequence[Alignment], genome: Genome) -> bool:
    """Whether a contig is a circular sequence, so that its end continues at its begin."""
    left, right = chain[-1], chain[0]
    if not genome.circular or left.sequence != right.sequence:
        return False
    if sum(alignment.bases for alignment in chain) < CIRCLE_SHARE * genome.lengths[left.sequence]:
        return False
    gap = length - left.last + right.first
    return joints.between(left, right, genome, bases_between=gap).kind not in joints.EXTENSIVE


def _unaligned(length: int, chain: Sequence[Alignment], gaps: Gaps) -> int:
    """Count bases in no alignment if a stretch of them is long; all, without any alignment.

    Bases of gaps do not count.
    """
    places = [
        0,
        *(place for alignment in chain for place in (alignment.first, alignment.last)),
        length,
    ]
    unaligned_bases = [
        end - begin - sum(max(0, min(end, last) - max(begin, first)) for first, last in gaps)
        for begin, end in zip(places[::2], places[1::2], strict=True)
    ]
    long = not chain or any(bases >= UNALIGNED_BASES_MIN for bases in unaligned_bases)
    return sum(unaligned_bases) if long else 0
