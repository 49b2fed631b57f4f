"""An input that is truncated while it is read is reported as such, on each engine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cuesta.engines import Capabilities, Engine, get_engine
from cuesta.errors import CuestaError, InputError
from cuesta.lab.plan import Plan
from cuesta.lab.run import run_trial
from cuesta.trial import Outcome, Trial
from sortkit import sorting, write_records

RECORDS = 20_000


class Cutting(Engine):
    """Engine around another engine that truncates the input before or after it is read."""

    capabilities = Capabilities(reads_uris=True)

    def __init__(self, name: str, *, is_before: bool) -> None:
        self._engine = get_engine(name)
        self._is_before = is_before

    @property
    def name(self) -> str:
        return self._engine.name

    @property
    def workloads(self) -> frozenset[str]:
        return self._engine.workloads

    def missing(self) -> str | None:
        return self._engine.missing()

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        if self._is_before:
            os.truncate(trial.inputs[0], 100 * RECORDS // 2 + 50)
        outcome = self._engine.run(trial, output, scratch)
        if not self._is_before:
            os.truncate(trial.inputs[0], 100 * RECORDS // 2)
        return outcome


@pytest.mark.parametrize("is_before", [True, False])
@pytest.mark.parametrize("name", ["native", "mpi"])
def test_a_cut_input_is_named(tmp_path: Path, name: str, is_before: bool) -> None:
    engine = Cutting(name, is_before=is_before)
    if reason := engine.missing():
        pytest.skip(reason)
    records = write_records(tmp_path / "a.dat", RECORDS)
    with pytest.raises(CuestaError) as refused:
        run_trial(engine, sorting(name, records, 1 << 30), Plan(output=tmp_path / "out"))
    assert isinstance(refused.value, InputError)
    assert f"{records}: the input changed while it was read" in str(refused.value)
    assert str(refused.value).endswith("run again with an input that stays as it is")
