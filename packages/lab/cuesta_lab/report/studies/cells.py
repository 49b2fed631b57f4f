"""Tables of a study: all cells with figures, omitted and failed cells, provenance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cuesta import numerals as n
from cuesta.report.blocks import (
    Block,
    Cell,
    Column,
    Fold,
    Pair,
    Pairs,
    Part,
    Row,
    SideBySide,
    Table,
)
from cuesta.report.records import Fields, Run, mapping, number, text
from cuesta.untrusted import single_line
from cuesta_lab.report.studies.measure import Measure
from cuesta_lab.report.studies.model import StudyCell, StudyResult
from cuesta_lab.study.commands import COMMAND

ROWS_OPEN_MAX = 16
"""Rows from which a table is folded."""

RECORDS_MAX = 200
"""Most run records that are read for versions."""

DASH = "\u2013"


def everything(study: StudyResult) -> Part | None:
    """Every cell that was measured, with median, interval and repeats of the shown measures."""
    if not study.measured:
        return None
    measures = _measures(study)
    columns = [Column(title=_factors(study), words=True)]
    for measure in measures:
        columns += [Column(title=measure.title), Column(title="interval")]
    columns += [Column(title="runs"), Column(title="peak memory")]
    rows = []
    for cell in study.measured:
        cells: list[Cell] = []
        for measure in measures:
            cells += _figures(cell, measure)
        peak = cell.statistic("peak")
        cells += [
            Cell(text=str(cell.repeats), note=f"{len(cell.failed)} failed" if cell.failed else ""),
            Cell(text=n.size(peak.median) if peak else DASH),
        ]
        rows.append(Row(header=study.words(cell.levels), cells=tuple(cells), tone="long"))
    table = Table(caption="Medians.", columns=tuple(columns), rows=tuple(rows))
    block: Block = table
    if len(rows) > ROWS_OPEN_MAX:
        block = Fold(summary=f"All {n.plural(len(rows), 'combination')}", block=table)
    aside = (
        "The interval holds the true median with 95 % confidence from six runs on; with fewer it "
        "is all of them.",
    )
    return Part(title="Every combination", aside=aside, blocks=(block,))


def _measures(study: StudyResult) -> list[Measure]:
    """Measures of the views and claims, at most three; the work first."""
    names = ["work", *(view.measure for view in study.views if view.kind != "timeline")]
    known = {name for cell in study.measured for name in cell.measures}
    measures = [name for name in dict.fromkeys(names) if name in known and name != "peak"]
    return [Measure(name=name) for name in measures[:3]]


def _figures(cell: StudyCell, measure: Measure) -> tuple[Cell, Cell]:
    statistic = cell.statistic(measure.name)
    if statistic is None:
        return Cell(text=DASH), Cell(text=DASH)
    interval = f"{measure.words(statistic.low)} to {measure.words(statistic.high)}"
    return Cell(text=measure.words(statistic.median)), Cell(
        text=interval if statistic.high > statistic.low else DASH
    )


def _factors(study: StudyResult) -> str:
    return ", ".join(factor.title for factor in study.factors if len(factor.levels) > 1) or "trial"


def missing(study: StudyResult) -> Part | None:
    """Combinations that were not run or failed, with reasons; a shared reason stands once."""
    out = _by_reason((cell.left_out, study.words(cell.levels)) for cell in study.cells)
    failed = _by_reason((why, study.words(cell.levels)) for cell in study.cells
                        for why in cell.failed)  # fmt: skip
    waiting = [
        study.words(cell.levels)
        for cell in study.cells
        if not cell.repeats and not cell.left_out and not cell.failed
    ]
    blocks: list[Block] = []
    if out:
        blocks.append(_reasons("Left out", out))
    if failed:
        blocks.append(_reasons("Failed", failed))
    remarks = _by_reason((remark, study.words(cell.levels)) for cell in study.cells
                         for remark in cell.remarks)  # fmt: skip
    if remarks:
        blocks.append(_reasons("Noted while it ran", remarks))
    if waiting:
        named = (Pair(name="No time left", text="; ".join(dict.fromkeys(waiting))),)
        blocks.append(Pairs(items=named, heading="Not run"))
    if not blocks:
        return None
    return Part(title="What is missing", aside=(), blocks=tuple(blocks))


def _by_reason(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    by_reason: dict[str, list[str]] = {}
    for why, cell in pairs:
        if why and cell not in by_reason.setdefault(why, []):
            by_reason[why].append(cell)
    return {why: cells for why, cells in by_reason.items() if cells}


def _reasons(heading: str, by_reason: dict[str, list[str]]) -> Table:
    columns = (Column(title="combinations", words=True), Column(title="why", words=True))
    rows = []
    for why, cells in by_reason.items():
        several = len(cells) > 3
        name = n.plural(len(cells), "combination") if several else "; ".join(cells)
        note = "; ".join(cells) if several else ""
        rows.append(Row(header=name, cells=(Cell(text=why, note=note, tone="long"),), tone="long"))
    return Table(caption="", columns=columns, rows=tuple(rows), heading=heading)


def runs(study: StudyResult) -> list[Run]:
    """The first records of the study that are in its folder."""
    places = [place for cell in study.cells for place in cell.runs]
    records = (study.record(place) for place in places[:RECORDS_MAX])
    return [run for run in records if run is not None]


def provenance(study: StudyResult) -> Part:
    """Machine, versions and settings: enough to run the study again."""
    records = runs(study)
    machine = mapping(study.fields.get("machine")) or _first_machine(records)
    right = []
    if machine:
        right.append(Pairs(items=tuple(_machine(machine)), heading="Machine"))
    versions = {**_versions(records), **mapping(study.fields.get("versions"))}
    version_pairs = [Pair(name=name, text=str(value)) for name, value in sorted(versions.items())]
    if version_pairs:
        right.append(Pairs(items=tuple(version_pairs), heading="Versions"))
    how = Pairs(items=tuple(_how(study, records)), heading="How it was run")
    block = SideBySide(left=(how,), right=tuple(right))
    return Part(title="Provenance", aside=(), blocks=(block,))


def _how(study: StudyResult, records: Sequence[Run]) -> list[Pair]:
    fields = study.fields
    pairs = []
    if name := text(fields.get("name")):
        pairs.append(Pair(name="study file", text=name))
    if study.file.get("workload"):
        pairs.append(Pair(name="workload", text=str(study.file["workload"])))
    commands = (str(run.parameters.get(COMMAND)) for run in records if run.workload == COMMAND)
    if texts := list(dict.fromkeys(map(single_line, commands))):
        pairs.append(Pair(name="commands", text="; ".join(texts)))
    if study.paper:
        pairs.append(Pair(name="paper", text=study.paper))
    if started := text(fields.get("started")):
        pairs.append(Pair(name="started", text=started))
    if (seconds := number(fields.get("seconds"))) is not None:
        pairs.append(Pair(name="took", text=n.duration(seconds)))
    seed = fields.get("seed")
    pairs.append(
        Pair(name="order", text=f"interleaved and drawn at random, seed {seed}")
        if seed is not None
        else Pair(name="order", text="not recorded")
    )
    pairs.append(Pair(name="runs", text=_counted(study)))
    pairs.append(Pair(name="answers", text=answers(study, records)[0]))
    return pairs


def _counted(study: StudyResult) -> str:
    most = sum(cell.repeats for cell in study.cells)
    words = f"{n.count(most)} of {n.plural(len(study.measured), 'combination')}"
    repeats = sorted({cell.repeats for cell in study.measured})
    if repeats:
        each = str(repeats[0]) if len(repeats) == 1 else f"{repeats[0]} to {repeats[-1]}"
        words += f", {each} each"
    return words


def answers(study: StudyResult, records: Sequence[Run]) -> tuple[str, bool]:
    """Statement on the equality of the answers, and whether it is good."""
    if any(run.verified is not True for run in records):
        return "NOT VERIFIED in some runs", False
    unknown = [cell for cell in study.measured if not cell.digest]
    if unknown:
        return f"{n.plural(len(unknown), 'combination')} without a digest", False
    digests = {cell.digest for cell in study.measured}
    if not digests:
        return "no run was measured", False
    kinds = "equal in all" if len(digests) == 1 else f"{len(digests)} kinds, equal where they must"
    return f"every run verified in full; answers {kinds}", True


def _first_machine(records: Sequence[Run]) -> Fields:
    return records[0].object("machine") if records else {}


def _machine(machine: Fields) -> list[Pair]:
    pairs = []
    for key, value in machine.items():
        name = key.removesuffix("_bytes").replace("_", " ")
        if isinstance(value, dict):
            words = ", ".join(
                f"{inner_name}: {inner_value}" for inner_name, inner_value in value.items()
            )
            pairs.append(Pair(name=name, text=words))
        elif key.endswith("_bytes") and (size := number(value)) is not None:
            pairs.append(Pair(name=name, text=n.size(size)))
        elif isinstance(value, float):
            pairs.append(Pair(name=name, text=n.significant(value)))
        elif isinstance(value, list):
            pairs.append(Pair(name=name, text=", ".join(map(str, value))))
        elif value is not None:
            pairs.append(Pair(name=name, text=str(value)))
    return pairs


def _versions(records: Sequence[Run]) -> dict[str, object]:
    versions: dict[str, object] = {}
    for run in records:
        versions |= run.object("versions")
    return versions
