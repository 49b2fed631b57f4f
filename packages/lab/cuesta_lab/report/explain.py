"""A screen of plain text about one run: its work, its times, its bounds.

Every sentence follows by a rule from the run record; where the record cannot tell, the text says
so or is silent.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from cuesta import numerals as n
from cuesta.errors import InputError
from cuesta.report.alarms import alarms
from cuesta.report.findings import (
    Finding,
    bounding_phase,
    find,
    longest_phase,
    spans,
    spans_seconds,
)
from cuesta.report.records import SETUP_PHASES, Group, Run, read_groups
from cuesta.report.words import agreement, answer, ceiling_name, limits, typed, verdict
from cuesta.workloads.question import question
from cuesta_lab.report.attribution import (
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
from cuesta_lab.report.whatif import WhatIf, what_if

WIDTH_COLUMNS = 80
BAR_COLUMNS = 24
PHASES_MAX = 8
NAME_COLUMNS = 24

SHARE_LEAST = 0.005
"""Smallest share of the cores' time for which a cause has a line."""

_WAITS = (
    STORAGE, MEMORY, NETWORK, QUOTA, SCHEDULER, SKEW, LEADER, STARTING, WORKERS, QUEUED
)  # fmt: skip
_CAUSE_PHRASES = {cause: cause for cause in _WAITS} | {OTHERS: "taken by other programs"}

SETUP_SHARE = 0.3
"""Smallest share of the run at which preparing an engine is worth a sentence."""


def explain(path: Path) -> str:
    """Return the text for the one run at `path`, a record or an answer folder.

    It ends without a newline. Errors: `InputError` when there is no record, or more than one.
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
    question_text = question(run.workload, run.parameters, [item.path for item in run.inputs])
    yield from _wrapped([question_text])
    yield ""
    yield from _titled("Done", [_done(run), answer(run), agreement(group, finding)])
    yield from _titled("Time", [])
    yield from _phases(run)
    attributed = attribution(run)
    if attributed is not None:
        yield _printable(f"Cores: {attributed.cores} for {n.duration(attributed.wall_seconds)}")
        yield from _causes(attributed)
    yield from _titled("Bound by", _bounds(run) + _waits(attributed))
    yield from _replay(what_if(run))
    yield from _titled("Faster", _faster(run, finding))
    yield from _titled("Beware", [alarm.text for alarm in alarms(group, finding)])


def _done(run: Run) -> str:
    """Sentence with the engine, its input bytes, the number of repeats and the time."""
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
    phases = list(spans(run).items())
    if not phases:
        yield "    The record tells no phases."
        return
    total = spans_seconds(run) or 1.0
    width = min(max(len(name) for name, _ in phases[:PHASES_MAX]), NAME_COLUMNS)
    shares = {phase.name: phase for phase in run.phases if phase.fraction is not None}
    for name, seconds in phases[:PHASES_MAX]:
        bar = "#" * round(BAR_COLUMNS * seconds / total)
        phase = shares.get(name)
        rate = ""
        if phase is not None and phase.fraction is not None:
            rate = f"  {n.fraction(phase.fraction)} of {ceiling_name(phase.ceiling)}"
        line = f"{name[:width]:<{width}} {bar:<{BAR_COLUMNS}} {n.duration(seconds):>10}{rate}"
        yield f"    {_printable(line)}".rstrip()
    if len(phases) > PHASES_MAX:
        yield f"    and {len(phases) - PHASES_MAX} more"


def _causes(attributed: Attribution) -> Iterator[str]:
    """A bar and the share of the cores' time for each cause that can be seen."""
    width = max(map(len, attributed.core_seconds))
    for cause in attributed.core_seconds:
        share = attributed.share(cause)
        if share >= SHARE_LEAST:
            bar = "#" * round(BAR_COLUMNS * share)
            line = f"{cause:<{width}} {bar:<{BAR_COLUMNS}} {n.percent(share):>5}"
            yield f"    {_printable(line)}".rstrip()


