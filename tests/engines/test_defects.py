"""A defect of ours, such as a panic, is a single line that asks for a report, with exit code 70."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cuesta.engines import get_engine
from labkit import ROOT

BROKEN = '''
"""Breaks what tasks of k-means are told: centres of 2 numbers for points of 3 dimensions."""
import struct
from types import SimpleNamespace

from cuesta import native, trial
from cuesta.engines import native as engine
from cuesta.engines import rounds

READ, ASSIGN = b"\\x04read", b"\\x06assign"


def panics(worker, number, shared, own):
    """Does in the first round what the second does, without largest coordinates."""
    files = shared.removeprefix(READ)
    centres = b"\\x02" + struct.pack("<2d", 1, 2)
    return worker.task(number, ASSIGN + files + b"\\0" + centres + b"\\0", own)


def broken(job):
    worker = sound(job)
    return SimpleNamespace(task=lambda *task: panics(worker, *task), combine=worker.combine)


def run(workload, request, progress):
    job = rounds.Job(workload=workload, request=request, means=rounds.Means(slots=1,
                     memory_bytes=1 << 30))
    planned = rounds.Leader(job).next([])
    panics(sound(job), 0, planned.shared, planned.tasks[0])


sound, rounds.Job.worker = rounds.Job.worker, broken
engine.native_module = lambda: SimpleNamespace(run=run, __version__="0")
'''


def outcome(place: Path, engine: str, module: str) -> tuple[int, str]:
    """Return exit code and last error line of a run with `module` loaded into all its processes."""
    (place / "sitecustomize.py").write_text(module, "utf-8")
    points = place / "points.txt"
    points.write_text("".join(f"{x} {x * x % 7} {x % 3}\n" for x in range(50)), "ascii")
    words = ["run", "kmeans", str(points), "--clusters", "3", "--engine", engine, "--threads", "2"]
    paths = [str(place), str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    extra = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "RUST_BACKTRACE": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "cuesta", *words, "-o", str(place / "answer")],
        env=os.environ | extra, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert not (place / "answer").exists()
    return done.returncode, done.stderr.splitlines()[-1]


@pytest.mark.parametrize("engine", ["native", "mpi", "spark"])
def test_a_panic_is_a_defect_on_all_engines(engine: str, tmp_path: Path) -> None:
    if missing := get_engine(engine).missing():
        pytest.skip(missing)
    code, errors = outcome(tmp_path, engine, BROKEN)
    assert errors.startswith("cuesta: internal error, please report it: panic: "), errors
    assert "divide by zero, at crates/kmeans/src/kernel/table.rs:" in errors
    assert code == 70


@pytest.mark.parametrize("engine", ["mpi", "spark"])
def test_an_assertion_in_a_task_is_a_defect(engine: str, tmp_path: Path) -> None:
    if missing := get_engine(engine).missing():
        pytest.skip(missing)
    wrong = BROKEN.replace('    centres = b"', '    assert False, "no such task"\n    centres = b"')
    code, errors = outcome(tmp_path, engine, wrong)
    assert "internal error, please report it: AssertionError: no such task" in errors
    assert code == 70
