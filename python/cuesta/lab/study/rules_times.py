"""Rules on times: 3 (means), 5 (intervals), 6 (normality), 8 (summary), 10 (timing)."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from cuesta.lab.study.evidence import (
    Breach,
    Evidence,
    Judged,
    does_not_apply,
    judged,
    named,
    samples,
    some,
)

REPEATS_MIN = 3
"""Of fewer no interval is worth the name: that of two holds the median every other time."""
REPEATS_GOOD = 6
"""So many before an interval of the median has 95 % confidence."""
TAIL = 1.5
"""A repeat that took so many times the median is worth a word beside it."""
BUSY_LOAD = 1.5
"""A load average of so many times the cores, before the first run, means a busy machine."""


def means(evidence: Evidence) -> Judged:
    """Medians of costs alone are formed, from which every ratio is made."""
    if not evidence.measured:
        return does_not_apply("nothing was measured")
    return judged((), "medians of seconds, bytes and counts; no rate is averaged")


def intervals(evidence: Evidence) -> Judged:
    """Every combination has enough repeats for an interval of its median."""
    if not evidence.measured:
        return judged([Breach(text="Nothing was measured.", grave=True)], "")
    fewest = min(len(samples(cell)) for cell in evidence.measured)
    return judged(_few(evidence), f"at least {fewest} repeats, with intervals of the median")


def _few(evidence: Evidence) -> Iterator[Breach]:
    counts = [(cell, len(samples(cell))) for cell in evidence.measured]
    none = [f"{named(cell)} ({count})" for cell, count in counts if count < REPEATS_MIN]
    if none:
        text = f"Fewer than {REPEATS_MIN} repeats, so without an interval: {some(none)}."
        yield Breach(text=text, grave=True)
    few = [
        f"{named(cell)} ({count})" for cell, count in counts if REPEATS_MIN <= count < REPEATS_GOOD
    ]
    if few:
        yield Breach(
            text=f"Fewer than {REPEATS_GOOD} repeats, so with intervals of less than 95 % "
            f"confidence: {some(few)}."
        )


def normality(evidence: Evidence) -> Judged:
    """Nothing assumes it."""
    if not evidence.measured:
        return does_not_apply("nothing was measured")
    return judged((), "intervals are of order statistics and ranks, which assume nothing")


def summary(evidence: Evidence) -> Judged:
    """No repeat is so far from the median that the median hides it."""
    far = []
    for cell in evidence.measured:
        found = samples(cell)
        middle = median(found)
        if middle > 0 and max(found) > TAIL * middle:
            far.append(f"{named(cell)} ({max(found) / middle:.3g} times)")
    text = f"The slowest repeat took much longer than the median: {some(far)}."
    breaches = [Breach(text=text)] if far else []
    return judged(breaches, f"no repeat took {TAIL} times the median")


def timing(evidence: Evidence) -> Judged:
    """One clock from the outside, phases from the inside; nobody else was busy before."""
    if not evidence.records:
        return does_not_apply("no records are at hand")
    return judged(_timed(evidence), "one clock around each run, phases by whoever leads it")


def _timed(evidence: Evidence) -> Iterator[Breach]:
    records = sorted(evidence.records.values(), key=lambda one: str(one.get("started")))
    untimed = sum(not one.get("phases") or not one.get("threads") for one in records)
    if untimed:
        yield Breach(text=f"{untimed} records lack phases or the number of threads.")
    # Of the runs of a study only the first counts: the others raised the load themselves.
    machine = records[0].get("machine") or {}
    load, cores = machine.get("load_average") or 0.0, machine.get("cores") or 1
    if load > BUSY_LOAD * cores:
        yield Breach(
            text=f"The machine was busy before the first run: a load of {load:.3g}, {cores} cores."
        )
