"""Cost of Spark: the rate of empty tasks in Python workers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuesta.engines.spark.session import Session

TASKS_PER_SLOT = 25


def measure(session: Session, repeats: int) -> dict[str, list[float]]:
    """Return samples of tasks per second; the first is discarded."""
    samples = [_tasks_per_s(session) for _ in range(repeats + 1)]
    return {"tasks_per_s": samples[1:]}


def _tasks_per_s(session: Session) -> float:
    count = TASKS_PER_SLOT * session.slots
    empty = session.spark.sparkContext.parallelize(range(count), count)
    began = time.perf_counter()
    empty.foreach(_nothing)
    return count / (time.perf_counter() - began)


def _nothing(_: int) -> None:
    """Do no work, in an empty task."""
