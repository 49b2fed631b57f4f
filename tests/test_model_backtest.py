"""Runs on more nodes are held out, predicted from those on fewer, and compared."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call
from cuesta_lab.model import table
from cuesta_lab.model.backtest import combine, hold_out
from modelkit import SHAPES, published, runs, write


def law(nodes: int, blocks: int) -> float:
    """Two seconds to start, 20 ms for a block of a core."""
    return 2.0 + 0.02 * blocks / (4 * nodes)


def backtest(tmp_path: Path, lines: list[dict[str, Any]], capsys: Any) -> list[dict[str, Any]]:
    file = write(tmp_path / "runs.csv", lines)
    assert call(["model", "backtest", str(file), "--json"]) == 0
    return list(json.loads(capsys.readouterr().out))


def test_runs_on_more_nodes_are_predicted_from_those_on_fewer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = backtest(tmp_path, runs(law), capsys)
    assert [(row["nodes_max"], row["fitted"], row["asked"]) for row in rows] == [
        (2, 4, 4),
        (4, 6, 2),
    ]  # Up to 1 node there are too few runs for a model.
    for row in rows:
        assert len(row["errors"]) == row["within"] == row["asked"]
        assert max(map(abs, row["errors"])) < 0.1


def test_runs_that_turn_slow_on_more_nodes_are_shown_as_missed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The errors may cover only what is beyond the fitted nodes, with their sign."""

    def turned(nodes: int, blocks: int) -> float:
        return law(nodes, blocks) * (3.0 if nodes > 4 else 1.0)

    last = backtest(tmp_path, runs(turned), capsys)[-1]
    assert last["within"] == 0
    assert all(error == pytest.approx(1 / 3 - 1, abs=0.05) for error in last["errors"])
    assert call(["model", "backtest", str(tmp_path / "runs.csv")]) == 0
    head, *_, total = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["group", "fitted"]
    assert total.split()[0] == "all"
    assert re.search(r"-6\d %", total)


def test_refused_questions_are_counted_with_their_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    all_shapes = [*SHAPES, (400, 400 * 96)]
    (*_, last) = backtest(tmp_path, runs(law, all_shapes), capsys)
    assert (last["asked"], last["errors"]) == (1, [])
    assert "more than 16 times the 8 of the largest run" in last["refused"][0]
    assert combine("x", []).median_error is None


def test_without_runs_on_several_numbers_of_nodes_it_reports_the_lack(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "runs.csv", runs(law, [(1, 100), (1, 200), (1, 300)]))
    assert call(["model", "backtest", str(file)]) == 0
    assert "nothing to hold back" in capsys.readouterr().out


def test_published_runs_on_more_nodes_are_predicted() -> None:
    """Bars for larger published runs, checked on those that we may look at."""
    observed = table.read(published(), timed=True).observed
    parts = list(hold_out(observed, 0))
    summary = combine("all", parts)
    assert summary.median_error is not None
    assert summary.median_error < 0.1
    assert summary.within >= 0.8 * len(summary.errors)
    assert len(summary.errors) >= summary.asked / 2
    for part in parts:
        assert part.median_error is None or part.median_error < 0.15 or "mpi" in part.name
    assert not any(math.isnan(error) for error in summary.errors)
