"""Tells who has brought a cluster up when a session began, and when its first task did."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIMES = "CUESTA_CLUSTER_TIMES"
"""Names the file to write, by the first session alone."""


def tell(spark: SparkSession, began: float) -> None:
    """Write the times, in seconds of the clock, where somebody wants them.

    Arguments: `began` is when the session was asked for.
    """
    wanted = os.environ.get(TIMES)
    if not wanted or Path(wanted).exists():
        return
    # It is a figure for the reader, and no reason to fail.
    with contextlib.suppress(Exception):
        context: Any = spark.sparkContext
        launched = context._jsc.sc().statusStore().lastStageAttempt(0).firstTaskLaunchedTime()
        task = launched.get().getTime() / 1e3
        Path(wanted).write_text(json.dumps({"session": began, "task": task}))
