"""A question with a limit of memory, disk or link far from all runs is refused, not guessed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call
from modelkit import SHAPES, predictions, runs, write

BLOCK_BYTES = 24 * 2**20


def law(nodes: int, blocks: int) -> float:
    """Two seconds to start, 20 ms for a block of a core."""
    return 2.0 + 0.02 * blocks / (4 * nodes)


def at_rate(
    rate: float, shapes: Iterable[tuple[int, int]] = SHAPES, *, matters: bool = True
) -> list[dict[str, Any]]:
    """Return runs whose disks read the data once at a rate, and wait for it where that matters."""

    def seconds(nodes: int, blocks: int) -> float:
        return law(nodes, blocks) + matters * blocks * BLOCK_BYTES / nodes / rate

    return [{**line, "disk_bytes_per_s": f"{rate:.0f}"} for line in runs(seconds, shapes)]


def predict_with_limits(
    tmp_path: Path, fitted: list[dict[str, Any]], **limits: str
) -> dict[str, str]:
    """Return a model's prediction for 8 nodes with 1,000 blocks and these limits."""
    question = [{**runs(law, [(8, 1000)])[0], **limits}]
    file = write(tmp_path / "runs.csv", fitted)
    (line,) = predictions(tmp_path, file, write(tmp_path / "asked.csv", question))
    return line


def test_a_limit_of_memory_that_no_run_had_is_refused_where_it_matters(tmp_path: Path) -> None:
    """All runs had all the memory they wanted. A question with a tenth of the memory that its data
    need had the time of a question without a limit. Now it is refused.
    """
    short = predict_with_limits(tmp_path, runs(law), memory_bytes=str(30 * 10**7))
    assert short["predicted_s"] == ""
    assert short["refused"] == (
        "memory_bytes has room for 0.095 copies of a node's data, the runs had room for 2 or more"
        " copies; measure a run with room for about 0.095 copies"
    )
    roomy = predict_with_limits(tmp_path, runs(law), memory_bytes=str(64 * 2**30))
    assert roomy["refused"] == ""


def test_more_data_than_memory_is_refused_where_all_runs_had_room(tmp_path: Path) -> None:
    """All runs had the same limit, many times their data; the data of the question is larger."""
    fitted = [{**line, "memory_bytes": str(60 * 10**9)} for line in runs(law)]
    file = write(tmp_path / "runs.csv", fitted)
    far_file = write(tmp_path / "asked.csv", runs(law, [(8, 1200), (8, 12_000)]))
    near_line, large = predictions(tmp_path, file, far_file)
    assert near_line["refused"] == ""
    assert "memory_bytes has room for 1.6 copies of a node's data" in large["refused"]


def test_a_disk_rate_is_answered_near_the_measured_ones_alone(tmp_path: Path) -> None:
    """Runs had 100 and 200 MB/s; a disk of a hundredth of that had a confident answer. Now it is
    refused.
    """
    fitted = [*at_rate(1e8), *at_rate(2e8)]
    for rate in (5e7, 1.5e8):
        line = predict_with_limits(tmp_path, fitted, disk_bytes_per_s=f"{rate:.0f}")
        seconds = at_rate(rate, [(8, 1000)])[0]["overall_s"]
        assert float(line["predicted_s"]) == pytest.approx(seconds, rel=0.15)
    slow = predict_with_limits(tmp_path, fitted, disk_bytes_per_s="1000000")
    assert slow["refused"] == (
        "disk_bytes_per_s is 1e+06, the runs had 1e+08 to 2e+08; measure a run with about 1e+06"
    )
    none = predict_with_limits(tmp_path, fitted, disk_bytes_per_s="")
    assert none["refused"] == (
        "the question has no disk_bytes_per_s, the runs had 1e+08 to 2e+08; give it, or measure a"
        " run without it"
    )


def test_a_limit_that_all_runs_had_is_the_default_of_a_question(tmp_path: Path) -> None:
    without_limit = predict_with_limits(tmp_path, at_rate(1e8))
    assert float(without_limit["predicted_s"]) == pytest.approx(
        at_rate(1e8, [(8, 1000)])[0]["overall_s"], rel=0.15
    )
    other = predict_with_limits(tmp_path, at_rate(1e8), disk_bytes_per_s="50000000")
    assert "disk_bytes_per_s is 5e+07, all runs had 1e+08" in other["refused"]


def test_a_rate_that_cannot_matter_is_no_reason_to_refuse(tmp_path: Path) -> None:
    assert predict_with_limits(tmp_path, runs(law), disk_bytes_per_s=str(10**13))["refused"] == ""
    slow = predict_with_limits(tmp_path, runs(law), disk_bytes_per_s=str(10**7))
    assert slow["refused"].startswith("disk_bytes_per_s is 1e+07, no run had such a limit")
    linked = predict_with_limits(tmp_path, runs(law), link_bytes_per_s=str(10**6))
    assert linked["refused"].startswith("link_bytes_per_s is 1e+06, no run had such a limit")
    alone = predict_with_limits(tmp_path, runs(law), link_bytes_per_s=str(10**6), nodes="1")
    assert alone["refused"] == ""


