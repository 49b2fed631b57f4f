"""Each engine gives the answer of the golden cases, and native's on inputs of random sizes.

Its capabilities are those of its functions.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conformancekit import Case, RandomThreads, golden_cases, random_case
from cuesta import _native
from cuesta.engines import ENGINE_NAMES, Engine, get_engine, rounds
from cuesta.engines.mpi import launch
from cuesta.errors import CuestaError
from cuesta.native import to_request
from cuesta.trial import Outcome, Trial
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
FUNCTIONS = {
    "has_uri_client": ("remote_facts", "fetch"),
    "has_variants": ("missing_for",),
    "has_session": ("close",),
    "has_log": ("log_totals",),
    "has_stages": ("stages",),
    "has_limits": ("limits",),
}
"""Functions of an engine behind each of its capabilities."""


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


def overrides(engine: Engine, function: str) -> bool:
    """Return whether an engine has a function of its own."""
    return getattr(type(engine), function) is not getattr(Engine, function)


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


@pytest.mark.parametrize("capability", FUNCTIONS)
@pytest.mark.parametrize("name", MAKE)
def test_a_capability_is_a_function_of_the_engine(name: str, capability: str) -> None:
    engine = MAKE[name]()
    states = {overrides(engine, function) for function in FUNCTIONS[capability]}
    assert states == {getattr(engine.capabilities, capability)}


@pytest.mark.parametrize("name", GOLDEN)
def test_a_run_has_the_log_and_the_stages_of_its_capabilities(
    name: str, engines: Callable[[str], Any], tmp_path: Path
) -> None:
    case = next(case for case in golden_cases() if case.workload == "scan")
    if not runs(name, case.workload):
        pytest.skip("not a workload of this engine")
    engine = engines(name).with_progress(lambda done, total: None)
    assert engine.name == MAKE[name]().name
    digest_of(case, engine, tmp_path / "a")
    assert bool(engine.log_totals()) == engine.capabilities.has_log
    # Hadoop's local runner has no history.
    if name != "hadoop":
        assert bool(engine.stages()) == engine.capabilities.has_stages


def test_means_of_rounds_are_those_of_the_capabilities(
    engines: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lead, run_ranks = rounds.run, launch.run_ranks
    states: dict[str, Any] = {}

    def leading(trial: Trial, places: Any, means: rounds.Means, engine: Any) -> Outcome:
        states[trial.engine] = (means.text, means.keeps, means.slow_to_begin)
        return lead(trial, places, means, engine)

    def running(ranks: int, request: dict[str, Any], scratch: Path) -> dict[str, Any]:
        states["mpi"] = (False, request["keeps"], False)
        return run_ranks(ranks, request, scratch)

    monkeypatch.setattr(rounds, "run", leading)
    monkeypatch.setattr(launch, "run_ranks", running)
    case = next(case for case in golden_cases() if case.workload == "scan")
    for name in ("spark", "dask", "hadoop", "mpi"):
        if MAKE[name]().missing() is None:
            digest_of(case, engines(name), tmp_path / name)
            able = engines(name).capabilities
            expected = (able.shuffles_text, able.keeps_state, able.begins_slowly)
            assert states[name] == expected, name


@pytest.mark.parametrize("name", GOLDEN)
def test_an_engine_that_reads_uris_finds_the_answer_there(
    name: str, engines: Callable[[str], Any], tmp_path: Path
) -> None:
    case = next(case for case in golden_cases() if case.workload == "scan")
    engine = engines(name)
    able = engine.capabilities
    assert not (able.reads_uris and able.has_uri_client)
    uris = tuple(f"file://{Path(path).absolute()}" for path in case.inputs)
    if able.has_uri_client:
        trial = case.trial(engine.name)
        assert engine.remote_facts(trial, uris[0], tmp_path)[1] >= 1
        assert engine.fetch(trial, uris[0], tmp_path).exists()
    elif able.reads_uris:
        assert digest_of(replace(case, inputs=uris), engine, tmp_path / "a") == case.digest
    else:
        with pytest.raises((CuestaError, OSError)):
            digest_of(replace(case, inputs=uris), engine, tmp_path / "a")


@pytest.mark.parametrize("name", GOLDEN)
def test_a_second_close_has_no_effect(name: str, engines: Callable[[str], Any]) -> None:
    engine = engines(name)
    engine.close()
    engine.close()
