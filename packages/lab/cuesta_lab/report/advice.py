"""The page of an advice: the best choices, a chart of price and time, the calculation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cuesta import numerals as n
from cuesta.report import plots, scales, shapes, svg
from cuesta.report.blocks import Alert, Figure, Fold, Key, Pair, Pairs, Part, Section
from cuesta.report.page import write_section
from cuesta.units import format_bytes, format_seconds
from cuesta_lab.model import advise
from cuesta_lab.model.choices import EQUATION
from cuesta_lab.model.ranking import money
from cuesta_lab.report import choices, hardware
from cuesta_lab.report.choices import Choice, short

SPOTS_MAX = 400
"""Most points of the chart: beyond, those with the least time by price."""
BARS_MAX = 14
"""Most bars of the chart where there are no prices, the fastest first."""
TICKS_FEW = 2
"""Fewest ticks of the first table below which those of the second table are added."""

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
"""Additional ticks, where the first table has too few."""


_UNIT = re.compile(r"(?<=\d) (?=(?:h|min|s|ms|us|GB|TB)\b|[%$])")
_PARTS = re.compile(r"(?<=[hn]) (?=\d\d\u00a0(?:min|s)\b)")


def write(advice: Mapping[str, Any], output: Path) -> Path:
    """Write the page of an advice (`cuesta.advice/1`); return its path.

    Errors: `InputError` where `output` cannot be written.
    """
    section = Section(
        identifier="advice",
        kind=f"{advice['workload']}, {format_bytes(advice['size_bytes'])} of input",
        question=_question(advice),
        lead=tuple(_unbroken(f"{_title(entry)}: {entry['words']}.") for entry in advice["best"]),
        verdict="",
        marks=(),
        alerts=tuple(Alert(text=text, grave=False) for text in advise.caveats(advice)),
        facts=tuple(_facts(advice)),
        parts=tuple(part for part in _parts(advice) if part is not None),
    )
    return write_section(section, output, "Made by `cuesta advise`. Times are predictions.")


def _question(advice: Mapping[str, Any]) -> str:
    if not advice["machines"]:
        return "Which engine, with which settings?"
    return "Which machine, and how many nodes?"


def _title(best: Mapping[str, Any]) -> str:
    title: str = best["title"]
    return title[:1].upper() + title[1:]


def _unbroken(text: str) -> str:
    """Text in which no line ends within a time, or between a number and its unit."""
    return _PARTS.sub(n.NBSP, _UNIT.sub(n.NBSP, text))


def _facts(advice: Mapping[str, Any]) -> list[Pair]:
    total, possible = len(advice["choices"]), len(choices.possible(advice))
    unpriced = len(choices.unpriced(advice))
    return [
        Pair(name="choices", text=n.count(total)),
        Pair(name="of them possible", text=n.count(possible)),
        Pair(name="of these without a price", text=n.count(unpriced)),
        Pair(name="intervals", text="90 %"),
    ]


def _parts(advice: Mapping[str, Any]) -> list[Part | None]:
    return [
        _picture(advice),
        choices.numbers(advice),
        _more(advice),
        hardware.prices(advice),
        _sums(advice),
    ]


def _picture(advice: Mapping[str, Any]) -> Part:
    """Price across and time up where there are prices; else a bar for each choice."""
    priced = [choice for choice in choices.possible(advice) if choice["dollars"]]
    if len(priced) < 2:
        return _bars(advice)
    best = [entry for entry in advice["best"] if entry["choice"]["dollars"]]
    shown = [entry["choice"] for entry in best]
    undrawn = len(priced) - SPOTS_MAX
    if undrawn > 0:
        priced.sort(key=lambda choice: (choice not in shown, _time_by_price(choice)))
        del priced[SPOTS_MAX:]
    dollars = [choice["dollars"]["value"] for choice in priced]
    times = [choice["seconds"]["value"] for choice in priced]
    times += [choice["seconds"][end] for choice in shown for end in ("low", "high")]
    axes = plots.Axes(
        across=scales.geometric(min(dollars), max(dollars), lambda value: f"{value:g} $"),
        up=_time_axis(min(times), max(times)),
        names=("price of the run", "time"),
        height=320,
    )
    spots = [_spot(advice, choice, "p0") for choice in priced if choice not in shown]
    tops = [_spot(advice, choice, tone) for choice, tone in zip(shown, _TONES, strict=False)]
    keys = [
        Key(
            tone=tone,
            text=f"{entry['title']}: {short(advice, entry['choice'])}",
            mark=shapes.swatch(tone),
        )
        for entry, tone in zip(best, _TONES, strict=False)
    ]
    return Part(
        title="All choices",
        aside=(
            "Down and to the left is better: sooner, and for less.",
            "Both axes grow by ratios. Upright lines: 90 % intervals.",
        ),
        blocks=(
            Figure(
                svg=plots.curves(_frame(advice, "by its price"), [*spots, *tops], axes),
                keys=tuple(keys),
                caption=_unbroken(_not_drawn(advice, undrawn)),
            ),
        ),
    )


def _time_by_price(choice: Choice) -> float:
    return float(choice["seconds"]["value"] * choice["dollars"]["value"])


def _frame(advice: Mapping[str, Any], by: str) -> shapes.Frame:
    return shapes.Frame(
        identifier="advice-choices",
        title=f"Time of the run {by}",
        description="; ".join(best["words"] for best in advice["best"]),
    )


def _not_drawn(advice: Mapping[str, Any], undrawn: int) -> str:
    """Sentences on the choices that are not in a picture of prices, with the fastest of them."""
    cut = ""
    if undrawn > 0:
        cut = f"{n.plural(undrawn, 'choice')} with more time by price than these are not drawn."
    left = choices.unpriced(advice)
    if not left:
        return cut
    count = n.plural(len(left), "choice")
    have = "has no price and is" if len(left) == 1 else "have no price and are"
    which = "it" if len(left) == 1 else "the fastest of them"
    unpriced = (
        f"{count} {have} not in this picture; {which}:"
        f" {short(advice, left[0])}, {format_seconds(left[0]['seconds']['value'])}."
    )
    return " ".join(filter(None, (cut, unpriced)))


def _time_axis(low: float, high: float) -> scales.Axis:
    """A logarithmic axis with ticks at customary times."""
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


def _spot(advice: Mapping[str, Any], choice: Choice, tone: str) -> plots.Curve:
    """A choice as a point; the best ones with their interval of time."""
    seconds, dollars = choice["seconds"], choice["dollars"]["value"]
    low, high = (seconds["low"], seconds["high"]) if tone in _TONES else (seconds["value"],) * 2
    name = short(advice, choice)
    text = f"{name}: {format_seconds(seconds['value'])}, {money(dollars)} $"
    place = plots.Place(x=dollars, y=seconds["value"], low=low, high=high, text=text)
    return plots.Curve(name=name, tone=tone, places=(place,))


def _bars(advice: Mapping[str, Any]) -> Part:
    possible = choices.possible(advice)
    drawn = possible[:BARS_MAX]
    axis = scales.linear(max(choice["seconds"]["high"] for choice in drawn), format_seconds)
    best = choices.best(advice)
    rows = [
        svg.Bar(
            label=short(advice, choice),
            text=choices.time(choice),
            value=choice["seconds"]["value"],
            low=choice["seconds"]["low"],
            high=choice["seconds"]["high"],
            tone=_TONES[best.index(choice)] if choice in best else "other",
        )
        for choice in drawn
    ]
    cut = f"The {len(drawn)} fastest of {n.count(len(possible))}."
    return Part(
        title="All choices",
        aside=("Shorter is better; the line has the interval.", _no_prices(advice)),
        blocks=(
            Figure(
                svg=svg.bars(_frame(advice, "by choice"), rows, axis, ""),
                caption=cut if len(drawn) < len(possible) else "",
            ),
        ),
    )


def _no_prices(advice: Mapping[str, Any]) -> str:
    """Reason why there is no price in the picture."""
    if not advice["machines"]:
        return "Settings that were run here have no price."
    return "Too few choices have a price to draw time by price."


def _more(advice: Mapping[str, Any]) -> Part | None:
    """Effects of more data and more nodes; None where they are unknown."""
    items = [Pair(name="More data", text=_unbroken(text)) for text in advise.turns(advice)]
    items += [
        Pair(name=f"COST on {name}", text=f"{text[:1].upper()}{text[1:]}")
        for name, text in advise.costs(advice)
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


def _sums(advice: Mapping[str, Any]) -> Part:
    """The steps behind the best choices, their measurements and assumptions."""
    equation = _unbroken(f"{EQUATION[:1].upper()}{EQUATION[1:]}.")
    return Part(
        title="What it follows from",
        aside=(equation,) if advice["machines"] else (),
        blocks=tuple(_steps(advice, best) for best in advice["best"]),
    )


def _steps(advice: Mapping[str, Any], best: Mapping[str, Any]) -> Fold:
    choice = best["choice"]
    items = [Pair(name="sum", text=step) for step in choice["steps"]]
    for demand in advice["demands"]:
        if demand["engine"] == choice["engine"]:
            sizes = " to ".join(f"{size / 1e9:.3g}" for size in demand["sizes"])
            items.append(Pair(name="measured", text=f"{sizes} GB: {demand['measured']}"))
    machine = advice["machines"].get(choice["machine"])
    if machine:
        items.append(Pair(name="machine", text=machine["source"]))
        items.append(Pair(name="price of a node", text=advise.price_words(machine["price"])))
        items += [Pair(name="assumed", text=text) for text in machine["assumed"]]
        items += [Pair(name="to know", text=text) for text in machine["notes"]]
    return Fold(summary=f"{_title(best)}: {short(advice, choice)}", block=Pairs(items=tuple(items)))
