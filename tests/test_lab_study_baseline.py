"""The gate of regressions, by simulation: its detections, and its false alarms."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

from cuesta.cli.app import call
from cuesta.errors import InputError, Regression
from cuesta_lab.cli.study_check import check_result
from cuesta_lab.study import baseline as gate
from cuesta_lab.study.shift import Demand, Drift, Shift, repeats_needed, scatter, unsteadiness
from cuesta_lab.study.turns import Turns
from harness import drawn as kit

NOISES = {"log-normal": kit.log_normal, "skewed": kit.skewed, "spiked": kit.spiked}
TRIALS = 200
NO_DRIFT = Drift(deviation=0)


def sure(part: float) -> float:
    """Return a bound on the detections in `TRIALS` at true probability `part`, wrong once in 10,000
    tests.
    """
    return part + NormalDist().inv_cdf(0.9999) * math.sqrt(part * (1 - part) / TRIALS)


def repeats_for(noise: kit.Noise, combinations: int) -> int:
    """Return the repeats that the gate would request if it knew the noise."""
    repeats = gate.repeats_for(scatter(noise(random.Random(0), 4000)), combinations)
    assert repeats is not None
    return repeats


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize(("deviation", "combinations"), [(0.03, 12), (0.05, 1), (0.05, 6)])
def test_of_a_slow_down_of_a_tenth_19_in_20_are_detected_with_the_repeats_requested(
    name: str, deviation: float, combinations: int
) -> None:
    source = random.Random(f"{name} {deviation} {combinations}")
    noise = NOISES[name](deviation)
    repeats = repeats_for(noise, combinations)
    noises = [noise] * combinations
    false, missed, cleared = 0, 0, 0
    for _ in range(TRIALS):
        before = kit.drawn(source, noises, repeats, {})
        false += bool(gate.check(before, kit.drawn(source, noises, repeats, {})).of(gate.SLOWER))
        after = kit.drawn(source, noises, repeats, {0: 1.1})
        changes = {change.levels["size"]: change for change in gate.check(before, after).changes}
        missed += changes["0"].verdict != gate.SLOWER
        cleared += changes["0"].verdict == gate.NO_SLOWER
    assert false / TRIALS <= sure(0.05)
    assert missed / TRIALS <= sure(0.05)
    assert cleared / TRIALS <= sure(0.05)


@pytest.mark.parametrize("repeats", [2, 3, 5, 7])
def test_with_fewer_repeats_it_misses_more_but_never_reports_that_all_is_well(repeats: int) -> None:
    source = random.Random(repeats)
    noises = [kit.skewed(0.05)] * 6
    cleared, few, false = 0, 0, 0
    for _ in range(TRIALS):
        before = kit.drawn(source, noises, repeats, {})
        outcome = gate.check(before, kit.drawn(source, noises, repeats, {0: 1.1}))
        slow = next(change for change in outcome.changes if change.levels["size"] == "0")
        cleared += slow.verdict == gate.NO_SLOWER
        few += slow.verdict == gate.TOO_FEW
        false += any(change.levels["size"] != "0" for change in outcome.of(gate.SLOWER))
    assert cleared / TRIALS <= sure(0.05)
    assert false / TRIALS <= sure(0.05)
    assert few > 0


def test_the_repeats_it_requests_after_a_few_are_enough() -> None:
    source = random.Random(11)
    noises = [kit.log_normal(0.04)] * 4
    missed = 0
    for _ in range(TRIALS):
        first = gate.check(kit.drawn(source, noises, 7, {}), kit.drawn(source, noises, 7, {}))
        # One or two of 200 pairs are drawn with drifts that no number of repeats can resolve.
        repeats = max(change.needed or 0 for change in first.changes) or 20
        before = kit.drawn(source, noises, repeats, {})
        after = kit.drawn(source, noises, repeats, {0: 1.1})
        missed += not gate.check(before, after).of(gate.SLOWER)
    assert missed / TRIALS <= sure(0.05)


def test_a_machine_that_drifts_more_than_a_slow_down_decides_nothing() -> None:
    demand = Demand(factor=1.1, missed=0.05, alarms=0.05)
    assert repeats_needed(0.03, Drift(deviation=0.05), demand) is None


def test_waves_of_the_machine_within_the_runs_are_detected_and_call_for_caution() -> None:
    source = random.Random(2)

    def run(wave: float) -> list[list[float]]:
        turns = [math.sin(index / 4 + source.random()) * wave for index in range(24)]
        return [[math.exp(level + source.gauss(0, 0.03)) for level in turns] for _ in range(6)]

    quiet = [unsteadiness([run(0.0), run(0.0)]) for _ in range(200)]
    assert sum(value > 0 for value in quiet) <= 10
    assert unsteadiness([run(0.2), run(0.2)]) > 0.05
    assert unsteadiness([[[1.0], [1.0]], [[2.0], []]]) == 0.0


def test_where_repeats_scatter_by_a_third_nothing_but_a_large_change_is_believed() -> None:
    source = random.Random(4)
    noises, wrong = [kit.log_normal(0.3)] * 3, 0
    for _ in range(40):
        before, after = (kit.drawn(source, noises, 40, {}) for _ in range(2))
        for cell in after["cells"]:
            cell["measures"]["work"] = [1.05 * seconds for seconds in cell["measures"]["work"]]
        wrong += bool(gate.check(before, after).of(gate.SLOWER))
    assert wrong <= 2
    before, after = (kit.drawn(source, noises, 40, slow) for slow in ({}, {0: 3.0}))
    assert [change.levels["size"] for change in gate.check(before, after).of(gate.SLOWER)] == ["0"]


def test_without_drift_the_test_is_that_of_the_published_tables() -> None:
    # For 5 and 5 samples, U >= 21 has a probability of 0.0476, U = 25 of 1 / 252.
    before = [1.0, 2.0, 3.0, 4.0, 5.0]
    above = Shift(before, [6.0, 7.0, 8.0, 9.0, 10.0], NO_DRIFT)
    assert above.p_larger() == pytest.approx(1 / 252)
    over = Shift(before, [2.5, 4.5, 4.6, 5.5, 6.5], NO_DRIFT)  # U = 2 + 4 + 4 + 5 + 5 = 20
    more = Shift(before, [3.5, 4.5, 4.6, 5.5, 6.5], NO_DRIFT)  # U = 21
    assert more.p_larger() == pytest.approx(0.0476, abs=5e-5)
    assert over.p_larger() == pytest.approx(0.0754, abs=5e-5)
    assert more.p_smaller(1.0) > 0.95


def test_many_repeats_are_judged_like_few() -> None:
    source = random.Random(3)
    before, after = ([source.lognormvariate(0, 0.05) for _ in range(60)] for _ in range(2))
    exact = Shift(before, after, NO_DRIFT).p_larger()
    near = Shift([*before, 1.0], after, NO_DRIFT).p_larger()
    assert near == pytest.approx(exact, abs=0.02)


def test_the_interval_holds_the_true_ratio_as_often_as_claimed() -> None:
    source = random.Random(5)
    noise, covered = kit.skewed(0.05), 0
    for _ in range(TRIALS):
        drift = source.gauss(0, 0.01)
        after = [1.3 * math.exp(drift) * seconds for seconds in noise(source, 8)]
        low, high = Shift(noise(source, 8), after, Drift(deviation=0.01)).interval(0.95)
        covered += low <= 1.3 <= high
    assert 0.95 - (sure(0.05) - 0.05) <= covered / TRIALS


def test_two_repeats_give_no_interval() -> None:
    assert Shift([1.0, 1.1], [2.0, 2.1], NO_DRIFT).interval(0.95) == (0.0, float("inf"))


def test_the_scatter_is_the_deviation_and_outliers_weigh_less() -> None:
    source = random.Random(1)
    assert scatter(kit.log_normal(0.04)(source, 20_000)) == pytest.approx(0.04, rel=0.03)
    assert scatter([1.0]) == 0.0


STEADY = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.995, 1.005, 0.985]


def test_of_pairs_the_test_is_that_of_the_published_tables() -> None:
    # For 8 pairs, a rank sum >= 31 has a probability of 0.0391, 36 of 1 / 256.
    ones = [1.0] * 8
    above = Turns(ones, [1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 1.08])
    assert above.p_larger() == pytest.approx(1 / 256)
    some = Turns(ones, [1.01, 1.02, 1.03, 1.04, 0.95, 1.06, 1.07, 1.08])
    assert some.p_larger() == pytest.approx(0.0391, abs=5e-5)
    assert some.p_smaller(1.0) > 0.95
    assert some.interval(0.95)[0] < 1 < some.ratio < 1.05
    assert Turns([1.0, 1.0], [2.0, 2.0]).interval(0.95) == (0.0, float("inf"))
    assert Turns(ones, ones).p_larger() == Turns(ones, ones).p_smaller(1.0) == 1


def drifting(source: random.Random, factor: float, repeats: int) -> tuple[Any, Any]:
    """Return two results by turns on a machine whose speed drifts by far more than a tenth."""
    level, before, after = 0.0, [], []
    for _ in range(repeats):
        level += source.gauss(0, 0.1)
        before.append(math.exp(level + source.gauss(0, 0.04)))
        after.append(factor * math.exp(level + source.gauss(0, 0.04)))
    return kit.result({"a": before}, turn=0), kit.result({"a": after}, turn=1)


def test_by_turns_a_tenth_is_detected_on_a_machine_that_drifts_by_more() -> None:
    source = random.Random(6)
    repeats = gate.pairs_for(0.04 * math.sqrt(2), 1)
    false, missed, cleared, covered = 0, 0, 0, 0
    for _ in range(TRIALS):
        false += bool(gate.check(*drifting(source, 1.0, repeats)).of(gate.SLOWER))
        (slow,) = gate.check(*drifting(source, 1.1, repeats)).changes
        assert slow.by_turns
        missed += slow.verdict != gate.SLOWER
        cleared += slow.verdict == gate.NO_SLOWER
        covered += slow.low <= 1.1 <= slow.high
    assert false / TRIALS <= sure(0.05)
    assert missed / TRIALS <= sure(0.05)
    assert cleared / TRIALS <= sure(0.05)
    assert 0.95 - (sure(0.05) - 0.05) <= covered / TRIALS


def test_few_turns_ask_for_as_many_as_are_needed() -> None:
    source = random.Random(7)
    (few,) = gate.check(*drifting(source, 1.0, 4)).changes
    assert few.verdict == gate.TOO_FEW
    assert few.needed is not None
    assert few.needed > 4


def test_runs_that_ended_before_the_next_began_are_not_by_turns() -> None:
    before, after = (kit.result({"a": STEADY}, turn=turn) for turn in (0, 1))
    assert gate.check(before, after).changes[0].by_turns
    after["cells"][0]["started"] = [f"2027{stamp[4:]}" for stamp in after["cells"][0]["started"]]
    assert not gate.check(before, after).changes[0].by_turns
    del after["cells"][0]["started"]
    assert not gate.check(before, after).changes[0].by_turns


def test_answers_and_failures_are_reported_before_times() -> None:
    before = kit.result({"a": STEADY, "b": STEADY, "c": STEADY, "d": STEADY})
    after = kit.result({"a": STEADY, "b": STEADY, "c": [1.3 * seconds for seconds in STEADY]})
    after["cells"][0]["digest"] = "1" * 32
    after["cells"][1]["failed"] = [{"repeat": 3, "why": "no"}]
    outcome = gate.check(before, after)
    verdicts = {change.levels["size"]: change.verdict for change in outcome.changes}
    assert verdicts == {
        "b": gate.FAILED, "a": gate.OTHER_ANSWER, "c": gate.SLOWER, "d": gate.NOT_RUN,
    }  # fmt: skip
    assert [change.levels["size"] for change in outcome.changes] == ["b", "a", "c", "d"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"smoke": True}, "smoke size"),
        ({"file": {"workload": "sort"}}, "another study: 'workload'"),
        ({"machine": {"cpu": "other", "cores": 2, "cores_usable": 2}}, "another machine: cpu"),
    ],
)
def test_results_that_cannot_be_compared_are_refused(change: dict[str, Any], message: str) -> None:
    before = kit.result({"a": STEADY})
    with pytest.raises(InputError, match=message):
        gate.check(before, kit.result({"a": STEADY}, **change))


def test_a_missing_measure_is_named_with_the_available_measures() -> None:
    both = kit.result({"a": STEADY})
    with pytest.raises(InputError, match="no samples of 'phase x'; measured are: work"):
        gate.check(both, both, "phase x")


def written(folder: Path, factor: float, repeats: int) -> Path:
    """Write a folder with a result."""
    folder.mkdir()
    samples = {name: [factor * seconds for seconds in STEADY[:repeats]] for name in ("a", "b")}
    (folder / "study.json").write_text(json.dumps(kit.result(samples)))
    return folder


def test_the_command_passes_fails_or_requests_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = written(tmp_path / "old", 1.0, 10)
    check_result(written(tmp_path / "same", 1.005, 10), old)
    assert "nothing is slower by 10%" in capsys.readouterr().out
    with pytest.raises(
        Regression, match=r"size a: slower 1\.2\d* times \(1\.1.* more\)"
    ) as failure:
        check_result(written(tmp_path / "slow", 1.2, 10), old / "study.json")
    assert failure.value.exit_code == 1
    with pytest.raises(InputError, match=r"2 of 2 whether .* with --repeat \d+") as refusal:
        check_result(written(tmp_path / "few", 1.0, 3), old)
    assert refusal.value.exit_code == 2


def test_as_json_the_command_prints_all_combinations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = written(tmp_path / "old", 1.0, 2)
    with pytest.raises(InputError):
        check_result(written(tmp_path / "few", 1.0, 3), old, as_json=True)
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"] == gate.TOO_FEW
    assert [change["levels"] for change in report["changes"]] == [{"size": "a"}, {"size": "b"}]
    assert report["changes"][0]["high"] is None


@pytest.mark.parametrize(("factor", "code"), [(1.0, 0), (1.2, 1)])
def test_the_exit_code_of_the_command_as_typed(tmp_path: Path, factor: float, code: int) -> None:
    old, new = written(tmp_path / "old", 1.0, 10), written(tmp_path / "new", factor, 10)
    assert call(["study", "check", str(new), "--baseline", str(old / "study.json")]) == code
