"""What a reader should see first of an assembly."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

View = dict[str, object]

COUNTS_MAX = 200
"""Where a spectrum has no peak, counts beyond this say nothing."""

PEAKS_SHOWN = 2.5
"""A spectrum is drawn to so many times its peak: with k-mers that are twice in the genome."""

BARS_MAX = 80
"""More would be too narrow on a telephone's screen."""

CURVE_POINTS = 81
HEADROOM = 1.15
"""Room above the peak for its label."""


@dataclass(frozen=True, kw_only=True)
class Contig:
    """What the head of a contig says."""

    name: str
    length: int
    depth: float
    circular: bool


@dataclass(frozen=True)
class _Answer:
    """The files of an answer, each read when it is asked for."""

    folder: Path
    rows: int

    @cached_property
    def stats(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "stats.json").read_text("utf-8"))
        return found

    @cached_property
    def spectrum(self) -> dict[int, int]:
        """Distinct k-mers by how often they were seen."""
        lines = (self.folder / "spectrum.tsv").read_text("ascii").splitlines()[1:]
        return {int(count): int(kmers) for count, kmers in (line.split("\t") for line in lines)}

    @cached_property
    def contigs(self) -> list[Contig]:
        """The longest first, whatever their order in the file."""
        heads = _heads(self.folder / "contigs.fa")
        return sorted(heads, key=lambda contig: -contig.length)


def views(folder: Path, rows: int) -> list[View]:
    """The spectrum of k-mers, the lengths of the contigs, the largest, each size of k-mers; what
    vertex programs took where there were any, and what the paper's first stage would have moved.

    What a file that is missing or damaged would have shown is left out.
    """
    answer = _Answer(folder, rows)
    found: list[View] = []
    for make in (_spectrum, _lengths, _largest, _levels, _first_stage, _supersteps):
        try:
            found += make(answer)
        except (OSError, ValueError, LookupError, TypeError):
            continue
    return found


def _heads(path: Path) -> Iterator[Contig]:
    """The heads of all contigs, whose bases are passed over."""
    with path.open("rb") as file:
        while head := file.readline():
            if not head.startswith(b">"):
                raise ValueError(f"{path}: no contig begins at byte {file.tell() - len(head)}")
            name, *pairs = head[1:].decode("ascii").split()
            facts = dict(pair.split("=") for pair in pairs)
            length = int(facts["length"])
            yield Contig(
                name=name,
                length=length,
                depth=float(facts["depth"]),
                circular=facts.get("circular") == "true",
            )
            file.seek(length + 1, 1)


def _spectrum(answer: _Answer) -> list[View]:
    """How often k-mers were seen, with the peak of the genome's fitted."""
    level = answer.stats["levels"][0]
    title = f"How often {level['k']}-mers were seen"
    if not level["fit"]["depth"]:
        return [_without_peak(answer.spectrum, title, level["min_count"])]
    cutoff, fit = level["min_count"], level["fit"]
    last = math.ceil(max(PEAKS_SHOWN * fit["depth"], cutoff + 1))
    bins = _bins(answer.spectrum, cutoff, min(last, max(answer.spectrum)))
    curve = _bell(answer.spectrum, fit, last)
    genome = [height for low, _, height in bins if low >= fit["min_count"]]
    top = HEADROOM * max([*genome, *(height for _, height in curve), 1.0])
    view: View = {
        "kind": "histogram", "title": title, "x": "times seen", "y": "distinct k-mers",
        "bins": bins, "whole": True, "tight": True, "split": cutoff, "top": top,
        "below": "taken for errors", "above": "taken for the genome's",
        "marks": [{"text": f"cutoff {cutoff}", "x": cutoff},
                  {"text": f"peak {fit['depth']:.1f}", "x": fit["depth"] + 0.5}],
        "note": _estimates(fit) + _remarks(answer.spectrum, cutoff, bins, top),
    }  # fmt: skip
    if curve:
        name = f"fit: normal curve, deviation {fit['deviation']:.1f}"
        view["line"] = {"name": name, "points": curve}
    return [view]


