"""Waiting for a condition: the bound is a guard against hanging, and no verdict."""

from __future__ import annotations

import time
from collections.abc import Callable

HANG_SECONDS = 120.0
"""When a test gives up: so long that a busy machine decides no verdict. How soon things happen is
measured by benches (`promptness`)."""


def wait_for(holds: Callable[[], bool], seconds: float = HANG_SECONDS) -> None:
    """Errors: `AssertionError` where it does not come to hold."""
    limit = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < limit, f"not within {seconds} s"
        time.sleep(0.01)
