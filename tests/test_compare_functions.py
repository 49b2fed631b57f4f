"""Comparing functions of Python that return tables: `cuesta_lab.compare`, and its exports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuesta_lab as lab
from cuesta.errors import InputError
from cuesta.report import write_any
from cuesta.report.programs_export import chart_data, latex, markdown
from test_report_programs import GOOD, page

ROWS = [("x", 1.5), ("y", 2.0), ("z", None)]


def as_pandas() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"k": ["z", "x", "y"], "v": [None, 1.5, 2]})


def as_polars() -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame({"v": [2.0, 1.5, None], "k": ["y", "x", "z"]})


def as_arrow() -> Any:
    pa = pytest.importorskip("pyarrow")
    return pa.table({"k": ["x", "y", "z"], "v": [1.5, 2.0, None]})


def as_columns() -> dict[str, Any]:
    return {"k": np.array(["x", "y", "z"]), "v": [1.5, np.float64(2), None]}


def as_dictionaries() -> list[dict[str, Any]]:
    return [{"k": key, "v": value} for key, value in reversed(ROWS)]


@pytest.mark.parametrize(
    "function",
    [as_pandas, as_polars, as_arrow, as_columns, lambda: ROWS],
    ids=["pandas", "polars", "arrow", "columns", "rows"],
)
def test_tables_of_all_libraries_are_equal(function: Callable[[], Any]) -> None:
    result = lab.compare({"rows": as_dictionaries, "other": function}, repeats=2)
    assert result.equal
    assert repr(result).startswith("The answers of rows and other are equal.")
    assert [row["runs"] for row in result.rows()] == [2, 2]


def test_a_different_table_has_no_time() -> None:
    result = lab.compare({"a": lambda: ROWS, "b": lambda: [*ROWS[:2], ("z", 3)]}, repeats=2)
    assert not result.equal
    rows = {row["program"]: row for row in result.rows()}
    assert rows["b"]["median_s"] is None
    assert rows["b"]["answer"] == "different"
    assert rows["a"]["median_s"] > 0


def test_a_function_that_raises_or_returns_no_table_does_not_end_the_rest() -> None:
    def raises() -> Any:
        raise ValueError("no luck")

    functions = {"raises": raises, "text": lambda: "text", "a": lambda: ROWS, "b": lambda: ROWS}
    result = lab.compare(functions, repeats=2)
    by_name = {program["name"]: program["cases"][0] for program in result.record["programs"]}
    assert by_name["raises"]["sentence"] == "it raised ValueError: no luck"
    assert "it returned a str, which is no table" in by_name["text"]["sentence"]
    assert by_name["a"]["verdict"] == "reference"
    assert by_name["b"]["verdict"] == "equal"


def test_rules_are_those_of_the_command() -> None:
    near = {"a": lambda: [{"k": 1, "v": 1.0}], "b": lambda: [{"k": 1, "v": 1.0001}]}
    assert not lab.compare(near, repeats=1).equal
    assert lab.compare(near, repeats=1, key="k", tolerance={"v": 1e-3}).equal
    arrays = {"a": lambda: np.arange(3), "b": lambda: np.arange(3)[::-1]}
    assert not lab.compare(arrays, repeats=1).equal
    assert lab.compare(arrays, repeats=1, rows="any").equal


def test_tables_that_change_from_call_to_call_are_unstable() -> None:
    numbers = iter(range(9))
    functions = {"a": lambda: [(0,)], "b": lambda: [(next(numbers),)]}
    result = lab.compare(functions, repeats=3)
    assert result.record["programs"][1]["cases"][0]["verdict"] == "unstable"


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"repeats": 0}, "repeats is 0"),
        ({"rows": "sorted"}, "rows is 'sorted'"),
        ({"tolerance": {"v": -1}}, "tolerance of 'v' is -1"),
        ({"threads": 2}, "compare takes key, tolerance, rows, repeats, seed, not threads"),
    ],
)
def test_bad_rules_are_refused(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        lab.compare({"a": lambda: ROWS, "b": lambda: ROWS}, **rules)


def test_a_single_function_is_not_a_comparison() -> None:
    with pytest.raises(InputError, match="at least two functions"):
        lab.compare({"a": lambda: ROWS})


def test_a_result_has_a_page_and_a_frame(tmp_path: Path) -> None:
    result = lab.compare({"a": lambda: ROWS, "<b>": lambda: ROWS}, repeats=2)
    html = result.report(tmp_path / "page.html").read_text()
    assert "&lt;b&gt;" in html
    frame = result._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    assert "<b>" not in frame


def test_exports_have_a_line_for_each_program() -> None:
    assert markdown(GOOD).splitlines()[:3] == [
        "| program | answer | time | interval | relative |",
        "| --- | --- | ---: | ---: | ---: |",
        "| old | reference | 4.10\u00a0s | 4.00\u00a0s to 4.20\u00a0s | 3.7\u00d7 |",
    ]
    assert r"new & equal & 1.10~s & 1.00~s to 1.20~s & 1$\times$ \\" in latex(GOOD)
    assert "bad & different & -- & -- & --" in latex(GOOD)
    lines = chart_data(GOOD).splitlines()
    assert lines[0] == "program,size,run,wall_s,median_s,low_s,high_s"
    assert lines[1] == "old,1,1,4.0,4.1,4.0,4.2"
    assert len(lines) == 1 + 6


@pytest.mark.parametrize("suffix", [".md", ".tex", ".csv"])
def test_report_writes_the_format_of_the_suffix(tmp_path: Path, suffix: str) -> None:
    page(tmp_path, GOOD)
    output = tmp_path / f"table{suffix}"
    text = write_any([tmp_path / "compared"], output).read_text()
    assert "new" in text
    assert "<html" not in text
    with pytest.raises(InputError, match="move it away"):
        write_any([tmp_path / "compared"], output)
