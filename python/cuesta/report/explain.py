"""One screen of plain text about one run: what was done, where the time went, what bounds it.

Every sentence follows by a rule from the run record; where the record cannot tell, the text says
so or says nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from cuesta import numerals as n
from cuesta.errors import InputError
from cuesta.report.alarms import alarms
from cuesta.report.attribution import (
    LEADER,
    MEMORY,
    NETWORK,
    OTHERS,
    QUEUED,
    QUOTA,
    SCHEDULER,
    SKEW,
    STARTING,
    STORAGE,
    WORKERS,
    Attribution,
    attribution,
)
from cuesta.report.findings import (
    Finding,
    bounding_phase,
    find,
    longest_phase,
    spans,
    whole_seconds,
)
from cuesta.report.records import SETUP_PHASES, Group, Run, read_groups
from cuesta.report.whatif import WhatIf, what_if
from cuesta.report.words import agreement, answer, ceiling_name, limits, typed, verdict
from cuesta.workloads.question import question

WIDTH_COLUMNS = 80
BAR_COLUMNS = 24
PHASES_MAX = 8
NAME_COLUMNS = 24

SHARE_LEAST = 0.005
"""A cause with a smaller share of the cores' time has no line."""

_WAITS = (
    STORAGE, MEMORY, NETWORK, QUOTA, SCHEDULER, SKEW, LEADER, STARTING, WORKERS, QUEUED
)  # fmt: skip
_SPENT = {cause: cause for cause in _WAITS} | {OTHERS: "taken by other programs"}

SETUP_SHARE = 0.3
"""From this share of the whole on, preparing an engine is worth a sentence."""


def explain(path: Path) -> str:
    """The text for the one run at `path`, a record or an answer folder, without a final newline.

    Errors: `InputError` when there is no record, or more than one.
    """
    groups = read_groups([path])
    runs = [run for group in groups for run in group.runs]
    if len(runs) != 1:
        names = ", ".join(run.source for run in runs[:4])
        raise InputError(f"{path} holds {len(runs)} runs; explain takes one of {names}")
    return "\n".join(lines(groups[0]))


def lines(group: Group) -> Iterator[str]:
    """The lines for a group of one run."""
    run, finding = group.first, find(group)
    asked = question(run.workload, run.parameters, [item.path for item in run.inputs])
    yield from _wrapped([asked])
    yield ""
    yield from _titled("Done", [_done(run), answer(run), agreement(group, finding)])
    yield from _titled("Time", [])
    yield from _phases(run)
    found = attribution(run)
    if found is not None:
        yield _printable(f"Cores: {found.cores} for {n.duration(found.wall_seconds)}")
        yield from _causes(found)
    yield from _titled("Bound by", _bounds(run) + _waits(found))
    yield from _replay(what_if(run))
    yield from _titled("Faster", _faster(run, finding))
    yield from _titled("Beware", [alarm.text for alarm in alarms(group, finding)])


def _done(run: Run) -> str:
    """Who ran what over how many bytes, how often and how long."""
    threads = run.number("threads")
    with_threads = f" with {n.plural(int(threads), 'thread')}" if threads else ""
    over = f" over {n.size(run.input_bytes)}" if run.input_bytes else ""
    work = run.work
    text = f"{run.engine} ran {run.workload}{over}{with_threads} in {n.duration(work.median)}"
    if len(run.samples) > 1:
        low, high = n.duration(work.low), n.duration(work.high)
        share = n.percent(work.confidence)
        text += f", the median of {len(run.samples)} runs ({low} to {high} with {share} confidence)"
    peak = run.number("peak_resident_bytes")
    held = f" It held {n.size(peak)} of memory at most." if peak else ""
    return f"{text}.{held} {typed('the command', run)}".rstrip()


def _phases(run: Run) -> Iterator[str]:
    """A bar, the time and the share of the ceiling of every phase of a run from nothing."""
    spent = list(spans(run).items())
    if not spent:
        yield "    The record tells no phases."
        return
    whole = whole_seconds(run) or 1.0
    width = min(max(len(name) for name, _ in spent[:PHASES_MAX]), NAME_COLUMNS)
    shares = {phase.name: phase for phase in run.phases if phase.fraction is not None}
    for name, seconds in spent[:PHASES_MAX]:
        bar = "#" * round(BAR_COLUMNS * seconds / whole)
        phase = shares.get(name)
        rate = ""
        if phase is not None and phase.fraction is not None:
            rate = f"  {n.fraction(phase.fraction)} of {ceiling_name(phase.ceiling)}"
        line = f"{name[:width]:<{width}} {bar:<{BAR_COLUMNS}} {n.duration(seconds):>10}{rate}"
        yield f"    {_printable(line)}".rstrip()
    if len(spent) > PHASES_MAX:
        yield f"    and {len(spent) - PHASES_MAX} more"


