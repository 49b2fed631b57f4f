"""Heat maps of eigengenes and of their correlations with traits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from cuesta.workloads.colours import css
from cuesta.workloads.figures import svg
from cuesta.workloads.figures.tables import as_csv, colours_of, header_and_rows, number

_COLUMNS_MAX = 400
"""Columns that are drawn; more samples are averaged."""

_LEFT, _TOP, _ROW = 150, 40, 24
_WIDE = 800


def eigengenes(folder: Path) -> tuple[bytes, bytes]:
    """Draw the eigengene of each module over the samples."""
    header, rows = header_and_rows(folder / "eigengenes.tsv")
    colours = colours_of(folder)
    count = len(header) - 1
    values = [[number(row[1 + module]) for row in rows] for module in range(count)]
    parts = [_title("Eigengenes", f"{len(rows):,} samples")]
    for place, series in enumerate(values):
        drawn = _averaged(series)
        most = max((abs(value) for value in series if value == value), default=0.0) or 1.0
        width, top = _WIDE / max(1, len(drawn)), _TOP + place * _ROW
        parts += _label(header[1 + place], colours[place + 1], top)
        for at, value in enumerate(drawn):
            box = svg.Box(x=_LEFT + at * width, y=top, width=width, height=_ROW - 2)
            parts.append(svg.rect(box, svg.diverging(value / most)))
    if not count:
        parts.append(svg.text(_LEFT, _TOP + 16, "no module"))
    height = _TOP + max(1, count) * _ROW + 10
    return svg.picture(_LEFT + _WIDE + 20, height, parts), as_csv(header, rows)


def _averaged(series: Sequence[float]) -> list[float]:
    """Return at most so many values as are drawn, means of neighbours if there are more."""
    if len(series) <= _COLUMNS_MAX:
        return list(series)
    ends = [place * len(series) // _COLUMNS_MAX for place in range(_COLUMNS_MAX + 1)]
    return [sum(series[start:end]) / (end - start) for start, end in pairwise(ends)]


def traits(folder: Path) -> tuple[bytes, bytes]:
    """Draw the correlation of each module with each trait, with r and p in the cells."""
    header, rows = header_and_rows(folder / "traits.tsv")
    colours = colours_of(folder)
    names = list(dict.fromkeys(row[1] for row in rows))
    modules = list(dict.fromkeys(int(row[0]) for row in rows))
    parts = [_title("Modules and traits", "r (p)")]
    cell = 92
    foot = _TOP + len(modules) * _ROW + 14
    for row in rows:
        across, down = names.index(row[1]), modules.index(int(row[0]))
        r, p = number(row[2]), number(row[3])
        left, top = _LEFT + across * cell, _TOP + down * _ROW
        title = f"module {row[0]}, {row[1]}: r {row[2]}, p {row[3]}, q {row[4]}, n {row[5]}"
        box = svg.Box(x=left, y=top, width=cell - 2, height=_ROW - 2)
        parts.append(svg.rect(box, svg.diverging(r), title))
        words = "NA" if r != r else f"{r:.2f} ({p:.0e})"
        look = 'text-anchor="middle" font-size="11"'
        parts.append(svg.text(left + cell / 2, top + 15, words, look))
    for at, module in enumerate(modules):
        parts += _label(f"ME{module}", colours[module], _TOP + at * _ROW)
    for at, name in enumerate(names):
        x = _LEFT + at * cell + cell / 2
        turned = f'text-anchor="end" transform="rotate(-35 {svg.number(x)} {foot})"'
        parts.append(svg.text(x, foot, name, turned))
    width = _LEFT + max(4, len(names)) * cell + 20
    return svg.picture(width, foot + 90, parts), as_csv(header, rows)


def _title(words: str, more: str) -> str:
    return svg.text(_LEFT, 22, f"{words}: {more}", 'font-weight="bold"')


def _label(name: str, colour: str, top: float) -> list[str]:
    return [
        svg.text(_LEFT - 28, top + 15, f"{name} {colour}", 'text-anchor="end"'),
        svg.rect(svg.Box(x=_LEFT - 22, y=top, width=16, height=_ROW - 2), css(colour)),
    ]
