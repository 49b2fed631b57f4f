"""The figures of an assembly in a row, for tables of many samples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cuesta.workloads.assembly.files import Contig, Files

Summary = dict[str, int | float | str | None]

COLUMNS = (
    "contigs", "total_length", "largest", "n50", "l50", "aun", "gc_percent", "scaffolds",
    "scaffold_n50", "gap_bases", "circles", "copies", "read_bases", "longest_read", "insert",
    "depth", "genome_estimate", "error_percent", "kmer_sizes",
)  # fmt: skip
"""Columns of a summary, in order."""

COPIES_SHOWN_MAX = 12
"""Limit of the circles whose copies are listed, the longest."""


@dataclass(frozen=True)
class Lengths:
    """Lengths of contigs, the longest first, and their sum."""

    values: tuple[int, ...]
    total: int

    @classmethod
    def of(cls, lengths: Iterable[int]) -> Lengths:
        """Return the lengths in order."""
        values = tuple(sorted(lengths, reverse=True))
        return cls(values, sum(values))

    @property
    def aun(self) -> float:
        """Length of the contig of a base, on average; 0 without contigs."""
        return sum(length * length for length in self.values) / self.total if self.total else 0.0

    def covering(self, percent: int) -> tuple[int, int]:
        """Return the length at which the longest have that part of all bases, and their number."""
        remaining = self.total
        limit = self.total * (100 - percent) / 100
        for index, length in enumerate(self.values, start=1):
            remaining -= length
            if remaining <= limit:
                return length, index
        return 0, 0


def summary(answer: Files) -> Summary:
    """Return the figures of an assembly by column; None where the reads do not tell one.

    They are functions of the answer files without times, so equal answers have equal rows.
    """
    stats = answer.stats
    first, contigs = stats["levels"][0], Lengths.of(contig.length for contig in answer.contigs)
    n50, l50 = contigs.covering(50)
    fit, scaffolds = first["fit"], stats.get("scaffolds") or {}
    inserts = scaffolds.get("libraries") or [{}]
    return {
        "contigs": len(contigs.values),
        "total_length": contigs.total,
        "largest": contigs.values[0] if contigs.values else 0,
        "n50": n50,
        "l50": l50,
        "aun": round(contigs.aun, 1),
        "gc_percent": round(100 * stats["gc"], 2),
        "scaffolds": scaffolds.get("scaffolds"),
        "scaffold_n50": scaffolds.get("n50"),
        "gap_bases": scaffolds.get("gap_bases"),
        "circles": len(answer.circular),
        "copies": copies(answer),
        "read_bases": first["read_bases"],
        "longest_read": first.get("longest_read"),
        "insert": inserts[0].get("insert"),
        "depth": round(answer.usual_depth, 1),
        "genome_estimate": _estimate(fit, "genome_size"),
        "error_percent": _percent(_estimate(fit, "error_rate")),
        "kmer_sizes": ",".join(str(level["k"]) for level in stats["levels"]),
    }


def copies(answer: Files) -> str:
    """Return the lengths of the circles but the longest sequence, with their copies."""
    usual = answer.usual_depth or 1.0
    longest = max((sequence.length for sequence in answer.sequences), default=0)
    small = [circle for circle in answer.circular if circle.length < longest]
    return ";".join(_copies(circle, usual) for circle in small[:COPIES_SHOWN_MAX])


def _copies(circle: Contig, usual: float) -> str:
    return f"{circle.length}:{circle.depth / usual:.1f}x"


def _estimate(fit: dict[str, Any], name: str) -> Any:
    """Return a figure of the fitted spectrum; None for a spectrum without a peak."""
    return fit[name] if fit.get("depth") else None


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 3)
