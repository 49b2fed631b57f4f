"""Times of ranks in their rounds: work, exchange, and waits for other ranks."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call
from cuesta.engines.mpi import MpiEngine
from cuesta.report.records import to_run
from cuesta_lab.report.attribution import SKEW, attribution
from cuesta_lab.report.whatif import what_if

pytestmark = pytest.mark.skipif(MpiEngine().missing() is not None, reason="MPI is not installed")

ROWS = 400_000
RANKS = 2


def record_of_run(words: list[str], answer: Path) -> dict[str, Any]:
    """Return the record of a run on two ranks."""
    ranks = ["--engine", "mpi", "--ranks", str(RANKS), "--threads", str(RANKS)]
    assert call(["run", *words, *ranks, "--memory", "1GiB", "-o", str(answer)]) == 0
    return dict(json.loads((answer / "run.json").read_text("utf-8")))


def test_a_round_is_a_stage_with_what_each_rank_did(tmp_path: Path) -> None:
    file = tmp_path / "a.dat"
    assert call(["data", "make", "tera", "--rows", str(ROWS), "-o", str(file)]) == 0
    record = record_of_run(["sort", str(file)], tmp_path / "a")
    stages, log = record["stages"], record["engine_log"]
    phases = [phase["name"] for phase in record["phases"]]
    assert {stage["name"] for stage in stages} <= set(phases)
    assert log["rounds"] == len(stages) > 0
    for stage in stages:
        assert stage["tasks"] == len(stage["each"]["task_seconds"]) == RANKS
        assert max(stage["each"]["task_seconds"]) <= stage["seconds"] + 0.001
    total = sum(RANKS * stage["seconds"] for stage in stages)
    assert log["task_seconds"] + log["rank_wait_seconds"] == pytest.approx(total, abs=0.01)
    # Records were exchanged in at least one round.
    assert 0 < log["exchange_seconds"] < log["task_seconds"]
    assert 0 < stages[-1]["began"] + stages[-1]["seconds"] <= record["wall_seconds"] + 0.01


def test_a_rank_with_a_far_smaller_file_waits(large: Path, tmp_path: Path) -> None:
    """Each compressed file is read by a single rank: one has a hundred times the other."""
    lines = large.read_bytes().splitlines(keepends=True)
    split = len(lines) // 21
    long, short = lines[split:] * 5, lines[:split]
    folder = tmp_path / "uneven"
    folder.mkdir()
    for file, some in (("1.txt.gz", long), ("2.txt.gz", short)):
        (folder / file).write_bytes(gzip.compress(b"".join(some), 1))
    record = record_of_run(["scan", str(folder), "--min-abs-score", "0.9"], tmp_path / "answer")
    (stage,) = [entry for entry in record["stages"] if entry["name"] == "scan"]
    least, most = sorted(stage["each"]["task_seconds"])
    assert most > 3 * least
    run = to_run(record, "uneven")
    attributed, replayed = attribution(run), what_if(run)
    assert attributed is not None
    assert attributed.core_seconds[SKEW] > 0
    assert sum(attributed.core_seconds.values()) == pytest.approx(
        attributed.cores * attributed.wall_seconds
    )
    assert replayed is not None
    assert replayed.tasks == RANKS * len(record["stages"])
