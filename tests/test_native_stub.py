"""The stub of the native module describes its content."""

from __future__ import annotations

import subprocess
import sys

from labkit import ROOT


def test_the_stub_of_the_native_module_matches_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "cuesta._native"],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
