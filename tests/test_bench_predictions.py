"""Predictions made before trials are stored with them, and have separate bars."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from cuesta_lab.model.predict import Prediction
from cuesta_lab.study import cells, file
from harness import predictions, results, studies, table
from harness.measure import measure
from harness.model import (
    INSIDE,
    REFUSED,
    Answer,
    Case,
    Contestant,
    DifferentAnswer,
    PredictionError,
    PredictionShare,
    Ratio,
    Recorded,
    Sample,
)
from harness.size import Size
from harness.studies import Trial

BARS = (
    PredictionError(at_most=0.15, text="error"),
    PredictionShare(which=INSIDE, text="inside"),
    PredictionShare(which=REFUSED, text="refused"),
)


def prediction_of(predicted_s: float) -> Prediction:
    return Prediction(predicted_s=predicted_s, low_s=0.9 * predicted_s, high_s=predicted_s / 0.9)


def recorded_trial(
    seconds: float, predicted: Prediction | None, digest: str | None = None
) -> Recorded:
    return Recorded(
        samples=tuple(Sample(seconds=seconds + away) for away in (0.0, -0.5, 0.5)),
        answer=Answer(digest=digest, rows=0) if digest else None,
        predicted=predicted,
    )


def case(*trials: Recorded) -> Case:
    contestants = (
        Contestant(name=f"t{number}", how="", recorded=trial) for number, trial in enumerate(trials)
    )
    return Case(name="c", contestants=tuple(contestants), bars=BARS, amount=1.0, unit="B")


@pytest.fixture
def size(tmp_path: Path) -> Size:
    return Size(smoke=False, repeats=9, folder=tmp_path)


def test_trials_that_were_made_before_take_no_turns(size: Size) -> None:
    measured = measure(case(recorded_trial(2.0, None)), size)
    assert [sample.seconds for sample in measured.samples["t0"]] == [2.0, 1.5, 2.5]


def test_answers_of_earlier_trials_are_compared(size: Size) -> None:
    with pytest.raises(DifferentAnswer, match="t0 and t1"):
        measure(case(recorded_trial(2.0, None, "a"), recorded_trial(2.0, None, "b")), size)


def test_errors_of_the_median_repeat_are_judged_and_refusals_counted(size: Size) -> None:
    trials = [
        recorded_trial(2.0, prediction_of(2.1)),
        recorded_trial(2.0, prediction_of(1.9)),
        recorded_trial(2.0, prediction_of(4.0)),
        recorded_trial(2.0, Prediction(refused="no run of it")),
    ]
    record = results.head("predictions", "bench/run.py predictions", size)
    record["cases"] = [results.of_case(measure(case(*trials), size))]
    error, inside, refused = record["cases"][0]["bars"]
    assert (error["figure"], error["met"]) == (pytest.approx(0.05), True)
    assert (inside["counted"], inside["times"]) == (2, 3)
    assert (refused["counted"], refused["times"]) == (1, 4)
    rows = table.bars([record])
    assert "| error | 5.0 % | 5.0 to 100.0 % (75%) | met |" in rows[2]
    assert "| inside | 2 of 3 |" in rows[3]
    result_rows = record["cases"][0]["contestants"]
    assert result_rows[0]["prediction"]["predicted_s"] == 2.1
    assert result_rows[3]["prediction"] == {"refused": "no run of it"}
    # Trials of different computations are not compared with each other.
    assert table.everybody(record)[3].count("x") == 0


def test_a_median_error_above_the_bar_is_missed_and_none_is_no_figure(size: Size) -> None:
    bar = results.of_case(measure(case(recorded_trial(2.0, prediction_of(3.0))), size))["bars"][0]
    assert (bar["figure"], bar["met"]) == (0.5, False)
    nothing = results.of_case(measure(case(recorded_trial(2.0, Prediction(refused="no"))), size))[
        "bars"
    ]
    assert (nothing[0]["figure"], nothing[0]["why"]) == (None, "nothing was predicted")


def test_a_row_shows_the_prediction_and_its_error() -> None:
    words = predictions.words(recorded_trial(2.0, prediction_of(2.2)))
    assert words == "predicted 2.2 s (1.98 s to 2.44 s), +10 %, inside"
    assert (
        predictions.words(recorded_trial(2.0, Prediction(refused="too far"))) == "refused: too far"
    )


def test_the_first_choice_may_be_the_best(size: Size) -> None:
    first, other = (
        recorded_trial(2.0, prediction_of(2.0), "a"),
        recorded_trial(2.1, prediction_of(2.3), "a"),
    )
    for best, figure in (("t0", 1.0), ("t1", pytest.approx(2.1 / 2.0, abs=0.01))):
        bar = Ratio(ours="t0", peer=best, at_least=1 / 1.1, text="first")
        both = Case(**{**vars(case(first, other)), "bars": (bar,)})
        row = results.of_case(measure(both, size))["bars"][0]
        assert (row["figure"], row["met"]) == (figure, True)


def test_the_file_of_a_study_has_a_level_for_each_trial(tmp_path: Path) -> None:
    path = tmp_path / "rows 'a\".dat"
    path.write_bytes(b"")
    trials = [
        Trial(name="one", settings={"workload": "sort", "memory": "1GiB"}, inputs=(path,)),
        Trial(
            name="two-2.5",
            settings={"workload": "dataflow", "nodes": 2, "parameters": {"blocks": 3}},
        ),
    ]
    text = studies.text("How long?", trials, 3)
    assert tomllib.loads(text)["input"][0]["path"] == str(path)
    study = file.parse("made", tomllib.loads(text), smoke=False)
    first, second = cells.combinations(study)
    assert (study.repeats, first.name, second.name) == (3, "one", "two-2.5")
    assert first.settings.inputs == ("i0",)
    assert second.settings.nodes == 2
    assert second.settings.workload_parameters == {"blocks": 3}
