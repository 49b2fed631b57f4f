"""Contigs by length, the largest contigs, and counts of the stages, as views."""

from __future__ import annotations

from collections.abc import Sequence

from cuesta.workloads.assembly.files import Files, View

BARS_MAX = 80
"""Limit of bars, which would be too narrow on a phone's screen."""


def lengths(answer: Files) -> list[View]:
    """Show contigs side by side, each as wide and as high as it is long: the area is auN."""
    contig_lengths = [contig.length for contig in answer.contigs]
    if len(contig_lengths) < 2:
        return []
    total, bins = sum(contig_lengths), side_by_side(contig_lengths)
    n50, aun = n50_of(contig_lengths), sum(length * length for length in contig_lengths) / total
    note = (
        "Every contig is as wide and as high as it is long. Half of all bases are in contigs of "
        "at least N50 bases; auN is the length of the contig that a base is in, on average."
    )
    if len(bins) < len(contig_lengths):
        note += " Narrow ones are drawn together, at their mean."
    return [
        {"kind": "histogram", "title": "Contigs, the longest first", "x": "bases, added up",
         "y": "bases of the contig", "bins": bins, "tight": True,
         "marks": [{"text": f"N50 {n50:,}", "x": total / 2, "y": n50},
                   {"text": f"auN {aun:,.0f}", "y": aun}],
         "note": note}
    ]  # fmt: skip


def side_by_side(lengths: Sequence[int]) -> list[list[float]]:
    """Return bins as wide and as high as lengths; narrow ones combined, at the mean of a base."""
    total = sum(lengths)
    bins: list[list[float]] = []
    begin = width = squares = 0
    for length in lengths:
        width, squares = width + length, squares + length * length
        if width * BARS_MAX >= total or begin + width == total:
            bins.append([begin, begin + width, round(squares / width, 1)])
            begin, width, squares = begin + width, 0, 0
    return bins


def n50_of(lengths: Sequence[int]) -> int:
    """Return N50 of descending lengths: the length at which half of their sum is reached."""
    remaining = sum(lengths)
    half = remaining / 2
    for length in lengths:
        remaining -= length
        if remaining <= half:
            return length
    return 0


def largest(answer: Files) -> list[View]:
    """Show the largest contigs, with depth and shape."""
    columns = ["contig", "bases", "depth of the reads", "shape"]
    table: list[list[str | float]] = [
        [contig.name, contig.length, contig.depth, "circular" if contig.circular else "linear"]
        for contig in answer.contigs[: answer.rows]
    ]
    view: View = {"kind": "table", "title": "Largest contigs", "columns": columns, "rows": table}
    return [view] if table else []


def circles(answer: Files) -> list[View]:
    """Show circular contigs and scaffolds, with the likely number of copies of each."""
    usual = answer.usual_depth
    if not usual:
        return []
    rows: list[list[str | float]] = [
        [circle.name, circle.length, circle.depth, round(circle.depth / usual, 2)]
        for circle in answer.circles[: answer.rows]
    ]
    note = (
        "Both ends of each are joined, so it may be a whole chromosome, plasmid, phage or "
        "organelle. A plasmid that is several times as deep as most bases has as many copies to "
        "each of the chromosome."
    )
    return [{"kind": "table", "title": "Circular replicons", "rows": rows, "note": note,
             "columns": ["sequence", "bases", "depth of the reads", "times the usual depth"],
             }] if rows else []  # fmt: skip


def libraries(answer: Files) -> list[View]:
    """Show the inserts of read pairs, by library, where they are known."""
    measured = answer.stats["scaffolds"]["libraries"]
    directions = {"fr": "to each other (fr)", "rf": "away from each other (rf)"}
    rows = [
        [directions[row["orientation"]], row["insert"], row["deviation"], row["pairs"]]
        for row in measured[: answer.rows]
    ]
    columns = ["reads point", "median insert, bases", "deviation", "pairs on one contig"]
    table = {"kind": "table", "title": "Libraries of read pairs", "columns": columns}
    return [table | {"rows": rows}] if rows else []


def levels(answer: Files) -> list[View]:
    """Show the counts and removals of each size of k-mers."""
    rows = []
    for level in answer.stats["levels"]:
        removed = [
            sum(counts[kind] for counts in level["rounds"])
            for kind in ("tips", "islands", "bubbles", "connections")
        ]
        rows.append([str(level["k"]), level["min_count"], level["distinct"], level["solid"],
                     level["unitigs"], *removed])  # fmt: skip
    columns = ["k", "least count", "distinct k-mers", "solid", "unitigs", "tips", "islands",
               "bubbles", "connections"]  # fmt: skip
    return [{"kind": "table", "title": "By size of k-mers, and what was taken out",
             "columns": columns, "rows": rows}]  # fmt: skip


def first_stage(answer: Files) -> list[View]:
    """Show bytes of the paper's first stage as text, compared with those of this run."""
    level = answer.stats["levels"][0]
    first = level.get("first_stage")
    if not first:
        return []
    unitigs_bytes = (answer.folder / "unitigs.fa").stat().st_size
    rows = [["from map to reduce", first["pair_bytes"], level["bucket_bytes"]],
            ["graph written", first["adjacency_bytes"], unitigs_bytes]]  # fmt: skip
    note = (
        f"The paper maps reads to {first['pairs']:,} pairs of k-mers that follow one another, and "
        f"reduces them to a list of neighbours for each of {first['vertices']:,} k-mers, all as "
        "text on the strand that was read. This run moves super-k-mers and writes unitigs."
    )
    return [{"kind": "table", "title": "Bytes of the paper's first stage", "note": note,
             "columns": ["step", "the paper, counted", "this run"], "rows": rows}]  # fmt: skip


def supersteps(answer: Files) -> list[View]:
    """Show the cost of vertex programs, if any."""
    rows = [
        [str(level["k"]), work, traffic["supersteps"], traffic["messages"], traffic["bytes"]]
        for level in answer.stats["levels"]
        for work, traffic in level.get("traffic", {}).items()
    ]
    columns = ["k", "work", "supersteps", "messages", "bytes"]
    table = {"kind": "table", "title": "What the vertex programs took", "columns": columns}
    return [table | {"rows": rows}] if rows else []
