"""The tables of a section: one row an engine, or one a phase."""

from __future__ import annotations

from cuesta import numerals as n
from cuesta.report.blocks import Cell, Column, Row, Table
from cuesta.report.findings import (
    Finding,
    bounding_phase,
    rows_per_s,
    throughput_bytes_per_s,
)
from cuesta.report.records import Group, Phase, Run
from cuesta.report.words import ceiling_name

DASH = "\u2013"


def times(group: Group, finding: Finding) -> Table:
    """Times, throughput, share of the ceiling, digest and verification of every engine.

    The time "as typed" is that of the complete command, where it was measured.
    """
    columns = [Column(title="engine", words=True), Column(title="work, median")]
    has_intervals = any(len(run.samples) > 1 for run in group.runs)
    columns += [Column(title="interval")] * has_intervals
    compared = len(group.runs) > 1
    columns += [Column(title="relative")] * compared
    typed = any(run.typed for run in group.runs)
    columns += [Column(title="as typed")] * typed
    columns += [Column(title="throughput"), Column(title="of its ceiling")]
    columns.append(Column(title="digest", words=True))
    rows = []
    for label, run in group.named():
        cells = [_time_cell(run)]
        if has_intervals:
            cells.append(_interval_cell(run))
        if compared:
            ratio = run.work.median / (finding.best.work.median or 1.0)
            cells.append(Cell(text=f"1{n.TIMES}" if run is finding.best else n.ratio(ratio)))
        cells += [_typed_cell(run)] * typed
        cells += [_throughput_cell(run), _fraction_cell(run)]
        cells.append(_digest_cell(run, differs=finding.digests_equal is False))
        tone = "best" if run is finding.best and compared else ""
        rows.append(Row(header=label, cells=tuple(cells), tone=tone))
    return Table(caption="", columns=tuple(columns), rows=tuple(rows))


def phases(group: Group) -> Table:
    """Every phase of every engine."""
    columns = ("engine, phase", "time", "of the run", "bytes", "rows", "rate")
    rows = []
    for label, run in group.named():
        # What no phase covers is a part of the run too.
        covered = sum(phase.seconds for phase in run.phases)
        total = max(covered, run.work.median) or 1.0
        rows += [
            Row(
                header=f"{label}, {phase.name}",
                cells=(
                    Cell(text=n.duration(phase.seconds)),
                    Cell(text=n.percent(phase.seconds / total)),
                    Cell(text=DASH if phase.bytes is None else n.size(phase.bytes)),
                    Cell(text=DASH if phase.rows is None else n.count(phase.rows)),
                    Cell(text=_phase_rate(phase)),
                ),
            )
            for phase in run.phases
        ]
    return Table(
        caption="Phases of the run with the median time.",
        columns=tuple(Column(title=title, words=index == 0) for index, title in enumerate(columns)),
        rows=tuple(rows),
    )


def memory_and_bytes(group: Group, finding: Finding) -> Table:
    """Peak memory, processor time and bytes of every engine."""
    names = ("peak_resident_bytes", "cpu_seconds", "read_bytes", "device_read_bytes",
             "written_bytes", "device_written_bytes")  # fmt: skip
    titles = ("peak memory", "processor time", "read", "read, device", "written", "written, device")
    rows = []
    for label, run in group.named():
        cells = []
        for name in names:
            value = run.number(name)
            show = n.duration if name == "cpu_seconds" else n.size
            cells.append(Cell(text=DASH if value is None else show(value)))
        tone = "best" if run is finding.best and len(group.runs) > 1 else ""
        rows.append(Row(header=label, cells=tuple(cells), tone=tone))
    columns = (Column(title="engine", words=True), *(Column(title=title) for title in titles))
    return Table(caption="", columns=columns, rows=tuple(rows))


def _time_cell(run: Run) -> Cell:
    samples = n.plural(len(run.samples), "sample")
    return Cell(text=n.duration(run.work.median), note=samples)


def _typed_cell(run: Run) -> Cell:
    if run.typed is None:
        return Cell(text=DASH)
    verification = n.duration(run.typed.verification_seconds)
    return Cell(text=n.duration(run.typed.seconds), note=f"{verification} to verify")


def _interval_cell(run: Run) -> Cell:
    if len(run.samples) < 2:
        return Cell(text=DASH)
    work = run.work
    return Cell(
        text=f"{n.duration(work.low)} to {n.duration(work.high)}",
        note=f"{n.percent(work.confidence)} confidence",
    )


def _throughput_cell(run: Run) -> Cell:
    per_s, rows = throughput_bytes_per_s(run), rows_per_s(run)
    if per_s is None:
        return Cell(text=DASH)
    return Cell(text=f"{n.size(per_s)}/s", note=n.rate(rows, "rows") if rows else "")


def _fraction_cell(run: Run) -> Cell:
    phase = bounding_phase(run)
    if phase is None or phase.fraction is None:
        return Cell(text=DASH)
    return Cell(text=n.fraction(phase.fraction), note=ceiling_name(phase.ceiling))


def _digest_cell(run: Run, *, differs: bool) -> Cell:
    words = {True: "verified", False: "wrong", None: "NOT VERIFIED"}
    tone = "bad" if differs or not run.verified else "mono"
    note = "verified on a sample" if run.sampled else words[run.verified]
    return Cell(text=run.digest[:12] or "none", note=note, tone=tone)


def _phase_rate(phase: Phase) -> str:
    if phase.rate_per_s is not None:
        return n.rate(phase.rate_per_s, phase.unit)
    if phase.bytes and phase.seconds > 0:
        return n.rate(phase.bytes / phase.seconds, "bytes")
    return DASH
