"""Each engine keeps the contract, `cuesta.testing.EngineContract`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conformancekit import RandomThreads
from cuesta.engines import ENGINE_NAMES, Engine, get_engine, rounds
from cuesta.engines.mpi import launch
from cuesta.testing import EngineContract, digest_of, golden_cases
from cuesta.trial import Outcome, Trial
from sparkkit import engine as spark_engine
from sparkkit import scala_engine


class TestNative(EngineContract):
    make = partial(get_engine, "native")
    seeds = 0


class TestRandom(EngineContract):
    make = partial(RandomThreads, 1)


class TestMpi(EngineContract):
    make = partial(get_engine, "mpi")
    options = ({"ranks": "1"}, {"ranks": "3"}, {})


class TestDask(EngineContract):
    make = partial(get_engine, "dask")
    options = ({"tasks": "1"}, {"tasks": "7"}, {})


class TestHadoop(EngineContract):
    make = partial(get_engine, "hadoop")
    seeds = 0
    # Each superstep is a job.
    slow = frozenset({("assemble", "ranking")})
    # Hadoop's local runner has none.
    has_history = False


class TestArray(EngineContract):
    make = partial(get_engine, "array")
    seeds = 0


# A process has a single JVM: the session of the one engine is closed before that of the other.
class TestSparkScala(EngineContract):
    make = scala_engine
    seeds = 0


class TestSpark(EngineContract):
    make = spark_engine
    options = ({"partitions": "1"}, {"partitions": "5"}, {})


def test_each_engine_has_the_contract() -> None:
    names = {contract.make().name for contract in EngineContract.__subclasses__()}
    assert set(ENGINE_NAMES) <= names


def test_each_workload_has_golden_cases() -> None:
    assert {case.workload for case in golden_cases()} == get_engine("native").workloads


@pytest.mark.parametrize("name", ["mpi", "dask", "hadoop", "spark"])
def test_means_of_rounds_are_those_of_the_capabilities(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lead, run_ranks = rounds.run, launch.run_ranks
    states: list[tuple[bool, bool, bool]] = []

    def leading(trial: Trial, places: Any, means: rounds.Means, engine: Any) -> Outcome:
        states.append((means.text, means.keeps, means.slow_to_begin))
        return lead(trial, places, means, engine)

    def running(ranks: int, request: dict[str, Any], scratch: Path) -> dict[str, Any]:
        states.append((False, request["keeps"], False))
        return run_ranks(ranks, request, scratch)

    monkeypatch.setattr(rounds, "run", leading)
    monkeypatch.setattr(launch, "run_ranks", running)
    engine: Engine = spark_engine() if name == "spark" else get_engine(name)
    if reason := engine.missing():
        pytest.skip(reason)
    case = next(case for case in golden_cases() if case.workload == "scan")
    try:
        digest_of(case, engine, tmp_path / name)
    finally:
        engine.close()
    able = engine.capabilities
    assert states == [(able.shuffles_text, able.keeps_state, able.begins_slowly)]
