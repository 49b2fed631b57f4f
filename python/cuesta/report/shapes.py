"""The pieces that charts are made of, as SVG text: a frame, lines, rectangles, words.

Places across are percentages and places down are pixels, so a chart is as wide as its column while
its letters keep their size. Every text is escaped. Colours are classes that the style sheet fills,
for light and for dark.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup, escape

LABEL_CHARACTERS_MAX = 26
"""Longest label; a longer one is cut in its middle, and complete in the tooltip."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """Names of a chart: `identifier` is unique in the page, `description` is read aloud."""

    identifier: str
    title: str
    description: str


def chart(frame: Frame, height: float, parts: Iterable[Markup], kind: str) -> Markup:
    """The whole chart, named for who cannot see it; `height` in pixels."""
    return _picture(frame, parts, kind, height=number(height))


def drawing(frame: Frame, size: tuple[int, int], parts: Iterable[Markup], kind: str) -> Markup:
    """A picture that grows with its column; places in it are within `size`, across and down."""
    return _picture(frame, parts, kind, viewBox=f"0 0 {size[0]} {size[1]}")


def _picture(frame: Frame, parts: Iterable[Markup], kind: str, **size: str) -> Markup:
    title_id, description_id = f"{frame.identifier}-title", f"{frame.identifier}-desc"
    head = tag("title", frame.title, id=title_id) + tag(
        "desc", frame.description, id=description_id
    )
    return tag(
        "svg",
        head + Markup("").join(parts),
        class_=f"chart {kind}",
        role="img",
        aria_labelledby=f"{title_id} {description_id}",
        width="100%",
        **size,
    )


def group(tooltip: str, *shapes: Markup) -> Markup:
    """Shapes that share a tooltip."""
    return tag("g", tag("title", tooltip) + Markup("").join(shapes))


def line(x1: float, y1: float, x2: float, y2: float, tone: str) -> Markup:
    """A straight line from (x1, y1) to (x2, y2), in per cent across and pixels down."""
    return tag(
        "line",
        x1=percent(x1),
        y1=number(y1),
        x2=percent(x2),
        y2=number(y2),
        class_=tone,
    )


MARKERS = {
    "p1": "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z",
    "p2": "M-3.6 -3.6H3.6V3.6H-3.6Z",
    "p3": "M0 -4.8L4.6 3.4H-4.6Z",
    "p4": "M0 -5.2L5.2 0L0 5.2L-5.2 0Z",
    "p5": "M0 4.8L4.6 -3.4H-4.6Z",
    "p6": "M-4.4 -2.2L-2.2 -4.4L0 -2.2L2.2 -4.4L4.4 -2.2L2.2 0L4.4 2.2L2.2 4.4L0 2.2L-2.2 4.4"
    "L-4.4 2.2L-2.2 0Z",
}
"""The outline of the mark of every tone, around its middle: not all people can distinguish curves
by colours alone."""


def marker(tone: str, x: float, y: float) -> Markup:
    """The mark of a tone, at per cent across and pixels down."""
    path = tag("path", d=MARKERS.get(tone, MARKERS["p1"]), class_=f"dot {tone}")
    return tag("svg", path, x=percent(x), y=number(y), overflow="visible")


def cap(x: float, y: float) -> Markup:
    """The end of an upright interval."""
    path = tag("path", d="M-3.5 0H3.5", class_="whisker")
    return tag("svg", path, x=percent(x), y=number(y), overflow="visible")


def swatch(tone: str) -> Markup:
    """The mark of a tone for a legend."""
    path = tag("path", d=MARKERS.get(tone, MARKERS["p1"]), class_=f"dot {tone}")
    return tag("svg", path, class_="swatch mark", viewBox="-6 -6 12 12", aria_hidden="true")


def text(x: str, y: float, text: str, tone: str, anchor: str = "start") -> Markup:
    """Words at a place; `anchor` is the end of them that is there."""
    return tag("text", text, x=x, y=number(y), class_=tone, text_anchor=anchor)


def shortened(label: str, characters_max: int = LABEL_CHARACTERS_MAX) -> str:
    """`label` with its middle cut out when it is too long to fit next to a value."""
    if len(label) <= characters_max:
        return label
    half = (characters_max - 1) // 2
    return f"{label[:half]}…{label[-half:]}"


def tick_across(place: float, y: float, label: str, anchor: str = "") -> Markup:
    """The label of a tick, kept inside the chart at both its ends."""
    anchor = anchor or ("start" if place < 3 else "end" if place > 94 else "middle")
    return text(percent(place), y, label, "tick", anchor)


def span(left: float, right: float) -> dict[str, str]:
    """`x` and `width` of a rectangle, never thinner than can be seen."""
    width = max(right - left, 0.25)
    return {"x": percent(min(left, 100 - width)), "width": percent(width)}


def percent(value: float) -> str:
    """A place or a width across."""
    return f"{number(value)}%"


def number(value: float) -> str:
    """At most three decimals and no trailing zeros; the same text on every machine."""
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def tag(name: str, content: str = "", **attributes: object) -> Markup:
    """An element; plain `content` is escaped, `Markup` is not."""
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{words}>{escape(content)}</{name}>")
