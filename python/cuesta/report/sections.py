"""Sections of a page from groups of runs: composes what the other modules compute."""

from __future__ import annotations

from collections.abc import Sequence

from cuesta import numerals as n
from cuesta.report import answer, assessment, environment, parts, words
from cuesta.report.alarms import alarms, stamp
from cuesta.report.blocks import Alert, Mark, Pair, Section
from cuesta.report.findings import Finding, bounding_phase, find
from cuesta.report.records import Group
from cuesta.workloads import answers
from cuesta.workloads.question import question

_CACHE_MARKS = {
    "as-is": "page cache left as it was",
    "input-dropped": "cold: input dropped from the page cache",
    "machine-dropped": "cold: page cache emptied",
}
FACTS_COUNTS_MAX = 2


def sections(groups: Sequence[Group]) -> tuple[Section, ...]:
    """Return a section for each group, numbered from 1."""
    return tuple(section(f"q{index}", group) for index, group in enumerate(groups, start=1))


def section(identifier: str, group: Group) -> Section:
    """Return the section of a group: its runs side by side."""
    finding = find(group)
    first = group.first
    raised = alarms(group, finding)
    lead = (
        words.answer(finding.best),
        " ".join(filter(None, (words.comparison(finding), words.bound(finding)))),
        words.agreement(group, finding),
    )
    optional = (
        answer.part(identifier, finding.best),
        assessment.part(identifier, group, finding),
        parts.comparison(identifier, group, finding),
        parts.where_time_went(identifier, group),
        parts.ceilings(identifier, group, finding),
        parts.memory_and_bytes(identifier, group, finding),
        environment.part(group),
    )
    return Section(
        identifier=identifier,
        kind=_kind(group),
        question=question(first.workload, first.parameters, [item.path for item in first.inputs]),
        lead=tuple(sentence for sentence in lead if sentence),
        verdict=words.verdict(finding),
        marks=tuple(_marks(group, finding)),
        alerts=tuple(Alert(text=alarm.text, grave=alarm.grave) for alarm in raised),
        stamp=stamp(group, raised),
        facts=tuple(_facts(finding)),
        parts=tuple(part for part in optional if part is not None and part.blocks),
    )


def _kind(group: Group) -> str:
    """Line above the question: workload and engines."""
    engines = n.listed(list(group.labels))
    return f"{group.first.workload} on {engines}"


def _marks(group: Group, finding: Finding) -> list[Mark]:
    marks = []
    marks.append(_verified(group))
    if finding.digests_equal is not None:
        equal = finding.digests_equal
        text = "equal digests" if equal else "different digests"
        marks.append(Mark(text=text, tone="good" if equal else "bad"))
    fewest = min(len(run.samples) for run in group.runs)
    most = max(len(run.samples) for run in group.runs)
    runs = n.plural(most, "run") if fewest == most else f"{fewest} to {n.plural(most, 'run')}"
    each = " each" if len(group.runs) > 1 else ""
    marks.append(Mark(text=f"{runs}{each}", tone="plain"))
    caches = {run.text("cache") for run in group.runs}
    if len(caches) == 1 and (cache := caches.pop()) in _CACHE_MARKS:
        marks.append(Mark(text=_CACHE_MARKS[cache], tone="plain"))
    return marks


def _verified(group: Group) -> Mark:
    missing = sum(run.verified is not True for run in group.runs)
    if missing == 0:
        if any(run.sampled for run in group.runs):
            return Mark(text="verified on a sample", tone="plain")
        return Mark(text="verified by another method", tone="good")
    all_missing = missing == len(group.runs)
    text = "NOT VERIFIED" if all_missing else f"{missing} of {len(group.runs)} NOT VERIFIED"
    return Mark(text=text, tone="bad")


def _facts(finding: Finding) -> list[Pair]:
    """The few figures worth large type."""
    best = finding.best
    typed = f"; {n.duration(best.typed.seconds)} as typed" if best.typed else ""
    name = f"{finding.best_label}, the work alone{typed}"
    pairs = [Pair(name=name, text=n.duration(best.work.median))]
    if finding.compared and finding.digests_equal is not False:
        last = finding.compared[-1]
        if last.slower:
            name = f"as long on {last.label}"
            pairs.append(Pair(name=name, text=n.ratio(last.work_ratio)))
    phase = bounding_phase(best)
    if phase is not None and phase.fraction is not None:
        name = f"of the ceiling, {words.ceiling_name(phase.ceiling)}"
        pairs.append(Pair(name=name, text=n.fraction(phase.fraction)))
    peak = best.number("peak_resident_bytes")
    if peak:
        pairs.append(Pair(name=f"{finding.best_label}, peak memory", text=n.size(peak)))
    known = answers.HEADLINE_COUNTS.get(best.workload) or {
        name: name.replace("_", " ") for name in best.counts if not name.endswith("_bytes")
    }
    present = answers.known(best.counts, best.parameters)
    counts = [(name, present[key]) for key, name in known.items() if key in present]
    pairs += [Pair(name=name, text=n.about(value)) for name, value in counts[:FACTS_COUNTS_MAX]]
    return pairs
