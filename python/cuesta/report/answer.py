"""The part of a section that shows the answer: its counts and the pictures its record carries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from cuesta import numerals as n
from cuesta.report import panels, plots, scales, shapes, svg
from cuesta.report.blocks import Block, Cell, Column, Figure, Key, Pair, Pairs, Part, Row, Table
from cuesta.report.records import Fields, Run, mapping, number, objects, text

VIEWS_MAX = 10
POINTS_MAX = 2000
ROWS_MAX = 50
MARKS_MAX = 4
SEEN_MIN = 0.01
"""Smallest share of the width at which bins of another colour can be seen."""
"""So much of a record's previews is drawn; the lab stays well below it."""

_TONES = ("s1", "s2", "s3")


def part(identifier: str, run: Run) -> Part:
    """Part with the answer of a run; runs with equal digests have the same answer."""
    blocks = views(identifier, run.fields)
    if run.counts:
        items = tuple(Pair(name=_words(name), text=count_text(name, value))
                      for name, value in run.counts.items())  # fmt: skip
        blocks.append(Pairs(items=items, heading="Counts" if blocks else ""))
    aside = ["What came out, whichever engine computed it."] if blocks else []
    files = objects(run.object("answer").get("files"))
    if files:
        names = [f"{text(file.get('name'))} ({n.size(number(file.get('bytes')) or 0)})"
                 for file in files if text(file.get("name")) != "run.json"]  # fmt: skip
        aside.append(f"The whole answer is in {', '.join(names)}.")
    named = text(run.object("names").get("path"))
    if named:
        aside.append(f"Names of genes are from {named}; their numbers are in brackets.")
    return Part(title="The answer", aside=tuple(aside), blocks=tuple(blocks))


def views(identifier: str, fields: Fields) -> list[Block]:
    """The pictures of a record's `preview`."""
    previews = objects(fields.get("preview"))[:VIEWS_MAX]
    blocks = (_view(f"{identifier}-view{at}", view) for at, view in enumerate(previews))
    return [block for block in blocks if block is not None]


def count_text(name: str, value: int) -> str:
    """A count, or an amount when its name ends in a unit."""
    if name.endswith("_bytes"):
        return n.size(value)
    if name.endswith("_millionths"):
        return f"{value / 1e6:.6f}"
    return n.count(value)


def _words(name: str) -> str:
    if name.endswith("_bytes"):
        name = f"{name.removesuffix('_bytes')}_size"
    return name.removesuffix("_millionths").replace("_", " ")


def _view(identifier: str, view: Fields) -> Block | None:
    """A preview as a block; None when it is of an unknown kind or has nothing to draw."""
    makers = {"distribution": _distribution, "histogram": _histogram, "bars": _bars,
              "table": _table, "list": _list, "scatter": panels.scatter,
              "graph": panels.graph}  # fmt: skip
    maker = makers.get(text(view.get("kind")))
    return None if maker is None else maker(identifier, view)


def _distribution(identifier: str, view: Fields) -> Block | None:
    series = [(text(fields.get("name")), _points(fields.get("points"))) for fields in _series(view)]
    series = [(name, points) for name, points in series if points]
    xs = [x for _, points in series for x, _ in points]
    ys = [y for _, points in series for _, y in points]
    if not xs:
        return None
    across = scales.logarithmic(min(xs), max(xs), n.terse)
    up = scales.logarithmic(min(ys), max(ys), n.terse)
    title = text(view.get("title"))
    drawn = [
        plots.Series(name=name, tone=tone, points=points)
        for tone, (name, points) in zip(_TONES, series, strict=False)
    ]
    described = (
        f"{title}: {_x(view)} from {n.terse(min(xs))} to {n.terse(max(xs))} across, number of "
        f"{_y(view)} from {n.terse(min(ys))} to {n.terse(max(ys))} up, both axes logarithmic."
    )
    frame = shapes.Frame(identifier=identifier, title=title, description=described)
    axes = plots.Axes(across=across, up=up, names=(_x(view), _y(view)))
    keys = tuple(
        Key(tone=f"dot {series_drawn.tone}", text=series_drawn.name) for series_drawn in drawn
    )
    return Figure(
        # The first series is the main one: drawn last, it lies on top.
        svg=plots.scatter(frame, drawn[::-1], axes),
        heading=title,
        caption=_sentences(text(view.get("note")), "Both axes are logarithmic."),
        keys=keys if len(keys) > 1 else (),
    )


def _histogram(identifier: str, view: Fields) -> Block | None:
    bins = _bins(view)
    if not bins:
        return None
    low, high = min(bar.low for bar in bins), max(bar.high for bar in bins)
    most = max(bins, key=lambda bar: bar.count)
    across = scales.linear(high, n.terse, low)
    if view.get("tight") is True:
        across = scales.ending(across, high)
    up = scales.linear(max(number(view.get("top")) or most.count, 1.0), n.terse)
    title, marks = text(view.get("title")), _marks(view)
    described = (
        f"{title}: {_x(view)} from {n.terse(low)} to {n.terse(high)} across, number of {_y(view)} "
        f"up; the highest bar is {most.text}."
    )
    if marks:
        described += f" Marked: {', '.join(mark.text for mark in marks)}."
    frame = shapes.Frame(identifier=identifier, title=title, description=described)
    axes = plots.Axes(across=across, up=up, names=(_x(view), _y(view)))
    line = mapping(view.get("line"))
    over = plots.Overlay(line=_points(line.get("points")), marks=marks)
    return Figure(
        svg=plots.histogram(frame, bins, axes, over),
        heading=title,
        caption=text(view.get("note")),
        keys=_histogram_keys(view, bins, text(line.get("name"))),
    )


