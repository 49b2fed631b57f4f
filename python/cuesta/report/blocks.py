"""Parts of a page, as plain values; the template turns each kind into HTML.

Texts are plain: the template escapes them. Only `Figure.svg` is mark-up already.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup


@dataclass(frozen=True, kw_only=True)
class Key:
    """An entry of a legend: its words, and the class of its swatch or the `mark` in its place."""

    tone: str
    text: str
    mark: Markup | None = None


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A chart under an optional heading, with its legend above and its caption below."""

    kind: ClassVar[str] = "figure"
    svg: Markup
    heading: str = ""
    caption: str = ""
    keys: tuple[Key, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Panels:
    """Small charts with the same axes, side by side where there is room, `columns` at most."""

    kind: ClassVar[str] = "panels"
    items: tuple[Figure, ...]
    keys: tuple[Key, ...] = ()
    heading: str = ""
    caption: str = ""
    columns: int = 1


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table; `words` are set left, numbers right."""

    title: str
    words: bool = False


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell: its text, a smaller second line, and the class that colours it."""

    text: str
    note: str = ""
    tone: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row: its header and the cells after it."""

    header: str
    cells: tuple[Cell, ...]
    tone: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table whose first column holds row headers."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    heading: str = ""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A name and its value."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """A list of names and values."""

    kind: ClassVar[str] = "pairs"
    items: tuple[Pair, ...]
    heading: str = ""


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """Two stacks of lists, side by side where there is room."""

    kind: ClassVar[str] = "beside"
    left: tuple[Pairs, ...]
    right: tuple[Pairs, ...]


@dataclass(frozen=True, kw_only=True)
class Commands:
    """Command lines to type, each as its words, quoted for a shell."""

    kind: ClassVar[str] = "commands"
    heading: str
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Fold:
    """A block that opens on a click; open on paper."""

    kind: ClassVar[str] = "fold"
    summary: str
    block: Table | Pairs


Block = Figure | Panels | Table | Pairs | SideBySide | Commands | Fold


@dataclass(frozen=True, kw_only=True)
class Part:
    """A titled part of a section; `aside` are sentences next to it."""

    title: str
    aside: tuple[str, ...]
    blocks: tuple[Block, ...]


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A short statement with a tick (`good`), a cross (`bad`) or a dash (`plain`)."""

    text: str
    tone: str


@dataclass(frozen=True, kw_only=True)
class Alert:
    """A warning; `grave` when the answer itself is in doubt."""

    text: str
    grave: bool


@dataclass(frozen=True, kw_only=True)
class Section:
    """A question with all its measurements.

    `stamp` is a word across it where its times must not be compared, and empty elsewhere;
    `heading_of_grave` stands above its grave alerts.
    """

    identifier: str
    kind: str
    question: str
    lead: tuple[str, ...]
    verdict: str
    marks: tuple[Mark, ...]
    alerts: tuple[Alert, ...]
    facts: tuple[Pair, ...]
    parts: tuple[Part, ...]
    stamp: str = ""
    heading_of_grave: str = "Do not trust this yet"
