"""The page of many samples: their figures side by side, out of their table and run records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cuesta import numerals as n
from cuesta.errors import CuestaError
from cuesta.lab.record import FILE_NAME
from cuesta.report import scales, shapes, svg
from cuesta.report.blocks import Alert, Cell, Column, Figure, Mark, Pair, Part, Section, Table
from cuesta.report.blocks import Row as TableRow
from cuesta.report.records import Run, to_run
from cuesta.report.tables import DASH
from cuesta.samples import table
from cuesta.samples.table import Row
from cuesta.untrusted import read_json, within

BARS_MAX = 40
"""Limit of the samples that are drawn, those with the least N50."""
ROWS_MAX = 2000
"""Limit of the samples in the table."""

_COLUMNS = {
    "contigs": "contigs", "total_length": "length", "n50": "N50", "aun": "auN",
    "scaffold_n50": "N50 of scaffolds", "gc_percent": "GC, %", "depth": "depth",
    "genome_estimate": "genome by k-mers", "error_percent": "wrong bases, %", "insert": "insert",
    "circles": "circles", "copies": "copies of small circles", "next": "next",
}  # fmt: skip
_WORDS = frozenset({"copies", "next"})
_STATES = {
    table.VERIFIED: "verified", table.SAMPLED: "verified on a sample",
    table.UNVERIFIED: "NOT VERIFIED", table.FAILED: "failed", table.WAITING: "not assembled yet",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _Isolate:
    """A row of the table, and the run of its answer."""

    row: Row
    run: Run | None


def section(folder: Path) -> Section:
    """Return the section that compares the samples of a batch. Errors: `InputError`."""
    rows = table.read(folder)[:ROWS_MAX]
    isolates = [_Isolate(row=row, run=_run(folder, row)) for row in rows]
    answered = [isolate for isolate in isolates if isolate.row.has_answer]
    return Section(
        identifier="samples",
        kind=f"{n.plural(len(rows), 'sample')} of a sheet",
        question="How do these samples compare?",
        lead=tuple(_lead(answered, len(rows))),
        verdict="",
        marks=tuple(_marks(isolates)),
        alerts=tuple(_alerts(isolates)),
        facts=tuple(_facts(answered)),
        parts=tuple(part for part in _parts(isolates, answered) if part.blocks),
    )


def _run(folder: Path, row: Row) -> Run | None:
    """Return the run of a sample's answer, None where its record is not readable."""
    if not row.has_answer:
        return None
    try:
        file = within(folder, row.name) / FILE_NAME
        fields = read_json(file)
        return to_run(fields, str(file)) if isinstance(fields, dict) else None
    except (CuestaError, OSError, ValueError, RecursionError):
        return None


def _lead(answered: Sequence[_Isolate], count: int) -> list[str]:
    lead = [f"{len(answered)} of {n.plural(count, 'sample')} have contigs."]
    if len(answered) > 1:
        least, most = (
            pick(answered, key=lambda isolate: _number(isolate, "n50")) for pick in (min, max)
        )
        low, high = (n.count(round(_number(isolate, "n50"))) for isolate in (least, most))
        apart = f"{low} ({least.row.name}) to {high} bases ({most.row.name})"
        lead.append(f"N50 is {apart if low != high else f'{low} bases'}.")
    return lead


def _marks(isolates: Sequence[_Isolate]) -> list[Mark]:
    states = [isolate.row.cells["status"] for isolate in isolates]
    verified = states.count(table.VERIFIED)
    is_complete = verified == len(states)
    text = "all verified by another method" if is_complete else (
        f"{verified} of {len(states)} verified by another method"
    )  # fmt: skip
    return [Mark(text=text, tone="good" if is_complete else "bad")]


def _alerts(isolates: Sequence[_Isolate]) -> list[Alert]:
    alerts = []
    for isolate in isolates:
        row = isolate.row
        if row.cells["status"] == table.FAILED:
            alerts.append(Alert(text=f"{row.name} failed: {row.cells['reason']}", grave=False))
    waiting = [each.row.name for each in isolates if each.row.cells["status"] == table.WAITING]
    if waiting:
        text = f"Not assembled yet: {n.listed(waiting)}; the same command continues."
        alerts.append(Alert(text=text, grave=False))
    return alerts


