"""The spectrum of k-mers as a picture, with the fit of the genome's peak."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from cuesta.workloads.assembly.files import Files, View

COUNTS_MAX = 200
"""Limit of the counts that are shown of a spectrum without a peak."""

PEAKS_SHOWN = 2.5
"""Range of a spectrum in multiples of its peak: it includes k-mers that are twice in the genome."""

BARS_MAX = 80
"""Limit of bars, which would be too narrow on a phone's screen."""

CURVE_POINTS = 81
HEADROOM = 1.15
"""Height of the picture relative to the peak, for its label."""


def views(answer: Files, parameters: Mapping[str, object]) -> list[View]:
    """Show the counts of k-mers, with the fitted peak of the genome's; no peak for metagenomes."""
    level = answer.stats["levels"][0]
    title = f"How often {level['k']}-mers were seen"
    if not level["fit"]["depth"] or parameters.get("profile") == "metagenome":
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
    """Return the means of bins of equal width, one of which begins at the cutoff."""
    width = math.ceil(last / BARS_MAX)
    first = (1 - cutoff) // width
    bins: list[list[float]] = []
    for index in range(first, (last - cutoff) // width + 1):
        low, high = max(cutoff + index * width, 1), cutoff + (index + 1) * width
        kmers = sum(spectrum.get(count, 0) for count in range(low, high))
        bins.append([low, high, round(kmers / (high - low), 3)])
    return bins


def _bell(spectrum: Mapping[int, int], fit: Mapping[str, Any], last: int) -> list[list[float]]:
    """Return the normal curve of the fit's mean and deviation, over the k-mers of the fit.

    The bar of a count extends to the next count, so its middle is half a count further.
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
    """Describe the fit's estimates of genome size and error rate."""
    wrong = "No wrong base shows in the reads."
    if fit["error_rate"] > 0:
        wrong = f"About one base in {about(1 / fit['error_rate'])} of the reads is wrong."
    return (
        f"The genome's k-mers were seen {fit['depth']:.1f} times on average, so the genome has "
        f"about {about(fit['genome_size'])} bases. {wrong}"
    )


def _remarks(spectrum: Mapping[int, int], cutoff: int, bins: list[list[float]], top: float) -> str:
    """Describe what the picture omits or combines."""
    end = int(bins[-1][1])
    width = max(int(high - low) for low, high, _ in bins)
    beyond = sum(many for count, many in spectrum.items() if count >= end)
    errors = sum(many for count, many in spectrum.items() if count < cutoff)
    remarks = ""
    if errors:
        distinct = sum(spectrum.values())
        remarks += f" Of {distinct:,} distinct k-mers, {errors:,} were taken for errors."
    if width > 1:
        remarks += f" A bar is the mean of {width} counts."
    if any(height > top for _, _, height in bins):
        remarks += " Bars higher than the picture are cut off."
    if beyond:
        remarks += f" Not drawn are {beyond:,} seen {end:,} times or more, as repeats are."
    return remarks


def about(value: float) -> str:
    """Format three figures, without an exponent."""
    return f"{float(f'{value:.3g}'):,.0f}"


def _without_peak(spectrum: Mapping[int, int], title: str, cutoff: int) -> View:
    points = [[count, kmers] for count, kmers in spectrum.items() if count <= COUNTS_MAX]
    note = f"K-mers seen less than {cutoff} times were taken for errors. There is no one peak from"
    return {
        "kind": "distribution", "title": title, "x": "times seen", "y": "distinct k-mers",
        "series": [{"name": "k-mers", "points": points}],
        "note": f"{note} which to tell how large the genome is.",
    }  # fmt: skip
