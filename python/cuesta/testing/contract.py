"""The contract of an engine, as a class of tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from cuesta.engines import Engine, get_engine, rounds
from cuesta.errors import CuestaError
from cuesta.testing.cases import Case, digest_of, golden_cases
from cuesta.testing.inputs import random_case
from cuesta.workloads import WORKLOAD_NAMES

FUNCTIONS = {
    "has_uri_client": ("remote_facts", "fetch"),
    "has_variants": ("missing_for",),
    "has_session": ("close",),
    "has_log": ("log_totals",),
    "has_stages": ("stages",),
    "has_limits": ("limits",),
}
"""Functions of an engine behind each of its capabilities."""

_SOAK = bool(os.environ.get("CUESTA_SOAK"))


class EngineContract:
    """Tests of an engine. A subclass whose name begins with `Test` is collected by pytest.

    Attributes
    ----------
    make
        The class of the engine, or another function that creates one. It is also called while
        pytest collects, so it must be cheap, as the engine's constructor.
    options
        Engine options that the inputs of random sizes run with in turn.
    seeds
        Number of inputs of random sizes for each workload that the engine has in common with
        `cuesta.engines.rounds`; 0 for none. Three times as many where `CUESTA_SOAK` is set.
    slow
        Workload and name of golden cases that run only where `CUESTA_SOAK` is set.
    has_history
        Whether the stages of a run can be read here: some engines have them on a cluster only.
    """

    make: ClassVar[Callable[[], Engine]]
    options: ClassVar[Sequence[Mapping[str, str]]] = ({},)
    seeds: ClassVar[int] = 1
    slow: ClassVar[frozenset[tuple[str, str]]] = frozenset()
    has_history: ClassVar[bool] = True

    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls) -> Iterator[Engine]:
        """Engine that all tests of the class share, closed after them; skips where it is
        missing.
        """
        engine = cls.make()
        if reason := engine.missing():
            pytest.skip(reason)
        yield engine
        engine.close()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrize the tests by golden cases, workloads and capabilities."""
        values: dict[str, Callable[[], Sequence[object]]] = {
            "golden": self._golden,
            "random_workload": self._random_workloads,
            "seed": lambda: range(type(self).seeds * (3 if _SOAK else 1)),
            "capability": lambda: list(FUNCTIONS),
        }
        for name, value in values.items():
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, value(), ids=_label)

    def test_its_workloads_are_known(self) -> None:
        """An engine has workloads, and each has golden cases."""
        workloads = type(self).make().workloads
        assert workloads
        assert workloads <= frozenset(WORKLOAD_NAMES)

    def test_a_capability_is_a_function_of_the_engine(self, capability: str) -> None:
        """A capability is there exactly with the functions behind it."""
        engine = type(self).make()
        states = {_overrides(engine, function) for function in FUNCTIONS[capability]}
        assert states == {getattr(engine.capabilities, capability)}

    def test_a_golden_case_has_its_answer(
        self, golden: Case, engine: Engine, tmp_path: Path
    ) -> None:
        """An answer is verified, and has the digest of the case."""
        if (golden.workload, golden.name) in type(self).slow and not _SOAK:
            pytest.skip("only where CUESTA_SOAK is set")
        assert digest_of(golden, engine, tmp_path / "a") == golden.digest

    def test_an_input_of_random_size_has_the_answer_of_native(
        self, random_workload: str, seed: int, engine: Engine, tmp_path: Path
    ) -> None:
        """An answer is verified, and has the digest of engine `native`."""
        case = random_case(random_workload, seed, tmp_path)
        expected = digest_of(case, get_engine("native"), tmp_path / "native")
        options = type(self).options
        turn = sorted(rounds.workloads()).index(random_workload) + seed
        more = options[turn % len(options)]
        assert digest_of(case, engine, tmp_path / "a", **more) == expected

    def test_a_run_has_the_log_and_the_stages_of_its_capabilities(
        self, engine: Engine, tmp_path: Path
    ) -> None:
        """The log and the stages of a run are there exactly with their capabilities."""
        observed = engine.with_progress(_unobserved)
        assert observed.name == engine.name
        digest_of(self._case_of_scan(engine), observed, tmp_path / "a")
        assert bool(observed.log_totals()) == engine.capabilities.has_log
        if type(self).has_history:
            assert bool(observed.stages()) == engine.capabilities.has_stages

    def test_uris_are_read_as_the_capabilities_promise(
        self, engine: Engine, tmp_path: Path
    ) -> None:
        """An input is a URI with `reads_uris`, copied with `has_uri_client`, else refused."""
        able = engine.capabilities
        assert not (able.reads_uris and able.has_uri_client)
        case = next(case for case in golden_cases() if case.workload == "scan")
        uris = tuple(f"file://{Path(path).absolute()}" for path in case.inputs)
        if able.has_uri_client:
            trial = case.trial(engine.name)
            assert engine.remote_facts(trial, uris[0], tmp_path)[1] >= 1
            assert engine.fetch(trial, uris[0], tmp_path).exists()
        elif able.reads_uris:
            case = self._case_of_scan(engine)
            assert digest_of(replace(case, inputs=uris), engine, tmp_path / "a") == case.digest
        else:
            with pytest.raises((CuestaError, OSError)):
                digest_of(replace(case, inputs=uris), engine, tmp_path / "a")

    def test_a_second_close_has_no_effect(self, engine: Engine) -> None:
        """An engine can be closed twice."""
        engine.close()
        engine.close()

    def _golden(self) -> list[Case]:
        engine = type(self).make()
        return [
            case
            for case in golden_cases()
            if case.workload in engine.workloads
            and (engine.name == "native" or not case.native_only)
        ]

    def _random_workloads(self) -> list[str]:
        return sorted(type(self).make().workloads & rounds.workloads())

    def _case_of_scan(self, engine: Engine) -> Case:
        if "scan" not in engine.workloads:
            pytest.skip("the engine has no workload scan")
        return next(case for case in golden_cases() if case.workload == "scan")


def _unobserved(_done: int, _total: int) -> None:
    pass


def _label(value: Any) -> str:
    return f"{value.workload}-{value.name}" if isinstance(value, Case) else str(value)


def _overrides(engine: Engine, function: str) -> bool:
    own_classes = [kind for kind in type(engine).__mro__ if kind not in Engine.__mro__]
    return any(function in vars(kind) for kind in own_classes)
