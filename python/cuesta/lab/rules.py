"""Limits of the rules on measuring, which the alarms of runs and those of studies share."""

from __future__ import annotations

SPOILING = ("verification", "intervals", "provenance")
"""Rules that, where one is gravely broken, forbid to compare figures."""

REPEATS_MIN = 3
"""Least repeats for an interval: that of two repeats has the median in half of the cases only."""

BUSY_LOAD = 1.0
"""Load average per core, before the first run, above which a machine counts as busy."""
