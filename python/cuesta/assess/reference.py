"""Comparison of an assembly with a reference genome, in the measures of QUAST."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from cuesta.assess import chain, joints, sequences
from cuesta.assess.contigs import Contig, covered, differences, judge
from cuesta.assess.joints import Genome
from cuesta.assess.mapping import Aligner, require
from cuesta.errors import InputError

LISTED_MAX = 1000
"""Most misassemblies that are listed."""


@dataclass(frozen=True, kw_only=True)
class ReferenceComparison:
    """Comparison of an assembly with a reference.

    Attributes
    ----------
    size, sequences
        Bases and sequences of the reference.
    measures
        Measures by name, as in the format.
    misassemblies
        Misassemblies with their places, `LISTED_MAX` at most.
    blocks
        Bases of the contigs' aligned parts, cut at misassemblies, the longest first.
    """

    size: int
    sequences: int
    measures: dict[str, Any]
    misassemblies: list[dict[str, Any]]
    blocks: list[int]


def compare(
    sets: Sequence[Mapping[str, bytes]], reference: Path, *, circular: bool, threads: int
) -> list[ReferenceComparison]:
    """Align each set of contigs or scaffolds to a reference and measure it.

    `circular` is whether the ends of each of the reference's sequences are joined, as those of a
    bacterium are. Gaps of scaffolds are runs of N. Errors: `InputError` for a reference that cannot
    be read, `EngineMissing` without mappy. Cost: minimap2's, on one thread but for the index.
    """
    require()
    genome_bases = sequences.read(reference)
    lengths = {name: len(bases) for name, bases in genome_bases.items()}
    genome = Genome(lengths=lengths, circular=circular)
    known = sum(lengths.values()) - sum(bases.count(b"N") for bases in genome_bases.values())
    if not known:
        raise InputError(f"{reference} has no bases but N; give the FASTA file of a genome")
    aligner = Aligner(reference, threads)
    size = sum(lengths.values())
    compared = []
    for sequences_of in sets:
        judged_contigs = [
            _judged(name, bases, aligner, genome) for name, bases in sequences_of.items()
        ]
        compared.append(
            ReferenceComparison(
                size=size,
                sequences=len(lengths),
                measures=_measures(
                    judged_contigs, covered(judged_contigs, genome_bases), known, size
                ),
                misassemblies=[row for contig in judged_contigs for row in _listed(contig)][
                    :LISTED_MAX
                ],
                blocks=_blocks(judged_contigs),
            )
        )
    return compared


def _judged(name: str, bases: bytes, aligner: Aligner, genome: Genome) -> Contig:
    gaps = sequences.gaps(bases)
    usable = chain.usable(aligner.alignments(bases, gaps))
    best = chain.best(usable, len(bases), genome, gaps)
    return judge(name, len(bases), best, genome, gaps)


def n50(lengths: Sequence[int], total: int) -> int | None:
    """First of `lengths`, in falling order, at which their sum reaches half of `total`, if any."""
    remaining = total / 2
    for length in lengths:
        remaining -= length
        if remaining <= 0:
            return length
    return None


def _measures(contigs: Sequence[Contig], covered: int, known: int, size: int) -> dict[str, Any]:
    """Compute the measures by name.

    `size` is the number of bases of the reference, `known` of those other than N, and `covered` of
    the known ones that are in an alignment.
    """
    lengths = sorted((contig.length for contig in contigs), reverse=True)
    blocks = _blocks(contigs)
    aligned = sum(contig.aligned for contig in contigs)
    mismatches, indels = differences(contigs)
    kinds = Counter(joint.kind for contig in contigs for _, joint in contig.breaks())
    wrong = [contig for contig in contigs if contig.breaks()]
    local = sum(joint.kind == joints.LOCAL for contig in contigs if contig.is_judgeable
                for joint in contig.joints)  # fmt: skip
    return {
        "contigs": len(contigs),
        "bases": sum(lengths),
        "largest_contig": max(lengths, default=0),
        "ng50": n50(lengths, size),
        "genome_fraction": covered / known,
        "duplication_ratio": aligned / covered if covered else None,
        "misassemblies": kinds.total(),
        **{f"{kind}s": kinds[kind] for kind in joints.EXTENSIVE},
        "local_misassemblies": local,
        "gap_errors": sum(off > joints.EXTENSIVE_BASES for off in _gaps_off(contigs)),
        "gap_off_median": median(_gaps_off(contigs)) if _gaps_off(contigs) else None,
        "misassembled_contigs": len(wrong),
        "misassembled_bases": sum(contig.length for contig in wrong),
        "unaligned_contigs": sum(not contig.alignments for contig in contigs),
        "unaligned_bases": sum(contig.unaligned for contig in contigs),
        "aligned_bases": aligned,
        "mismatches": mismatches,
        "mismatches_per_100_kbp": 1e5 * mismatches / aligned if aligned else None,
        "indels": indels,
        "indels_per_100_kbp": 1e5 * indels / aligned if aligned else None,
        "largest_alignment": max(blocks, default=0),
        "nga50": n50(blocks, size),
        "aunga": sum(block * block for block in blocks) / size,
    }


def _gaps_off(contigs: Sequence[Contig]) -> list[int]:
    """Absolute errors, in bases, of the gaps between aligned parts of scaffolds."""
    all_joints = (joint for contig in contigs if contig.is_judgeable for joint in contig.joints)
    return [abs(joint.excess) for joint in all_joints if joint.kind == joints.GAP]


def _blocks(contigs: Sequence[Contig]) -> list[int]:
    return sorted((block for contig in contigs for block in contig.blocks), reverse=True)


def _listed(contig: Contig) -> list[dict[str, Any]]:
    """List misassemblies of a contig, with 1-based places."""
    rows = []
    for at, joint in contig.breaks():
        left, right = contig.alignments[at], contig.alignments[at + 1]
        rows.append({
            "contig": contig.name,
            "kind": joint.kind,
            "left_ends": left.last,
            "right_begins": right.first + 1,
            "left_sequence": left.sequence,
            "left_place": left.end if left.forward else left.begin + 1,
            "right_sequence": right.sequence,
            "right_place": right.begin + 1 if right.forward else right.end,
            "excess_bases": joint.excess,
        })  # fmt: skip
    return rows
