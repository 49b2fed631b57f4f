"""Runs and stores work on a kernel as old as that of RHEL 8 (4.18)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import oldkernelkit

CASES = Path(__file__).resolve().parents[1] / "spec" / "cases"
CUESTA = (sys.executable, oldkernelkit.__file__, sys.executable, "-m", "cuesta")


def cuesta(*words: str, code: int = 0) -> str:
    """Run a command on the old kernel; return its output, or its message where it fails."""
    done = subprocess.run([*CUESTA, *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


@pytest.fixture
def under(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder below a store on the old kernel, which commands use."""
    with TemporaryDirectory(prefix="cuesta-test-") as place:
        folder = Path(place) / "under"
        folder.mkdir()
        monkeypatch.setenv("CUESTA_STORE", f"{place}/store")
        cuesta("store", "start", "--memory", "64MiB", "--under", str(folder))
        yield folder
        cuesta("store", "stop")


def test_the_filter_refuses_calls_that_are_newer() -> None:
    program = (
        "import ctypes, oldkernelkit as kit; kit.refuse_newer_calls();"
        "libc = ctypes.CDLL(None, use_errno=True); libc.syscall(kit.OPENAT2, -100, b'/', 0, 0);"
        "print(ctypes.get_errno(), libc.syscall(39) > 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(Path(oldkernelkit.__file__).parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["38", "True"]


def test_a_run_is_verified(tmp_path: Path) -> None:
    words = ("communities", str(CASES / "clusters-a.txt"), "--min-abs-score", "0.5")
    record = json.loads(cuesta("run", *words, "-o", str(tmp_path / "out"), "--json"))
    assert record["verified"] is True


def test_a_store_serves_files_over_links_and_none_outside(under: Path, tmp_path: Path) -> None:
    (under / "data").mkdir()
    (under / "data" / "pairs.txt").write_bytes((CASES / "clusters-a.txt").read_bytes())
    (under / "latest").symlink_to("data")
    (under / "outside").symlink_to("/etc")
    words = ("run", "degrees", "cuesta:///latest/pairs.txt", "-o", str(tmp_path / "out"), "--json")
    assert json.loads(cuesta(*words))["verified"] is True
    outside = ("run", "degrees", "cuesta:///outside/passwd", "-o", str(tmp_path / "none"))
    assert "a symbolic link leads out of the under level" in cuesta(*outside, code=2)
