"""Pictures of an assessment for a report, in the form of a run record's `preview`."""

from __future__ import annotations

from typing import Any

from cuesta.assess.reference import ReferenceComparison
from cuesta.workloads.assembly.tables import side_by_side

View = dict[str, object]

ROWS_MAX = 8
NAME_MAX = 16
"""Most characters of a sequence's name; more would leave no room on a small screen."""


def of_blocks(compared: ReferenceComparison) -> list[View]:
    """Histogram of aligned blocks, with NGA50 and auNGA; none for a single block."""
    blocks, measures = compared.blocks, compared.measures
    if len(blocks) < 2:
        return []
    bins = side_by_side(blocks)
    nga50, aunga = measures["nga50"], measures["aunga"]
    marks: list[View] = [{"text": f"auNGA {aunga:,.0f}", "y": aunga}]
    note = "Contigs are broken at their misassemblies, and what aligns nowhere is left out."
    if nga50 is None:
        note += " They do not hold half of the reference, so there is no NGA50."
    else:
        marks.insert(0, {"text": f"NGA50 {nga50:,}", "x": compared.size / 2, "y": nga50})
        note += " Half as many bases as the reference has are in blocks of at least NGA50 bases."
    note += " auNGA is how long the block is that a base of the reference is in, on average."
    if len(bins) < len(blocks):
        note += " Narrow blocks are drawn together, at their mean."
    return [
        {"kind": "histogram", "title": "Aligned blocks, the longest first",
         "x": "bases, added up", "y": "bases of the block", "bins": bins, "tight": True,
         "marks": marks, "note": note}
    ]  # fmt: skip


def of_misassemblies(compared: ReferenceComparison, title: str = "Misassemblies") -> list[View]:
    """Table of the first misassemblies, with their places."""
    rows = [
        [f"{row['contig']}, {row['kind']}", row["left_ends"], _place(row, "left"),
         _place(row, "right")]
        for row in compared.misassemblies[:ROWS_MAX]
    ]  # fmt: skip
    if not rows:
        return []
    view: View = {
        "kind": "table",
        "title": title,
        "columns": ["misassembly", "after base", "reference from", "to"],
        "rows": rows,
    }
    total = compared.measures["misassemblies"]
    if total > len(rows):
        view["note"] = f"The first {len(rows)} of {total:,}; `assessment.json` has more."
    return [view]


def _place(row: dict[str, Any], side: str) -> str:
    """Format a place on the reference, with its sequence if the two sides are on different ones."""
    place, name = f"{row[f'{side}_place']:,}", str(row[f"{side}_sequence"])
    if row["left_sequence"] == row["right_sequence"]:
        return place
    return f"{name if len(name) <= NAME_MAX else name[: NAME_MAX - 1] + '…'} {place}"
