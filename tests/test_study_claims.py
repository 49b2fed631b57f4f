"""Claims of studies: verdicts, intervals, sentences, and claims that cannot be judged."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from cuesta.errors import InputError
from cuesta_lab.study.claims import check_claims, judged
from cuesta_lab.study.measures import measures
from studykit import Levels, claim, factor, result

TOOLS = factor("tool", ["ours", "theirs"])
SIZES = factor("size", ["small", "medium", "large"], [1, 2, 4])
FASTER = {"measure": "work", "over": "size", "faster": {"tool": "ours"}, "than": {"tool": "theirs"}}


def times(table: dict[str, list[float]]) -> Any:
    """Return samples of `work` by the names of the levels, joined by a space."""
    return lambda levels: {"work": table[" ".join(levels.values())]}


def around(middle: float, part: float = 0.01) -> list[float]:
    return [middle * (1 - part), middle, middle * (1 + part)]


def judge(levels: list[dict[str, Any]], keys: dict[str, Any], samples: Any) -> dict[str, Any]:
    study = result(levels, [claim(**keys)], samples)
    check_claims(study["file"], study["factors"])
    (ruling,) = judged(study)
    return ruling


def test_faster_at_all_levels_holds() -> None:
    def samples(levels: Levels) -> dict[str, list[float]]:
        size = {"small": 1.0, "medium": 2.0, "large": 4.0}[levels["size"]]
        return {"work": around(size if levels["tool"] == "ours" else 3 * size)}

    ruling = judge([TOOLS, SIZES], FASTER, samples)
    assert ruling["verdict"] == "holds"
    assert [part["levels"]["size"] for part in ruling["parts"]] == ["small", "medium", "large"]
    assert all(part["holds"] for part in ruling["parts"])
    assert ruling["said"].startswith(
        "Time of work of theirs was 3 times that of ours at small (2.9"
    )


def test_slower_at_a_single_level_does_not_hold_and_the_sentence_names_it() -> None:
    def samples(levels: Levels) -> dict[str, list[float]]:
        wins = (levels["tool"] == "ours") != (levels["size"] == "large")
        return {"work": around(1 if wins else 3)}

    ruling = judge([TOOLS, SIZES], FASTER, samples)
    assert ruling["verdict"] == "does not hold"
    assert "0.33 at large (0." in ruling["said"]
    assert ruling["said"].endswith("; claimed: more than 1.")


def test_intervals_that_touch_leave_it_undecided_with_the_repeats_that_lack() -> None:
    def samples(levels: Levels) -> dict[str, list[float]]:
        return {"work": around(1 if levels["tool"] == "ours" else 1.2, 0.15)}

    ruling = judge([TOOLS, SIZES], FASTER, samples)
    assert ruling["verdict"] == "undecided"
    assert "about 9 repeats would be needed to decide" in ruling["said"]


def test_a_level_that_was_not_run_leaves_it_undecided() -> None:
    def samples(levels: Levels) -> dict[str, list[float]]:
        if levels["size"] == "large":
            return {}
        return {"work": around(1 if levels["tool"] == "ours" else 3)}

    ruling = judge([TOOLS, SIZES], FASTER, samples)
    assert ruling["verdict"] == "undecided"
    assert "no verified run to compare at large" in ruling["said"]


def test_a_combination_that_the_study_leaves_out_is_not_missed() -> None:
    study = result(
        [TOOLS, SIZES],
        [claim(**FASTER)],
        lambda levels: {"work": around(1 + (levels["tool"] == "theirs"))},
    )
    study["cells"] = [cell for cell in study["cells"] if cell["levels"]["size"] != "large"]
    assert judged(study)[0]["verdict"] == "undecided"
    study["file"]["without"] = [{"where": {"size": ["large"], "tool": "theirs"}, "why": "big"}]
    (ruling,) = judged(study)
    assert ruling["verdict"] == "holds"
    assert "large" not in ruling["said"]


def test_two_levels_are_enough_where_no_more_exist() -> None:
    sizes = factor("size", ["small", "large"])
    ruling = judge(
        [TOOLS, sizes], FASTER, lambda levels: {"work": around(1 + (levels["tool"] == "theirs"))}
    )
    assert ruling["verdict"] == "holds"


def test_a_level_without_a_value_is_no_place_on_an_axis() -> None:
    kinds = factor("kind", ["scan", "join"])
    ruling = judge(
        [TOOLS, kinds],
        {**FASTER, "over": "kind"},
        lambda levels: {"work": around(1 + (levels["tool"] == "theirs"))},
    )
    assert "Time of work of theirs was 2 times that of ours for scan (" in ruling["said"]


def test_a_claim_of_ours_may_compare_two_cells_alone() -> None:
    keys = {
        "measure": "work",
        "faster": {"tool": "ours", "size": "small"},
        "than": {"tool": "theirs", "size": "large"},
    }
    ruling = judge(
        [TOOLS, SIZES], keys, lambda levels: {"work": around(1 + 2 * (levels["tool"] == "theirs"))}
    )
    assert ruling["verdict"] == "holds"
    assert ruling["said"].startswith(
        "Time of work of theirs, large was 3 times that of ours, small (2."
    )
    assert judge([TOOLS, SIZES], keys, lambda _: {})["verdict"] == "undecided"


def test_at_least_and_at_most_bound_the_claimed_side() -> None:
    def samples(levels: Levels) -> dict[str, list[float]]:
        return {"work": around(1 if levels["tool"] == "ours" else 3)}

    assert judge([TOOLS, SIZES], {**FASTER, "by": 2.5}, samples)["verdict"] == "holds"
    assert judge([TOOLS, SIZES], {**FASTER, "by": 3.5}, samples)["verdict"] == "does not hold"
    assert judge([TOOLS, SIZES], {**FASTER, "under": 2.5}, samples)["verdict"] == "does not hold"
    assert judge([TOOLS, SIZES], {**FASTER, "by": 3}, samples)["verdict"] == "undecided"


def test_the_same_within_a_factor() -> None:
    sides = [{"tool": "ours"}, {"tool": "theirs"}]
    keys = {"measure": "work", "over": "size", "same": sides, "within": 1.2}
    by_tool = {"ours": 1.0, "theirs": 1.05}
    ruling = judge([TOOLS, SIZES], keys, lambda levels: {"work": around(by_tool[levels["tool"]])})
    assert ruling["verdict"] == "holds"
    assert "Time of work of theirs was 1.05 times that of ours at small (1.0" in ruling["said"]
    by_tool["theirs"] = 1.5
    ruling = judge([TOOLS, SIZES], keys, lambda levels: {"work": around(by_tool[levels["tool"]])})
    assert ruling["verdict"] == "does not hold"


@pytest.mark.parametrize(
    ("trend", "middles", "verdict"),
    [
        ("rises", (1, 2, 4), "holds"),
        ("rises", (1, 1, 4), "holds"),
        ("rises", (1, 4, 2), "does not hold"),
        ("rises", (1, 1, 1), "undecided"),
        ("falls", (4, 2, 1), "holds"),
        ("falls", (1, 2, 4), "does not hold"),
        ("flat", (1, 1.02, 1.01), "holds"),
        ("flat", (1, 1.02, 1.5), "does not hold"),
    ],
)
def test_trends(trend: str, middles: tuple[float, ...], verdict: str) -> None:
    by_size = dict(zip(("small", "medium", "large"), middles, strict=True))
    ruling = judge(
        [SIZES],
        {"measure": "work", "over": "size", "trend": trend},
        lambda levels: {"work": around(by_size[levels["size"]])},
    )
    assert ruling["verdict"] == verdict, ruling["said"]


def test_the_sentence_of_a_trend_names_its_steps() -> None:
    ruling = judge(
        [SIZES],
        {"measure": "peak", "over": "size", "trend": "rises"},
        lambda levels: {"peak": around({"small": 1, "medium": 2, "large": 4}[levels["size"]])},
    )
    assert ruling["said"].startswith(
        "Memory was, as a multiple of that a level before, 2 (1.95 to 2.05) at medium and 2 ("
    )
    assert ", and 4 (3.9" in ruling["said"]
    assert "from small to large" in ruling["said"]


def test_an_exponent_is_held_to_its_interval() -> None:
    keys = {"measure": "work", "over": "size", "exponent": [0.8, 1.2]}

    def samples(power: float) -> Any:
        return lambda levels: {
            "work": around({"small": 1, "medium": 2, "large": 4}[levels["size"]] ** power)
        }

    ruling = judge([SIZES], keys, samples(1))
    assert ruling["verdict"] == "holds"
    assert ruling["said"].startswith("Time of work went with size to the power 1 (0.9")
    assert judge([SIZES], keys, samples(2))["verdict"] == "does not hold"
    assert judge([SIZES], keys, samples(1.2))["verdict"] == "undecided"


def test_a_record_produces_sums_over_its_time_line_and_those_of_the_devices_of_the_trial() -> None:
    record: dict[str, Any] = {
        "wall_seconds": 3.0,
        "cpu_seconds": 2.0,
        "peak_resident_bytes": 1,
        "read_bytes": 1,
        "written_bytes": 1,
        "device_read_bytes": 1,
        "device_written_bytes": 1,
        "inputs": [{"bytes": 5}, {"bytes": 6}],
        "phases": [{"name": "load", "seconds": 1.0}],
        "answer": {"counts": {"rows": 7}},
        "samples": [{"wall_seconds": 3.0, "phases": [{"name": "load", "seconds": 1.0}]}],
        "time": {"as_typed_seconds": 4.0, "work_seconds": 3.0},
        "engine_log": {"tasks": 2},
        "machine_factors": {"asked": {"disk-rate": "50MB/s"}},
        "timeline": {
            "seconds": [1.0, 3.0],
            "machine": {"iowait_seconds": [0.1, 0.2]},
            "pressure": {"io_some_seconds": [0.5, 0]},
            "devices": {
                "vda": {"reads": [10, 10]},
                "loop0": {"reads": [1, 2]},
                "loop1": {"reads": [3, 0]},
            },
        },
    }
    values = measures(record)
    assert values["input"] == 11
    assert values["work"] == 2
    assert values["device reads"] == 6
    assert values["device reads/s"] == 2
    assert values["machine iowait_seconds"] == pytest.approx(0.3)
    assert values["pressure io_some_seconds"] == 0.5
    # A device without reads is not in the time line.
    del record["timeline"]["devices"]["loop0"], record["timeline"]["devices"]["loop1"]
    assert "device reads" not in measures(record)
    del record["machine_factors"]
    assert measures(record)["device reads"] == 20


def test_two_measures_of_the_same_runs_are_compared() -> None:
    keys = {
        "over": "size",
        "where": {"tool": "ours"},
        "faster": {"measure": "phase map"},
        "than": {"measure": "phase reduce"},
        "by": 1.5,
    }
    ruling = judge(
        [TOOLS, SIZES], keys, lambda _: {"phase map": around(1), "phase reduce": around(2)}
    )
    assert ruling["verdict"] == "holds"
    assert ruling["said"].startswith("Ours: time in reduce was 2 times time in map at small (1.9")


def test_an_untested_claim_explains_why() -> None:
    ruling = judge([SIZES], {"untested": "needs twelve machines"}, lambda _: {"work": [1.0]})
    assert (ruling["verdict"], ruling["said"]) == ("cannot be tested", "needs twelve machines")


def test_a_single_repeat_decides_nothing() -> None:
    ruling = judge(
        [TOOLS, SIZES], FASTER, lambda levels: {"work": [1.0 + 9 * (levels["tool"] == "theirs")]}
    )
    assert ruling["verdict"] == "undecided"
    assert "one run alone" in ruling["said"]
    assert all(math.isfinite(part["ratio"]["high"]) for part in ruling["parts"])


def test_a_result_is_judged_reproducibly() -> None:
    draw = random.Random(3)
    study = result(
        [SIZES],
        [claim(measure="work", over="size", exponent=[0.5, 1.5])],
        lambda levels: {"work": [draw.random() + 1 for _ in range(5)]},
    )
    assert judged(study) == judged(study)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"faster": 1}, "faster is 1, give a table"),
        ({"faster": {"tool": 1}}, "1 is not a level of tool"),
        ({"faster": {"tol": "ours"}}, "tol is not a factor"),
        ({"than": []}, "than is [], give a table"),
        ({"over": None, "figures": ["000:figure-2"]}, "a claim about a figure must hold over a"),
        ({"over": None}, "size is left open"),
        ({"over": 3}, "over is 3, give one factor: tool, size"),
        ({"over": ["size"]}, "over is ['size'], give one factor"),
        ({"over": "tool"}, "tool is what the claim is made over"),
        ({"measure": "speed"}, "measure is 'speed'"),
        ({"measure": 5}, "measure is 5"),
        ({"by": "2"}, "by is '2', give a number above 0"),
        ({"by": True}, "by is True"),
        ({"by": 3, "under": 2}, "by is not below under"),
        ({"within": 2}, "within does not go with faster"),
        ({"trend": "rises"}, "give one of faster, same, trend, exponent"),
        ({"where": "warm"}, "where is 'warm', give a table"),
        ({"where": {"size": "small"}}, "size is what the claim is made over"),
        ({"figures": "000:figure-2"}, "figures is '000:figure-2', give a list"),
        ({"finding": 1}, "finding is 1, give text"),
        ({"untested": "no"}, "faster stands beside untested"),
        ({"speed": 1}, "speed is not known"),
    ],
)
def test_a_claim_that_cannot_be_judged_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        check_claims({"claim": [claim(**{**FASTER, **keys})]}, [TOOLS, SIZES])
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"over": "size", "trend": "rises", "measure": "work"}, "tool is left open"),
        (
            {"over": "size", "faster": {"tool": "ours"}, "than": {}, "measure": "work"},
            "tool is left open",
        ),
        ({"over": "size", "trend": "up", "measure": "work"}, "trend is 'up'"),
        ({"over": "tool", "exponent": [0, 1], "measure": "work"}, "size is left open"),
        ({"over": "size", "exponent": 1, "measure": "work"}, "exponent is 1"),
        ({"over": "size", "same": 1, "measure": "work"}, "same is 1"),
        ({"over": "size", "same": [1, 2], "measure": "work"}, "same is 1, give a table"),
    ],
)
def test_a_claim_must_fix_everything(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match="claim one: ") as refused:
        check_claims({"claim": [claim(**keys)]}, [TOOLS, SIZES])
    assert message in str(refused.value)


def test_two_claims_of_the_same_name_are_refused() -> None:
    row = claim(**FASTER)
    with pytest.raises(InputError, match="two claims of this name"):
        check_claims({"claim": [row, row]}, [TOOLS, SIZES])
    with pytest.raises(InputError, match=r"write \[\[claim\]\]"):
        check_claims({"claim": 1}, [TOOLS, SIZES])


def test_a_claim_about_three_needs_all_three() -> None:
    third = factor("tool", ["ours", "theirs", "nobody"])
    keys = {"measure": "work", "same": [{"tool": name} for name in ("ours", "theirs", "nobody")]}

    def samples(levels: Levels) -> dict[str, list[float]]:
        return {} if levels["tool"] == "nobody" else {"work": around(1)}

    for scope in ({"where": {"size": "small"}}, {"over": "size"}):
        ruling = judge([third, SIZES], keys | scope, samples)
        assert ruling["verdict"] == "undecided"
        assert "no verified run to compare at" in ruling["said"]


def test_points_that_bend_are_no_power_of_anything() -> None:
    keys = {"measure": "work", "over": "size", "exponent": [0.8, 1.2], "where": {"tool": "ours"}}

    def bent(levels: Levels) -> dict[str, list[float]]:
        return {"work": around({"small": 1.0, "medium": 1.0, "large": 4.0}[levels["size"]])}

    ruling = judge([TOOLS, SIZES], keys, bent)
    assert ruling["verdict"] == "does not hold"
    assert "but to 0.00 (" in ruling["said"]


def test_nothing_has_no_exponent() -> None:
    keys = {"measure": "work", "over": "size", "exponent": [0.8, 1.2], "where": {"tool": "ours"}}
    ruling = judge([TOOLS, SIZES], keys, lambda _: {"work": [0.0, 0.0, 0.0]})
    assert ruling["verdict"] == "undecided"


def test_levels_of_the_file_that_were_not_run_are_missing() -> None:
    complete = result([TOOLS, SIZES], [claim(**FASTER)], lambda _: {"work": around(1)})
    part = result(
        [TOOLS, factor("size", ["medium"], [2])],
        [claim(**FASTER)],
        lambda levels: {"work": around(1 if levels["tool"] == "ours" else 3)},
    )
    part["file"] = complete["file"] | {"factor": [TOOLS, SIZES]}
    (ruling,) = judged(part)
    assert ruling["verdict"] == "undecided"
    assert "no verified run to compare at small, large" in ruling["said"]
