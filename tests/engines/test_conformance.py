"""Each engine gives the answer of the golden cases, and native's on inputs of random sizes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conformancekit import Case, RandomThreads, golden_cases, random_case
from cuesta import _native
from cuesta.engines import ENGINE_NAMES, get_engine, rounds
from cuesta.native import to_request
from sparkkit import engine as spark_engine
from sparkkit import scala_engine

SOAK = bool(os.environ.get("CUESTA_SOAK"))
SEEDS = 3 if SOAK else 1
MAKE: dict[str, Callable[[], Any]] = {
    **{name: partial(get_engine, name) for name in ENGINE_NAMES},
    "spark": spark_engine,
    "spark-scala": scala_engine,
    "random": lambda: RandomThreads(1),
}
OPTIONS = {
    "mpi": [{"ranks": "1"}, {"ranks": "3"}, {}],
    "spark": [{"partitions": "1"}, {"partitions": "5"}, {}],
    "dask": [{"tasks": "1"}, {"tasks": "7"}, {}],
}
"""Options that an engine runs with in turn for each workload and seed."""
SLOW = {("hadoop", "assemble", "ranking")}
"""Engine, workload and golden case of which each superstep is a job."""
GOLDEN = sorted(MAKE, key=lambda name: name == "spark")
RANDOM = ("spark", "mpi", "dask", "random")
"""Engines in an order in which the next test can reuse the session of the last."""


@pytest.fixture(scope="module")
def engines() -> Iterator[Callable[[str], Any]]:
    """Engines by name, each made once; of the two that need a JVM, one at a time."""
    by_name: dict[str, Any] = {}

    def get(name: str) -> Any:
        if name not in by_name:
            made_engine = by_name[name] = MAKE[name]()
            if reason := made_engine.missing():
                pytest.skip(reason)
            for other in {"spark", "spark-scala"} & by_name.keys() - {name}:
                if name.startswith("spark"):
                    by_name.pop(other).close()
        return by_name[name]

    yield get
    for engine in by_name.values():
        engine.close()


def digest_of(case: Case, engine: Any, folder: Path, **options: str) -> str:
    """Return the digest of the verified answer of an engine."""
    trial = case.trial(engine.name, **options)
    output, scratch = folder / "answer", folder / "scratch"
    for place in (output, scratch):
        place.mkdir(parents=True)
    engine.run(trial, output, scratch)
    verdict = json.loads(_native.verify(case.workload, to_request(trial, output, scratch)))
    assert verdict["verified"], verdict["remark"]
    digest: str = verdict["digest"]
    return digest


def runs(name: str, workload: str) -> bool:
    """Return whether an engine supports a workload, without creating the engine."""
    return workload in MAKE[name]().workloads


@pytest.mark.parametrize("case", golden_cases(), ids=lambda case: f"{case.workload}-{case.name}")
@pytest.mark.parametrize("name", GOLDEN)
def test_a_golden_case_has_its_answer(
    name: str, case: Case, engines: Callable[[str], Any], tmp_path: Path
) -> None:
    if not runs(name, case.workload) or (case.native_only and name != "native"):
        pytest.skip("not a workload of this engine")
    if (name, case.workload, case.name) in SLOW and not SOAK:
        pytest.skip("in `make soak`")
    assert digest_of(case, engines(name), tmp_path / "a") == case.digest


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("workload", sorted(rounds.workloads()))
@pytest.mark.parametrize("name", RANDOM)
def test_an_input_of_random_size_has_the_answer_of_native(
    name: str, workload: str, seed: int, engines: Callable[[str], Any], tmp_path: Path
) -> None:
    case = random_case(workload, seed, tmp_path)
    expected = digest_of(case, engines("native"), tmp_path / "native")
    options = OPTIONS.get(name, [{}])
    which = sorted(rounds.workloads()).index(workload) + seed
    more = options[which % len(options)]
    assert digest_of(case, engines(name), tmp_path / name, **more) == expected


def test_each_workload_has_golden_cases() -> None:
    assert {case.workload for case in golden_cases()} == get_engine("native").workloads
