"""Several processes that load: the same array, the same refusals, no process remains."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tiledb")

from arraykit import TINY, random_rows, run, trial, write
from cuesta.engines import get_engine
from cuesta.engines.array import loaders, work
from cuesta.errors import EngineError, InputError

TWO = {"engine_options": {"loaders": "2"}}


@pytest.fixture(params=[False, True], ids=["usual", "tiny"])
def buffers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setattr(work, "sizes", lambda _memory_bytes, _threads: TINY)


@pytest.mark.usefixtures("buffers")
@pytest.mark.parametrize("count", ["2", "3"])
def test_processes_that_load_together_make_the_array_of_a_single_process(
    count: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.txt", random_rows(1))
    job = trial("scan", [path], {}, engine_options={"loaders": count})
    several = run(job, tmp_path / "several")
    alone = run(trial("scan", [path], {}), tmp_path / "alone")
    outputs = [
        (tmp_path / name / "array" / "pairs.txt").read_bytes() for name in ("several", "alone")
    ]
    assert outputs[0] == outputs[1]
    names = ("rows_read", "rows_loaded")
    assert [several.counts[name] for name in names] == [alone.counts[name] for name in names]
    assert not multiprocessing.active_children()


def test_a_join_loads_both_versions_together(tmp_path: Path) -> None:
    paths = [write(tmp_path / name, random_rows(1)) for name in ("a.txt", "b.txt")]
    run(trial("join", paths, {}, **TWO), tmp_path)


def test_a_file_without_a_row_that_has_a_score_loads_as_well(tmp_path: Path) -> None:
    rows = [row for row in random_rows(1) if row.score == "nan"]
    run(trial("degrees", [write(tmp_path / "a.txt", rows)], {}, **TWO), tmp_path)


def test_a_damaged_line_is_named_as_by_a_single_process(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "a.txt", random_rows(1)))
    path.write_text(path.read_text().replace("\t", " ", 12))
    messages = []
    for options in ({}, {"loaders": "2"}):
        job = trial("degrees", [str(path)], {}, engine_options=options)
        with pytest.raises(InputError) as refused:
            get_engine("array").run(job, tmp_path, tmp_path)
        messages.append(str(refused.value))
    assert messages[0] == messages[1]
    assert not multiprocessing.active_children()


def test_a_process_that_dies_ends_the_run_with_a_single_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.txt", random_rows(1))
    load = loaders.Loaders.load

    def killing(self: loaders.Loaders, order: Any, place: Path) -> Any:
        pid = self._running[0][0].pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        return load(self, order, place)

    monkeypatch.setattr(loaders.Loaders, "load", killing)
    with pytest.raises(EngineError, match="a process that loads ended with code -9"):
        get_engine("array").run(trial("degrees", [path], {}, **TWO), tmp_path, tmp_path)
    assert not multiprocessing.active_children()
    assert not list(tmp_path.glob("array-*"))
