"""Reads that were sampled to a depth, in a sentence and as a view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuesta.workloads.assembly.files import Files, View


def text(answer: Files) -> str:
    """Return how many reads were taken, of which depth; empty if none were to be sampled."""
    counts = answer.stats["levels"][0].get("sampled")
    if not counts:
        return ""
    reads, taken = counts["reads"], counts["taken"]
    depth = _depth(counts)
    if not counts["genome"]:
        return f"all {reads:,} reads: their k-mers show no depth"
    if taken == reads:
        return f"all {reads:,} reads, of depth {depth:.0f}x"
    sampled = depth * taken / reads
    return f"{taken:,} of {reads:,} reads: {sampled:.0f}x of {depth:.0f}x"


def views(answer: Files) -> list[View]:
    """Show reads, those that were taken, and the estimates behind them."""
    counts = answer.stats["levels"][0].get("sampled")
    if not counts:
        return []
    rows: list[list[str | int]] = [
        ["reads", counts["reads"]],
        ["reads taken", counts["taken"]],
        ["letters of all reads", counts["letters"]],
        ["bases of the genome, estimated", counts["genome"]],
    ]
    return [{"kind": "table", "title": "Sampled reads", "rows": rows, "note": f"{text(answer)}.",
             "columns": ["of the input", "number"]}]  # fmt: skip


def _depth(counts: Mapping[str, Any]) -> float:
    genome = counts["genome"]
    return float(counts["letters"] / genome) if genome else 0.0
