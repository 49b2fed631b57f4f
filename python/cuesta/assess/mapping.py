"""Alignments of contigs to a reference, by minimap2 through mappy."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from cuesta.assess.alignment import Alignment, steps_of
from cuesta.assess.joints import Gaps
from cuesta.errors import EngineMissing, InputError
from cuesta.plugins import remedy

PRESET = "asm10"
SCORING = [1, 5, 4, 2, 16, 1]
"""Match, mismatch, opening and extending a gap, also for long gaps: the values of QUAST."""

BAND_BASES = 200
"""Largest difference of distances on the two sequences within an alignment."""

SCORE_MIN = 65
_NO_LONG_JOIN = 0x400


def require() -> None:
    """Raise `EngineMissing`, with a remedy, if mappy is not installed."""
    if find_spec("mappy") is None:
        raise EngineMissing(
            f"assess: mappy (minimap2) is not installed; {remedy('assess')}, which "
            "compiles it and needs a C compiler and zlib's headers"
        )


class Aligner:
    """Aligns to the reference in a FASTA file.

    Errors: `InputError` if minimap2 cannot index the file. Needs mappy, see `require`.
    """

    def __init__(self, reference: Path, threads: int) -> None:
        import mappy

        self._aligner = mappy.Aligner(
            str(reference),
            preset=PRESET,
            scoring=SCORING,
            bw=BAND_BASES,
            bw_long=BAND_BASES,
            min_dp_score=SCORE_MIN,
            n_threads=threads,
            extra_flags=_NO_LONG_JOIN,
        )
        if not self._aligner:
            raise InputError(
                f"{reference}: minimap2 cannot index it; give a FASTA file of a genome"
            )

    def alignments(self, sequence: bytes, gaps: Gaps = ()) -> Iterator[Alignment]:
        """Yield all alignments of a contig, or of the parts of a scaffold between its gaps."""
        begins = [0, *(end for _, end in gaps)]
        ends = [*(begin for begin, _ in gaps), len(sequence)]
        for begin, end in zip(begins, ends, strict=True):
            yield from self._of_part(sequence[begin:end], begin)

    def _of_part(self, bases: bytes, begin: int) -> Iterator[Alignment]:
        for hit in self._aligner.map(bases, cs=True):
            forward = hit.strand > 0
            yield Alignment(
                sequence=hit.ctg,
                begin=hit.r_st,
                end=hit.r_en,
                first=begin + hit.q_st,
                last=begin + hit.q_en,
                forward=forward,
                steps=steps_of(hit.cs, forward),
            )
