"""The choice of `study tune` is compared with runs of all settings, which it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benches import study_tune
from benches.study_tune import AGREES, OWN, PLANTED
from harness import results
from harness.measure import measure
from harness.size import Size

GRID = {OWN: [1.0, 1.1, 1.05], PLANTED: [3.0, 3.1, 2.9], "4-kept": [0.99, 1.06, 1.07]}


def tuned_result(default: str, winner: str, verdict: str) -> dict[str, Any]:
    gain = {"median": 1.0, "low": 0.9, "high": 1.1}
    runs = {"chosen_from": [{"seconds": [1.0]}], "held_out": [{"seconds": [1.0, 1.0]}]}
    return {
        "default": {"trial": default},
        "winner": {"trial": winner},
        "verdict": verdict,
        "gain": gain,
        **runs,
    }


def judged(tmp_path: Path, outcome: dict[str, Any], grid: dict[str, list[float]]) -> dict[str, Any]:
    """Return the last bar of a case."""
    path = tmp_path / "input"
    path.write_bytes(b"x" * 100)
    case = study_tune.held("scan", path, outcome, grid)
    row = results.of_case(measure(case, Size(smoke=False, repeats=3, folder=tmp_path)))
    last: dict[str, Any] = row["bars"][-1]
    return last


@pytest.mark.parametrize(
    ("winner", "verdict", "met"),
    [
        (OWN, "better", True),
        ("4-kept", "better", True),
        (OWN, "not decided", False),
        (PLANTED, "no gain", False),
    ],
)
def test_from_a_bad_setting_four_fifths_of_the_gap_are_wanted(
    tmp_path: Path, winner: str, verdict: str, met: bool
) -> None:
    bar = judged(tmp_path, tuned_result(PLANTED, winner, verdict), GRID)
    assert "80%" in bar["text"]
    assert bar["met"] is met


SLOW = [2.0, 2.1, 2.05]


@pytest.mark.parametrize(
    ("winner", "verdict", "seconds", "met"),
    [
        (OWN, "no gain", GRID[OWN], True),
        (OWN, "no gain", SLOW, False),
        ("4-kept", "better", SLOW, True),
        (PLANTED, "better", GRID[OWN], False),
        ("4-kept", "not decided", GRID[OWN], False),
        ("4-kept", "slower", GRID[OWN], False),
    ],
)
def test_from_our_default_setting_the_grid_has_to_agree(
    tmp_path: Path, winner: str, verdict: str, seconds: list[float], met: bool
) -> None:
    bar = judged(tmp_path, tuned_result(OWN, winner, verdict), GRID | {OWN: seconds})
    assert bar["times"] == 1
    assert bar["counted"] == int(met)
    assert bar["met"] is met
    assert AGREES in bar["text"]
