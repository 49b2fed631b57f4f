"""Settings of jobs of MapReduce."""

from __future__ import annotations

import pytest

from cuesta.engines.hadoop.settings import local_tasks
from cuesta.engines.rounds import Round


@pytest.mark.parametrize(
    ("tasks", "slots", "maps"), [(1, 1, 1), (7, 2, 2), (2, 4, 2), (5, 4, 3), (0, 2, 0)]
)
def test_a_local_job_has_as_many_tasks_as_slices_and_parts(
    tasks: int, slots: int, maps: int
) -> None:
    round_ = Round(
        phase="sort",
        size_bytes=0,
        rows=0,
        flops=0,
        ceiling=None,
        parts=3,
        combines=False,
        is_text=False,
        shared=b"",
        tasks=(b"",) * tasks,
    )
    assert local_tasks(round_, slots) == {"maps": maps, "reduces": 3}
