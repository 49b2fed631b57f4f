"""Numbers of nodes: a table of a model's answers, and the largest number that still pays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call
from cuesta_lab.model.nodes import OnNodes, fastest, pays_up_to
from cuesta_lab.model.predict import Prediction
from modelkit import runs, write


def law(nodes: int, blocks: int) -> float:
    """Four seconds to start, 80 ms for a block of a core."""
    return 4.0 + 0.08 * blocks / (4 * nodes)


@pytest.fixture
def model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    file = write(tmp_path / "runs.csv", [*runs(law), *runs(law, engine="native")])
    assert call(["model", "fit", str(file), "-o", str(tmp_path / "model.json")]) == 0
    capsys.readouterr()
    return tmp_path / "model.json"


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert call(["model", "nodes", *words]) == 0
    return capsys.readouterr().out.splitlines()


def ask_model(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    return json.loads("\n".join(printed(capsys, *words, "--json")))


def on(nodes: int, seconds: float | None) -> OnNodes:
    prediction = Prediction(predicted_s=seconds, refused="" if seconds else "too far")
    return OnNodes(nodes=nodes, prediction=prediction, measured_s=None)


def test_the_largest_job_is_predicted_as_far_as_the_model_answers(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (job,) = ask_model(capsys, str(model), "--group", "native")
    assert (job["name"], job["amount"], job["unit"]) == ("made native cached=0", 1000, "blocks")
    assert [row["nodes"] for row in job["nodes"]] == [2**power for power in range(8)]
    for row in job["nodes"]:
        assert row["predicted_s"] == pytest.approx(law(row["nodes"], 1000), rel=0.1)
        assert row["node_hours"] == pytest.approx(row["nodes"] * row["predicted_s"] / 3600)
        assert (row["measured_s"] is not None) is (row["nodes"] <= 8)
    assert job["pays_up_to"] == 4


def test_people_see_a_table_and_how_many_nodes_pay(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--group", "mpi", "--amount", "2000", "--nodes", "8,1,1000"]
    title, head, first, second, third, advice, reason = printed(capsys, str(model), *words)
    assert title == "made mpi cached=0, 2,000 blocks"
    assert head.split() == ["nodes", "time", "with", "90", "%", "node", "hours", "measured"]
    assert [first.split()[0], second.split()[0], third.split()] == ["1", "8", ["1,000", "refused"]]
    assert advice == (
        "Up to 8 nodes twice the nodes make it at least 1.5 times as fast; 8 nodes are the fastest"
        " of the 2 answered."
    )
    assert reason.startswith("1,000 nodes: 1000 nodes are more than 16 times the 8")


@pytest.mark.parametrize(
    ("seconds", "last", "best"),
    [
        ([100.0, 60.0, 45.0, 44.0], 2, 8),
        ([100.0, 80.0, 40.0, 39.0], 4, 8),
        ([100.0, 90.0, 80.0, 85.0], None, 4),
        ([100.0, 50.0, None, None], 2, 2),
        ([None, None, None, None], None, None),
    ],
)
def test_nodes_pay_up_to_the_last_doubling_that_gains_enough(
    seconds: list[float | None], last: int | None, best: int | None
) -> None:
    rows = [on(2**power, time) for power, time in enumerate(seconds)]
    assert pays_up_to(rows) == last
    first = fastest(rows)
    assert (first and first.nodes) == best


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--group", "spark"], "--group spark: no runs of that; there are some of: made mpi"),
        (["--nodes", "two"], "--nodes is 'two', give numbers of nodes such as 1,2,4,8"),
        (["--nodes", "0,1"], "--nodes is '0,1', give numbers of nodes"),
        (["--amount", "much"], "--amount is 'much', give a size"),
        (["--amount", "0"], "question: blocks is 0.0, which no run can have"),
        (["--with", "tasks"], "--with is 'tasks', give NAME=VALUE"),
        (["--with", "tasks=few"], "question: tasks is 'few', not a number"),
    ],
)
def test_a_wrong_word_is_reported_in_a_single_line(
    words: list[str], message: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["model", "nodes", str(model), *words]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1
