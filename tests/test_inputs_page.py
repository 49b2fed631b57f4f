"""The page on inputs is generated from the lists of the readers."""

from __future__ import annotations

import subprocess
import sys

from labkit import ROOT


def test_the_page_on_inputs_is_current() -> None:
    done = subprocess.run(
        [sys.executable, "tools/inputs.py", "--check"],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
