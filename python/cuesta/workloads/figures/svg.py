"""Elements of standalone SVG pictures, the same bytes for the same values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" '
    'font-family="sans-serif" font-size="12">\n<rect width="{w}" height="{h}" fill="white"/>\n'
)


def picture(width: int, height: int, parts: Iterable[str]) -> bytes:
    """Return an SVG file."""
    return (_HEAD.format(w=width, h=height) + "\n".join(parts) + "\n</svg>\n").encode()


def number(value: float) -> str:
    """Return a coordinate of at most two decimals."""
    # Minus zero becomes zero.
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def text(x: float, y: float, words: str, look: str = "") -> str:
    """Return text at a place; `look` are further attributes."""
    return f'<text x="{number(x)}" y="{number(y)}" {look}>{escape(words)}</text>'


@dataclass(frozen=True, kw_only=True)
class Box:
    """A box by its upper left corner."""

    x: float
    y: float
    width: float
    height: float


def rect(box: Box, fill: str, title: str = "") -> str:
    """Return a filled box, with a title that is shown on it."""
    x, y, width, height = map(number, (box.x, box.y, box.width, box.height))
    shape = f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill={quoteattr(fill)}'
    return f"{shape}><title>{escape(title)}</title></rect>" if title else f"{shape}/>"


def path(points: Iterable[str], colour: str = "black", width: float = 1) -> str:
    """Return lines without a fill."""
    drawn = "".join(points)
    return f'<path d="{drawn}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def circle(x: float, y: float, colour: str, title: str) -> str:
    """Return a dot with a title."""
    place = f'cx="{number(x)}" cy="{number(y)}" r="3.5"'
    return f"<circle {place} fill={quoteattr(colour)}><title>{escape(title)}</title></circle>"


def diverging(value: float) -> str:
    """Return the colour of a number from -1, blue, over 0, white, to 1, red."""
    if math.isnan(value):
        return "#dddddd"
    value = max(-1.0, min(1.0, value))
    fade = round(255 * (1 - abs(value)))
    red, blue = (255, fade) if value > 0 else (fade, 255)
    return f"#{red:02x}{fade:02x}{blue:02x}"


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart of points with two axes.

    Attributes
    ----------
    title, x, y
        Title and names of the axes.
    points
        Places of the points; those that are not finite are left out.
    is_log
        Whether the axis up has powers of ten; points that are not positive are left out.
    level
        Value with a dashed line across.
    mark
        Place on the axis across with a dashed line up.
    """

    title: str
    x: str
    y: str
    points: Sequence[tuple[float, float]]
    is_log: bool = False
    level: float | None = None
    mark: float | None = None


WIDTH, HEIGHT = 460, 330
_LEFT, _TOP, _RIGHT, _FOOT = 64, 34, 14, 46


def chart(drawn: Chart, left: float) -> list[str]:
    """Return the parts of a chart at an offset from the left."""
    points = [(x, y) for x, y in drawn.points if math.isfinite(y) and (y > 0 or not drawn.is_log)]
    heights = [math.log10(y) if drawn.is_log else y for _, y in points]
    xs = [x for x, _ in drawn.points] or [0.0]
    if drawn.level is not None:
        heights.append(drawn.level)
    low, high = min(heights, default=0.0), max(heights, default=1.0)
    if drawn.is_log:
        low, high = math.floor(low), math.ceil(high)
    high = high if high > low else low + 1
    first, last = min(xs), max(xs) if max(xs) > min(xs) else min(xs) + 1
    wide, tall = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _FOOT

    def across(x: float) -> float:
        return left + _LEFT + wide * (x - first) / (last - first)

    def down(y: float) -> float:
        return _TOP + tall * (1 - (y - low) / (high - low))

    parts = [
        text(left + WIDTH / 2, 20, drawn.title, 'text-anchor="middle" font-weight="bold"'),
        text(left + _LEFT + wide / 2, HEIGHT - 10, drawn.x, 'text-anchor="middle"'),
        text(left + 14, _TOP + tall / 2, drawn.y, _turned(left + 14, _TOP + tall / 2)),
        path([f"M{number(left + _LEFT)} {_TOP}v{tall}h{wide}"], "#444444"),
    ]
    for tick in _ticks(first, last):
        parts.append(text(across(tick), _TOP + tall + 16, f"{tick:g}", 'text-anchor="middle"'))
    for tick in _ticks(low, high, in_integers=drawn.is_log):
        label = f"1e{tick:g}" if drawn.is_log else f"{tick:g}"
        place = down(tick)
        parts.append(text(left + _LEFT - 6, place + 4, label, 'text-anchor="end"'))
        parts.append(path([f"M{number(left + _LEFT)} {number(place)}h{wide}"], "#e5e5e5"))
    dashes = 'stroke="#cc0000" stroke-dasharray="5 4"'
    if drawn.level is not None:
        across_at = f"M{number(left + _LEFT)} {number(down(drawn.level))}"
        parts.append(f'<path d="{across_at}h{wide}" {dashes}/>')
    if drawn.mark is not None:
        parts.append(f'<path d="M{number(across(drawn.mark))} {_TOP}v{tall}" {dashes}/>')
    for (x, y), height in zip(points, heights, strict=False):
        title = f"{drawn.x} {x:g}: {y:g}"
        parts.append(circle(across(x), down(height), "#1f77b4", title))
    return parts


def _turned(x: float, y: float) -> str:
    return f'text-anchor="middle" transform="rotate(-90 {number(x)} {number(y)})"'


def _ticks(low: float, high: float, in_integers: bool = False) -> list[float]:
    """Return round numbers of a range, some five of them."""
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 6)
    step = max(1.0, round(step)) if in_integers else step
    first = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - first
    return [round((first + place) * step, 10) for place in range(count + 1)]
