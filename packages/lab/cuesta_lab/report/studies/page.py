"""A study as a page: verdicts, views, missing cells, all figures, provenance."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cuesta import numerals as n
from cuesta.lab.rules import SPOILING
from cuesta.report.alarms import STAMP
from cuesta.report.blocks import Alert, Block, Mark, Panels, Part
from cuesta_lab.report.studies import cells, panels, scaling, stacks, timelines, verdicts
from cuesta_lab.report.studies.arranged import Arranged, arranged
from cuesta_lab.report.studies.measure import Measure
from cuesta_lab.report.studies.model import StudyResult, View
from cuesta_lab.report.studies.reach import reach_part


@dataclass(frozen=True, kw_only=True)
class StudyPage:
    """Content of the page; `stamp` lies across it, and is empty where figures compare."""

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


def made(study: StudyResult) -> StudyPage:
    """The page of a study."""
    spoiling = [alarm for alarm in study.alarms if alarm.grave and alarm.rule in SPOILING]
    alerts = [
        Alert(text=alarm.text, grave=alarm.grave) for alarm in study.alarms if alarm not in spoiling
    ]
    alerts += scaling.not_flat(study)
    views = study.views or _derived(study)
    drawn = [_part(f"v{index}", study, view) for index, view in enumerate(views, 1)]
    rest = (
        reach_part(study),
        cells.missing(study),
        cells.everything(study),
        cells.provenance(study),
    )
    records = len(cells.runs(study))
    return StudyPage(
        kind=_kind(study),
        title=study.title,
        question=study.question if study.question != study.title else "",
        stamp=STAMP if spoiling else "",
        stamped=tuple(alarm.text for alarm in spoiling),
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


def _kind(study: StudyResult) -> str:
    words = f"Study of paper {study.paper}" if study.paper else "Study"
    return f"{words}: a trial at a small size, which shows nothing" if study.smoke else words


def _marks(study: StudyResult) -> list[Mark]:
    words, good = cells.answers(study, cells.runs(study))
    marks = [Mark(text=words, tone="good" if good else "bad")]
    total = sum(cell.repeats for cell in study.cells)
    measured = n.plural(len(study.measured), "combination")
    marks.append(Mark(text=f"{n.plural(total, 'run')} of {measured}", tone="plain"))
    failed = sum(len(cell.failed) for cell in study.cells)
    if failed:
        marks.append(Mark(text=f"{n.plural(failed, 'run')} failed", tone="bad"))
    return marks


def _derived(study: StudyResult) -> tuple[View, ...]:
    """Default view where the study names none: the work over the first factor with values."""
    several = [factor for factor in study.factors if len(factor.levels) > 1]
    across = next((factor for factor in several if factor.numeric), several[0] if several else None)
    remaining_names = [factor.name for factor in several if factor is not across]
    name = across.name if across else ""
    view = View(
        title="Time of the work",
        kind="lines" if across and across.numeric else "bars",
        across=name,
        curves=remaining_names[0] if remaining_names else "",
        panels=remaining_names[1] if len(remaining_names) > 1 else "",
        measure="work",
        where={},
    )
    return (view,)


def _part(identifier: str, study: StudyResult, view: View) -> Part | None:
    arrangement = arranged(study, view)
    if arrangement is None:
        return _empty(view)
    measure = Measure(name=view.measure)
    if view.kind in ("lines", "bars", "efficiency") and not _measured(arrangement, measure):
        return _empty(view)
    aside: list[str] = []
    blocks: list[Block | None] = []
    if view.kind == "timeline":
        blocks += timelines.timelines(identifier, study, arrangement)
        aside += [] if blocks else ["No record of these runs has a time line here."]
    elif view.kind == "stack":
        blocks += stacks.stacked(identifier, study, arrangement)
    elif view.kind == "efficiency" and arrangement.across.numeric:
        first = scaling.time(f"{identifier}-time", study, arrangement, measure)
        second = scaling.efficiency(f"{identifier}-efficiency", study, arrangement, measure)
        blocks += [_headed(first, "Time"), _headed(second, "Efficiency")]
        aside += scaling.cost(study, arrangement, measure)
    elif view.kind == "bars" or not arrangement.across.numeric:
        blocks.append(panels.bars(identifier, arrangement, measure))
    else:
        blocks.append(panels.lines(identifier, arrangement, measure))
    present = tuple(block for block in blocks if block is not None)
    title = view.title or f"{measure.title} by {arrangement.across.title}"
    return (
        Part(title=title, aside=tuple(aside), blocks=present) if present or aside else _empty(view)
    )


def _headed(block: Panels, heading: str) -> Panels:
    return replace(block, heading=heading)


def _measured(arrangement: Arranged, measure: Measure) -> bool:
    return any(spot.statistic(measure.name) for spot in arrangement.spots)


def _empty(view: View) -> Part:
    """The part of a view that has nothing to draw."""
    words = "Nothing was measured of this."
    return Part(title=view.title or view.kind, aside=(words,), blocks=())
