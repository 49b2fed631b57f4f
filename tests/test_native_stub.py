"""The stub of the native module describes its content."""

from __future__ import annotations

import subprocess
import sys

import pytest

from labkit import ROOT


@pytest.mark.parametrize("module", ["cuesta._native", "cuesta_store._native"])
def test_the_stub_of_a_native_module_matches_it(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", module],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
