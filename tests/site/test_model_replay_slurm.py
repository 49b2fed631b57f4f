"""A replay of a run on a node of a real Slurm predicts the time on two nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import testbed_slurm
from clusterkit import call, wait_until_gone
from cuesta.engines import get_engine
from cuesta_lab.model.replay import Cluster, replay
from cuesta_lab.model.tasks import read
from cuesta_lab.study.measures import measures
from labkit import record_of
from slurmkit import slurm
from testbed_slurm import SlurmBed

__all__ = ["slurm"]

NEAR = 0.25
"""Greatest relative error of a replay."""
TRIES = 3
"""Other processes may take the cores of this machine for a while, so the run is repeated."""
BLOCKS = ["run", "dataflow", "--blocks", "1600", "--engine", "spark"]
BLOCKS += ["--engine-option", "partitions=16"]

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(get_engine("spark").missing() is not None, reason="Spark is not installed"),
]


@pytest.fixture
def place(tmp_path: Path, slurm: SlurmBed) -> Iterator[Path]:
    """Folder of a job, which is ended even if the test fails."""
    yield tmp_path
    testbed_slurm.cancel_all(slurm)


def work_seconds(answer: Path) -> float:
    """Return the work seconds of a run, without the start of Spark."""
    return measures(record_of(answer))["work"]


def submitted(bed: SlurmBed, place: Path, nodes: int) -> Path:
    """Return the answer of a run on this number of nodes, each with a core."""
    options = ["--scheduler", "slurm", "--nodes", str(nodes), "--cores", "1", "--set", "stop=2"]
    options += ["--memory", "1536MiB", "--wait", "-o", str(place / f"cluster-{nodes}")]
    answer = place / f"answer-{nodes}"
    done = call("submit", *options, "--", *BLOCKS, "-o", str(answer), **bed.environment())
    assert done.returncode == 0, done.stdout + done.stderr
    wait_until_gone(place / f"cluster-{nodes}")
    return answer


def test_a_single_node_replayed_on_two_takes_what_two_take(slurm: SlurmBed, place: Path) -> None:
    rows = []
    for number in range(TRIES):
        folder = place / str(number)
        folder.mkdir()
        on_1, on_2 = submitted(slurm, folder, 1), submitted(slurm, folder, 2)
        tasks = read(on_1)
        # A replay on one node reproduces the run; then the same tasks run on another node too.
        asis = replay(tasks, Cluster(nodes=1, cores=1)).seconds / work_seconds(on_1)
        more = replay(tasks, Cluster(nodes=2, cores=1)).seconds / work_seconds(on_2)
        rows.append((asis, more, work_seconds(on_1) / work_seconds(on_2)))
        if max(abs(asis - 1), abs(more - 1)) <= NEAR:
            break
    assert max(abs(asis - 1), abs(more - 1)) <= NEAR, rows
    # The second node makes it faster.
    assert rows[-1][2] > 1.3
