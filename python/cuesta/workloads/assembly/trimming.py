"""Trimmed reads, in a sentence and as a view; and adapters that remain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cuesta import numerals as n
from cuesta.workloads.assembly.files import Files, View

KITS = ("TruSeq", "Nextera", "MGI")
"""Kits of the known adapters, in the order of `kits` in `stats.json`."""

KIT_SHARE = 0.01
"""Share of the reads cut for an adapter from which on a kit is named."""

UNCUT_SHARE = 0.001
"""Share of the first reads with an adapter from which on it is worth a remark."""

UNCUT_READS_MIN = 3
"""Least number of them: fewer may be by chance."""

_REASONS = (("adapters", "adapters"), ("poly_g", "tails of G"), ("quality", "tails of low quality"))


def text(answer: Files) -> str:
    """Return what was cut off the reads; empty if they were not trimmed."""
    counts = answer.stats["levels"][0].get("trimmed")
    if not counts:
        return ""
    parts = [
        f"{title} off {counts[key]['reads']:,}{_of_kits(counts) if key == 'adapters' else ''}"
        for key, title in _REASONS
        if counts[key]["reads"]
    ]
    letters = sum(counts[key]["letters"] for key, _ in _REASONS)
    if not parts:
        return f"nothing off {counts['reads']:,} reads"
    share = n.percent(letters / counts["letters"])
    return f"{', '.join(parts)} of {counts['reads']:,} reads, {share} of their bases"


def is_half(answer: Files) -> bool:
    """Whether half of the bases of the reads or more were cut off."""
    counts = answer.stats["levels"][0].get("trimmed")
    if not counts:
        return False
    letters = sum(int(counts[key]["letters"]) for key, _ in _REASONS)
    return 2 * letters >= int(counts["letters"])


def _of_kits(counts: Mapping[str, Any]) -> str:
    kits = [name for name, _ in _kits(counts)]
    return f" ({n.listed(kits)})" if kits else ""


def _kits(counts: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the kits of the adapters that were cut off, each with its reads.

    A kit of a few reads is left out: their bases are alike by chance.
    """
    least = KIT_SHARE * counts["adapters"]["reads"]
    kits = zip(KITS, counts["kits"], strict=True)
    return [(name, reads) for name, reads in kits if reads and reads >= least]


def views(answer: Files) -> list[View]:
    """Show reads and bases that were cut off, by the reason."""
    counts = answer.stats["levels"][0].get("trimmed")
    if not counts:
        return []
    rows: list[list[str | int]] = [
        [title, counts[key]["reads"], counts[key]["letters"]] for key, title in _REASONS
    ]
    note = f"Of {counts['reads']:,} reads with {counts['letters']:,} letters."
    kits = [f"{reads:,} begin as those of {name}" for name, reads in _kits(counts)]
    if kits:
        note += f" Of the adapters {n.listed(kits)}."
    if counts["emptied"]:
        note += f" Nothing remains of {n.plural(counts['emptied'], 'read')}."
    return [{"kind": "table", "title": "Trimmed reads", "rows": rows, "note": note,
             "columns": ["cut off", "reads", "letters"]}]  # fmt: skip


def uncut(counts: Mapping[str, int], profile: object) -> Iterator[str]:
    """Yield a remark on adapters in the first reads that were not cut off, if there are any."""
    remedy = "trim the reads before" if profile == "paper" else "leave --trim none out"
    reads, count = counts.get("first_reads", 0), counts.get("first_reads_with_adapters", 0)
    if count >= UNCUT_READS_MIN and count >= UNCUT_SHARE * reads:
        yield (
            f"{count:,} of the first {reads:,} reads run into an adapter, "
            f"{n.percent(count / reads)}, and none was cut off; {remedy}"
        )