def test_a_rate_that_did_not_matter_to_any_run_widens_the_interval(tmp_path: Path) -> None:
    """At half the rate it may begin to matter: time may then grow in proportion."""
    fitted = [*at_rate(1e10, matters=False), *at_rate(5e9, matters=False)]
    inside = predict_with_limits(tmp_path, fitted, disk_bytes_per_s=str(5 * 10**9))
    below = predict_with_limits(tmp_path, fitted, disk_bytes_per_s=str(25 * 10**8))
    assert float(below["high_s"]) > 1.8 * float(inside["high_s"])
    assert float(below["low_s"]) == pytest.approx(float(inside["low_s"]), rel=0.05)
    far_line = predict_with_limits(tmp_path, fitted, disk_bytes_per_s=str(10**9))
    assert far_line["refused"].startswith("disk_bytes_per_s is 1e+09, the runs had 5e+09 to 1e+10")


def test_the_model_file_holds_the_range_of_each_limit(tmp_path: Path) -> None:
    limited = [{**line, "memory_bytes": str(96 * BLOCK_BYTES)} for line in at_rate(1e8)]
    free = [{**line, "memory_bytes": ""} for line in at_rate(2e8)]
    predict_with_limits(tmp_path, [*limited, *free], disk_bytes_per_s="100000000")
    model = json.loads((tmp_path / "model.json").read_text())
    assert model["groups"][0]["range"]["factors"] == {
        "memory_bytes": {
            "low": 96 * BLOCK_BYTES,
            "high": 96 * BLOCK_BYTES,
            "without": True,
            "room": [pytest.approx(0.096), None],
        },
        "disk_bytes_per_s": {"low": 1e8, "high": 2e8, "without": False},
    }


def test_a_model_file_without_ranges_of_limits_answers_questions_without_limits(
    tmp_path: Path,
) -> None:
    assert predict_with_limits(tmp_path, runs(law))["refused"] == ""
    model = json.loads((tmp_path / "model.json").read_text())
    del model["groups"][0]["range"]["factors"]
    (tmp_path / "old.json").write_text(json.dumps(model))
    lines = [{**runs(law, [(8, 1000)])[0], "memory_bytes": text} for text in ("", "1000000")]
    file = write(tmp_path / "asked.csv", lines)
    out = tmp_path / "out.csv"
    assert call(["model", "predict", str(tmp_path / "old.json"), str(file), "-o", str(out)]) == 0
    free, limited = out.read_text().splitlines()[1:]
    assert free.endswith(",")
    assert "the model does not say what memory_bytes its runs had; fit it anew" in limited


def test_far_fewer_nodes_than_any_run_had_are_refused(tmp_path: Path) -> None:
    """Runs on 64 to 256 nodes; a single node was predicted as surely as 64 of them. Now it is
    refused.
    """
    shapes = [(nodes, each * nodes) for nodes in (64, 128, 256) for each in (96, 200)]
    file = write(tmp_path / "runs.csv", runs(law, shapes))
    questions = runs(law, [(1, 96), (8, 8 * 96), (64, 64 * 96)])
    single, few, several = predictions(tmp_path, file, write(tmp_path / "asked.csv", questions))
    assert single["refused"] == (
        "the smallest run had 64 nodes, more than 16 times the 1 of the question; measure at most"
        " 16"
    )
    assert ratio(few) > 1.2 * ratio(several)


def test_a_single_node_may_be_faster_than_the_work_of_several(tmp_path: Path) -> None:
    shapes = [(nodes, each * nodes) for nodes in (2, 4, 8) for each in (96, 200)]
    file = write(tmp_path / "runs.csv", runs(law, shapes))
    questions = write(tmp_path / "asked.csv", runs(law, [(1, 96), (2, 2 * 96)]))
    alone, two = predictions(tmp_path, file, questions)
    assert float(alone["low_s"]) < 0.7 * float(two["low_s"])


def ratio(line: dict[str, str]) -> float:
    return float(line["high_s"]) / float(line["low_s"])


def test_data_that_have_no_room_may_be_written_to_disk_completely(tmp_path: Path) -> None:
    """Sorting and iterations do as much more work whether half or a tenth of their data have room.
    A form that counts only the bytes beyond memory missed a quarter of the memory by a fifth.
    """

    def seconds(blocks: int, room: float) -> float:
        return law(1, blocks) + 0.03 * blocks / 4 * (room < 2)

    def line(blocks: int, room: float) -> dict[str, Any]:
        memory = f"{room * blocks * BLOCK_BYTES:.0f}"
        (run,) = runs(lambda _, blocks: seconds(blocks, room), [(1, blocks)])
        return {**run, "memory_bytes": memory}

    known_lines = [line(blocks, room) for blocks in (400, 800, 1600) for room in (4.0, 1.05, 0.5)]
    questions = [line(1600, 0.25), line(3200, 0.5)]
    file = write(tmp_path / "runs.csv", known_lines)
    answers = predictions(tmp_path, file, write(tmp_path / "asked.csv", questions))
    for answer, truth in zip(answers, questions, strict=True):
        assert answer["refused"] == ""
        assert float(answer["predicted_s"]) == pytest.approx(truth["overall_s"], rel=0.05)
