"""Parameters of the workloads: one source, checked ranges, defaults that pass."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cuesta.errors import InputError
from cuesta.units import format_bytes, format_seconds, parse_size
from cuesta.workloads import WORKLOAD_NAMES, answers, get_workload
from labkit import ROOT

ALL = [(name, parameter) for name in WORKLOAD_NAMES for parameter in get_workload(name).parameters]


@pytest.mark.parametrize("name", WORKLOAD_NAMES)
def test_each_workload_has_its_page_and_its_defaults_pass(name: str) -> None:
    workload = get_workload(name)
    values = workload.check({})
    assert set(values) == {parameter.name for parameter in workload.parameters}
    assert workload.check(values) == values
    page = (ROOT / "spec" / "workloads" / name / "README.md").read_text()
    for part in ("**Input**", "**Computed**", "**Answer**", "**Digest**", "**Verified by**"):
        assert part in page
    assert any(file in page for file in workload.answer)


@pytest.mark.parametrize(("name", "expected"), ALL)
def test_a_parameter_has_help_and_refuses_what_is_outside_its_range(
    name: str, expected: object
) -> None:
    parameter = next(other for other in get_workload(name).parameters if other == expected)
    assert parameter.help.endswith(".")
    assert parameter.default is not None or parameter.none
    bad: list[object] = []
    bad += [] if parameter.minimum is None else [parameter.minimum - 1]
    bad += [] if parameter.maximum is None else [parameter.maximum + 1]
    bad += ["no such choice"] if parameter.choices else []
    bad += ["abc", float("nan"), float("inf"), ""] if parameter.type in ("int", "float") else []
    bad += [0.5] if parameter.type == "int" else []
    for value in bad:
        with pytest.raises(InputError, match=f"{parameter.option} is .*, give "):
            parameter.check(value)


def test_numbers_take_the_type_of_their_parameter() -> None:
    checked = get_workload("degrees").check({"genes": "20", "min_abs_score": 1})
    assert checked["genes"] == 20
    assert isinstance(checked["genes"], int)
    assert isinstance(checked["min_abs_score"], float)


def test_what_a_workload_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match="scan has no parameter 'genes'"):
        get_workload("scan").check({"genes": 3})
    with pytest.raises(InputError, match="workload 'scam' is not known"):
        get_workload("scam")


def test_an_option_that_would_change_nothing_is_refused() -> None:
    for name, values, expected in (
        ("join", {"max_q": 0.2}, "--max-q is for --test alone; leave it out, or give --test"),
        ("correlate", {"max_p_outliers": 0.1}, "--max-p-outliers is for --method bicor alone"),
    ):
        with pytest.raises(InputError, match=expected):
            get_workload(name).check(values)
    assert get_workload("join").check({"max_q": 0.2, "test": True})["max_q"] == 0.2
    assert get_workload("modules").check({"max_p_outliers": 0.1, "method": "bicor"})


def test_counts_that_a_join_does_not_make_are_not_shown() -> None:
    counts = {"both": 3, "left_only": 0, "right_only": 0}
    assert answers.known(counts, {"how": "inner"}) == {"both": 3}
    assert answers.known(counts, {"how": "left"}) == {"both": 3, "left_only": 0}
    assert answers.known(counts, {"how": "outer"}) == counts


def test_a_join_takes_exactly_two_inputs() -> None:
    join = get_workload("join")
    join.check_inputs(("a", "b"))
    for inputs in (("a",), ("a", "b", "c")):
        with pytest.raises(InputError, match="join takes 2 inputs"):
            join.check_inputs(inputs)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("8GiB", 8 << 30), ("500MB", 500_000_000), ("1.5k", 1536), ("4096", 4096), ("2 TiB", 2 << 40),
     ("1g", 1 << 30), ("10B", 10)],
)  # fmt: skip
def test_sizes_are_read_as_people_write_them(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize("text", ["", "GiB", "-1", "8 gigs", "1e9", "8GiBB", "0x10"])
def test_other_sizes_are_refused_with_the_option(text: str) -> None:
    with pytest.raises(InputError, match="--memory is"):
        parse_size(text, "--memory")


@given(some.integers(0, 1 << 60))
def test_a_printed_size_is_near_the_size(size_bytes: int) -> None:
    printed = parse_size(format_bytes(size_bytes).replace(" ", ""))
    assert abs(printed - size_bytes) <= 0.01 * size_bytes


def test_times_have_three_digits() -> None:
    texts = [format_seconds(seconds) for seconds in (4.5e-5, 0.01234, 1.2345, 99.94, 245.2, 7325.0)]
    assert texts == ["45 us", "12.3 ms", "1.23 s", "99.9 s", "4 min 05 s", "2 h 02 min"]
