"""The tables of the page of a comparison of programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from statistics import median

from cuesta import numerals as n
from cuesta.report.blocks import Cell, Column, Row, Table
from cuesta.report.programs_words import (
    TIMED,
    WRONG,
    case_of,
    ratio_text,
    timings,
    where,
)
from cuesta.report.records import Fields, mapping, number, objects, text

DASH = "\u2013"
TAIL_LINES = 6
_VERDICTS = {"equal": "equal", "reference": "equal", "different": "differs"}


def times(record: Fields, size: str) -> Table:
    """Answer, time, interval and ratio of each program at a size."""
    known = {timing.name: timing for timing in timings(record, size)}
    best = min((timing.median for timing in known.values()), default=0.0)
    rows = []
    for program in objects(record.get("programs")):
        name, case = text(program.get("name")), case_of(program, size)
        timing = known.get(name)
        cells = [_verdict_cell(case)]
        if timing is None:
            cells += [Cell(text=DASH)] * 3
        else:
            several = len(timing.samples) > 1
            cells += [
                Cell(text=n.duration(timing.median), note=n.plural(len(timing.samples), "run")),
                Cell(text=f"{n.duration(timing.low)} to {n.duration(timing.high)}",
                     note=f"{n.percent(timing.confidence)} confidence") if several
                else Cell(text=DASH),
                Cell(text=ratio_text(record, name, case) or DASH),
            ]  # fmt: skip
        is_best = timing is not None and timing.median == best and len(known) > 1
        rows.append(Row(header=name, cells=tuple(cells), tone="best" if is_best else ""))
    columns = (
        Column(title="program", words=True),
        Column(title="answer", words=True),
        Column(title="time, median"),
        Column(title="interval"),
        Column(title="relative"),
    )
    return Table(caption="", columns=columns, rows=tuple(rows))


def growth(record: Fields, known: Sequence[str]) -> Table:
    """Median times of all programs by size, and the power by which they grow."""
    by_size = {size: {timing.name: timing for timing in timings(record, size)} for size in known}
    rows = []
    for program in objects(record.get("programs")):
        name = text(program.get("name"))
        medians = [by_size[size].get(name) for size in known]
        cells = [Cell(text=n.duration(one.median) if one else DASH) for one in medians]
        power = DASH
        if medians[0] and medians[-1] and medians[0].median > 0:
            parts = float(_part(known[-1]) / _part(known[0]))
            if parts > 1:
                power = f"{math.log(medians[-1].median / medians[0].median) / math.log(parts):.2f}"
        rows.append(Row(header=name, cells=(*cells, Cell(text=power))))
    columns = [Column(title="program", words=True)]
    columns += [Column(title="complete" if size == "1" else size) for size in known]
    columns.append(Column(title="power of the size"))
    return Table(caption="", columns=tuple(columns), rows=tuple(rows))


def _part(size: str) -> Fraction:
    try:
        return Fraction(size)
    except (ValueError, ZeroDivisionError):
        return Fraction(1)


def differences(record: Fields, known: Sequence[str]) -> Table:
    """The first difference of each answer that differs."""
    rows = []
    for size in reversed(known):
        for program in objects(record.get("programs")):
            case = case_of(program, size)
            difference = mapping(case.get("difference"))
            if case.get("verdict") not in WRONG or not difference:
                continue
            row = ", ".join(
                f"{name} = {text(value)}" for name, value in mapping(difference.get("row")).items()
            )
            kind = text(difference.get("kind"))
            cells = (
                Cell(text=row or DASH),
                Cell(text=text(difference.get("column")) or kind),
                Cell(text=text(difference.get("answer")) or DASH, tone="bad"),
                Cell(text=text(difference.get("reference")) or DASH),
                Cell(text=_count(difference.get("rows"))),
            )
            name = where(text(program.get("name")), size, several=len(known) > 1)
            rows.append(Row(header=name, cells=cells))
    titles = ("program", "row", "column", "its answer", "reference")
    columns = (
        *(Column(title=title, words=True) for title in titles),
        Column(title="rows that differ"),
    )
    return Table(caption="", columns=columns, rows=tuple(rows))


def _count(value: object) -> str:
    counts = [number(item) for item in value] if isinstance(value, list) else []
    known = [int(count) for count in counts if count is not None]
    return n.count(max(known)) if known else DASH


_USES: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("peak memory", "peak_resident_bytes", n.size),
    ("read", "read_bytes", n.size),
    ("read, device", "device_read_bytes", n.size),
    ("written", "written_bytes", n.size),
    ("written, device", "device_written_bytes", n.size),
    ("processes", "processes", lambda value: n.count(int(value))),
    ("waits", "waits", lambda value: n.count(int(value))),
    ("preempted", "preemptions", lambda value: n.count(int(value))),
)


def uses(record: Fields, size: str, heading: str) -> Table:
    """Processor time, memory, bytes and waits of each program with an equal answer."""
    rows = []
    for program in objects(record.get("programs")):
        case = case_of(program, size)
        runs = objects(case.get("runs"))
        if case.get("verdict") not in TIMED or not runs:
            continue
        processor = [
            (number(run.get("user_seconds")) or 0) + (number(run.get("system_seconds")) or 0)
            for run in runs
        ]
        walls = [number(run.get("wall_seconds")) or 0.0 for run in runs]
        busy = median(processor) / median(walls) if median(walls) > 0 else 0.0
        cells = [Cell(text=n.duration(median(processor)), note=f"{busy:.2g} cores")]
        for title, name, show in _USES:
            values = [value for run in runs if (value := number(run.get(name))) is not None]
            middle = max if title == "peak memory" else median
            cells.append(Cell(text=show(middle(values)) if values else DASH))
        rows.append(Row(header=text(program.get("name")), cells=tuple(cells)))
    columns = (
        Column(title="program", words=True),
        Column(title="processor time"),
        *(Column(title=title) for title, _, _ in _USES),
    )
    return Table(caption="", columns=columns, rows=tuple(rows), heading=heading)


def digests(record: Fields, known: Sequence[str]) -> Table:
    """The digest of the answers of each program; several where runs gave different ones."""
    rows = []
    for size in reversed(known):
        for program in objects(record.get("programs")):
            values = case_of(program, size).get("digests")
            texts = [text(value) for value in values] if isinstance(values, list) else []
            distinct = list(dict.fromkeys(filter(None, texts)))
            name = where(text(program.get("name")), size, several=len(known) > 1)
            cell = Cell(text=", ".join(distinct[:4]) or DASH, tone="mono")
            rows.append(Row(header=name, cells=(cell,)))
    columns = (Column(title="program", words=True), Column(title="digest", words=True))
    return Table(caption="", columns=columns, rows=tuple(rows))


def commands(record: Fields) -> Table:
    """The command of each program, and the relative paths in it that were resolved."""
    rows = []
    for program in objects(record.get("programs")):
        resolved = mapping(program.get("resolved"))
        paths = ", ".join(f"{word} is {text(path)}" for word, path in resolved.items())
        cell = Cell(text=text(program.get("command")), note=paths, tone="mono lines")
        rows.append(Row(header=text(program.get("name")), cells=(cell,)))
    columns = (Column(title="program", words=True), Column(title="command", words=True))
    return Table(caption="", columns=columns, rows=tuple(rows), heading="What was run")


def output(record: Fields) -> Table:
    """The last lines of both streams of each program."""
    rows = []
    for program in objects(record.get("programs")):
        cases = objects(program.get("cases"))
        for case in cases[-1:]:
            for stream in ("stdout", "stderr"):
                fields = mapping(case.get(stream))
                lines = [line for line in text(fields.get("tail")).splitlines() if line.strip()]
                if lines:
                    size = n.size(number(fields.get("bytes")) or 0)
                    cell = Cell(text="\n".join(lines[-TAIL_LINES:]), note=size, tone="mono lines")
                    rows.append(Row(header=f"{text(program.get('name'))}, {stream}", cells=(cell,)))
    columns = (Column(title="program", words=True), Column(title="last lines", words=True))
    return Table(caption="", columns=columns, rows=tuple(rows))


def _verdict_cell(case: Fields) -> Cell:
    verdict = text(case.get("verdict"))
    note = "the reference" if verdict == "reference" else ""
    shown = _VERDICTS.get(verdict, verdict)
    return Cell(text=shown, note=note, tone="" if verdict in TIMED else "bad")
