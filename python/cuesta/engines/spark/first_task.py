"""Reports to the leader of a cluster when a session and its first task began."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIMES = "CUESTA_CLUSTER_TIMES"
"""Variable with the file to write, which only the first session writes."""


def write_times(spark: SparkSession, began: float) -> None:
    """Write the times, in Unix time, to the file that `TIMES` names, if any.

    Arguments: `began` is when the start of the session began.
    """
    wanted = os.environ.get(TIMES)
    if not wanted or Path(wanted).exists():
        return
    # The times are for information; an error must not end the session.
    with contextlib.suppress(Exception):
        context: Any = spark.sparkContext
        launched = context._jsc.sc().statusStore().lastStageAttempt(0).firstTaskLaunchedTime()
        task = launched.get().getTime() / 1e3
        Path(wanted).write_text(json.dumps({"session": began, "task": task}))