def _causes(found: Attribution) -> Iterator[str]:
    """A bar and the share of the cores' time for each cause that can be seen."""
    width = max(map(len, found.core_seconds))
    for cause in found.core_seconds:
        share = found.share(cause)
        if share >= SHARE_LEAST:
            bar = "#" * round(BAR_COLUMNS * share)
            line = f"{cause:<{width}} {bar:<{BAR_COLUMNS}} {n.percent(share):>5}"
            yield f"    {_printable(line)}".rstrip()


def _waits(found: Attribution | None) -> list[str]:
    """What the cores lost most time to, about how long it would take without it, and at least."""
    cause = found.main_wait if found else None
    if found is None or cause is None:
        return []
    about, least = (
        n.duration(found.seconds_without(cause)),
        n.duration(found.seconds_least(cause)),
    )
    even = "its work spread evenly over all cores and " if found.cores > 1 else ""
    would = f"about {about} with all else as it is, and {least} at best, with {even}no other wait"
    if about == least:
        would = f"{least} at best"
    return [
        f"Its cores spent {n.percent(found.share(cause))} of their time "
        f"{_SPENT.get(cause, f'on {cause}')}. If that were free, it would take {would}."
    ]


def _replay(found: WhatIf | None) -> Iterator[str]:
    """What a replay of the tasks takes without each cause that is worth a line."""
    if found is None:
        return
    took = n.duration(found.wall_seconds)
    tasks, cores = n.plural(found.tasks, "task"), n.plural(found.cores, "core")
    asis = n.duration(found.replayed_seconds)
    head = f"The {tasks} of its log, replayed on {cores}, take {asis}; the run took {took}."
    if not found.describes_the_run:
        yield from _titled("What if", [f"{head} So a replay does not describe it."])
        return
    if not found.without:
        yield from _titled("What if", [f"{head} Without any one wait it would be hardly faster."])
        return
    yield from _titled("What if", [f"{head} At best it would take:"])
    width = max(map(len, found.without))
    for cause, seconds in found.without.items():
        less = n.percent(1 - seconds / found.wall_seconds)
        line = f"{n.duration(seconds):>10} without {cause:<{width}} {less:>5} less"
        yield f"    {_printable(line)}".rstrip()


def _bounds(run: Run) -> list[str]:
    phase = bounding_phase(run)
    sentences = []
    if phase is not None and phase.fraction is not None and phase.rate_per_s is not None:
        most = n.rate(phase.ceiling_per_s or 0.0, phase.unit)
        sentences.append(
            f"{phase.name} ran at {n.rate(phase.rate_per_s, phase.unit)}, "
            f"{n.fraction(phase.fraction)} of the {most} measured as {ceiling_name(phase.ceiling)}."
        )
    return sentences + limits(run.engine, run, phase)


def _faster(run: Run, finding: Finding) -> list[str]:
    """What would make it faster, as far as the record tells."""
    sentences = []
    whole = run.total_seconds
    for name, remedy in (
        ("start", "a session that stays up answers the next question without it"),
        ("load", "the loaded array can be asked again without it"),
    ):
        spent = run.setup_seconds(name)
        if name in SETUP_PHASES and whole > 0 and spent / whole >= SETUP_SHARE:
            share = n.percent(spent / whole)
            sentences.append(f"{share} of a run from nothing is {name}: {remedy}.")
    bound, longest = bounding_phase(run), longest_phase(run)
    if longest is not None and longest is not bound and longest.name not in SETUP_PHASES:
        sentences.append(f"Most of the time is in {longest.name}, which has no measured ceiling.")
    if bound is not None and bound.fraction is not None and 0 < bound.fraction < 1:
        best = whole - bound.seconds * (1 - bound.fraction)
        if best > 0 and whole / best >= 1.02:
            sentences.append(
                f"With {bound.name} at its ceiling the run would take {n.duration(best)} instead "
                f"of {n.duration(whole)}: {n.ratio(whole / best)} is the most that can be gained "
                "there."
            )
        else:
            sentences.append(
                f"With {bound.name} at its ceiling the run would hardly take less time."
            )
    told = verdict(finding)
    return [*sentences, told] if told else sentences


def _titled(title: str, sentences: Sequence[str]) -> Iterator[str]:
    """A title with sentences below it; nothing for no sentences, but `Time` has its bars."""
    said = [sentence for sentence in sentences if sentence]
    if said or title == "Time":
        yield title
        yield from _wrapped(said, "    ")


def _wrapped(sentences: Sequence[str], indent: str = "") -> Iterator[str]:
    for sentence in sentences:
        yield from textwrap.wrap(
            _printable(sentence), WIDTH_COLUMNS, initial_indent=indent, subsequent_indent=indent
        )


def _printable(words: str) -> str:
    """Records are untrusted: no control character reaches the terminal."""
    plain = words.replace(n.NBSP, " ")
    return "".join(letter if letter.isprintable() else "?" for letter in plain)