def _waits(attributed: Attribution | None) -> list[str]:
    """Sentences on the largest wait: the time without it, as an estimate and at least."""
    cause = attributed.main_wait if attributed else None
    if attributed is None or cause is None:
        return []
    about, least = (
        n.duration(attributed.seconds_without(cause)),
        n.duration(attributed.seconds_least(cause)),
    )
    even = "its work spread evenly over all cores and " if attributed.cores > 1 else ""
    would = f"about {about} with all else as it is, and {least} at best, with {even}no other wait"
    if about == least:
        would = f"{least} at best"
    return [
        f"Its cores spent {n.percent(attributed.share(cause))} of their time "
        f"{_CAUSE_PHRASES.get(cause, f'on {cause}')}. If that were free, it would take {would}."
    ]


def _replay(replay: WhatIf | None) -> Iterator[str]:
    """Lines with the replayed time without each cause that is worth a line."""
    if replay is None:
        return
    took = n.duration(replay.wall_seconds)
    tasks, cores = n.plural(replay.tasks, "task"), n.plural(replay.cores, "core")
    asis = n.duration(replay.replayed_seconds)
    head = f"The {tasks} of its log, replayed on {cores}, take {asis}; the run took {took}."
    if not replay.describes_the_run:
        yield from _titled("What if", [f"{head} So a replay does not describe it."])
        return
    if not replay.without:
        yield from _titled("What if", [f"{head} Without any one wait it would be hardly faster."])
        return
    yield from _titled("What if", [f"{head} At best it would take:"])
    width = max(map(len, replay.without))
    for cause, seconds in replay.without.items():
        less = n.percent(1 - seconds / replay.wall_seconds)
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
    """Sentences on what would make the run faster, as far as the record shows."""
    sentences = []
    total = run.total_seconds
    for name, remedy in (
        ("start", "a session that stays up answers the next question without it"),
        ("load", "the loaded array can be asked again without it"),
    ):
        setup_seconds = run.setup_seconds(name)
        if name in SETUP_PHASES and total > 0 and setup_seconds / total >= SETUP_SHARE:
            share = n.percent(setup_seconds / total)
            sentences.append(f"{share} of a run from nothing is {name}: {remedy}.")
    bound, longest = bounding_phase(run), longest_phase(run)
    if longest is not None and longest is not bound and longest.name not in SETUP_PHASES:
        sentences.append(f"Most of the time is in {longest.name}, which has no measured ceiling.")
    if bound is not None and bound.fraction is not None and 0 < bound.fraction < 1:
        best = total - bound.seconds * (1 - bound.fraction)
        if best > 0 and total / best >= 1.02:
            sentences.append(
                f"With {bound.name} at its ceiling the run would take {n.duration(best)} instead "
                f"of {n.duration(total)}: {n.ratio(total / best)} is the most that can be gained "
                "there."
            )
        else:
            sentences.append(
                f"With {bound.name} at its ceiling the run would hardly take less time."
            )
    verdict_text = verdict(finding)
    return [*sentences, verdict_text] if verdict_text else sentences


def _titled(title: str, sentences: Sequence[str]) -> Iterator[str]:
    """A title with sentences below it; nothing for no sentences, but `Time` has its bars."""
    nonempty = [sentence for sentence in sentences if sentence]
    if nonempty or title == "Time":
        yield title
        yield from _wrapped(nonempty, "    ")


def _wrapped(sentences: Sequence[str], indent: str = "") -> Iterator[str]:
    for sentence in sentences:
        yield from textwrap.wrap(
            _printable(sentence), WIDTH_COLUMNS, initial_indent=indent, subsequent_indent=indent
        )


def _printable(words: str) -> str:
    """Records are untrusted: no control character reaches the terminal."""
    plain = words.replace(n.NBSP, " ")
    return "".join(letter if letter.isprintable() else "?" for letter in plain)