def _bins(spectrum: Mapping[int, int], cutoff: int, last: int) -> list[list[float]]:
    """Bins of equally many counts, one of them beginning at the cutoff, with the mean of each."""
    width = math.ceil(last / BARS_MAX)
    first = (1 - cutoff) // width
    bins: list[list[float]] = []
    for index in range(first, (last - cutoff) // width + 1):
        low, high = max(cutoff + index * width, 1), cutoff + (index + 1) * width
        kmers = sum(spectrum.get(count, 0) for count in range(low, high))
        bins.append([low, high, round(kmers / (high - low), 3)])
    return bins


def _bell(spectrum: Mapping[int, int], fit: Mapping[str, Any], last: int) -> list[list[float]]:
    """The normal curve of mean and deviation of the fit, over as many k-mers as those were of.

    A count takes the room up to the next one, so its middle is half a count further.
    """
    depth, deviation, valley = fit["depth"], fit["deviation"], fit["min_count"]
    if deviation <= 0:
        return []
    end = 2 * depth - valley
    kmers = sum(many for count, many in spectrum.items() if valley <= count <= end)
    low, high = max(depth - 4 * deviation, 1.0), min(depth + 4 * deviation, last - 0.5)
    height = kmers / (deviation * math.sqrt(2 * math.pi))
    points = []
    for index in range(CURVE_POINTS):
        count = low + (high - low) * index / (CURVE_POINTS - 1)
        y = height * math.exp(-(((count - depth) / deviation) ** 2) / 2)
        points.append([round(count + 0.5, 4), round(y, 4)])
    return points


def _estimates(fit: Mapping[str, Any]) -> str:
    """What the fit says about genome and errors."""
    wrong = "No wrong base shows in the reads."
    if fit["error_rate"] > 0:
        wrong = f"About one base in {_about(1 / fit['error_rate'])} of the reads is wrong."
    return (
        f"The genome's k-mers were seen {fit['depth']:.1f} times on average, so the genome has "
        f"about {_about(fit['genome_size'])} bases. {wrong}"
    )


def _remarks(spectrum: Mapping[int, int], cutoff: int, bins: list[list[float]], top: float) -> str:
    """What the picture does not show as it is."""
    end = int(bins[-1][1])
    width = max(int(high - low) for low, high, _ in bins)
    beyond = sum(many for count, many in spectrum.items() if count >= end)
    errors = sum(many for count, many in spectrum.items() if count < cutoff)
    said = ""
    if errors:
        distinct = sum(spectrum.values())
        said += f" Of {distinct:,} distinct k-mers, {errors:,} were taken for errors."
    if width > 1:
        said += f" A bar is the mean of {width} counts."
    if any(height > top for _, _, height in bins):
        said += " Bars higher than the picture are cut off."
    if beyond:
        said += f" Not drawn are {beyond:,} seen {end:,} times or more, as repeats are."
    return said


def _about(value: float) -> str:
    """Three figures, without an exponent."""
    return f"{float(f'{value:.3g}'):,.0f}"


def _without_peak(spectrum: Mapping[int, int], title: str, cutoff: int) -> View:
    points = [[count, kmers] for count, kmers in spectrum.items() if count <= COUNTS_MAX]
    note = f"K-mers seen less than {cutoff} times were taken for errors. There is no peak from"
    return {
        "kind": "distribution", "title": title, "x": "times seen", "y": "distinct k-mers",
        "series": [{"name": "k-mers", "points": points}],
        "note": f"{note} which to tell how large the genome is.",
    }  # fmt: skip


def _lengths(answer: _Answer) -> list[View]:
    """Contigs side by side, each as wide and as high as it is long: its area makes auN."""
    lengths = [contig.length for contig in answer.contigs]
    if len(lengths) < 2:
        return []
    total, bins = sum(lengths), side_by_side(lengths)
    n50, aun = _n50(lengths), sum(length * length for length in lengths) / total
    note = (
        "Every contig is as wide and as high as it is long. Half of all bases are in contigs of "
        "at least N50 bases; auN is the length of the contig that a base is in, on average."
    )
    if len(bins) < len(lengths):
        note += " Narrow ones are drawn together, at their mean."
    return [
        {"kind": "histogram", "title": "Contigs, the longest first", "x": "bases, added up",
         "y": "bases of the contig", "bins": bins, "tight": True,
         "marks": [{"text": f"N50 {n50:,}", "x": total / 2, "y": n50},
                   {"text": f"auN {aun:,.0f}", "y": aun}],
         "note": note}
    ]  # fmt: skip


def side_by_side(lengths: Sequence[int]) -> list[list[float]]:
    """Bins, each as wide and as high as a length; narrow ones together, at the mean of a base."""
    total = sum(lengths)
    bins: list[list[float]] = []
    begin = width = squares = 0
    for length in lengths:
        width, squares = width + length, squares + length * length
        if width * BARS_MAX >= total or begin + width == total:
            bins.append([begin, begin + width, round(squares / width, 1)])
            begin, width, squares = begin + width, 0, 0
    return bins


def _n50(lengths: list[int]) -> int:
    """The length of the contig at which half of all bases are reached."""
    left = sum(lengths)
    half = left / 2
    for length in lengths:
        left -= length
        if left <= half:
            return length
    return 0


def _largest(answer: _Answer) -> list[View]:
    columns = ["contig", "bases", "depth of the reads", "shape"]
    table: list[list[str | float]] = [
        [one.name, one.length, one.depth, "circular" if one.circular else "linear"]
        for one in answer.contigs[: answer.rows]
    ]
    view: View = {"kind": "table", "title": "Largest contigs", "columns": columns, "rows": table}
    return [view] if table else []


def _levels(answer: _Answer) -> list[View]:
    rows = []
    for level in answer.stats["levels"]:
        removed = [
            sum(one[kind] for one in level["rounds"])
            for kind in ("tips", "islands", "bubbles", "connections")
        ]
        rows.append([str(level["k"]), level["min_count"], level["distinct"], level["solid"],
                     level["unitigs"], *removed])  # fmt: skip
    columns = ["k", "least count", "distinct k-mers", "solid", "unitigs", "tips", "islands",
               "bubbles", "connections"]  # fmt: skip
    return [{"kind": "table", "title": "By size of k-mers, and what was taken out",
             "columns": columns, "rows": rows}]  # fmt: skip


def _first_stage(answer: _Answer) -> list[View]:
    """What the paper's first stage would have moved as text, beside what this run has moved."""
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


def _supersteps(answer: _Answer) -> list[View]:
    rows = [
        [str(level["k"]), work, one["supersteps"], one["messages"], one["bytes"]]
        for level in answer.stats["levels"]
        for work, one in level.get("traffic", {}).items()
    ]
    columns = ["k", "work", "supersteps", "messages", "bytes"]
    table = {"kind": "table", "title": "What the vertex programs took", "columns": columns}
    return [table | {"rows": rows}] if rows else []
