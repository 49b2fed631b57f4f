"""Tables as readers make them: named columns and rows that can be read again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cuesta.programs.answers.cells import Row


class UnreadableAnswer(Exception):
    """An answer cannot be compared; the message is one line without the name of its program."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """Options for reading answers.

    Attributes
    ----------
    kind
        A format of `cuesta.programs.answers.formats`.
    header
        Whether the first line of a text names the columns; None to find out.
    """

    kind: str
    header: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table that is read from its file each time.

    Attributes
    ----------
    columns
        Names of the columns; numbers from 1 where the file has none.
    is_named
        Whether the file names its columns.
    is_ordered
        Whether the place of a row is part of the answer, as in an array.
    rows
        Function that reads all rows anew. Errors: `UnreadableAnswer`.
    """

    columns: tuple[str, ...]
    is_named: bool
    is_ordered: bool
    rows: Callable[[], Iterator[Row]]


def numbered(count: int) -> tuple[str, ...]:
    """Names of columns without names."""
    return tuple(str(index + 1) for index in range(count))


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns. Errors: `UnreadableAnswer` if a name occurs twice."""
    for name in names:
        if names.count(name) > 1:
            raise UnreadableAnswer(
                f"two of its columns are called {name!r}; give each a name of its own, or "
                "--no-header if the first line is data"
            )
    return tuple(names)


def aligned(table: Table, columns: Sequence[str]) -> Callable[[], Iterator[Row]]:
    """Rows with their cells in the order of `columns`, which are those of the table."""
    if tuple(columns) == table.columns:
        return table.rows
    places = [table.columns.index(name) for name in columns]

    def rows() -> Iterator[Row]:
        for row in table.rows():
            yield tuple([row[place] for place in places])

    return rows
