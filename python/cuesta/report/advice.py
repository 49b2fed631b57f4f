"""The page of an advice: the three best choices, one chart of all by price and time, the sums."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cuesta import numerals as n
from cuesta.model import advise
from cuesta.model.choices import EQUATION
from cuesta.report import choices, hardware, plots, scales, shapes, svg
from cuesta.report.blocks import Alert, Figure, Fold, Key, Pair, Pairs, Part, Section
from cuesta.report.choices import Choice, short
from cuesta.report.page import write_section
from cuesta.units import format_bytes, format_seconds

BARS_MAX = 14
"""Bars of the chart where there are no prices, the fastest first."""
TICKS_FEW = 2
"""So few times of the first table, and the second one has some too."""

_TONES = ("p1", "p2", "p3")
_TIMES = (
    (1.0, "1 s"), (10.0, "10 s"), (60.0, "1 min"), (600.0, "10 min"), (3600.0, "1 h"),
    (36e3, "10 h"), (864e3, "10 days"), (864e4, "100 days"), (864e5, "1000 days"),
)  # fmt: skip
_BETWEEN = (
    (120.0, "2 min"),
    (300.0, "5 min"),
    (1800.0, "30 min"),
    (108e2, "3 h"),
    (864e2, "1 day"),
)
"""More of them, where the others are too few."""


_UNIT = re.compile(r"(?<=\d) (?=(?:h|min|s|ms|us|GB|TB)\b|[%$])")
_PARTS = re.compile(r"(?<=[hn]) (?=\d\d\u00a0(?:min|s)\b)")


def write(found: Mapping[str, Any], output: Path) -> Path:
    """Write the page of an advice (`cuesta.advice/1`); its path.

    Errors: `InputError` where `output` cannot be written.
    """
    section = Section(
        identifier="advice",
        kind=f"{found['workload']}, {format_bytes(found['size_bytes'])} of input",
        question=_question(found),
        lead=tuple(_unbroken(f"{_title(one)}: {one['words']}.") for one in found["best"]),
        verdict="",
        marks=(),
        alerts=tuple(Alert(text=text, grave=False) for text in advise.caveats(found)),
        facts=tuple(_facts(found)),
        parts=tuple(part for part in _parts(found) if part is not None),
    )
    return write_section(section, output, "Made by `cuesta advise`. Times are predictions.")


def _question(found: Mapping[str, Any]) -> str:
    if not found["machines"]:
        return "Which engine, with which settings?"
    return "Which machine, and how many nodes?"


def _title(one: Mapping[str, Any]) -> str:
    title: str = one["title"]
    return title[:1].upper() + title[1:]


def _unbroken(text: str) -> str:
    """No line ends within a time, or between a number and its unit."""
    return _PARTS.sub(n.NBSP, _UNIT.sub(n.NBSP, text))


def _facts(found: Mapping[str, Any]) -> list[Pair]:
    total, possible = len(found["choices"]), len(choices.possible(found))
    unpriced = len(choices.unpriced(found))
    return [
        Pair(name="choices", text=n.count(total)),
        Pair(name="of them possible", text=n.count(possible)),
        Pair(name="of these without a price", text=n.count(unpriced)),
        Pair(name="intervals", text="90 %"),
    ]


def _parts(found: Mapping[str, Any]) -> list[Part | None]:
    return [
        _picture(found),
        choices.numbers(found),
        _more(found),
        hardware.prices(found),
        _sums(found),
    ]


def _picture(found: Mapping[str, Any]) -> Part:
    """Price across and time up where there are prices; else a bar for each choice."""
    priced = [one for one in choices.possible(found) if one["dollars"]]
    if len(priced) < 2:
        return _bars(found)
    best = [one for one in found["best"] if one["choice"]["dollars"]]
    shown = [one["choice"] for one in best]
    dollars = [one["dollars"]["value"] for one in priced]
    times = [one["seconds"]["value"] for one in priced]
    times += [one["seconds"][end] for one in shown for end in ("low", "high")]
    axes = plots.Axes(
        across=scales.geometric(min(dollars), max(dollars), lambda value: f"{value:g} $"),
        up=_time_axis(min(times), max(times)),
        names=("price of the run", "time"),
        height=320,
    )
    others = [_spot(found, one, "p0") for one in priced if one not in shown]
    tops = [_spot(found, one, tone) for one, tone in zip(shown, _TONES, strict=False)]
    keys = [
        Key(
            tone=tone,
            text=f"{one['title']}: {short(found, one['choice'])}",
            mark=shapes.swatch(tone),
        )
        for one, tone in zip(best, _TONES, strict=False)
    ]
    return Part(
        title="All choices",
        aside=(
            "Down and to the left is better: sooner, and for less.",
            "Both axes grow by ratios. Upright lines: 90 % intervals.",
        ),
        blocks=(
            Figure(
                svg=plots.curves(_frame(found, "by its price"), [*others, *tops], axes),
                keys=tuple(keys),
                caption=_unbroken(_not_drawn(found)),
            ),
        ),
    )


def _frame(found: Mapping[str, Any], by: str) -> shapes.Frame:
    return shapes.Frame(
        identifier="advice-choices",
        title=f"Time of the run {by}",
        description="; ".join(one["words"] for one in found["best"]),
    )


def _not_drawn(found: Mapping[str, Any]) -> str:
    """Which choices are not in a picture of prices, and the fastest of them."""
    left = choices.unpriced(found)
    if not left:
        return ""
    count = n.plural(len(left), "choice")
    have = "has no price and is" if len(left) == 1 else "have no price and are"
    which = "it" if len(left) == 1 else "the fastest of them"
    return (
        f"{count} {have} not in this picture; {which}:"
        f" {short(found, left[0])}, {format_seconds(left[0]['seconds']['value'])}."
    )


def _time_axis(low: float, high: float) -> scales.Axis:
    """A logarithmic axis with ticks at times that people say."""
    inside = _ticks(_TIMES, low, high)
    if len(inside) <= TICKS_FEW:
        inside = _ticks(sorted((*_TIMES, *_BETWEEN)), low, high)
    ends = [tick.value for tick in inside]
    return scales.Axis(
        low=min([0.9 * low, *ends]), high=max([1.1 * high, *ends]), log=True, ticks=inside
    )


def _ticks(times: Iterable[tuple[float, str]], low: float, high: float) -> tuple[scales.Tick, ...]:
    ticks = (scales.Tick(value=value, label=label) for value, label in times)
    return tuple(tick for tick in ticks if 0.9 * low <= tick.value <= 1.1 * high)


def _spot(found: Mapping[str, Any], choice: Choice, tone: str) -> plots.Curve:
    """A choice as a point; the best ones with their interval of time."""
    seconds, dollars = choice["seconds"], choice["dollars"]["value"]
    low, high = (seconds["low"], seconds["high"]) if tone in _TONES else (seconds["value"],) * 2
    name = short(found, choice)
    text = f"{name}: {format_seconds(seconds['value'])}, {advise.money(dollars)} $"
    place = plots.Place(x=dollars, y=seconds["value"], low=low, high=high, text=text)
    return plots.Curve(name=name, tone=tone, places=(place,))


def _bars(found: Mapping[str, Any]) -> Part:
    possible = choices.possible(found)
    drawn = possible[:BARS_MAX]
    axis = scales.linear(max(one["seconds"]["high"] for one in drawn), format_seconds)
    best = choices.best(found)
    rows = [
        svg.Bar(
            label=short(found, one),
            text=choices.time(one),
            value=one["seconds"]["value"],
            low=one["seconds"]["low"],
            high=one["seconds"]["high"],
            tone=_TONES[best.index(one)] if one in best else "other",
        )
        for one in drawn
    ]
    cut = f"The {len(drawn)} fastest of {n.count(len(possible))}."
    return Part(
        title="All choices",
        aside=("Shorter is better; the line has the interval.", _no_prices(found)),
        blocks=(
            Figure(
                svg=svg.bars(_frame(found, "by choice"), rows, axis, ""),
                caption=cut if len(drawn) < len(possible) else "",
            ),
        ),
    )


def _no_prices(found: Mapping[str, Any]) -> str:
    """Why there is no price in the picture."""
    if not found["machines"]:
        return "Settings that were run here have no price."
    return "Too few choices have a price to draw time by price."


def _more(found: Mapping[str, Any]) -> Part | None:
    """What changes with more data and more nodes; None where that is not known."""
    items = [Pair(name="More data", text=_unbroken(text)) for text in advise.turns(found)]
    items += [
        Pair(name=f"COST on {name}", text=f"{text[:1].upper()}{text[1:]}")
        for name, text in advise.costs(found)
    ]
    if not items:
        return None
    aside = "COST is how much hardware it takes until several nodes beat one (McSherry, Isard and "
    aside += "Murray, HotOS 2015)."
    return Part(
        title="With more data, and more nodes",
        aside=(aside,),
        blocks=(Pairs(items=tuple(items)),),
    )


def _sums(found: Mapping[str, Any]) -> Part:
    """The steps behind the best choices, what they were measured by, what was assumed."""
    equation = _unbroken(f"{EQUATION[:1].upper()}{EQUATION[1:]}.")
    return Part(
        title="What it follows from",
        aside=(equation,) if found["machines"] else (),
        blocks=tuple(_steps(found, one) for one in found["best"]),
    )


def _steps(found: Mapping[str, Any], best: Mapping[str, Any]) -> Fold:
    one = best["choice"]
    items = [Pair(name="sum", text=step) for step in one["steps"]]
    for demand in found["demands"]:
        if demand["engine"] == one["engine"]:
            sizes = " to ".join(f"{size / 1e9:.3g}" for size in demand["sizes"])
            items.append(Pair(name="measured", text=f"{sizes} GB: {demand['measured']}"))
    machine = found["machines"].get(one["machine"])
    if machine:
        items.append(Pair(name="machine", text=machine["source"]))
        items.append(Pair(name="price of a node", text=advise.price_words(machine["price"])))
        items += [Pair(name="assumed", text=text) for text in machine["assumed"]]
        items += [Pair(name="to know", text=text) for text in machine["notes"]]
    return Fold(summary=f"{_title(best)}: {short(found, one)}", block=Pairs(items=tuple(items)))
