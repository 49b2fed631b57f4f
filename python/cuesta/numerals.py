"""Numbers as people read them: three significant figures, IEC sizes, one meaning a unit.

Every function is pure. A number and its unit are joined by a no-break space, so that a line never
ends between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

NBSP = "\u00a0"
TIMES = "\u00d7"
MINUS = "\u2212"

_SIZES = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
_MULTIPLES = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_SHORT = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def significant(value: float, figures: int = 3) -> str:
    """`value` with that many significant figures and thousands separated: 1,234, 12.3, 0.00123."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    magnitude = math.floor(math.log10(abs(value)))
    if abs(round(value, figures - 1 - magnitude)) >= 10 ** (magnitude + 1):
        magnitude += 1
    decimals = max(figures - 1 - magnitude, 0)
    text = f"{abs(value):,.{decimals}f}"
    return MINUS + text if value < 0 else text


def duration(seconds: float) -> str:
    """A time in the unit that suits it: `840 µs`, `1.24 s`, `2 min 05 s`, `1 h 12 min`."""
    if seconds < 0:
        return MINUS + duration(-seconds)
    if seconds == 0:
        return f"0{NBSP}s"
    if seconds < 0.9995e-3:
        return f"{significant(seconds * 1e6)}{NBSP}µs"
    if seconds < 0.9995:
        return f"{significant(seconds * 1e3)}{NBSP}ms"
    if seconds < 119.95:
        return f"{significant(seconds)}{NBSP}s"
    rounded = round(seconds)
    if rounded < 7200:
        return f"{rounded // 60}{NBSP}min{NBSP}{rounded % 60:02d}{NBSP}s"
    minutes = round(seconds / 60)
    return f"{minutes // 60}{NBSP}h{NBSP}{minutes % 60:02d}{NBSP}min"


def size(count_bytes: float) -> str:
    """An amount of bytes: `512 bytes`, `954 MiB`, `1.25 GiB`."""
    value, index = float(count_bytes), 0
    while abs(value) >= 1023.5 and index < len(_SIZES) - 1:
        value, index = value / 1024, index + 1
    if index == 0:
        unit = "byte" if abs(value) == 1 else "bytes"
        return f"{count(round(value))}{NBSP}{unit}"
    return f"{significant(value)}{NBSP}{_SIZES[index]}"


def rate(value: float, unit: str) -> str:
    """A rate per second of `bytes`, `rows` or `flops`: `3.21 GiB/s`, `12.5 M rows/s`."""
    if unit == "bytes":
        return f"{size(value)}/s"
    if unit == "flops":
        return f"{short(value)}flop/s"
    return f"{short(value)}{unit}/s" if abs(value) < 999.5 else f"{short(value)} {unit}/s"


def short(value: float) -> str:
    """A number before a unit, with a decimal prefix: `12.5 M`, `830 ` (a unit may follow)."""
    for multiple, prefix in _SHORT:
        if abs(value) >= 0.9995 * multiple:
            return f"{significant(value / multiple)}{NBSP}{prefix}"
    return f"{significant(value)}{NBSP}"


def time_unit(high: float) -> tuple[str, float]:
    """Name and seconds of the unit that suits an axis which ends at `high` seconds."""
    for name, seconds in (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if high >= (2 * seconds if seconds > 1 else seconds):
            return name, seconds
    return "µs", 1e-6


def size_unit(high: float) -> tuple[str, float]:
    """Name and bytes of the unit that suits an axis which ends at `high` bytes."""
    index = 0
    while high >= 1024 and index < len(_SIZES) - 1:
        high, index = high / 1024, index + 1
    return _SIZES[index], float(1024**index)


def terse(value: float) -> str:
    """A tick label: no trailing zeros, thousands shortened: `0.5`, `250`, `10k`, `2.5M`."""
    if abs(value) >= 1e15:
        return f"{value:.0e}"
    for multiple, prefix in _SHORT:
        if abs(value) >= multiple * (10 if prefix == "k" else 1):
            return f"{MINUS if value < 0 else ''}{abs(value) / multiple:.4g}{prefix}"
    return f"{MINUS if value < 0 else ''}{abs(value):,.10g}"


def count(value: int) -> str:
    """A whole number with thousands separated: `1,234,567`."""
    return f"{MINUS if value < 0 else ''}{abs(value):,}"


def about(value: int) -> str:
    """A whole number in a sentence: `1,234`, `12,345`, `1.23 million`."""
    for multiple, word in _MULTIPLES:
        if abs(value) >= multiple:
            return f"{significant(value / multiple)}{NBSP}{word}"
    return count(value)


def ratio(value: float) -> str:
    """A factor with a multiplication sign: 14, 1.4 or 230 times."""
    return f"{significant(value, 2)}{TIMES}"


def fraction(value: float) -> str:
    """A share of one: `0.83`; never rounded up to 1 unless it is 1."""
    if 0.995 <= value < 1:
        return "0.99"
    return significant(value, 2) if value < 0.0995 else f"{value:.2f}"


def percent(value: float) -> str:
    """A share as per cent: `83 %`, `0.42 %`, `99.9 %`; never 100 % or 0 % unless it is."""
    shown = value * 100
    if 99.95 <= shown < 100:
        shown = 99.9
    if shown == 0 or shown >= 100:
        return f"{round(shown):,}{NBSP}%"
    if shown > 99:
        return f"{shown:.1f}{NBSP}%"
    if shown < 0.01:
        return f"under{NBSP}0.01{NBSP}%"
    return f"{significant(shown, 2)}{NBSP}%"


def plural(number: int, noun: str, nouns: str | None = None) -> str:
    """`1 gene`, `3 genes`; give `nouns` when an s is not enough."""
    word = noun if number == 1 else (nouns or f"{noun}s")
    return f"{count(number)}{NBSP}{word}"


def shortened(words: Sequence[str], most: int) -> str:
    """`a, b and 1,234 more`: the first `most` words, and the number of the others."""
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more:,} more" if more > 0 else "")


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
