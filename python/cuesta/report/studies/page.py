"""A study as a page: verdicts, views, what is missing, every figure, provenance."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cuesta import numerals as n
from cuesta.lab.study.rules import SPOILING
from cuesta.report.alarms import STAMP
from cuesta.report.blocks import Alert, Block, Mark, Panels, Part
from cuesta.report.studies import cells, panels, scaling, stacks, timelines, verdicts
from cuesta.report.studies.arranged import Arranged, arranged
from cuesta.report.studies.measure import Measure
from cuesta.report.studies.model import FoundStudy, View


@dataclass(frozen=True, kw_only=True)
class StudyPage:
    """What the template shows; `stamp` lies across the page, empty where figures compare."""

    kind: str
    title: str
    question: str
    stamp: str
    stamped: tuple[str, ...]
    summary: str
    verdicts: tuple[verdicts.VerdictRow, ...]
    marks: tuple[Mark, ...]
    alerts: tuple[Alert, ...]
    views: tuple[Part, ...]
    rest: tuple[Part, ...]
    origin: str


def made(study: FoundStudy) -> StudyPage:
    """The page of a study."""
    spoiling = [alarm for alarm in study.alarms if alarm.grave and alarm.rule in SPOILING]
    alerts = [
        Alert(text=alarm.text, grave=alarm.grave) for alarm in study.alarms if alarm not in spoiling
    ]
    alerts += scaling.not_flat(study)
    views = study.views or _derived(study)
    drawn = [_part(f"v{index}", study, view) for index, view in enumerate(views, 1)]
    rest = (cells.missing(study), cells.everything(study), cells.provenance(study))
    records = len(cells.runs(study))
    return StudyPage(
        kind=_kind(study),
        title=study.title,
        question=study.question if study.question != study.title else "",
        stamp=STAMP if spoiling else "",
        stamped=tuple(one.text for one in spoiling),
        summary=verdicts.summary(study),
        verdicts=verdicts.rows(study),
        marks=tuple(_marks(study)),
        alerts=tuple(sorted(alerts, key=lambda alert: not alert.grave)),
        views=tuple(part for part in drawn if part is not None),
        rest=tuple(part for part in rest if part is not None),
        origin=(
            "Made by `cuesta report` from `study.json`"
            + (f" and {n.plural(records, 'run record')}" if records else "")
            + " and nothing else: the same files give the same page."
        ),
    )


def _kind(study: FoundStudy) -> str:
    words = f"Study of paper {study.paper}" if study.paper else "Study"
    return f"{words}: a trial at a small size, which shows nothing" if study.smoke else words


def _marks(study: FoundStudy) -> list[Mark]:
    words, good = cells.answers(study, cells.runs(study))
    marks = [Mark(text=words, tone="good" if good else "bad")]
    total = sum(cell.repeats for cell in study.cells)
    measured = n.plural(len(study.measured), "combination")
    marks.append(Mark(text=f"{n.plural(total, 'run')} of {measured}", tone="plain"))
    failed = sum(len(cell.failed) for cell in study.cells)
    if failed:
        marks.append(Mark(text=f"{n.plural(failed, 'run')} failed", tone="bad"))
    return marks


def _derived(study: FoundStudy) -> tuple[View, ...]:
    """What to draw where the study says nothing: the work over the first factor with values."""
    several = [factor for factor in study.factors if len(factor.levels) > 1]
    across = next((one for one in several if one.numeric), several[0] if several else None)
    others = [one.name for one in several if one is not across]
    name = across.name if across else ""
    view = View(
        title="Time of the work",
        kind="lines" if across and across.numeric else "bars",
        across=name,
        curves=others[0] if others else "",
        panels=others[1] if len(others) > 1 else "",
        measure="work",
        where={},
    )
    return (view,)


def _part(identifier: str, study: FoundStudy, view: View) -> Part | None:
    given = arranged(study, view)
    if given is None:
        return _empty(view)
    measure = Measure(name=view.measure)
    if view.kind in ("lines", "bars", "efficiency") and not _measured(given, measure):
        return _empty(view)
    aside: list[str] = []
    blocks: list[Block | None] = []
    if view.kind == "timeline":
        blocks += timelines.timelines(identifier, study, given)
        aside += [] if blocks else ["No record of these runs has a time line here."]
    elif view.kind == "stack":
        blocks += stacks.stacked(identifier, study, given)
    elif view.kind == "efficiency" and given.across.numeric:
        first = scaling.time(f"{identifier}-time", study, given, measure)
        second = scaling.efficiency(f"{identifier}-efficiency", study, given, measure)
        blocks += [_headed(first, "Time"), _headed(second, "Efficiency")]
        aside += scaling.cost(study, given, measure)
    elif view.kind == "bars" or not given.across.numeric:
        blocks.append(panels.bars(identifier, given, measure))
    else:
        blocks.append(panels.lines(identifier, given, measure))
    found = tuple(block for block in blocks if block is not None)
    title = view.title or f"{measure.title} by {given.across.title}"
    return Part(title=title, aside=tuple(aside), blocks=found) if found or aside else _empty(view)


def _headed(block: Panels, heading: str) -> Panels:
    return replace(block, heading=heading)


def _measured(given: Arranged, measure: Measure) -> bool:
    return any(spot.statistic(measure.name) for spot in given.spots)


def _empty(view: View) -> Part:
    """A view without anything to draw says so."""
    words = "Nothing was measured of this."
    return Part(title=view.title or view.kind, aside=(words,), blocks=())
