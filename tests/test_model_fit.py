"""A fitted model recovers the law of its runs, keeps its intervals, and refuses what it must."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuesta.cli.app import call
from cuesta_lab.model import laws
from cuesta_lab.model.candidates import Candidate, draw_seconds
from cuesta_lab.model.laws import nonnegative
from labkit import CopyEngine
from modelkit import predictions, runs, write

FAR = [(nodes, blocks) for nodes in (16, 32) for blocks in (96 * nodes, 1000)]


def law(nodes: int, blocks: int) -> float:
    """Two seconds to start, 20 ms for a block of a core."""
    return 2.0 + 0.02 * blocks / (4 * nodes)


def noisy(seed: int, sigma: float) -> Any:
    random = np.random.default_rng(seed)
    return lambda nodes, blocks: law(nodes, blocks) * math.exp(sigma * random.standard_normal())


def test_a_law_without_noise_is_continued(tmp_path: Path) -> None:
    fitted = write(tmp_path / "runs.csv", runs(law))
    questions = write(tmp_path / "asked.csv", runs(law, FAR))
    for line in predictions(tmp_path, fitted, questions):
        assert line["refused"] == ""
        seconds = law(int(line["nodes"]), int(line["blocks"]))
        assert float(line["predicted_s"]) == pytest.approx(seconds, rel=0.1)
        assert float(line["low_s"]) <= seconds <= float(line["high_s"])


def test_most_noisy_laws_end_within_their_intervals(tmp_path: Path) -> None:
    within = []
    for seed in range(12):
        fitted = write(tmp_path / "runs.csv", runs(noisy(seed, 0.06)))
        questions = write(tmp_path / "asked.csv", runs(noisy(100 + seed, 0.06), FAR))
        for line in predictions(tmp_path, fitted, questions):
            within.append(float(line["low_s"]) <= float(line["overall_s"]) <= float(line["high_s"]))
    assert np.mean(within) >= 0.8


def test_tasks_that_are_launched_sequentially_are_detected(tmp_path: Path) -> None:
    def seconds(nodes: int, blocks: int) -> float:
        return 3 + 0.05 * blocks / (4 * nodes) + 0.005 * 4 * nodes

    shapes = [(nodes, blocks) for nodes in (32, 64, 128) for blocks in (4000, 100 * nodes)]
    fitted = write(tmp_path / "runs.csv", runs(seconds, shapes, engine="spark"))
    far_runs = runs(seconds, [(512, 51200), (1024, 102400)], engine="spark")
    for line in predictions(tmp_path, fitted, write(tmp_path / "asked.csv", far_runs)):
        seconds_then = float(line["overall_s"])
        assert float(line["low_s"]) <= seconds_then <= float(line["high_s"])
        assert float(line["predicted_s"]) == pytest.approx(seconds_then, rel=0.25)


def test_memory_for_cached_data_is_a_step_that_runs_must_have_crossed(tmp_path: Path) -> None:
    def seconds(nodes: int, blocks: int) -> float:
        fits = 2 * blocks * 24 * 2**20 <= nodes * 0.6 * 9.7 * 2**30
        return 2 + blocks / (4 * nodes) * (0.02 if fits else 0.4)

    def heaped(shapes: list[tuple[int, int]]) -> list[dict[str, Any]]:
        cached_runs = runs(seconds, shapes, engine="spark", cached="1")
        return [{**line, "heap_gib": 10} for line in cached_runs]

    roomy = [(nodes, 100 * nodes) for nodes in (1, 2, 4)] + [(4, 200)]
    question = write(tmp_path / "asked.csv", heaped([(8, 1500), (8, 400)]))
    lines = predictions(tmp_path, write(tmp_path / "runs.csv", heaped(roomy)), question)
    assert lines[0]["refused"].startswith("2 copies of the data need 8.79 GiB of a node's 5.82 GiB")
    assert lines[1]["refused"] == ""
    both = [*roomy, (1, 200), (2, 460)]
    lines = predictions(tmp_path, write(tmp_path / "runs.csv", heaped(both)), question)
    for line in lines:
        assert float(line["predicted_s"]) == pytest.approx(float(line["overall_s"]), rel=0.2)


def test_what_is_slower_on_more_nodes_or_done_again_is_done_at_all(tmp_path: Path) -> None:
    """Regression: runs of a single size by core, and a run that computed its cached data again. A
    constant with the repeated work fitted them as well as work did and had a third of the weight,
    so more nodes for the same data seemed to gain little.
    """
    lines = [
        {**line, "engine": "spark", "cached": 1, "heap_gib": heap}
        for line, heap in [
            *((run, 32) for run in runs(lambda n, b: 70.0, [(n, 768 * n) for n in (1, 2, 4, 8)])),
            *((run, 32) for run in runs(lambda n, b: 600.0, [(8, 9216)])),
        ]
    ]
    fitted = write(tmp_path / "runs.csv", lines)
    questions = write(tmp_path / "asked.csv", [{**lines[-1], "nodes": 16, "overall_s": ""}])
    (line,) = predictions(tmp_path, fitted, questions)
    assert float(line["predicted_s"]) == pytest.approx(0.75 * 70.0, rel=0.1)
    (group,) = json.loads((tmp_path / "model.json").read_text())["groups"]
    for form in group["views"]["overall"]:
        assert "work" in form["terms"] or not {"slowest", "over-1", "over-2"} & {*form["terms"]}


def test_a_prediction_can_be_followed_to_forms_terms_and_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fitted = write(tmp_path / "runs.csv", runs(law))
    questions = write(tmp_path / "asked.csv", runs(law, [(16, 1000), (1000, 1000)]))
    model = tmp_path / "model.json"
    assert call(["model", "fit", str(fitted), "-o", str(model)]) == 0
    capsys.readouterr()
    words = ["model", "predict", str(model), str(questions), "-o", str(tmp_path / "out.csv")]
    assert call([*words, "--explain"]) == 0
    first, *more = capsys.readouterr().out.splitlines()
    assert first.startswith("made mpi cached=0, 16 nodes, 1,000 blocks: 2.3")
    assert first.endswith(" with 90 %)")
    assert "2 s constant + 312 ms work = 2.31 s" in more[0]
    assert "   constant: starting and ending" in more
    assert f"   rests on 8 runs on 1 to 8 nodes: {fitted.name}: line 2, 3, 4, 5, 6, 7, 8, 9" in more
    assert more[-1].startswith("made mpi cached=0, 1,000 nodes, 1,000 blocks: refused: 1000 nodes")


def test_a_form_that_is_not_that_of_the_runs_is_refused(tmp_path: Path) -> None:
    def odd(nodes: int, blocks: int) -> float:
        return law(nodes, blocks) * (
            3.0 if (nodes, blocks) in ((2, 1000), (4, 384), (8, 1000)) else 1
        )

    fitted = write(tmp_path / "runs.csv", runs(odd))
    (line,) = predictions(tmp_path, fitted, write(tmp_path / "asked.csv", runs(odd, [(16, 1000)])))
    assert "something matters that the model does not know" in line["refused"]
    assert line["predicted_s"] == ""


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((10_000, 1000), "10000 nodes are more than 16 times the 8 of the largest run"),
        ((8, 10_000_000), "blocks for a core, the runs had"),
        ((128, 512), "blocks for a core, the runs had"),
    ],
)
def test_a_question_too_far_out_is_refused(
    shape: tuple[int, int], message: str, tmp_path: Path
) -> None:
    fitted = write(tmp_path / "runs.csv", runs(law))
    (line,) = predictions(tmp_path, fitted, write(tmp_path / "asked.csv", runs(law, [shape])))
    assert message in line["refused"]
    assert "measure" in line["refused"]


def test_a_single_run_is_no_model(tmp_path: Path) -> None:
    fitted = write(tmp_path / "runs.csv", runs(law, [(1, 100)]))
    (line,) = predictions(tmp_path, fitted, write(tmp_path / "asked.csv", runs(law, [(2, 100)])))
    assert line["refused"].startswith("1 different size measured, at least 3 are needed")


def test_runs_on_a_single_number_of_nodes_predict_no_other_number(tmp_path: Path) -> None:
    fitted = write(tmp_path / "runs.csv", runs(law, [(2, 100), (2, 200), (2, 400)]))
    lines = predictions(
        tmp_path, fitted, write(tmp_path / "asked.csv", runs(law, [(2, 300), (4, 300)]))
    )
    assert lines[0]["refused"] == ""
    assert lines[1]["refused"] == "all runs had 2 nodes; measure another number of them"


def test_a_slow_repeat_changes_nothing(tmp_path: Path) -> None:
    """A repeat of each three took three times as long, as if the machine was busy."""
    repeats = [*runs(law), *runs(law), *runs(lambda nodes, blocks: 3 * law(nodes, blocks))]
    questions = write(tmp_path / "asked.csv", runs(law, FAR[:1]))
    (line,) = predictions(tmp_path, write(tmp_path / "runs.csv", repeats), questions)
    (once,) = predictions(tmp_path, write(tmp_path / "runs.csv", runs(law)), questions)
    assert line == once


def test_runs_on_a_single_number_of_cores_predict_no_other_number(tmp_path: Path) -> None:
    """Twice the cores were predicted to halve the work, which no run had shown. Now this is
    refused.
    """
    fitted = write(tmp_path / "runs.csv", runs(law))
    other = [{**line, "cores_per_node": 8} for line in runs(law, FAR[:1])]
    (line,) = predictions(tmp_path, fitted, write(tmp_path / "asked.csv", other))
    assert line["refused"] == "all runs had 4 cores a node; measure another number of them"
    several = [{**line, "cores_per_node": 2} for line in runs(law)]
    write(fitted, [*runs(law), *several])
    assert predictions(tmp_path, fitted, tmp_path / "asked.csv")[0]["refused"] == ""


def test_an_unknown_group_is_refused_and_a_single_name_may_be_left_out(tmp_path: Path) -> None:
    fitted = write(tmp_path / "runs.csv", runs(law))
    other = write(tmp_path / "asked.csv", runs(law, [(4, 400)], machine="unseen"))
    (line,) = predictions(tmp_path, fitted, other)
    assert line["refused"].startswith("no runs of unseen mpi cached=0; there are some of: made mpi")
    short = [
        {name: row[name] for name in ("nodes", "cores_per_node", "blocks")} for row in runs(law)
    ]
    assert predictions(tmp_path, fitted, write(tmp_path / "asked.csv", short))[0]["refused"] == ""
    two = write(tmp_path / "runs.csv", [*runs(law), *runs(law, engine="other")])
    (line, *_) = predictions(tmp_path, two, tmp_path / "asked.csv")
    assert line["refused"].startswith("several kinds of runs are meant; add a column")
    assert "engine" in line["refused"]


@pytest.mark.parametrize("word", ["False", "no", "0", "0.0", ""])
def test_not_cached_has_several_spellings(word: str, tmp_path: Path) -> None:
    fitted = write(tmp_path / "runs.csv", runs(law))
    questions = write(tmp_path / "asked.csv", runs(law, FAR[:1], cached=word))
    assert predictions(tmp_path, fitted, questions)[0]["refused"] == ""


def test_the_same_question_has_the_same_answer_in_any_company(tmp_path: Path) -> None:
    fitted = write(tmp_path / "runs.csv", runs(noisy(3, 0.05)))
    both = predictions(tmp_path, fitted, write(tmp_path / "asked.csv", runs(law, FAR)))
    alone = predictions(tmp_path, fitted, write(tmp_path / "asked.csv", runs(law, FAR[-1:])))
    assert both[-1] == alone[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"overall_s": None}, "has no column overall_s, the seconds of the whole run"),
        ({"blocks": None}, "has no column blocks or input_bytes or rows"),
        ({"nodes": "2.5"}, "line 2: nodes is 2.5, not a whole number"),
        ({"nodes": "0"}, "line 2: nodes is 0, which no run can have"),
        ({"overall_s": "fast"}, "line 2: overall_s is 'fast', not a number"),
        ({"overall_s": ""}, "line 2: has no overall_s; leave out runs that did not end"),
        ({"overall_s": "-1"}, "line 2: overall_s is -1, which no run can have"),
        ({"map_s": ""}, "line 2: phase map_s is missing"),
        ({"map_s": "9e9"}, "are all columns in seconds?"),
        ({"map_ms": "3"}, "column map_ms: give seconds in a column map_s"),
    ],
)
def test_a_bad_csv_is_named_with_its_line(
    change: dict[str, str | None], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [{**line, **change} for line in runs(law)]
    rows = [{n: v for n, v in line.items() if v is not None} for line in lines]
    file = write(tmp_path / "bad.csv", rows)
    assert call(["model", "fit", str(file), "-o", str(tmp_path / "m.json")]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.startswith("cuesta: ")
    assert "bad.csv" in errors


def test_phases_in_another_unit_than_the_total_are_pointed_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        {**line, "map_s": 0.7 * line["overall_s"], "reduce_s": 0.3 * line["overall_s"]}
        for line in runs(law)
    ]
    right = write(tmp_path / "right.csv", lines)
    wrong = write(tmp_path / "w.csv", [{**o, "overall_s": 60 * o["overall_s"]} for o in lines])
    assert call(["model", "fit", str(right), "-o", str(tmp_path / "m.json")]) == 0
    assert "look at it" not in capsys.readouterr().out
    assert call(["model", "fit", str(wrong), "-o", str(tmp_path / "m.json")]) == 0
    output = capsys.readouterr().out
    assert "look at it: phases add up to 2.48 s of 148.8 s in" in output
    assert "and to as little in 8 of 8 runs; are all columns in seconds?" in output


def test_files_that_are_something_else_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old.json"
    old.write_text('{"schema": "cuesta.model/0"}')
    questions = write(tmp_path / "asked.csv", runs(law))
    assert call(["model", "predict", str(old), str(questions), "-o", str(tmp_path / "o.csv")]) == 2
    assert "a file of schema cuesta.model/0, expected cuesta.model/1" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    words = ["model", "fit", str(tmp_path / "empty"), "-o", str(tmp_path / "m.json")]
    assert call(words) == 2
    assert "has no run.json in it or below" in capsys.readouterr().err


def test_run_records_are_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for index, (size, seconds) in enumerate([(10**6, 1.0), (2 * 10**6, 2.0), (4 * 10**6, 4.0)]):
        folder = tmp_path / "runs" / str(index)
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps(record(size, seconds)))
    model = tmp_path / "model.json"
    assert call(["model", "fit", str(tmp_path / "runs"), "-o", str(model)]) == 0
    assert "copier sort copy" in capsys.readouterr().out
    questions = tmp_path / "asked.csv"
    questions.write_text("nodes,cores_per_node,input_bytes\n1,2,8000000\n")
    assert (
        call(["model", "predict", str(model), str(questions), "-o", str(tmp_path / "o.csv")]) == 0
    )
    assert "1 asked, 1 predicted, 0 refused" in capsys.readouterr().err
    assert call(["model", "nodes", str(model), "--amount", "8MB", "--nodes", "1,2"]) == 0
    output = capsys.readouterr().out
    assert "8,000,000 input bytes\n" in output
    assert "2 nodes: all runs had 1 node; measure another number of them" in output
    broken = tmp_path / "runs" / "0" / "run.json"
    broken.write_text(json.dumps({**record(1, 1.0), "verified": False}))
    assert call(["model", "fit", str(tmp_path / "runs"), "-o", str(model)]) == 2
    assert "its answer is wrong" in capsys.readouterr().err


def test_memory_and_disks_that_runs_were_held_to_are_terms(tmp_path: Path) -> None:
    """Sizes, limits and rates predict a size, a limit and a rate that none of the runs had."""

    def limited_record(size: float, memory: float, rate: float | None) -> dict[str, Any]:
        seconds = 0.5 + 4e-9 * size + 2e-9 * max(0.0, size - memory) + (size / rate if rate else 0)
        factors = {"machine_factors": {"asked": {"disk-rate": f"{rate:.0f}B/s"}}} if rate else {}
        return {**record(int(size), seconds), "memory_bytes": int(memory), **factors}

    known_runs = [
        limited_record(size, memory, rate)
        for size in (1e9, 2e9)
        for memory in (1e9, 4e9)
        for rate in (None, 1e8, 2e8)
    ]
    questions = [
        limited_record(4e9, 4e9, None),
        limited_record(2e9, 5e8, None),
        limited_record(2e9, 4e9, 5e7),
        limited_record(4e9, 1e9, 1e8),
    ]
    for name, rows in (("known", known_runs), ("asked", questions)):
        for index, row in enumerate(rows):
            folder = tmp_path / name / f"{index:02}"
            folder.mkdir(parents=True)
            (folder / "run.json").write_text(json.dumps(row))
    lines = predictions(tmp_path, tmp_path / "known", tmp_path / "asked")
    errors = [abs(float(line["predicted_s"]) / float(line["overall_s"]) - 1) for line in lines]
    assert max(errors) < 0.1
    assert lines[2]["disk_bytes_per_s"] == "50000000"
    assert lines[0]["source"].endswith("run.json")


def record(size_bytes: int, seconds: float) -> dict[str, Any]:
    return {
        "schema": "cuesta.run/1",
        "workload": "sort",
        "engine": CopyEngine().name,
        "parameters": {},
        "inputs": [{"path": "x", "bytes": size_bytes}],
        "threads": 2,
        "memory_bytes": None,
        "verified": True,
        "machine": {"cpu": "copier"},
        "statistics": {"wall_seconds": {"median": seconds}},
    }


@given(st.integers(1, 4), st.integers(0, 2**31))
@settings(max_examples=60, deadline=None)
def test_non_negative_least_squares_is_that_of_scipy(columns: int, seed: int) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    random = np.random.default_rng(seed)
    design, target = random.standard_normal((7, columns)), random.standard_normal(7)
    expected, _ = optimize.nnls(design, target)
    assert nonnegative(design, target) == pytest.approx(expected, abs=1e-6)


def test_laws_find_their_parameters() -> None:
    nodes = [1, 2, 4, 8, 16]
    fixed = laws.amdahl(nodes, [100 * (0.1 + 0.9 / n) for n in nodes], 1).parameters
    assert fixed["serial"].value == pytest.approx(0.1)
    assert (fixed["serial"].low or 0) < 0.1 < (fixed["serial"].high or 0)
    scaled = laws.gustafson(nodes, [10 * (1 + 0.02 * (n - 1)) for n in nodes], 1).parameters
    assert scaled["growth"].value == pytest.approx(0.02)
    rates = [5 * n / (1 + 0.05 * (n - 1) + 0.001 * n * (n - 1)) for n in nodes]
    parameters = laws.usl(nodes, rates, 1).parameters
    assert parameters["contention"].value == pytest.approx(0.05)
    assert parameters["crosstalk"].value == pytest.approx(0.001)
    assert parameters["best_nodes"].value == pytest.approx(math.sqrt(0.95 / 0.001))


def test_draws_keep_to_what_is_physical() -> None:
    wide = Candidate(
        terms=("tasks",), coefficients=(0.009,), covariance=((1.0,),), weight=1.0, error=0.0
    )
    draws = draw_seconds([wide], {"tasks": 100.0}, 500, 1)
    assert draws.min() == 0.0
    assert draws.max() == pytest.approx(0.01 * 100)
