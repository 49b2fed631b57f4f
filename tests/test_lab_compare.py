"""Comparing engines: each in a separate process, all answers equal or none."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cuesta.errors import Defect, EngineError, EngineMissing, InputError, VerificationError
from cuesta.lab import child, record
from cuesta.lab.child import DeferredSignals, run_in_child
from cuesta.lab.compare import compare, records_of
from cuesta.trial import Trial
from labkit import CopyEngine, anything, names, plan, scan_trial
from waitkit import HANG_SECONDS


def test_a_comparison_holds_an_answer_of_each_engine(tmp_path: Path) -> None:
    engines = [CopyEngine(name="one"), CopyEngine(name="two")]
    comparison = compare(engines, scan_trial(tmp_path), plan(tmp_path))
    folder = tmp_path / "answer"
    assert names(folder) == {"one", "two", "compare.json"}
    assert names(tmp_path) == {"answer", "input.txt"}
    assert json.loads((folder / "compare.json").read_text()) == comparison
    assert comparison["equal"]
    assert comparison["verified"]
    assert len(set(comparison["digests"].values())) == 1
    assert [run_record["engine"] for run_record in records_of(comparison, folder)] == ["one", "two"]


def test_each_engine_has_a_separate_process(tmp_path: Path) -> None:
    def write_pid(_trial: Trial, output: Path) -> None:
        (output / "pid").write_text(str(os.getpid()))

    engines = [CopyEngine(name=name, before=write_pid) for name in ("one", "two")]
    compare(engines, scan_trial(tmp_path), plan(tmp_path))
    folder = tmp_path / "answer"
    pids = {(folder / name / "pid").read_text() for name in ("one", "two")} | {str(os.getpid())}
    assert len(pids) == 3


def test_different_digests_fail_even_when_each_was_verified(tmp_path: Path) -> None:
    engines = [CopyEngine(name="one"), CopyEngine(name="two", extra="more")]
    with pytest.raises(VerificationError, match=r"answers to scan differ: one .*, two "):
        compare(engines, scan_trial(tmp_path), plan(tmp_path, verifier=anything))
    assert not (tmp_path / "answer").exists()
    (left,) = tmp_path.glob("answer.partial-*")
    assert record.read(left / "answer" / "two")["engine"] == "two"


def test_a_missing_engine_is_reported_before_any_runs(tmp_path: Path) -> None:
    first = CopyEngine(name="one", before=lambda *_: pytest.fail("it ran"))
    with pytest.raises(EngineMissing, match="install two"):
        compare([first, CopyEngine(name="two", lacking="install two")], scan_trial(tmp_path),
                plan(tmp_path))  # fmt: skip


def test_the_same_engine_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="different engines"):
        compare([CopyEngine(), CopyEngine()], scan_trial(tmp_path), plan(tmp_path))


def test_errors_of_an_engine_arrive_as_they_were(tmp_path: Path) -> None:
    def fail(_trial: Trial, _output: Path) -> None:
        raise InputError("line 3 of a.txt has 9 fields, expected 11")

    with pytest.raises(InputError, match=r"line 3 of a\.txt has 9 fields"):
        compare([CopyEngine(before=fail)], scan_trial(tmp_path), plan(tmp_path))
    assert names(tmp_path) == {"input.txt"}


def test_a_bug_in_an_engine_is_reported_in_a_single_line(tmp_path: Path) -> None:
    def fail(_trial: Trial, _output: Path) -> None:
        raise ZeroDivisionError("division by zero")

    with pytest.raises(Defect, match="report it: ZeroDivisionError: division by zero"):
        compare([CopyEngine(before=fail)], scan_trial(tmp_path), plan(tmp_path))


def test_a_full_disk_in_a_child_is_no_defect() -> None:
    def fill() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(InputError, match="the folder of -o: the disk is full; free some space"):
        run_in_child("one", fill)


def test_an_engine_that_is_killed_is_an_error_that_names_the_signal(tmp_path: Path) -> None:
    def die(_trial: Trial, _output: Path) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(EngineError, match="died of SIGKILL; if the machine ran out of mem"):
        compare([CopyEngine(name="one", before=die)], scan_trial(tmp_path), plan(tmp_path))
    assert names(tmp_path) == {"input.txt"}


def test_a_process_that_cannot_be_forked_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("tiledb")
    program = (
        "import numpy, tiledb\n"
        "from cuesta.lab.child import run_in_child\n"
        "run_in_child('one', lambda: None)\n"
        f"tiledb.from_numpy({str(tmp_path / 'array')!r}, numpy.arange(3))\n"
        "run_in_child('two', lambda: None)\n"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert "TileDB has run in this process" in done.stderr
    assert "compare in a fresh process" in done.stderr


def test_threads_of_polars_are_no_reason_not_to_fork(tmp_path: Path) -> None:
    """Their names resemble those of hdfs-native; a notebook that uses Polars may compare."""
    table = tmp_path / "table.parquet"
    program = (
        "import polars\n"
        "from pathlib import Path\n"
        "from cuesta.lab.child import run_in_child\n"
        f"polars.DataFrame({{'a': [1]}}).write_parquet({str(table)!r})\n"
        f"polars.scan_parquet({str(table)!r}).collect()\n"
        "names = [path.read_text() for path in Path('/proc/self/task').glob('*/comm')]\n"
        "assert any(name.startswith('tokio-rt-worker') for name in names)\n"
        "run_in_child('one', lambda: print('done'))\n"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_an_interrupt_of_the_parent_stops_the_child_and_lets_it_clean_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine, the child may take long to clean up.
    monkeypatch.setattr(child, "STOP_SECONDS", HANG_SECONDS)
    mark, parent = tmp_path / "cleaned", os.getpid()

    def work() -> None:
        try:
            os.kill(parent, signal.SIGINT)
            time.sleep(600)
        finally:
            mark.write_text("yes")

    with pytest.raises(KeyboardInterrupt):
        run_in_child("slow", work)
    assert mark.read_text() == "yes"


def test_an_interrupt_right_when_signals_arrive_again_stops_the_child_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, leave = tmp_path / "begun", DeferredSignals.__exit__

    def leave_interrupted(signals: DeferredSignals, *error: object) -> None:
        leave(signals, *error)
        while not (begun.exists() and begun.read_text()):
            time.sleep(0.01)
        raise KeyboardInterrupt

    def work() -> None:
        begun.write_text(str(os.getpid()))
        time.sleep(60)

    monkeypatch.setattr(DeferredSignals, "__exit__", leave_interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_in_child("slow", work)
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)
