"""Colours of modules for pages and plots, by their names in R."""

from __future__ import annotations

import hashlib

_NAMES = (
    "turquoise blue brown yellow green red black pink magenta purple greenyellow tan salmon cyan "
    "midnightblue lightcyan lightgreen lightyellow royalblue darkred darkgreen darkturquoise "
    "darkgrey orange darkorange white skyblue saddlebrown steelblue paleturquoise violet "
    "darkolivegreen darkmagenta grey"
)
_SAME = frozenset(_NAMES.split())
"""Colours with the same name and value in CSS."""


def css(colour: str) -> str:
    """Return a colour of CSS: the name where CSS has it, else a fixed colour of the name."""
    if colour in _SAME:
        return colour
    if colour.startswith("grey") and colour[4:].isdigit() and int(colour[4:]) <= 100:
        level = round(int(colour[4:]) * 255 / 100)
        return f"#{level:02x}{level:02x}{level:02x}"
    return "#" + hashlib.sha256(colour.encode()).hexdigest()[:6]