def _facts(answered: Sequence[_Isolate]) -> list[Pair]:
    if not answered:
        return []
    facts = [
        Pair(name=f"median {title}", text=n.about(round(_median(answered, name))))
        for name, title in (("n50", "N50"), ("total_length", "length"), ("contigs", "contigs"))
    ]
    circles = sum(_number(isolate, "circles") for isolate in answered)
    return [*facts, Pair(name="circles in all", text=n.count(round(circles)))]


def _parts(isolates: Sequence[_Isolate], answered: Sequence[_Isolate]) -> list[Part]:
    drawn = sorted(answered, key=lambda isolate: (_number(isolate, "n50"), isolate.row.name))
    left_out = len(drawn) - BARS_MAX
    aside = ["Sorted by N50, the least first."]
    if left_out > 0:
        aside.append(f"Not drawn: the {left_out:,} samples with more.")
    figures = tuple(
        _bars(drawn[:BARS_MAX], name, title)
        for name, title in (("n50", "N50"), ("total_length", "Length"), ("depth", "Depth"))
    )
    about = (
        "Of contigs, as isolates.tsv has them. Times and memory are those of each sample's run, "
        "beside which others may have run.",
        "The report of one sample's folder draws its spectrum, contigs and graph.",
    )
    return [
        Part(title="All samples", aside=about, blocks=(_table(isolates),)),
        Part(title="Side by side", aside=tuple(aside), blocks=figures if drawn else ()),
    ]


def _bars(isolates: Sequence[_Isolate], name: str, title: str) -> Figure:
    rows = [
        svg.Bar(
            label=isolate.row.name,
            text=n.terse(_number(isolate, name)),
            value=_number(isolate, name),
            tone="best",
        )
        for isolate in isolates
    ]
    described = "; ".join(f"{row.label} {row.text}" for row in rows)
    frame = shapes.Frame(identifier=f"samples-{name}", title=title, description=described)
    axis = scales.for_bars([row.value for row in rows], n.terse)
    unit = "reads over a base" if name == "depth" else "bases"
    caption = "Logarithmic scale." if axis.log else ""
    return Figure(svg=svg.bars(frame, rows, axis, unit), heading=title, caption=caption)


def _table(isolates: Sequence[_Isolate]) -> Table:
    titles = [Column(title="sample", words=True), Column(title="state", words=True)]
    titles += [Column(title=title, words=name in _WORDS) for name, title in _COLUMNS.items()]
    titles += [Column(title="time"), Column(title="peak memory")]
    return Table(
        caption="",
        columns=tuple(titles),
        rows=tuple(_row(isolate) for isolate in isolates),
    )


def _row(isolate: _Isolate) -> TableRow:
    cells = isolate.row.cells
    state = cells["status"]
    is_bad = state in (table.FAILED, table.UNVERIFIED)
    shown = [Cell(text=_STATES[state], tone="bad" if is_bad else "")]
    shown += [Cell(text=_text(cells.get(name, ""))) for name in _COLUMNS]
    run = isolate.run
    seconds = run.typed.seconds if run and run.typed else None
    peak = run.number("peak_resident_bytes") if run else None
    shown += [
        Cell(text=DASH if seconds is None else n.duration(seconds)),
        Cell(text=DASH if peak is None else n.size(peak)),
    ]
    return TableRow(header=isolate.row.name, cells=tuple(shown))


def _text(cell: str) -> str:
    """Return a cell with thousands set apart."""
    return f"{int(cell):,}" if cell.isascii() and cell.isdigit() else cell or DASH


def _number(isolate: _Isolate, name: str) -> float:
    try:
        return float(isolate.row.cells.get(name) or 0)
    except ValueError:
        return 0.0


def _median(isolates: Sequence[_Isolate], name: str) -> float:
    values = sorted(_number(isolate, name) for isolate in isolates)
    return values[len(values) // 2]
