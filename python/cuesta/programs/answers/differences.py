"""Comparison of an answer with that of a reference, and the first difference in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from cuesta.programs.answers import formats
from cuesta.programs.answers.bytes import first_difference
from cuesta.programs.answers.cells import Row, encoded, is_equal, shown, typed
from cuesta.programs.answers.digests import check_columns, is_ordered
from cuesta.programs.answers.pairs import unmatched
from cuesta.programs.answers.rules import Rules
from cuesta.programs.answers.tables import Form, Table, aligned

CANDIDATES_MAX = 10_000
"""Most rows of the reference among which the most similar one is looked for."""
_NAMED_MAX = 4
"""Most cells that name a row without a key."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The first difference of an answer from the reference.

    Attributes
    ----------
    kind
        `value`, `missing row`, `extra row`, `columns` or `bytes`.
    sentence
        The difference in words.
    row
        Cells that name the row, as texts by column.
    column, answer, reference
        The column, and the cell there in both, as texts; empty where a row is missing.
    rows
        Number of rows of the answer, and of the reference, that have no equal row in the other.
    """

    kind: str
    sentence: str
    row: Mapping[str, str] = field(default_factory=dict)
    column: str = ""
    answer: str = ""
    reference: str = ""
    rows: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """Rows of both answers, cells in the same order, and the rules for them."""

    columns: tuple[str, ...]
    answer: Callable[[], Iterator[Row]]
    reference: Callable[[], Iterator[Row]]
    rules: Rules

    def is_equal(self, column: int, first: Any, second: Any) -> bool:
        tolerance = self.rules.tolerances.get(self.columns[column])
        return tolerance.allows(first, second) if tolerance else is_equal(first, second)

    def differing(self, first: Row, second: Row) -> list[int]:
        """The columns in which two rows differ."""
        return [
            column
            for column, cells in enumerate(zip(first, second, strict=True))
            if not self.is_equal(column, *cells)
        ]

    def places(self, names: Sequence[str]) -> list[int]:
        return [self.columns.index(name) for name in names]


def difference(answer: Path, reference: Path, form: Form, rules: Rules) -> Difference | None:
    """Compare an answer with the reference; None if they are equal.

    Memory holds the rows of the reference that have no equal row in the answer. Errors:
    `UnreadableAnswer`.
    """
    if form.kind == formats.BYTES:
        sentence = first_difference(answer, reference)
        return Difference(kind="bytes", sentence=sentence) if sentence else None
    table, expected_form = formats.read(answer, form), form
    if formats.kind_of(reference.name) not in (form.kind, formats.BYTES):
        expected_form = Form(kind=formats.kind_of(reference.name), header=form.header)
    expected = formats.read(reference, expected_form)
    check_columns(table, rules)
    return of_tables(table, expected, rules, mixed=expected_form is not form)


def of_tables(
    table: Table, expected: Table, rules: Rules, *, mixed: bool = False
) -> Difference | None:
    """Compare two tables; `mixed` where one of them is text, so that text is typed in both."""
    by_name = table.is_named and expected.is_named
    if (sorted(table.columns) if by_name else len(table.columns)) != (
        sorted(expected.columns) if by_name else len(expected.columns)
    ):
        return Difference(kind="columns", sentence=_columns_sentence(table, expected))
    rows, expected_rows = aligned(table, table.columns), expected.rows
    if by_name:
        expected_rows = aligned(expected, table.columns)
    if mixed:
        rows, expected_rows = _typed_rows(rows), _typed_rows(expected_rows)
    pair = _Pair(columns=table.columns, answer=rows, reference=expected_rows, rules=rules)
    if is_ordered(table, rules):
        return _in_order(pair)
    if rules.key:
        return _by_key(pair)
    return _any_order(pair)


def _typed_rows(rows: Callable[[], Iterator[Row]]) -> Callable[[], Iterator[Row]]:
    def typed_rows() -> Iterator[Row]:
        for row in rows():
            yield tuple([typed(cell) if isinstance(cell, str) else cell for cell in row])

    return typed_rows


def _columns_sentence(table: Table, expected: Table) -> str:
    if not (table.is_named and expected.is_named):
        return (
            f"its answer has {len(table.columns)} columns, the reference has "
            f"{len(expected.columns)}"
        )
    extra = [name for name in table.columns if name not in expected.columns]
    missing = [name for name in expected.columns if name not in table.columns]
    parts = [f"it has {', '.join(map(repr, extra))}"] if extra else []
    parts += [f"it lacks {', '.join(map(repr, missing))}"] if missing else []
    hint = "" if len(table.columns) != len(expected.columns) else (
        "; give both the same names, or --no-header if the first line is data"
    )  # fmt: skip
    return f"other column names than the reference: {' and '.join(parts)}{hint}"


def _in_order(pair: _Pair) -> Difference | None:
    first: Difference | None = None
    answer_rows = reference_rows = differing = 0
    for number, (row, expected) in enumerate(zip_longest(pair.answer(), pair.reference()), start=1):
        answer_rows += row is not None
        reference_rows += expected is not None
        if row is None or expected is None:
            continue
        columns = pair.differing(row, expected)
        differing += bool(columns)
        if columns and first is None:
            first = _value(pair, columns[0], (row, expected), {"row": f"{number:,}"})
    if answer_rows != reference_rows:
        kind = "missing row" if answer_rows < reference_rows else "extra row"
        words = f"its answer has {answer_rows:,} rows, the reference has {reference_rows:,}"
        if first:
            words += f"; first difference: {first.sentence}"
        return Difference(kind=kind, sentence=words)
    return first and _counted(first, (differing, differing))


def _by_key(pair: _Pair) -> Difference | None:
    """Compare rows with the same key, which is unique in the answer."""
    places = pair.places(pair.rules.key)
    expected = {_key(row, places): row for row in pair.reference()}
    first: Difference | None = None
    differing = extra = 0
    for row in pair.answer():
        partner = expected.pop(_key(row, places), None)
        if partner is None:
            extra += 1
            first = first or _row(pair, "extra row", row, places)
            continue
        columns = pair.differing(row, partner)
        differing += bool(columns)
        if columns and (first is None or first.kind != "value"):
            named = {pair.columns[place]: shown(row[place]) for place in places}
            first = _value(pair, columns[0], (row, partner), named)
    if expected and first is None:
        first = _row(pair, "missing row", next(iter(expected.values())), places)
    return first and _counted(first, (differing + extra, differing + len(expected)))


def _any_order(pair: _Pair) -> Difference | None:
    """Compare rows as often as they occur: exactly first, the rest with tolerances."""
    counts = Counter("".join(map(encoded, row)) for row in pair.reference())
    rows: list[Row] = []
    for row in pair.answer():
        text = "".join(map(encoded, row))
        if counts[text]:
            counts[text] -= 1
        else:
            rows.append(row)
    expected: list[Row] = []
    counts = +counts
    for row in pair.reference() if counts else ():
        text = "".join(map(encoded, row))
        if counts[text]:
            counts[text] -= 1
            expected.append(row)
    inexact = pair.places(tuple(pair.rules.tolerances))
    if inexact:
        rows, expected = unmatched(rows, expected, inexact, pair.differing)
    if not rows and not expected:
        return None
    return _counted(_nearest(pair, rows, expected), (len(rows), len(expected)))


def _nearest(pair: _Pair, rows: Sequence[Row], expected: Sequence[Row]) -> Difference:
    """The difference of a row from that row of the reference with which it shares the most."""
    if not rows or not expected:
        kind, row = ("extra row", rows[0]) if rows else ("missing row", expected[0])
        return _row(pair, kind, row, range(len(pair.columns)))
    row = rows[0]
    candidates = islice(expected, CANDIDATES_MAX)
    partner = min(candidates, key=lambda candidate: len(pair.differing(row, candidate)))
    columns = pair.differing(row, partner)
    if len(columns) == len(pair.columns):
        return _row(pair, "extra row", row, range(len(pair.columns)))
    named = {
        name: shown(row[place]) for place, name in enumerate(pair.columns) if place not in columns
    }
    return _value(pair, columns[0], (row, partner), dict(islice(named.items(), _NAMED_MAX)))


def _value(pair: _Pair, column: int, rows: tuple[Row, Row], named: Mapping[str, str]) -> Difference:
    name = pair.columns[column]
    first, second = shown(rows[0][column]), shown(rows[1][column])
    where = ", ".join(f"{key} = {text}" for key, text in named.items() if key != "row")
    place = f"row {named['row']}" if "row" in named else f"the row with {where}"
    sentence = f"in {place}, column {name!r} is {first}, in the reference {second}"
    if first == second:
        kinds = (_kind(rows[0][column]), _kind(rows[1][column]))
        sentence = f"in {place}, column {name!r} is the {kinds[0]} {first}, in the reference the "
        sentence += f"{kinds[1]} {second}"
    return Difference(
        kind="value", sentence=sentence, row=named, column=name, answer=first, reference=second
    )


def _kind(cell: object) -> str:
    return "text" if isinstance(cell, str) else "number"


def _row(pair: _Pair, kind: str, row: Row, places: Sequence[int]) -> Difference:
    named = {pair.columns[place]: shown(row[place]) for place in places}
    where = ", ".join(f"{name} = {text}" for name, text in named.items())
    words = "its answer lacks" if kind == "missing row" else "the reference lacks"
    return Difference(kind=kind, sentence=f"{words} the row with {where}", row=named)


def _counted(first: Difference, rows: tuple[int, int]) -> Difference:
    """Add the number of rows that differ."""
    answer_rows, reference_rows = rows
    words = ""
    if max(rows) > 1:
        words = f" ({answer_rows:,} of its rows have no equal in the reference"
        words += (
            f", and {reference_rows:,} the other way)" if answer_rows != reference_rows else ")"
        )
    values = {name: getattr(first, name) for name in ("kind", "row", "column", "answer")}
    return Difference(
        **values, reference=first.reference, sentence=f"{first.sentence}{words}", rows=rows
    )


def _key(row: Row, places: Sequence[int]) -> str:
    return "".join(encoded(row[place]) for place in places)
