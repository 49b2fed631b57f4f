"""The parameters of `spec/` are those of the Rust kernels: names, defaults, choices and ranges.

A renamed key once left `run` and `verify` both with Rust's default, so that a wrong run verified.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import cuesta.workloads as module
from cuesta import _native
from cuesta.cli.app import call
from cuesta.errors import CuestaError
from cuesta.workloads import WORKLOAD_NAMES, Parameter, Workload, get_workload
from labkit import ROOT

SPEC = ROOT / "spec" / "workloads"


def read_by_rust(workload: str, values: Mapping[str, object]) -> dict[str, object] | None:
    """Return all parameters as the kernels read them; None where they refuse the values."""
    try:
        parsed: dict[str, object] = json.loads(
            _native.parameters(workload, json.dumps(dict(values)))
        )
    except CuestaError:
        return None
    return parsed


def drift(workload: Workload) -> Iterator[str]:
    """Yield differences between the spec and Rust."""
    name, defaults = workload.name, workload.check({})
    if read_by_rust(name, {}) != defaults:
        yield f"defaults are {read_by_rust(name, {})} in Rust, {defaults} in spec"
    if read_by_rust(name, {"no_such_parameter": 1}) is not None:
        yield "an unknown parameter passes"
    contexts = [
        {},
        *(
            {parameter.name: word}
            for parameter in workload.parameters
            for word in parameter.choices
        ),
    ]
    for parameter in workload.parameters:
        for value in inside(parameter):
            readings = [read_by_rust(name, other | {parameter.name: value}) for other in contexts]
            if not any(read and read.get(parameter.name) == value for read in readings):
                yield f"{parameter.name} {value} is refused"
        for value in outside(parameter):
            if any(read_by_rust(name, other | {parameter.name: value}) for other in contexts):
                yield f"{parameter.name} {value} passes"


def inside(parameter: Parameter) -> list[object]:
    ends = [end for end in (parameter.minimum, parameter.maximum) if end is not None]
    numbers = [int(end) if parameter.type == "int" else end for end in ends]
    flags = [True, False] if parameter.type == "flag" else []
    return [
        *parameter.choices,
        *numbers,
        *flags,
        *([parameter.default] if parameter.type == "text" else []),
    ]


def outside(parameter: Parameter) -> list[object]:
    values: list[object] = ["no such choice"] if parameter.choices else []
    for end, side in ((parameter.minimum, -1), (parameter.maximum, 1)):
        if end is not None:
            beyond = (
                int(end) + side if parameter.type == "int" else math.nextafter(end, side * math.inf)
            )
            values.append(beyond)
    return values


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Copy of `spec/workloads` that the package reads."""
    copy = tmp_path / "workloads"
    shutil.copytree(SPEC, copy)
    monkeypatch.setattr(module, "_SPEC", copy)
    get_workload.cache_clear()
    yield copy
    get_workload.cache_clear()


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new), "utf-8")
    get_workload.cache_clear()


def test_rust_and_spec_have_the_same_workloads() -> None:
    assert set(_native.WORKLOADS) == set(WORKLOAD_NAMES)
    assert {page.parent.name for page in SPEC.glob("*/params.toml")} == set(WORKLOAD_NAMES)


@pytest.mark.parametrize("name", WORKLOAD_NAMES)
def test_rust_reads_the_parameters_of_spec(name: str) -> None:
    assert list(drift(get_workload(name))) == []


@pytest.mark.parametrize("name", WORKLOAD_NAMES)
def test_a_renamed_parameter_is_drift(name: str, spec: Path) -> None:
    for parameter in get_workload(name).parameters:
        path = spec / name / "params.toml"
        key = f'name = "{parameter.name}"'
        if key not in path.read_text("utf-8"):
            shared = (spec / "filter.toml", spec / "table.toml", spec / "matrix.toml")
            path = next(file for file in shared if key in file.read_text("utf-8"))
        changed(path, key, 'name = "renamed"')
        assert list(drift(get_workload(name))), parameter.name
        changed(path, 'name = "renamed"', key)
    assert list(drift(get_workload(name))) == []


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("kmeans", "default = 20", "default = 21"),
        ("kmeans", "maximum = 65536", "maximum = 65537"),
        ("kmeans", "maximum = 65536", "maximum = 65535"),
        ("kmeans", '"kmeans++"]', '"kmeans++", "random"]'),
        ("assemble", "default = 200", "default = 0"),
        ("dataflow", '"25,-12.5,3"', '"25,-12.5,4"'),
        ("communities", "maximum = 1000\n", "maximum = 1001\n"),
        ("images", "minimum = 1\nmaximum = 536", "minimum = 0\nmaximum = 536"),
    ],
)  # fmt: skip
def test_a_changed_default_range_or_choice_is_drift(
    name: str, old: str, new: str, spec: Path
) -> None:
    changed(spec / name / "params.toml", old, new)
    assert list(drift(get_workload(name)))


def test_a_run_with_a_renamed_parameter_stops_as_a_defect(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points = tmp_path / "points.txt"
    points.write_text("1 2\n3 4\n5 6\n", "ascii")
    changed(spec / "kmeans" / "params.toml", 'name = "clusters"', 'name = "groups"')
    answer = tmp_path / "answer"
    assert call(["run", "kmeans", str(points), "--groups", "2", "-o", str(answer)]) == 70
    assert "please report it: arguments: unknown parameter groups" in capsys.readouterr().err
    assert not answer.exists()