def _bins(view: Fields) -> list[plots.Bin]:
    split, whole = number(view.get("split")), view.get("whole") is True
    return [
        plots.Bin(
            low=low,
            high=high,
            count=count,
            text=f"{_range(low, high, whole)}: {n.terse(count)} {_y(view)}",
            tone="under" if split is not None and high <= split else "",
        )
        for low, high, count in _triples(view.get("bins"))
        if high > low
    ]


def _range(low: float, high: float, integers: bool) -> str:
    """Range of a bin; of integers, its first and last one."""
    last = high - 1 if integers else high
    return n.terse(low) if last == low else f"{n.terse(low)} to {n.terse(last)}"


def _marks(view: Fields) -> tuple[plots.Mark, ...]:
    marks = [
        plots.Mark(text=text(mark.get("text")), x=number(mark.get("x")), y=number(mark.get("y")))
        for mark in objects(view.get("marks"))[:MARKS_MAX]
    ]
    return tuple(mark for mark in marks if mark.x is not None or mark.y is not None)


def _histogram_keys(view: Fields, bins: Sequence[plots.Bin], line: str) -> tuple[Key, ...]:
    """Legend of the colours, where there are several."""
    keys = [Key(tone="fit", text=line)] if line else []
    low, high = bins[0].low, bins[-1].high
    if sum(bar.high - bar.low for bar in bins if bar.tone) > SEEN_MIN * (high - low):
        names = (("under", view.get("below")), ("bin", view.get("above")))
        keys = [*(Key(tone=tone, text=text(name)) for tone, name in names if text(name)), *keys]
    return tuple(keys)


def _bars(identifier: str, view: Fields) -> Block | None:
    raw = view.get("items")
    items = [
        (str(item[0]), float(item[1]))
        for item in (raw if isinstance(raw, list) else [])[:ROWS_MAX]
        if isinstance(item, list) and len(item) == 2 and number(item[1]) is not None
    ]
    if not items:
        return None
    values = [value for _, value in items]
    title, unit = text(view.get("title")), _x(view)
    described = f"{title}: {', '.join(f'{label} {n.terse(value)}' for label, value in items)}."
    frame = shapes.Frame(identifier=identifier, title=title, description=described)
    rows = [
        svg.Bar(label=label, text=n.count(round(value)), value=value, tone="best")
        for label, value in items
    ]
    axis = scales.for_bars(values, n.terse)
    caption = _sentences(text(view.get("note")), "Logarithmic scale." if axis.log else "")
    return Figure(svg=svg.bars(frame, rows, axis, unit), heading=title, caption=caption)


def _table(_identifier: str, view: Fields) -> Block | None:
    raw = view.get("columns")
    titles = [str(heading) for heading in raw] if isinstance(raw, list) else []
    cells = view.get("rows")
    rows = [
        [_cell_text(cell) for cell in row]
        for row in (cells if isinstance(cells, list) else [])[:ROWS_MAX]
        if isinstance(row, list) and len(row) == len(titles)
    ]
    if not titles or not rows:
        return None
    return Table(
        heading=text(view.get("title")),
        caption=text(view.get("note")),
        columns=tuple(
            Column(title=title, words=index == 0 or _is_words(row[index] for row in rows))
            for index, title in enumerate(titles)
        ),
        rows=tuple(
            Row(header=row[0], cells=tuple(Cell(text=cell) for cell in row[1:])) for row in rows
        ),
    )


def _list(_identifier: str, view: Fields) -> Block | None:
    raw = view.get("items")
    items = tuple(
        Pair(name=str(item[0]), text=str(item[1]))
        for item in (raw if isinstance(raw, list) else [])[:ROWS_MAX]
        if isinstance(item, list) and len(item) == 2
    )
    return Pairs(items=items, heading=text(view.get("title"))) if items else None


def _is_words(cells: Iterable[str]) -> bool:
    """Whether a column holds words, such as names, and not amounts with a unit."""
    return any(re.search(r"[^\W\d_]{2}", cell) for cell in cells)


def _cell_text(cell: object) -> str:
    value = number(cell)
    if value is None:
        return str(cell)
    return n.count(int(value)) if value == int(value) else n.significant(value)


def _series(view: Fields) -> Sequence[Mapping[str, object]]:
    return objects(view.get("series"))[: len(_TONES)]


def _points(raw: object) -> tuple[tuple[float, float], ...]:
    """Points with two positive numbers, as logarithmic axes need them."""
    points = []
    for pair in (raw if isinstance(raw, list) else [])[:POINTS_MAX]:
        if isinstance(pair, list) and len(pair) == 2:
            x, y = number(pair[0]), number(pair[1])
            if x is not None and y is not None and x > 0 and y > 0:
                points.append((x, y))
    return tuple(points)


def _triples(raw: object) -> list[tuple[float, float, float]]:
    triples = []
    for triple in (raw if isinstance(raw, list) else [])[:POINTS_MAX]:
        numbers = [number(value) for value in triple] if isinstance(triple, list) else []
        known = [value for value in numbers if value is not None]
        if len(known) == len(numbers) == 3:
            triples.append((known[0], known[1], known[2]))
    return triples


def _sentences(*texts: str) -> str:
    return " ".join(text for text in texts if text)


def _x(view: Fields) -> str:
    return text(view.get("x")) or "value"


def _y(view: Fields) -> str:
    return text(view.get("y")) or "count"
