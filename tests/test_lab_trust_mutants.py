"""A record of which any field has another type is judged or refused in one line."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuesta.cli.app import call

Place = tuple[str | int, ...]

REMOVED = object()
VALUES: tuple[object, ...] = (
    REMOVED, None, True, False, -1, 0, 1, 1.5, 2**70, -(2**70), float("nan"), float("inf"), 1e300,
    "", "x", "\ud800", "\x00", "scan", "kmeans", "assemble", [], {}, [1], ["x"], [None], [{}],
    {"a": 1},
)  # fmt: skip
"""Values of every type, and `REMOVED` for a field that is missing."""
EXAMPLES = 2000 if os.environ.get("CUESTA_SOAK") else 40
LISTED_MAX = 3
"""Elements of a list that are changed, the first ones."""


def _scanned(folder: Path) -> None:
    made = "data make clusters --genes 60 --samples 20 --pairs 1500 --seed 3 -o"
    assert call([*made.split(), str(folder / "pairs.txt")]) == 0
    scan = ["run", "scan", str(folder / "pairs.txt"), "--min-abs-score", "0.2"]
    assert call([*scan, "-o", str(folder / "out")]) == 0


def _assembled(folder: Path) -> None:
    made = "data make reads --bases 4000 --coverage 12 --fragment 200 --seed 1 -o"
    assert call([*made.split(), str(folder / "reads.fq")]) == 0
    assemble = ["run", "assemble", str(folder / "reads.fq"), "--interleaved", "-k", "31"]
    assert call([*assemble, "-o", str(folder / "out")]) == 0


@pytest.fixture(scope="module", params=[_scanned, _assembled])
def answer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a real answer."""
    folder = tmp_path_factory.mktemp("answer")
    make: Callable[[Path], None] = request.param
    make(folder)
    return folder / "out"


def _paths(value: object, at: Place = ()) -> Iterator[Place]:
    """Yield the places of all values within a value."""
    if at:
        yield at
    if isinstance(value, dict):
        for name, element in value.items():
            yield from _paths(element, (*at, name))
    elif isinstance(value, list):
        for index, element in enumerate(value[:LISTED_MAX]):
            yield from _paths(element, (*at, index))


def _changed(fields: dict[str, Any], at: Place, value: object) -> dict[str, Any]:
    changed: Any = copy.deepcopy(fields)
    parent = changed
    for name in at[:-1]:
        parent = parent[name]
    if value is REMOVED:
        del parent[at[-1]]
    else:
        parent[at[-1]] = value
    result: dict[str, Any] = changed
    return result


def _judge(folder: Path, fields: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Check that each command on the record ends as it may, its refusal in one line."""
    file = folder / "run.json"
    real = file.read_text()
    page = folder.parent / "page.html"
    try:
        file.write_text(json.dumps(fields))
        for command in (
            ["verify", str(folder), "--threads", "1"],
            ["explain", str(folder)],
            ["report", str(folder), "-o", str(page)],
        ):
            capsys.readouterr()
            code = call(command)
            printed = capsys.readouterr().err
            assert code in (0, 1, 2), printed
            assert code == 0 or printed.splitlines()[-1].startswith("cuesta: "), printed
            assert "internal error" not in printed
    finally:
        file.write_text(real)


@settings(
    max_examples=EXAMPLES,
    # CI tries the same records each time; `CUESTA_SOAK=1` looks for others.
    derandomize=EXAMPLES == 40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_record_with_any_field_of_another_type_is_no_internal_error(
    data: st.DataObject, answer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`verify` ended in exit 70 for a record with the name of another workload, or a parameter of
    another type or out of its range; `report` did for half of a character. Now all are refused.
    """
    fields = json.loads((answer / "run.json").read_text())
    trial = [("workload",), ("engine",), *_paths(fields["parameters"], ("parameters",))]
    at = data.draw(st.sampled_from(trial) | st.sampled_from(list(_paths(fields))))
    _judge(answer, _changed(fields, at, data.draw(st.sampled_from(VALUES))), capsys)


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (("workload",), "kmeans"),
        (("parameters", "min_count"), -1),
        (("parameters", "min_abs_score"), None),
        (("parameters", "kmer_sizes"), 1.5),
        (("parameters", "profile"), "fast"),
        (("parameters", "unknown"), 1),
        (("inputs",), []),
    ],
)
def test_a_trial_that_could_not_have_run_is_refused_with_a_remedy(
    at: Place, value: object, answer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real = (answer / "run.json").read_text()
    (answer / "run.json").write_text(json.dumps(_changed(json.loads(real), at, value)))
    try:
        assert call(["verify", str(answer)]) == 2
    finally:
        (answer / "run.json").write_text(real)
    line = capsys.readouterr().err.splitlines()[-1]
    assert "not a whole record of a run: " in line
    assert line.endswith("take run.json as the run wrote it, or run again")
