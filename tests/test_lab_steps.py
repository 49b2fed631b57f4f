"""The steps of a trial: each is passed once, and takes the result of the one before."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cuesta.errors import CuestaError
from cuesta.lab import run
from cuesta.lab.observer import Silent
from cuesta.lab.run import run_trial
from cuesta.lab.steps.prepare import prepare
from cuesta.lab.steps.resolve import Request, resolve
from labkit import CopyEngine, names, plan, scan_trial

STEPS = ("resolve", "prepare", "execute", "annotate", "verify", "record")


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the steps that later runs pass."""
    passed: list[str] = []

    def counting(name: str, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def passing(value: Any) -> Any:
            passed.append(name)
            return step(value)

        return passing

    for name in STEPS:
        monkeypatch.setattr(run, name, counting(name, getattr(run, name)))
    return passed


def test_a_trial_passes_each_step_once_whatever_the_repeats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = counted(monkeypatch)
    run_trial(CopyEngine(), scan_trial(tmp_path), plan(tmp_path, repeats=3))
    assert tuple(passed) == STEPS


@pytest.mark.parametrize(
    ("engine", "changes", "last"),
    [
        (CopyEngine(), {"repeats": 0}, "resolve"),
        (CopyEngine(lacking="pip install copy"), {}, "resolve"),
        (CopyEngine(extra="5\t2\n"), {}, "record"),
    ],
)
def test_a_refused_trial_passes_no_later_step(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    engine: CopyEngine,
    changes: dict[str, Any],
    last: str,
) -> None:
    passed = counted(monkeypatch)
    with pytest.raises(CuestaError):
        run_trial(engine, scan_trial(tmp_path), plan(tmp_path, **changes))
    assert tuple(passed) == STEPS[: STEPS.index(last) + 1]


def test_a_step_takes_the_result_of_the_step_before() -> None:
    results = []
    arguments = []
    for name in STEPS:
        step = inspect.unwrap(getattr(run, name))
        hints = typing.get_type_hints(step)
        result = hints.pop("return")
        results.append(typing.get_args(result)[0] if name == "prepare" else result)
        arguments.append(list(hints.values()))
    assert arguments == [[Request], *([result] for result in results[:-1])]


def test_what_was_prepared_is_removed_at_the_end(tmp_path: Path) -> None:
    request = Request(
        engine=CopyEngine(),
        trial=scan_trial(tmp_path),
        plan=plan(tmp_path),
        observer=Silent(),
        began=0.0,
    )
    with prepare(resolve(request)) as prepared:
        assert prepared.trial == prepared.original == prepared.converted
        assert prepared.folder.answer.is_dir()
        assert names(tmp_path) != {"input.txt"}
    assert names(tmp_path) == {"input.txt"}
