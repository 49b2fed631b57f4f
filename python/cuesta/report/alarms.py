"""Warnings that a reader needs before trusting a number: rules over the runs of a group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cuesta import numerals as n
from cuesta.lab.rules import BUSY_LOAD, REPEATS_MIN, SPOILING
from cuesta.report.findings import CEILING_SLACK, NOISY_SPREAD, Finding, spread
from cuesta.report.records import Group, Run, number, text
from cuesta.report.words import ceiling_name

STAMP = "Not comparable"


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """A warning; `grave` when the answer is in doubt, or times must not be compared.

    `rule` is the name of the rule that is broken, as `lab.rules` has them.
    """

    text: str
    rule: str
    grave: bool = False


def alarms(group: Group, finding: Finding) -> tuple[Alarm, ...]:
    """All alarms of a group, the grave ones first."""
    raised = [*_answers(group, finding), *_samples(group), *_sameness(group), *_ceilings(group)]
    raised += [*_memory(group), *_busy(group)]
    return tuple(sorted(raised, key=lambda alarm: not alarm.grave))


def stamp(group: Group, raised: tuple[Alarm, ...]) -> str:
    """Return the word across a comparison that breaks a rule gravely; empty where none is broken.

    A single run is compared with nothing.
    """
    broken = any(alarm.grave and alarm.rule in SPOILING for alarm in raised)
    return STAMP if broken and len(group.runs) > 1 else ""


def _answers(group: Group, finding: Finding) -> Iterator[Alarm]:
    if finding.digests_equal is False:
        digests = n.listed([f"{label} {run.digest[:8]}" for label, run in group.named()])
        yield Alarm(
            text=f"The answers differ: {digests}. Do not compare the times.",
            rule="verification",
            grave=True,
        )
    for label, run in group.named():
        if run.verified is False:
            verification = run.object("verification")
            expected = str(verification.get("expected") or "")
            fault = text(verification.get("fault")) or (
                f"its digest is {_short(run.digest)}, another method gives {_short(expected)}"
            )
            sentence = f"The answer of {label} is wrong: {fault}."
            yield Alarm(text=sentence, rule="verification", grave=True)
        elif run.verified is None:
            yield Alarm(
                text=f"The answer of {label} is NOT VERIFIED: nobody held it against its input. "
                "`cuesta verify` on its folder does.",
                rule="verification",
                grave=True,
            )
        elif run.sampled:
            sentence = f"Only a sample of the answer of {label} was held against its input."
            yield Alarm(text=sentence, rule="verification")


def _samples(group: Group) -> Iterator[Alarm]:
    compared = len(group.runs) > 1
    few = [label for label, run in group.named() if len(run.samples) < REPEATS_MIN]
    single = [label for label, run in group.named() if len(run.samples) == 1]
    if len(single) == len(group.runs):
        each = "It was run once" if not compared else "Each was run once"
        sentence = f"{each}: the times are one sample, without any interval."
    elif single:
        sentence = f"{_capital(n.listed(single))} ran once: that time is one sample."
    else:
        sentence = f"{_capital(n.listed(few))} ran twice, which gives no interval."
    if few:
        remedy = f" `--repeat {REPEATS_MIN}` or more makes times comparable." if compared else ""
        yield Alarm(text=f"{sentence}{remedy}", rule="intervals", grave=compared)
    noisy = [
        f"{label} by {n.percent(spread(run))}"
        for label, run in group.named()
        if len(run.samples) > 1 and spread(run) > NOISY_SPREAD
    ]
    if noisy:
        sentence = f"The repeats spread widely around their median: {n.listed(noisy)}."
        yield Alarm(text=sentence, rule="summary")


def _sameness(group: Group) -> Iterator[Alarm]:
    """Alarms for runs that differ in more than the engine."""
    differ = [
        name
        for name, values in (
            ("the machine", [_machine(run) for run in group.runs]),
            ("the number of threads", [run.fields.get("threads") for run in group.runs]),
            ("the memory limit", [run.fields.get("memory_bytes") for run in group.runs]),
            ("the state of the page cache", [run.fields.get("cache") for run in group.runs]),
            ("Cuesta's version", [run.object("versions").get("cuesta") for run in group.runs]),
        )
        if len({str(value) for value in values}) > 1
    ]
    if differ:
        sentence = f"Besides the engine, {n.listed(differ)} differs between these runs."
        yield Alarm(text=sentence, rule="provenance")


def _ceilings(group: Group) -> Iterator[Alarm]:
    if not any(run.object("ceilings") for run in group.runs):
        yield Alarm(
            text="This machine's ceilings were not measured, so nothing says how fast it could "
            "have been: run `cuesta doctor --ceilings` once, then run again.",
            rule="bounds",
        )
    for label, run in group.named():
        phase = max(run.phases, key=lambda phase: phase.fraction or 0.0, default=None)
        if phase is not None and (phase.fraction or 0.0) > CEILING_SLACK:
            yield Alarm(
                text=f"The {phase.name} of {label} ran at {n.fraction(phase.fraction or 0.0)} of "
                f"the ceiling “{ceiling_name(phase.ceiling)}”: measure the ceilings again.",
                rule="bounds",
            )


def _memory(group: Group) -> Iterator[Alarm]:
    for label, run in group.named():
        peak, limit = run.number("peak_resident_bytes"), run.number("memory_bytes")
        if peak and limit and peak > limit:
            held, most = n.size(peak), n.size(limit)
            sentence = f"{_capital(label)} held {held}, more than the limit of {most}."
            yield Alarm(text=sentence, rule="selection")


def _busy(group: Group) -> Iterator[Alarm]:
    """Alarm for use of the machine by others, shown by its load before a run's first sample.

    Only the first run of a command counts: the others raised the load themselves.
    """
    loads: list[str] = []
    commands: list[object] = []
    for label, run in group.named():
        command = run.fields.get("command")
        if command and command in commands:
            continue
        commands.append(command)
        cores, load = number(run.object("machine").get("cores")), run.samples[0].load_average
        if cores and load and load > BUSY_LOAD * cores:
            loads.append(f"{n.significant(load, 2)} on {n.plural(int(cores), 'core')} for {label}")
    if loads:
        sentence = f"The machine was busy before the run: a load of {n.listed(loads)}."
        yield Alarm(text=sentence, rule="timing")


def _machine(run: Run) -> tuple[object, ...]:
    facts = run.object("machine")
    return tuple(facts.get(name) for name in ("cpu", "cores", "memory_bytes", "kernel"))


def _short(digest: str) -> str:
    return digest[:12] if digest else "missing"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
