"""The page of a comparison of programs: a function of a record that others may have written."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from browserkit import CONTRAST_MIN, FAINT_TEXT, MISPLACED_TEXT, NEEDS_CHROMIUM, browser
from cuesta.errors import InputError
from cuesta.report import write_any
from cuesta.report.programs import section
from cuesta.report.programs_words import agreement, fastest, timings

__all__ = ["browser"]


def case(
    verdict: str = "equal", walls: tuple[float, ...] = (1.0, 1.1, 1.2), size: str = "1"
) -> dict[str, Any]:
    """A case of a record with these times."""
    timed = verdict in ("equal", "reference")
    ordered = sorted(walls)
    wall = {"median": ordered[len(walls) // 2], "low": ordered[0], "high": ordered[-1],
            "confidence": 0.97}  # fmt: skip
    run = {"user_seconds": 0.5, "system_seconds": 0.1, "peak_resident_bytes": 1 << 20,
           "read_bytes": 1, "written_bytes": 2, "processes": 1, "waits": 3}  # fmt: skip
    different = {"kind": "value", "sentence": "", "row": {"k": "1"}, "column": "v",
                 "answer": "<b>2</b>", "reference": "1", "rows": [3, 3]}  # fmt: skip
    return {
        "size": size,
        "verdict": verdict,
        "sentence": "" if timed else "in the row with k = 1, column 'v' is <b>2</b>",
        "remarks": [],
        "difference": different if verdict == "different" else None,
        "summary": {"digest": "ab", "rows": 3, "columns": ["k", "v"], "size_bytes": 10},
        "digests": ["ab"],
        "statistics": {"wall_seconds": wall} if timed else None,
        "runs": [{"wall_seconds": seconds, **run} for seconds in walls],
        "stdout": {"bytes": 5, "is_cut": False, "tail": "<i>done</i>\nlast"},
        "stderr": None,
    }


def record(**cases: dict[str, Any]) -> dict[str, Any]:
    """A record with a case for each program."""
    return {
        "schema": "cuesta.programs/1",
        "comparison": {"answer": "out.csv", "format": "csv", "key": ["k"], "sizes": ["1"],
                       "tolerances": {"v": {"relative": 1e-9, "absolute": 0}}, "rows": "any",
                       "expected": None},
        "programs": [
            {"name": name, "command": f"{name} <x>", "resolved": {}, "cases": [one]}
            for name, one in cases.items()
        ],
        "inputs": [{"size": "1", "path": "in.csv", "bytes": 10, "files": 1}],
        "threads": 2, "memory_bytes": 1 << 30, "memory_by": "samples", "repeats": 3,
        "time_limit_seconds": 60, "cache": "as-is", "seed": 0, "command": ["cuesta", "compare x"],
        "machine": {"cpu": "a", "memory_bytes": 1 << 30}, "versions": {"cuesta": "0"},
        "started": "2026-11-29T00:00:00Z",
    }  # fmt: skip


GOOD = record(
    old=case("reference", (4.0, 4.1, 4.2)), new=case("equal", (1.0, 1.1, 1.2)),
    bad=case("different"), gone=case("timed out"),
)  # fmt: skip


def page(path: Path, content: dict[str, Any]) -> str:
    folder = path / "compared"
    folder.mkdir(exist_ok=True)
    (folder / "programs.json").write_text(json.dumps(content))
    return write_any([folder], path / "page.html").read_text("utf-8")


def test_the_same_record_makes_the_same_page_with_all_text_escaped(tmp_path: Path) -> None:
    html = page(tmp_path, GOOD)
    assert html == page(tmp_path, GOOD)
    assert "<b>2" not in html
    assert "<i>done" not in html
    assert "&lt;b&gt;2" in html
    assert "3.7\u00d7" in html


def test_a_program_without_an_equal_answer_has_no_time_on_the_page() -> None:
    assert [timing.name for timing in timings(GOOD, "1")] == ["old", "new"]
    parts = {part.title: part for part in section(GOOD).parts}
    assert "Where answers differ" in parts
    alerts = [alert.text for alert in section(GOOD).alerts if alert.grave]
    assert len(alerts) == 2
    assert agreement(GOOD) == "Equal: old and new; not so: bad and gone, without a time."


def test_overlapping_intervals_name_no_fastest() -> None:
    close = record(a=case("reference", (1.0, 1.2, 1.4)), b=case("equal", (1.1, 1.3, 1.5)))
    assert "No difference can be told between a and b" in fastest(timings(close, "1"))
    assert "new is the fastest" in fastest(timings(GOOD, "1"))
    single = record(a=case("reference", (1.0,)), b=case("equal", (9.0,)))
    assert "one run each tells no difference" in fastest(timings(single, "1"))


VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=4),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=3), inner),
    max_leaves=5,
)


def places(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places in nested values."""
    inner = (
        value.items() if isinstance(value, dict)
        else enumerate(value) if isinstance(value, list) else ()
    )  # fmt: skip
    return [above, *(place for key, one in inner for place in places(one, (*above, key)))]


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=150)
@given(some.sampled_from(places(GOOD)[1:]), VALUES)
def test_any_field_of_another_type_makes_a_page(place: tuple[Any, ...], value: Any) -> None:
    changed = copy.deepcopy(GOOD)
    inner: Any = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    section(changed)


def test_a_file_of_another_schema_is_no_comparison(tmp_path: Path) -> None:
    (tmp_path / "programs.json").write_text('{"schema": "cuesta.programs/2"}')
    with pytest.raises(InputError):
        write_any([tmp_path], tmp_path / "page.html")


@NEEDS_CHROMIUM
@pytest.mark.parametrize("width", [420, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_do_not_overlap_and_have_contrast(
    browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    page(tmp_path, GOOD)
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab.goto(f"file://{tmp_path}/page.html")
    assert tab.evaluate(MISPLACED_TEXT) == []
    assert tab.evaluate(FAINT_TEXT, [CONTRAST_MIN, None]) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.close()
