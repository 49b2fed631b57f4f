"""Values of cells, so that two programs may write the same value in different words.

A number is equal to itself in any notation: `1`, `1.0` and `1e0`. Numbers with a fraction are
64-bit floats; whole numbers that no float holds exactly remain whole numbers. Nothing (an empty
cell, a null) is equal to nothing, and NaN to NaN; all else is text, also numbers with leading zeros
or a leading plus, which are mostly codes.
"""

from __future__ import annotations

import math
import re

Cell = None | bool | int | float | str
Row = tuple[Cell, ...]

_NUMBER = re.compile(r"-?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"-?\d+", re.ASCII)
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)?", re.ASCII
)
_WORDS: dict[str, Cell] = {
    "": None,
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("nan", "NaN", "NAN", "-nan", "-NaN"), math.nan),
    **dict.fromkeys(("inf", "Inf", "INF", "infinity", "Infinity"), math.inf),
    **dict.fromkeys(("-inf", "-Inf", "-INF", "-infinity", "-Infinity"), -math.inf),
}
_DIGITS_MAX = 1000
"""Longest whole number; a longer one is text."""
_SHOWN_CHARACTERS_MAX = 80


def typed(text: str) -> Cell:
    """Type the text of a cell."""
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        if _WHOLE.fullmatch(text):
            return number(int(text)) if len(text) <= _DIGITS_MAX else text
        value = float(text)
        return text if math.isinf(value) else value + 0.0
    return timed(text)


def timed(text: str) -> str:
    """Write a date with a time in one notation; any other text is returned as it is."""
    match = _TIME.fullmatch(text)
    if match is None:
        return text
    day, hours, fraction, zone = match.groups()
    digits = (fraction or "").rstrip("0")
    zone = (zone or "").replace(":", "")
    zone = "Z" if zone in ("+0000", "-0000") else zone
    return f"{day}T{hours}{'.' + digits if digits else ''}{zone}"


def number(value: int | float) -> int | float:
    """A number as a float where that is exact; zero has no sign."""
    try:
        as_float = float(value)
    except OverflowError:
        return value
    if as_float == value or math.isnan(as_float):
        return as_float + 0.0
    return value


def encoded(cell: Cell) -> str:
    """Text that is the same for equal cells only, and ends by itself."""
    match cell:
        case None:
            return "n;"
        case bool():
            return "t;" if cell else "f;"
        case float():
            return f"d{cell!r};"
        case int():
            return f"i{cell};"
        case str():
            return f"s{len(cell)}:{cell}"


def is_equal(first: Cell, second: Cell) -> bool:
    """Whether two cells are equal without a tolerance."""
    return encoded(first) == encoded(second)


def shown(cell: Cell) -> str:
    """A cell as a person reads it; text that could be taken for another type is in quotes."""
    match cell:
        case None:
            return "nothing"
        case bool():
            return "true" if cell else "false"
        case float():
            is_whole = cell.is_integer() and abs(cell) < 2**53
            return str(int(cell)) if is_whole else "NaN" if math.isnan(cell) else repr(cell)
        case int():
            return str(cell)
        case str():
            text = (
                cell if len(cell) <= _SHOWN_CHARACTERS_MAX else f"{cell[:_SHOWN_CHARACTERS_MAX]}…"
            )
            is_plain = isinstance(typed(cell), str) and cell == cell.strip() and cell.isprintable()
            return text if is_plain and cell != "nothing" else repr(text)
