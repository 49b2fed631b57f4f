"""Rules on times: 3 (means), 5 (intervals), 6 (normality), 8 (summary), 10 (timing)."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from cuesta.lab.rules import BUSY_LOAD, REPEATS_MIN
from cuesta.units import format_count
from cuesta_lab.study.evidence import (
    Breach,
    Evidence,
    Judgement,
    does_not_apply,
    judged,
    named,
    samples,
    some,
)

REPEATS_GOOD = 6
"""Least repeats for an interval of the median with 95 % confidence."""
TAIL = 1.5
"""Ratio to the median from which a slow repeat is reported."""


def means(evidence: Evidence) -> Judgement:
    """Check means: only medians of costs are formed, and ratios of these."""
    if not evidence.measured:
        return does_not_apply("nothing was measured")
    return judged((), "medians of seconds, bytes and counts; no rate is averaged")


def intervals(evidence: Evidence) -> Judgement:
    """Check that all combinations have enough repeats for an interval of their median."""
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


def normality(evidence: Evidence) -> Judgement:
    """Check normality: no method here assumes it."""
    if not evidence.measured:
        return does_not_apply("nothing was measured")
    return judged((), "intervals are of order statistics and ranks, which assume nothing")


def summary(evidence: Evidence) -> Judgement:
    """Check that no repeat is so far from the median that the median hides it."""
    far = []
    for cell in evidence.measured:
        times = samples(cell)
        middle = median(times)
        if middle > 0 and max(times) > TAIL * middle:
            far.append(f"{named(cell)} ({max(times) / middle:.3g} times)")
    text = f"The slowest repeat took much longer than the median: {some(far)}."
    breaches = [Breach(text=text)] if far else []
    return judged(breaches, f"no repeat took {TAIL} times the median")


def timing(evidence: Evidence) -> Judgement:
    """Check that runs have times and phases, and that the machine was idle before the first."""
    if not evidence.records:
        return does_not_apply("no records are at hand")
    load, cores = _load(evidence)
    return judged(
        _timed(evidence),
        f"one clock around each run, phases by whoever leads it; before the first run a load of"
        f" {load:.3g} on {format_count(cores, 'core')}",
    )


def _load(evidence: Evidence) -> tuple[float, int]:
    """Load average and cores before the first run; the later runs raise the load themselves."""
    first = min(evidence.records.values(), key=lambda record: str(record.get("started")))
    machine = first.get("machine") or {}
    return float(machine.get("load_average") or 0.0), int(machine.get("cores") or 1)


def _timed(evidence: Evidence) -> Iterator[Breach]:
    records = evidence.records.values()
    untimed = sum(not record.get("phases") or not record.get("threads") for record in records)
    if untimed:
        yield Breach(text=f"{untimed} records lack phases or the number of threads.")
    load, cores = _load(evidence)
    if load > BUSY_LOAD * cores:
        yield Breach(
            text=f"The machine was busy before the first run: a load of {load:.3g}, {cores} cores."
        )
