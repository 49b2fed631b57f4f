"""Premises of claims, and the forms that follow the words of papers."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cuesta.errors import InputError
from cuesta_lab.study.cells import Combination
from cuesta_lab.study.claims import check_claims, judged
from cuesta_lab.study.intervals import line_residuals
from cuesta_lab.study.measures import measures
from cuesta_lab.study.result import CombinationRuns
from studykit import Levels, claim, factor, result
from test_study_claims import FASTER, SIZES, TOOLS, around, judge

ANALYTICS = factor("analytic", ["scan", "join", "graph"])
PARTS = factor("part", ["none", "half", "all"], [0, 50, 100])
MEAN = {
    "measure": "work",
    "mean": "analytic",
    "figures": ["000:figure-9"],
    "faster": {"tool": "ours"},
    "than": {"tool": "theirs"},
}
LARGE = {
    "says": "the data are larger than memory",
    "measure": "input",
    "of": "memory-limit",
    "at_least": 1,
    "meet": "8 GB of text in 2 GiB",
}


def thrice(levels: Levels) -> dict[str, list[float]]:
    return {"work": around(1 if levels["tool"] == "ours" else 3)}


def of_memory(part: float, *sizes: str) -> Any:
    """Return samples of runs whose input is this part of memory, at these sizes or at all."""
    return lambda levels: {
        **thrice(levels),
        "input": [part if not sizes or levels["size"] in sizes else 2.0] * 3,
        "memory-limit": [1.0] * 3,
    }


def test_a_claim_outside_its_regime_has_no_verdict_but_a_remedy() -> None:
    keys = {**FASTER, "premise": [LARGE]}
    assert judge([TOOLS, SIZES], keys, of_memory(3))["verdict"] == "holds"
    ruling = judge([TOOLS, SIZES], keys, of_memory(0.05))
    assert ruling["verdict"] == "premise not met"
    assert ruling["parts"] == []
    assert ruling["said"].startswith(
        "Premise: the data are larger than memory (input by memory-limit was 0.05, at least 1 is"
        " needed); to meet it: 8 GB of text in 2 GiB. Measured all the same: Time of work of theirs"
    )


def test_a_level_outside_the_regime_is_left_out() -> None:
    sizes = factor("size", ["small", "medium", "large", "huge"], [1, 2, 4, 8])
    ruling = judge([TOOLS, sizes], {**FASTER, "premise": [LARGE]}, of_memory(0.5, "small"))
    assert ruling["verdict"] == "holds"
    assert [part["levels"]["size"] for part in ruling["parts"]] == ["medium", "large", "huge"]
    assert "Left out: premise: the data are larger than memory" in ruling["said"]
    few = judge([TOOLS, SIZES], {**FASTER, "premise": [LARGE]}, of_memory(0.5, "small"))
    assert few["verdict"] == "premise not met"


def test_a_premise_that_nothing_counted_is_not_met() -> None:
    ruling = judge([TOOLS, SIZES], {**FASTER, "premise": [LARGE]}, thrice)
    assert ruling["verdict"] == "premise not met"
    assert "(input or memory-limit was not counted)" in ruling["said"]


def test_a_limit_of_memory_is_that_of_the_study_where_no_run_has_it() -> None:
    study = result([TOOLS, SIZES], [claim(**FASTER, premise=[LARGE])], lambda levels: {
        **thrice(levels), "input": [2.0 * 2**30] * 3})  # fmt: skip
    study["file"]["settings"] = {"memory": "4GiB", "machine": {"memory-group": "1GiB"}}
    assert judged(study)[0]["verdict"] == "holds"
    study["file"]["settings"] = {"memory": "4GiB"}
    assert judged(study)[0]["verdict"] == "premise not met"
    record: dict[str, Any] = {
        "phases": [], "samples": [], "wall_seconds": 1.0, "inputs": [], "answer": {"counts": {}},
        "time": {"as_typed_seconds": 1.0, "work_seconds": 1.0}, "memory_bytes": 5,
        "statistics": {"wall_seconds": {"median": 1.0}}, "session_runs": 2,
        "machine_factors": {"asked": {"memory-group": "1MiB"}},
    }  # fmt: skip
    values = measures(record)
    assert (values["memory-limit"], values["warm-runs"]) == (2**20, 2)
    del record["machine_factors"], record["session_runs"]
    assert measures(record)["memory-limit"] == 5
    assert "warm-runs" not in measures(record)


def test_nodes_are_those_of_the_study_where_no_run_has_them() -> None:
    premise = {"says": "there are two", "measure": "nodes", "at_least": 2, "meet": "two nodes"}
    study = result([TOOLS, SIZES], [claim(**FASTER, premise=[premise])], thrice)
    (ruling,) = judged(study)
    assert ruling["verdict"] == "premise not met"
    assert "(nodes was 1, at least 2 is needed); to meet it: two nodes" in ruling["said"]
    study["file"]["settings"] = {"nodes": 2}
    assert judged(study)[0]["verdict"] == "holds"


def test_a_claim_may_be_about_some_levels_alone() -> None:
    def samples(levels: Levels) -> dict[str, list[float]]:
        wins = (levels["tool"] == "ours") == (levels["size"] == "large")
        return {"work": around(1 if wins else 3)}

    assert judge([TOOLS, SIZES], FASTER, samples)["verdict"] == "does not hold"
    ruling = judge([TOOLS, SIZES], {**FASTER, "at": ["large"]}, samples)
    assert ruling["verdict"] == "holds"
    assert "small" not in ruling["said"]
    by_part = {"none": 10.0, "half": 6.0, "all": 9.0}
    parts = factor("part", ["none", "half", "more", "all"], [0, 50, 75, 100])
    keys = {"measure": "work", "over": "part", "linear": "falls", "at": ["none", "half", "more"]}
    ruling = judge([parts], keys, lambda levels: {
        "work": around({**by_part, "more": 4.0}[levels["part"]])})  # fmt: skip
    assert ruling["verdict"] == "holds", ruling["said"]


def test_a_claim_about_a_level_that_was_not_run_has_no_verdict() -> None:
    """A part of a study, as `--only size=small` runs it, ended in an internal error."""
    study = result([TOOLS, SIZES], [claim(**FASTER, at=["large"], premise=[LARGE])], of_memory(3))
    study["factors"][1] = factor("size", ["small"], [1])
    study["cells"] = [cell for cell in study["cells"] if cell["levels"]["size"] == "small"]
    assert judged(study)[0]["verdict"] == "undecided"
    study["smoke"] = True
    assert judged(study)[0]["verdict"] == "undecided"


def test_counters_that_are_0_on_both_sides_were_not_counted() -> None:
    """Writes a second of both devices were 0, for nothing counted them: their ratio was 1."""
    keys = {**FASTER, "measure": "device writes/s"}
    ruling = judge([TOOLS, SIZES], keys, lambda _: {"device writes/s": [0.0] * 3})
    assert ruling["verdict"] == "premise not met"
    assert "was not counted, or 0 on both sides, at small, medium, large" in ruling["said"]
    trend = {"measure": "device writes/s", "over": "size", "trend": "rises"}
    assert judge([SIZES], trend, lambda _: {"work": around(1)})["verdict"] == "premise not met"


def test_a_measure_that_a_cell_lacks_is_missing_and_not_0() -> None:
    """Loading was compared with a phase that the other system does not have: 0 s, so that a ratio
    of over 1000 held. Now such a comparison has no verdict.
    """

    def samples(levels: Levels) -> dict[str, list[float]]:
        loads = {"phase load": around(2)} if levels["tool"] == "theirs" else {}
        return {"work": around(1), **loads}

    keys = {**FASTER, "measure": "phase load", "by": 100}
    ruling = judge([TOOLS, SIZES], keys, samples)
    assert ruling["verdict"] == "premise not met"
    assert ruling["said"].startswith(
        "Time in load was not counted, or 0 on both sides, at small, medium, large; to meet it: "
    )
    ruling = judge([TOOLS, SIZES], {**FASTER, "measure": "phase lod"}, samples)
    assert ruling["verdict"] == "premise not met"


def test_two_repeats_decide_nothing() -> None:
    ruling = judge([TOOLS, SIZES], FASTER, lambda levels: {
        "work": around(1 if levels["tool"] == "ours" else 3)[:2]})  # fmt: skip
    assert ruling["verdict"] == "undecided"


def test_a_counter_that_a_repeat_lacks_is_no_measure_of_the_cell() -> None:
    settings: Any = None
    runs = CombinationRuns(combination=Combination(levels={}, settings=settings))
    record = {"answer": {"digest": "d"}, "started": "now"}
    runs.add("1", record, {"work": 1.0, "device reads": 5.0})
    runs.add("2", record, {"work": 2.0, "phase spill": 0.5})
    runs.add("3", record, {"work": 3.0, "device reads": 6.0})
    assert runs.measures == {"work": [1.0, 2.0, 3.0], "phase spill": [0.0, 0.5, 0.0]}


def by_analytic(ratios: dict[str, float], part: float = 0.01) -> Any:
    return lambda levels: {
        "work": around(1 if levels["tool"] == "ours" else ratios[levels["analytic"]], part)
    }


def test_a_finding_on_average_is_of_the_geometric_mean() -> None:
    ratios = {"scan": 0.8, "join": 2.0, "graph": 5.0}
    ruling = judge([TOOLS, ANALYTICS], MEAN, by_analytic(ratios))
    assert ruling["verdict"] == "holds"
    (part,) = ruling["parts"]
    assert part["ratio"]["median"] == pytest.approx(2.0)
    assert "was, on average over scan, join and graph, 2 times that of ours (" in ruling["said"]
    each = {key: value for key, value in MEAN.items() if key != "mean"}
    assert judge([TOOLS, ANALYTICS], {**each, "over": "analytic"}, by_analytic(ratios))[
        "verdict"
    ] == "does not hold"  # fmt: skip
    sized = judge([TOOLS, ANALYTICS, SIZES], {**MEAN, "over": "size"}, by_analytic(ratios))
    assert [row["levels"]["size"] for row in sized["parts"]] == ["small", "medium", "large"]


def test_a_mean_lacks_no_analytic() -> None:
    def samples(levels: Levels) -> dict[str, list[float]]:
        return {} if levels["analytic"] == "graph" else thrice(levels)

    ruling = judge([TOOLS, ANALYTICS], MEAN, samples)
    assert (ruling["verdict"], ruling["parts"]) == ("undecided", [])


def test_the_interval_of_a_mean_holds_the_true_mean() -> None:
    draw, inside = random.Random(5), 0
    for _ in range(200):

        def samples(levels: Levels) -> dict[str, list[float]]:
            middle = 2.0 if levels["tool"] == "theirs" else 1.0
            return {"work": [middle * draw.lognormvariate(0, 0.1) for _ in range(5)]}

        (part,) = judge([TOOLS, ANALYTICS], MEAN, samples)["parts"]
        inside += part["ratio"]["low"] < 2 < part["ratio"]["high"]
    assert inside >= 184


def test_the_figure_of_the_paper_is_a_second_line() -> None:
    keys = {**MEAN, "paper": 5.4}
    agrees = judge(
        [TOOLS, ANALYTICS], keys, by_analytic(dict.fromkeys(("scan", "join", "graph"), 4.1))
    )
    assert agrees["verdict"] == "holds"
    assert agrees["near_paper"]["verdict"] == "agrees"
    assert "Paper 5.4, here 4.1 (4.0" in agrees["said"]
    assert agrees["said"].endswith(": within a factor 1.5.")
    far = judge(
        [TOOLS, ANALYTICS], keys, by_analytic(dict.fromkeys(("scan", "join", "graph"), 1.2))
    )
    assert (far["verdict"], far["near_paper"]["verdict"]) == ("holds", "differs")
    unclear = judge(
        [TOOLS, ANALYTICS], keys, by_analytic(dict.fromkeys(("scan", "join", "graph"), 3.6), 0.1)
    )
    assert unclear["near_paper"]["verdict"] == "unclear"
    at = {**FASTER, "paper": 3, "paper_at": "large"}
    assert judge([TOOLS, SIZES], at, thrice)["near_paper"]["median"] == pytest.approx(3)


def test_an_order_of_several_systems_holds_pair_by_pair() -> None:
    tools = factor("tool", ["c", "python", "scala"])
    keys = {
        "measure": "work",
        "over": "size",
        "order": [{"tool": n} for n in ("c", "python", "scala")],
    }
    speeds = {"c": 1.0, "python": 1.5, "scala": 3.0}
    ruling = judge([tools, SIZES], keys, lambda levels: {"work": around(speeds[levels["tool"]])})
    assert ruling["verdict"] == "holds"
    assert "python by c 1.5 (1.4" in ruling["said"]
    assert "scala by python 2 (1.9" in ruling["said"]
    speeds["scala"] = 1.2
    ruling = judge([tools, SIZES], keys, lambda levels: {"work": around(speeds[levels["tool"]])})
    assert ruling["verdict"] == "does not hold"


@pytest.mark.parametrize(
    ("seconds", "direction", "verdict"),
    [
        ((10.0, 6.0, 2.0), "falls", "holds"),
        ((10.0, 2.5, 2.0), "falls", "does not hold"),
        ((10.0, 6.0, 2.0), "rises", "does not hold"),
        ((2.0, 6.0, 10.0), "rises", "holds"),
        ((1.0, 1.0, 1.0), "falls", "undecided"),
    ],
)
def test_linear_is_a_straight_line_and_not_just_a_fall(
    seconds: tuple[float, ...], direction: str, verdict: str
) -> None:
    by_part = dict(zip(("none", "half", "all"), seconds, strict=True))
    keys = {"measure": "work", "over": "part", "linear": direction}
    ruling = judge([PARTS], keys, lambda levels: {"work": around(by_part[levels["part"]])})
    assert ruling["verdict"] == verdict, ruling["said"]
    assert "by a straight line through all" in ruling["said"]


def test_a_straight_line_leaves_no_residuals() -> None:
    samples = {float(x): around(3 + 2 * x) for x in (0, 1, 2, 5)}
    residuals = line_residuals(samples)
    assert all(one.median == pytest.approx(1) for one in residuals.values())
    with pytest.raises(ValueError, match="three values"):
        line_residuals({1.0: [1.0], 2.0: [2.0]})


def test_a_steadier_system_scatters_less() -> None:
    keys = {
        "measure": "work", "where": {"size": "small"},
        "steadier": {"tool": "ours"}, "than": {"tool": "theirs"},
    }  # fmt: skip
    draw = random.Random(1)

    def samples(part: float, count: int) -> Any:
        return lambda levels: {
            "work": [
                draw.lognormvariate(0, 0.01 if levels["tool"] == "ours" else part)
                for _ in range(count)
            ]
        }

    ruling = judge([TOOLS, SIZES], keys, samples(0.2, 12))
    assert ruling["verdict"] == "holds"
    assert ruling["said"].startswith("Small: scatter of time of work of theirs, by that of ours,")
    assert judge([TOOLS, SIZES], keys, samples(0.01, 3))["verdict"] == "undecided"
    assert judge([TOOLS, SIZES], keys, samples(0.2, 2))["parts"] == []


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"premise": {}}, "premise is {}, give a list of tables"),
        ({"premise": [{**LARGE, "saying": 1}]}, "premise: saying is not known"),
        ({"premise": [{**LARGE, "meet": ""}]}, "premise: meet is '', give text"),
        ({"premise": [{**LARGE, "measure": "speed"}]}, "measure is 'speed', which is no measure"),
        ({"premise": [{**LARGE, "at_least": True}]}, "give at_least or at_most, as numbers"),
        ({"premise": [{**LARGE, "where": {"tool": "x"}}]}, "where: tool 'x' is not a level"),
        ({"mean": "size"}, "mean is 'size', give a factor other than over"),
        ({"paper": 0}, "paper is 0, give a number above 0"),
        ({"near": 2}, "paper is missing"),
        ({"paper": 2, "paper_at": "tiny"}, "paper_at is 'tiny', give a level of over"),
        ({"at": ["tiny"]}, "at is ['tiny'], give a list of levels of over"),
        ({"linear": "falls"}, "give one of faster, same, trend, exponent, order, linear"),
    ],
)
def test_a_form_that_cannot_be_judged_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        check_claims({"claim": [claim(**{**FASTER, **keys})]}, [TOOLS, SIZES])
    assert message in str(refused.value)
