"""Work on all pairs of rows grows with the square of the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cuesta_lab.model import measured
from modelkit import predictions, write
from test_advise_runs import record
from test_advise_runs import write as write_records


def rows(workload: str, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return runs of a quarter of a second, and a second for the square of 10 MB, on one and two
    cores.
    """
    return [
        {
            "machine": "made", "workload": workload, "engine": "native", "nodes": 1,
            "cores_per_node": cores, "input_bytes": size,
            "overall_s": 0.25 + (size / 1e7) ** 2 / cores,
        }
        for size in sizes
        for cores in (1, 2)
    ]  # fmt: skip


def test_twice_the_genes_take_four_times_the_work(tmp_path: Path) -> None:
    known_file = write(
        tmp_path / "runs.csv", rows("correlate", (8_000_000, 12_000_000, 16_000_000))
    )
    questions = rows("correlate", (32_000_000,))
    answers = predictions(tmp_path, known_file, write(tmp_path / "asked.csv", questions))
    for line, question in zip(answers, questions, strict=True):
        assert line["refused"] == ""
        assert float(line["predicted_s"]) == pytest.approx(question["overall_s"], rel=0.1)
        assert float(line["low_s"]) <= question["overall_s"] <= float(line["high_s"])


def test_pairs_are_recognized_though_cores_share_what_bounds_them(tmp_path: Path) -> None:
    """Two cores were as fast as one, so a line through the bytes was likelier and missed by 40 %.
    Now pairs are recognized.
    """
    sizes = (8_000_000, 12_000_000, 16_000_000)
    flat = [{**line, "overall_s": 0.25 + (line["input_bytes"] / 1e7) ** 2}
            for line in rows("correlate", (*sizes, 32_000_000))]  # fmt: skip
    known_file = write(tmp_path / "runs.csv", flat[:6])
    for line in predictions(tmp_path, known_file, write(tmp_path / "asked.csv", flat[6:])):
        assert float(line["predicted_s"]) == pytest.approx(flat[-1]["overall_s"], rel=0.1)


def test_other_workloads_have_no_such_term(tmp_path: Path) -> None:
    known_file = write(tmp_path / "runs.csv", rows("scan", (8_000_000, 12_000_000, 16_000_000)))
    questions = rows("scan", (32_000_000,))
    for line in predictions(tmp_path, known_file, write(tmp_path / "asked.csv", questions)):
        assert line["refused"] or float(line["predicted_s"]) < 0.7 * questions[0]["overall_s"]


@pytest.mark.parametrize(("workload", "seconds"), [("sort", 5.0), ("correlate", 17.0)])
def test_advice_takes_pairs_for_pairs(workload: str, seconds: float, tmp_path: Path) -> None:
    """A second plus a second for each GB, or for its square; a line gave 11 s for 17 s."""
    times = {10**9: 2.0, 2 * 10**9: 3.0 if workload == "sort" else 5.0}
    known_records = [record("native", size, taken) for size, taken in times.items()]
    write_records(tmp_path, [{**row, "workload": workload} for row in known_records])
    (choice,) = measured.choices(workload, 4e9, [tmp_path])
    assert choice.seconds
    assert choice.seconds.value == pytest.approx(seconds, rel=1e-6)
    assert sorted(choice.runs) == [str(tmp_path / name / "run.json") for name in "01"]


def test_a_single_size_of_pairs_grows_with_their_square(tmp_path: Path) -> None:
    write_records(tmp_path, [{**record("native", 10**9, 3.0, start=1.0), "workload": "correlate"}])
    (choice,) = measured.choices("correlate", 2e9, [tmp_path])
    assert choice.seconds
    assert choice.seconds.value == pytest.approx(1.0 + 4 * 2.0)
    assert "1 s + 2 s/GB^2 x (2 GB)^2 = 9 s" in choice.steps[0]
