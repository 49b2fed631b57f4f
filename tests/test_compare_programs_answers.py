"""Answers as typed rows: an order-free digest, tolerances, and the first difference in words."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from cuesta.programs.answers import formats
from cuesta.programs.answers.cells import Cell, encoded, is_equal, shown, typed
from cuesta.programs.answers.differences import Difference, of_tables
from cuesta.programs.answers.differences import difference as difference_of
from cuesta.programs.answers.digests import digest_of, summary
from cuesta.programs.answers.pairs import GROUP_MAX, unmatched
from cuesta.programs.answers.rules import Rules, parse_tolerances
from cuesta.programs.answers.tables import Form, Table, UnreadableAnswer

CELLS = some.one_of(
    some.none(),
    some.booleans(),
    some.integers(-(2**70), 2**70),
    some.floats(),
    some.text(max_size=5).filter(bool),
)
ROWS = some.integers(1, 4).flatmap(
    lambda width: some.lists(some.tuples(*[CELLS] * width), min_size=1, max_size=8)
)
AT_ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def table(rows: Sequence[tuple[Cell, ...]], names: Sequence[str] = ()) -> Table:
    """A table of rows with names of columns; of single letters without."""
    columns = tuple(names or "abcdefgh"[: len(rows[0])])
    return Table(columns=columns, is_named=True, is_ordered=False, rows=lambda: iter(rows))


def digest(rows: Sequence[tuple[Cell, ...]], names: Sequence[str] = ()) -> str:
    return digest_of(table(rows, names), ordered=False)[0]


@AT_ANY_SPEED
@given(ROWS, some.randoms(use_true_random=False))
def test_permuted_rows_and_columns_have_the_same_digest(
    rows: list[tuple[Cell, ...]], draw: random.Random
) -> None:
    shuffled = list(rows)
    draw.shuffle(shuffled)
    places = list(range(len(rows[0])))
    draw.shuffle(places)
    names = ["abcdefgh"[place] for place in places]
    turned = [tuple(row[place] for place in places) for row in shuffled]
    assert digest(rows) == digest(turned, names)
    assert of_tables(table(turned, names), table(rows), Rules()) is None


@AT_ANY_SPEED
@given(ROWS, some.data())
def test_any_changed_cell_changes_the_digest_and_is_reported(
    rows: list[tuple[Cell, ...]], data: Any
) -> None:
    row = data.draw(some.integers(0, len(rows) - 1))
    column = data.draw(some.integers(0, len(rows[0]) - 1))
    value = data.draw(CELLS.filter(lambda cell: not is_equal(cell, rows[row][column])))
    changed = [list(each) for each in rows]
    changed[row][column] = value
    other = [tuple(each) for each in changed]
    assert digest(rows) != digest(other)
    first = of_tables(table(other), table(rows), Rules())
    assert first is not None
    assert first.rows is not None
    assert max(first.rows) == 1


@AT_ANY_SPEED
@given(ROWS)
def test_a_row_counts_as_often_as_it_occurs(rows: list[tuple[Cell, ...]]) -> None:
    assert digest(rows) != digest([*rows, rows[0]])
    first = of_tables(table([*rows, rows[0]]), table(rows), Rules())
    assert first is not None
    assert first.kind == "extra row"


@AT_ANY_SPEED
@given(some.lists(CELLS, min_size=2, max_size=2))
def test_encoded_cells_cannot_run_into_each_other(cells: list[Cell]) -> None:
    joined = "".join(map(encoded, cells))
    assert joined.startswith(encoded(cells[0]))
    assert joined.removeprefix(encoded(cells[0])) == encoded(cells[1])


@pytest.mark.parametrize(
    "texts",
    [
        ("1", "1.0", "1e0", "10e-1", "1.", "1.000"),
        ("1000", "1e3", "1E+3", "1000.0"),
        ("0.1", ".1", "1e-1", "0.10", "0.1000000000000000055511151231257827"),
        ("0", "-0", "0.0", "-0.0"),
        ("NaN", "nan", "NAN"),
        ("inf", "Infinity"),
        ("true", "True", "TRUE"),
        ("2024-01-31 10:00:00", "2024-01-31T10:00:00", "2024-01-31 10:00:00.000"),
        ("2024-01-31T10:00:00Z", "2024-01-31 10:00:00+00:00"),
    ],
)
def test_a_value_is_equal_in_any_notation(texts: tuple[str, ...]) -> None:
    assert len({encoded(typed(text)) for text in texts}) == 1


@pytest.mark.parametrize(
    "texts",
    [
        ("9007199254740993", "9007199254740992"),
        ("007", "7"),
        ("+5", "5"),
        ("1e400", "inf"),
        ("", "NaN", "0", "null"),
        ("true", "1"),
        ("0.3", "0.30000000000000004"),
        ("a", "A", "a "),
        ("2024-01-31", "2024-01-31T00:00:00"),
    ],
)
def test_different_values_stay_different(texts: tuple[str, ...]) -> None:
    assert len({encoded(typed(text)) for text in texts}) == len(texts)


def test_text_that_looks_like_a_number_is_shown_in_quotes() -> None:
    assert (shown("1"), shown(1.0), shown(None), shown(math.nan)) == ("'1'", "1", "nothing", "NaN")
    assert shown("a\x1bb") == "'a\\x1bb'"


def test_a_tolerance_is_a_part_of_the_value_plus_an_amount() -> None:
    tolerances = parse_tolerances(["x=1e-3", "y=0+0.5", "z=1e-3+1e-9", "a=b=1e-2"])
    assert tolerances["x"].allows(1000.0, 1001.0)
    assert not tolerances["x"].allows(1000.0, 1002.0)
    assert not tolerances["x"].allows(0.0, 1e-30)
    assert tolerances["y"].allows(0.0, 0.5)
    assert tolerances["z"].allows(0.0, 1e-9)
    assert tolerances["a=b"].allows(100.0, 101.0)
    assert tolerances["x"].allows(math.nan, math.nan)
    assert not tolerances["x"].allows(math.nan, 1.0)
    assert not tolerances["x"].allows(None, 0.0)
    assert not tolerances["x"].allows(math.inf, 1e308)


def test_rows_without_a_key_are_paired_within_the_tolerance() -> None:
    rules = Rules(tolerances=parse_tolerances(["b=1e-6"]))
    rows: list[tuple[Cell, ...]] = [("x", 1.0), ("x", 2.0), ("y", 3.0)]
    near: list[tuple[Cell, ...]] = [("y", 3.0000001), ("x", 2.0000001), ("x", 1.0)]
    assert of_tables(table(near), table(rows), rules) is None
    far = [*near[:2], ("x", 1.1)]
    first = of_tables(table(far), table(rows), rules)
    assert first is not None
    assert "column 'b' is 1.1, in the reference 1" in first.sentence
    assert first.row == {"a": "x"}


@AT_ANY_SPEED
@given(some.lists(some.tuples(some.floats(0, 9), some.floats(0, 9)), max_size=12), some.randoms())
def test_rows_are_paired_where_a_pairing_exists(
    pairs: list[tuple[float, float]], draw: random.Random
) -> None:
    def differing(first: Sequence[Cell], second: Sequence[Cell]) -> list[int]:
        return [
            place
            for place in (0, 1)
            if abs(float(str(first[place])) - float(str(second[place]))) > 0.5
        ]

    moved = [tuple(value + draw.uniform(-0.49, 0.49) for value in pair) for pair in pairs]
    draw.shuffle(moved)
    rest = unmatched(pairs, moved, [0, 1], differing)
    assert rest == ([], [])


def test_many_rows_of_a_group_are_paired_in_their_order() -> None:
    rows = [("x", float(index)) for index in range(GROUP_MAX + 100)]
    near = [("x", index + 0.001) for _, index in reversed(rows)]
    rules = Rules(tolerances=parse_tolerances(["b=0+0.01"]))
    assert of_tables(table(near), table(rows), rules) is None
    assert of_tables(table([*near[1:], ("x", -1.0)]), table(rows), rules) is not None


def test_a_key_finds_missing_and_extra_rows() -> None:
    rules = Rules(key=("a",))
    rows: list[tuple[Cell, ...]] = [(1.0, "x"), (2.0, "y")]
    first = of_tables(table(rows[:1]), table(rows), rules)
    assert first is not None
    assert first.sentence == "its answer lacks the row with a = 2"
    extra: list[tuple[Cell, ...]] = [*rows, (3.0, "z")]
    first = of_tables(table(extra), table(rows), rules)
    assert first is not None
    assert first.sentence == "the reference lacks the row with a = 3"


def as_csv(path: Path, rows: Sequence[Sequence[object]]) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([("k", "v"), *rows])
    path.write_text(text.getvalue())


def as_json(path: Path, rows: Sequence[Sequence[object]]) -> None:
    lines = (json.dumps({"k": key, "v": value}) for key, value in rows)
    path.write_text("\n".join(lines) + "\n")


def as_parquet(path: Path, rows: Sequence[Sequence[object]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    columns = {"k": [row[0] for row in rows], "v": [row[1] for row in rows]}
    pyarrow.parquet.write_table(pa.table(columns), path)


def as_arrow(path: Path, rows: Sequence[Sequence[object]]) -> None:
    import pyarrow as pa

    made = pa.table({"k": [row[0] for row in rows], "v": [row[1] for row in rows]})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, made.schema) as writer:
        writer.write_table(made)


@pytest.mark.parametrize(
    ("name", "write"),
    [("a.csv", as_csv), ("a.jsonl", as_json), ("a.parquet", as_parquet), ("a.arrow", as_arrow)],
)
def test_each_format_of_rows_is_equal_in_any_order(
    tmp_path: Path, name: str, write: Callable[[Path, Sequence[Sequence[object]]], None]
) -> None:
    rows = [("x", 1.5), ("y", 2.0), ("z", None)]
    (tmp_path / "other").mkdir()
    first, second = tmp_path / name, tmp_path / "other" / name
    write(first, rows)
    write(second, rows[::-1])
    form = Form(kind=formats.kind_of(name))
    facts = summary(first, form, Rules())
    assert (facts.columns, facts.rows) == (("k", "v"), 3)
    assert facts.digest == summary(second, form, Rules()).digest
    write(second, [("x", 1.5), ("y", 2.0), ("z", 0)])
    found = difference_of(second, first, form, Rules())
    assert found is not None
    assert "column 'v' is 0, in the reference nothing" in found.sentence


def test_a_folder_of_parts_is_an_answer(tmp_path: Path) -> None:
    """Spark writes a folder of parts, and a mark next to them."""
    for name, parts in (("a", [1, 2]), ("b", [2, 1])):
        (tmp_path / name / "out.csv").mkdir(parents=True)
        for index, part in enumerate(parts):
            (tmp_path / name / "out.csv" / f"part-{index}.csv").write_text(f"k\n{part}\n")
        (tmp_path / name / "out.csv" / "_SUCCESS").write_text("")
    form = Form(kind="csv")
    answers = [summary(tmp_path / name / "out.csv", form, Rules()) for name in "ab"]
    assert answers[0].digest == answers[1].digest
    assert answers[0].rows == 2


def test_the_place_in_an_array_counts(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6.0).reshape(3, 2))
    np.save(tmp_path / "b.npy", np.arange(6.0).reshape(3, 2)[::-1])
    form = Form(kind="npy")
    found = difference_of(tmp_path / "b.npy", tmp_path / "a.npy", form, Rules())
    assert found is not None
    assert found.sentence.startswith("in row 1, column '1' is 4, in the reference 0")
    assert difference_of(tmp_path / "b.npy", tmp_path / "a.npy", form, Rules(order="any")) is None
    np.save(tmp_path / "c.npy", np.array([object()], dtype=object), allow_pickle=True)
    with pytest.raises(UnreadableAnswer, match="is no array of NumPy without Python objects"):
        summary(tmp_path / "c.npy", form, Rules())


def test_a_structured_array_is_a_table(tmp_path: Path) -> None:
    rows = np.array([(1, 2.0), (3, 4.0)], dtype=[("k", "i8"), ("v", "f8")])
    np.save(tmp_path / "a.npy", rows)
    np.save(tmp_path / "b.npy", rows[::-1])
    form = Form(kind="npy")
    digests = {summary(tmp_path / name, form, Rules()).digest for name in ("a.npy", "b.npy")}
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"PAR1 no", "a.parquet cannot be read"),
        ("a.arrow", b"nothing of Arrow", "a.arrow cannot be read"),
        ("a.jsonl", b'{"k": 1}\n{"j": 1}\n', "line 2 of a.jsonl has other keys"),
        ("a.jsonl", b'{"k": 1}\n[1]\n', "line 2 of a.jsonl is not an object"),
        ("a.jsonl", b'{"k": \n', "line 1 of a.jsonl is not JSON"),
        ("a.csv", b'k,v\n"1,2\n', "of a.csv cannot be read"),
        ("a.csv.gz", b"\x1f\x8b\x08\x00 broken", "not whole gzip|not a gzip|cannot be read"),
    ],
)
def test_an_answer_that_cannot_be_read_has_a_reason(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnreadableAnswer, match=message):
        summary(tmp_path / name, Form(kind=formats.kind_of(name)), Rules())


def test_bytes_differ_at_a_place(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"one\ntwo\nthree\n")
    (tmp_path / "b.bin").write_bytes(b"one\ntwO\nthree\n")
    found = difference_of(tmp_path / "b.bin", tmp_path / "a.bin", Form(kind="bytes"), Rules())
    assert found is not None
    assert found == Difference(kind="bytes", sentence=found.sentence)
    assert found.sentence.startswith("from byte 6 on (line 2) it has 'O\\nthree\\n'")
