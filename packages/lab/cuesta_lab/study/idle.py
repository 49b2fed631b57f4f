"""Waits between studies until the load of the one before is gone, which spoils the next one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from cuesta.lab.observer import Observer
from cuesta.lab.rules import BUSY_LOAD

LONGEST_S = 300.0
"""Longest wait: a load that has not fallen by then is that of other programs."""
STEP_S = 2.0


def wait(
    observer: Observer,
    load: Callable[[], float] = lambda: os.getloadavg()[0],
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Wait until the load average leaves a core idle, or `LONGEST_S`; return whether it does."""
    limit = BUSY_LOAD * (os.cpu_count() or 1)
    if load() <= limit:
        return True
    observer.note(f"waiting for the load of {load():.3g} to fall to {limit:g}")
    for _ in range(round(LONGEST_S / STEP_S)):
        sleep(STEP_S)
        if load() <= limit:
            return True
    observer.note(f"the load is still {load():.3g}: other programs are at work")
    return False
