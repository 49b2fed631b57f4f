"""The page of a comparison of programs: `programs.json` as a section."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from cuesta import numerals as n
from cuesta.report import programs_export, scales, shapes, svg
from cuesta.report import programs_tables as tables
from cuesta.report.blocks import (
    Alert,
    Block,
    Commands,
    Figure,
    Fold,
    Mark,
    Pair,
    Pairs,
    Part,
    Section,
    SideBySide,
    Table,
)
from cuesta.report.page import put, rendered_section, write_section
from cuesta.report.programs_words import (
    TIMED,
    WRONG,
    Timing,
    agreement,
    case_of,
    fastest,
    size_words,
    sizes,
    timings,
    where,
)
from cuesta.report.records import Fields, mapping, number, objects, text

_CACHES = {
    "as-is": "warm: the input was read once before the first run",
    "input-dropped": "cold: the input's pages were dropped before every run",
    "machine-dropped": "cold: the whole page cache was emptied before every run",
}
_ORIGIN = (
    "Made by `cuesta report` from the record of a comparison of programs and nothing else: the "
    "same record gives the same page."
)
SAMPLES_DRAWN_MAX = 40


def write_page(path: Path, output: Path) -> Path:
    """Write the page of the record at `path`; a table or its data by the suffix of `output`.

    Errors: `InputError`.
    """
    from cuesta.programs import record

    return write_record(record.read(path), output)


def write_record(record: Fields, output: Path) -> Path:
    """Write the page of a record, or another format by the suffix. Errors: `InputError`."""
    if output.suffix in programs_export.SUFFIXES:
        return put(programs_export.exported(record, output.suffix), output)
    return write_section(section(record), output, _ORIGIN)


def framed(record: Fields) -> str:
    """The page in a frame, for a cell of a notebook."""
    page = rendered_section(section(record), _ORIGIN)
    return str(
        Markup('<iframe srcdoc="{}" width="100%" height="700" style="border:0"></iframe>').format(
            page
        )
    )


def section(record: Fields) -> Section:
    """The section of a record: a pure function of it."""
    known = sizes(record)
    names = [text(program.get("name")) for program in objects(record.get("programs"))]
    times = timings(record, known[-1]) if known else []
    optional = (
        _times(record, known),
        _growth(record, known),
        _differences(record, known),
        _uses(record, known),
        _compared(record),
        _output(record),
        _setting(record),
    )
    input_path = next((text(item.get("path")) for item in objects(record.get("inputs"))[-1:]), "")
    about = f" on {Path(input_path).name}" if input_path else ""
    return Section(
        identifier="programs",
        kind="comparison of programs",
        question=f"{n.listed(names)}{about}: equal answers, and in what time?",
        lead=tuple(sentence for sentence in (agreement(record), fastest(times)) if sentence),
        verdict="",
        marks=tuple(_marks(record, known)),
        alerts=tuple(_alerts(record, known)),
        heading_of_grave="Not in the comparison of times",
        facts=tuple(_facts(times, names)),
        parts=tuple(part for part in optional if part is not None and part.blocks),
    )


def _marks(record: Fields, known: Sequence[str]) -> Iterator[Mark]:
    cases = list(_cases(record, known))
    differing = sum(case.get("verdict") in WRONG for _, _, case in cases)
    failed = sum(case.get("verdict") not in (*WRONG, *TIMED) for _, _, case in cases)
    if not differing and not failed:
        yield Mark(text="equal answers", tone="good")
    if differing:
        yield Mark(
            text=f"{n.plural(differing, 'answer')} differ{'s' * (differing == 1)}", tone="bad"
        )
    if failed:
        yield Mark(text=f"{failed} without a comparable answer", tone="bad")
    yield Mark(text=f"{n.plural(int(number(record.get('repeats')) or 0), 'run')} each, in a drawn "
               "order", tone="plain")  # fmt: skip
    cache = _CACHES.get(text(record.get("cache")), "")
    if cache:
        yield Mark(text=cache.partition(":")[0], tone="plain")


def _alerts(record: Fields, known: Sequence[str]) -> Iterator[Alert]:
    """Verdicts that take a program out of the comparison, then remarks."""
    several = len(known) > 1
    cases = list(_cases(record, known))
    for name, size, case in cases:
        if case.get("verdict") not in TIMED:
            words = "differs" if case.get("verdict") in WRONG else text(case.get("verdict"))
            sentence = f"{where(name, size, several=several)} {words}: {text(case.get('sentence'))}"
            yield Alert(text=f"{sentence}.", grave=True)
    for name, size, case in cases:
        for remark in _texts(case.get("remarks")):
            yield Alert(text=f"{where(name, size, several=several)}: {remark}.", grave=False)


def _facts(times: Sequence[Timing], names: Sequence[str]) -> Iterator[Pair]:
    if times:
        best = min(times, key=lambda timing: timing.median)
        yield Pair(name=f"shortest median, {best.name}", text=n.duration(best.median))
    yield Pair(name="programs compared", text=f"{len(times)} of {len(names)}")


def _times(record: Fields, known: Sequence[str]) -> Part | None:
    """Bars, on the same axis at all sizes, and a table of times; the largest size first."""
    blocks: list[Block] = []
    by_size = {size: timings(record, size) for size in reversed(known)}
    ends = [end for times in by_size.values() for time in times for end in (time.low, time.high)]
    last = next((size for size in known if by_size[size]), "")
    for size, times in by_size.items():
        heading = size_words(size).capitalize() if len(known) > 1 else ""
        if times:
            figure = _bars(f"programs-time-{len(blocks)}", times, ends, heading)
            blocks.append(figure if size == last else replace(figure, caption=""))
        table = tables.times(record, size)
        blocks.append(table if times else replace(table, heading=heading))
    aside = (
        "Wall time from the start of a program until its first process ends. Starting it is part "
        "of it; comparing answers is not.",
        "A program whose answer differs, or that failed, has no time.",
    )
    return Part(title="The comparison", aside=aside, blocks=tuple(blocks))


def _bars(identifier: str, times: Sequence[Timing], ends: Sequence[float], heading: str) -> Figure:
    """Bars of times on an axis that has room for all `ends`, in seconds."""
    unit, seconds = n.time_unit(max(ends))
    axis = scales.for_bars([end / seconds for end in ends], n.terse)
    best = min(timing.median for timing in times)
    rows = []
    for timing in times:
        several = len(timing.samples) > 1
        rows.append(
            svg.Bar(
                label=timing.name,
                text=n.duration(timing.median),
                value=timing.median / seconds,
                low=timing.low / seconds if several else None,
                high=timing.high / seconds if several else None,
                samples=tuple(
                    sample / seconds for sample in timing.samples[:SAMPLES_DRAWN_MAX] * several
                ),
                tone="best" if timing.median == best and len(times) > 1 else "other",
            )
        )
    described = "; ".join(f"{row.label} {row.text}" for row in rows)
    frame = shapes.Frame(identifier=identifier, title="Wall time", description=described)
    caption = "Logarithmic scale: equal distances are equal ratios. " * axis.log
    if any(row.low is not None for row in rows):
        caption += (
            "A bar ends at the median. The line across its end is the interval that holds the true "
            "median, with the confidence in the table; the strokes below are the runs."
        )
    return Figure(svg=svg.bars(frame, rows, axis, unit), heading=heading, caption=caption)


def _growth(record: Fields, known: Sequence[str]) -> Part | None:
    if len(known) < 2:
        return None
    aside = ("Median time at each part of the input, and by which power of the size it grows from "
             "the smallest to the largest: 1 is in proportion.",)  # fmt: skip
    return Part(title="How it grows", aside=aside, blocks=(tables.growth(record, known),))


def _differences(record: Fields, known: Sequence[str]) -> Part | None:
    rows = tables.differences(record, known)
    if not rows.rows:
        return None
    aside = (
        "The first row that has no equal in the reference, next to the row of the reference that "
        "is most like it.",
        "Two answers do not say which is right; --expected FILE compares all with a known one.",
    )
    return Part(title="Where answers differ", aside=aside, blocks=(rows,))


def _uses(record: Fields, known: Sequence[str]) -> Part | None:
    blocks: list[Table] = []
    for size in reversed(known):
        heading = size_words(size).capitalize() if len(known) > 1 else ""
        blocks.append(tables.uses(record, size, heading))
    if not any(block.rows for block in blocks):
        return None
    aside = (
        "Of all processes that a program started, over all of them; medians of its runs, and the "
        "highest memory.",
        "“Waits” are how often a process gave up its core to wait; “preempted” how often one was "
        "taken off it.",
    )
    return Part(title="What it used", aside=aside, blocks=tuple(blocks))


def _compared(record: Fields) -> Part:
    """The programs and their answers, and the rules of the comparison."""
    known = sizes(record)
    comparison = mapping(record.get("comparison"))
    rows = [Pair(name="answer", text=text(comparison.get("answer")).replace("-", "what is printed")
                 if text(comparison.get("answer")) == "-" else text(comparison.get("answer"))),
            Pair(name="read as", text=text(comparison.get("format")))]  # fmt: skip
    summaries = [
        mapping(case.get("summary")) for _, _, case in _cases(record, known[-1:])
        if mapping(case.get("summary"))
    ]  # fmt: skip
    if summaries:
        rows += _content(summaries[0])
    rows.append(Pair(name="reference", text=_reference(record, known)))
    rows += _rules(comparison)
    digests = Fold(summary="Digests of the answers", block=tables.digests(record, known))
    aside = (
        "Rows are compared by their values: 1, 1.0 and 1e0 are equal, and so is NaN to NaN; an "
        "empty cell is equal to an empty cell or a null only.",
    )
    return Part(title="What was compared", aside=aside, blocks=(Pairs(items=tuple(rows)), digests))


def _content(summary: Fields) -> list[Pair]:
    rows = number(summary.get("rows"))
    columns = _texts(summary.get("columns"))
    pairs = []
    if rows is not None:
        pairs.append(Pair(name="rows", text=n.count(int(rows))))
        pairs.append(Pair(name="columns", text=n.shortened(columns, 12)))
    pairs.append(Pair(name="size", text=n.size(number(summary.get("size_bytes")) or 0)))
    return pairs


def _reference(record: Fields, known: Sequence[str]) -> str:
    expected = text(mapping(record.get("comparison")).get("expected"))
    if expected:
        return expected
    names = [name for name, _, case in _cases(record, known) if case.get("verdict") == "reference"]
    return f"the answer of {n.listed(list(dict.fromkeys(names)))}" if names else "none"


def _rules(comparison: Fields) -> Iterator[Pair]:
    if text(comparison.get("format")) == "bytes":
        yield Pair(name="equal if", text="all bytes are equal")
        return
    in_order = comparison.get("rows") == "in-order"
    yield Pair(name="order of rows", text="counts" if in_order else "does not count")
    key = _texts(comparison.get("key"))
    yield Pair(name="key", text=", ".join(key) or "none: rows are equal by all columns")
    for name, tolerance in mapping(comparison.get("tolerances")).items():
        amounts = mapping(tolerance)
        words = f"{number(amounts.get('relative')) or 0:g} of the larger value"
        absolute = number(amounts.get("absolute"))
        yield Pair(name=f"tolerance of {name}",
                   text=f"{words} plus {absolute:g}" if absolute else words)  # fmt: skip


def _output(record: Fields) -> Part | None:
    """The last lines of each program that printed something."""
    rows = tables.output(record)
    if not rows.rows:
        return None
    aside = ("The last lines of the last run. The first megabytes are in `stdout.txt` and "
             "`stderr.txt` of its folder.".replace("`", ""),)  # fmt: skip
    return Part(title="What they printed", aside=aside, blocks=(rows,))


def _setting(record: Fields) -> Part:
    words = tuple(map(shlex.quote, _texts(record.get("command"))))
    blocks: list[Block] = []
    if words:
        blocks.append(Commands(heading="To run it again", lines=(words,)))
    blocks.append(tables.commands(record))
    machine = mapping(record.get("machine"))
    left = Pairs(heading="Held to", items=tuple(_limits(record)))
    right = [
        Pair(name="processor", text=text(machine.get("cpu"))),
        Pair(name="memory", text=n.size(number(machine.get("memory_bytes")) or 0)),
        Pair(name="kernel", text=text(machine.get("kernel"))),
        Pair(name="load before", text=f"{number(machine.get('load_average')) or 0:.2f}"),
    ]
    versions = mapping(record.get("versions"))
    right += [Pair(name=name, text=text(value)) for name, value in versions.items()]
    blocks.append(SideBySide(left=(left,), right=(Pairs(heading="Machine", items=tuple(right)),)))
    aside = ("What the numbers above hold for. Another machine gives other times.",)
    return Part(title="The setting", aside=aside, blocks=tuple(blocks))


def _limits(record: Fields) -> Iterator[Pair]:
    yield Pair(name="cores", text=str(int(number(record.get("threads")) or 0)))
    keeper = text(record.get("memory_by"))
    by = {"control group": ", by a control group", "samples": ", by samples"}.get(keeper, "")
    yield Pair(name="memory", text=n.size(number(record.get("memory_bytes")) or 0) + by)
    yield Pair(name="time", text=n.duration(number(record.get("time_limit_seconds")) or 0))
    yield Pair(name="page cache", text=_CACHES.get(text(record.get("cache")), "unknown"))
    for item in objects(record.get("inputs")):
        size = n.size(number(item.get("bytes")) or 0)
        yield Pair(name="input", text=f"{text(item.get('path'))} ({size})")
    yield Pair(name="seed of the order", text=str(int(number(record.get("seed")) or 0)))
    yield Pair(
        name="started", text=text(record.get("started")).replace("T", " ").replace("Z", " UTC")
    )


def _cases(record: Fields, known: Sequence[str]) -> Iterator[tuple[str, str, Fields]]:
    for size in known:
        for program in objects(record.get("programs")):
            yield text(program.get("name")), size, case_of(program, size)


def _texts(value: object) -> list[str]:
    return [text(item) for item in value] if isinstance(value, list) else []
