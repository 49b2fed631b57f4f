"""The twelve rules, each on a study that keeps it and a study that breaks it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import studykit as kit
from cuesta.cli.app import call
from cuesta.engines import get_engine
from cuesta.lab.observer import Silent
from cuesta.lab.rules import SPOILING
from cuesta_lab.study import rules, run
from cuesta_lab.study.claims import judged
from cuesta_lab.study.rules import BROKEN, DOES_NOT_APPLY, MET
from cuesta_lab.study.trials import StudyEnvironment
from test_study_file import TINY, to_study

Study = dict[str, Any]
Change = Callable[[Study, dict[str, Study]], object]

MACHINE = {
    "cpu": "drawn", "cores": 2, "cores_usable": 2, "memory_bytes": 1 << 30, "kernel": "Linux 6",
    "load_average": 0.1,
}  # fmt: skip
SECONDS = {"a": 1.0, "b": 2.0}


def complete_study() -> tuple[Study, dict[str, Study]]:
    """Return a study that keeps all rules, with its records."""
    factors = [kit.factor("size", ["1", "2", "3"], [1, 2, 3]), kit.factor("tool", ["a", "b"])]
    claims = [kit.claim(over="size", faster={"tool": "a"}, than={"tool": "b"}, measure="work")]

    def samples(levels: kit.Levels) -> dict[str, list[float]]:
        middle = SECONDS[levels["tool"]] * float(levels["size"])
        return {"work": [middle * (1 + 0.01 * index) for index in range(7)]}

    result = kit.result(factors, claims, samples)
    records = {}
    for cell in result["cells"]:
        name = "_".join(cell["levels"].values())
        cell["runs"] = [f"runs/{name}/{repeat}" for repeat in range(1, 8)]
        cell["digest"] = f"digest of {cell['levels']['size']}"
        for place in cell["runs"]:
            records[place] = record(cell, place)
    result |= {
        "started": "2026-01-01T00:00:00Z",
        "machine": dict(MACHINE),
        "versions": {"cuesta": "0.1.0"},
        "views": [
            {"kind": "lines", "across": "size", "curves": "tool", "measure": "work"},
            {"kind": "efficiency", "across": "size", "where": {"tool": "a"}, "measure": "work"},
        ],
    }
    result["claims"] = judged(result)
    assert [claim["verdict"] for claim in result["claims"]] == ["holds"]
    return result, records


def record(cell: Study, place: str) -> Study:
    """Return the record of a run of a combination."""
    return {
        "workload": "sort",
        "engine": cell["levels"]["tool"],
        "parameters": {},
        "threads": 2,
        "memory_bytes": 1 << 28,
        "cache": "as-is",
        "seed": 0,
        "inputs": [{"path": f"/in/{cell['levels']['size']}", "bytes": 100}],
        "answer": {"digest": cell["digest"]},
        "verified": True,
        "verification": {"level": "full"},
        "phases": [{"name": "sort", "seconds": 1.0}],
        "ceilings": {"memory_copy_bytes_per_s": 1e10},
        "machine": dict(MACHINE),
        "versions": {"cuesta": "0.1.0"},
        "started": f"2026-01-01T00:00:0{place[-1]}Z",
    }


def states(result: Study, records: dict[str, Study]) -> dict[str, str]:
    """Return the state of each rule by its name."""
    return {ruling.rule.name: ruling.state for ruling in rules.rulings(result, records)}


def test_a_study_that_keeps_all_rules_raises_no_alarm() -> None:
    result, records = complete_study()
    assert set(states(result, records).values()) == {MET}
    assert rules.alarms(result, records) == []
    assert [rule.number for rule in rules.RULES] == list(range(13))


def cell_of(result: Study, index: int) -> Study:
    cell: Study = result["cells"][index]
    return cell


def first(records: dict[str, Study]) -> Study:
    return next(iter(records.values()))


BREACHES: list[tuple[str, bool, str, Change]] = [
    ("verification", True, "Not verified: size 1, tool a", lambda _, r: first(r).update(
        verified=None)),
    ("verification", True, "No digest", lambda s, _: cell_of(s, 0).update(digest=None)),
    ("verification", True, "A wrong answer: size 1, tool a", lambda s, _: cell_of(s, 0).update(
        failed=[{"repeat": 1, "why": "no", "wrong": True}])),
    ("verification", True, "different answers", lambda _, r: first(r)["answer"].update(digest="x")),
    ("verification", False, "Only a sample", lambda _, r: first(r)["verification"].update(
        level="sample")),
    ("base", False, "whose least level 1 was not measured", lambda s, _: cell_of(s, 0).update(
        measures={}, left_out="no disk")),
    ("selection", True, "smoke size", lambda s, _: s.update(smoke=True)),
    ("selection", False, "Not run, and nothing says why: size 1, tool b", lambda s, _: cell_of(
        s, 1).update(measures={})),
    ("selection", False, "the budget of time was spent", lambda s, _: (
        s.update(budget_spent=True), cell_of(s, 1).update(measures={}))),
    ("selection", False, "No run used all cores", lambda _, r: [
        run_record.update(threads=1) for run_record in r.values()]),
    ("ratios", False, "leaves tool open", lambda s, _: s["claims"][0].update(
        faster=None, than=None, trend="rises")),
    ("intervals", True, "Fewer than 3 repeats", lambda s, _: cell_of(s, 0).update(
        measures={"work": [1.0, 1.0]})),
    ("intervals", False, "less than 95 %", lambda s, _: cell_of(s, 0).update(
        measures={"work": [1.0] * 5})),
    ("intervals", True, "Nothing was measured", lambda s, _: [
        cell.update(measures={}) for cell in s["cells"]]),
    ("comparison", True, "a verdict without an interval", lambda s, _: s["claims"][0]["parts"][
        0].update(ratio={"median": 2.0})),
    ("comparison", True, "said to hold though", lambda s, _: s["claims"][0]["parts"][0].update(
        holds=False)),
    ("comparison", False, "of which 2 levels were seen", lambda s, _: s["claims"][0].update(
        parts=s["claims"][0]["parts"][:2])),
    ("summary", False, "size 1, tool a (2 times)", lambda s, _: cell_of(s, 0).update(
        measures={"work": [1.0] * 6 + [2.0]})),
    ("provenance", True, "does not have: machine.kernel", lambda s, _: s["machine"].pop("kernel")),
    ("provenance", True, "versions.cuesta", lambda s, _: s.update(versions={})),
    ("provenance", True, "1 run records were not kept", lambda _, r:
        r.pop("runs/1_a/1")),
    ("provenance", True, "not of one machine", lambda _, r: first(r)["machine"].update(cores=4)),
    ("provenance", True, "not of one version", lambda _, r: first(r)["versions"].update(
        cuesta="2")),
    ("provenance", True, "Repeats of size 1, tool a were run with different settings", lambda _, r:
        first(r).update(threads=1)),
    ("timing", False, "lack phases", lambda _, r: first(r).update(phases=[])),
    ("timing", False, "a load of 9, 2 cores", lambda _, r: first(r)["machine"].update(
        load_average=9.0)),
    ("bounds", False, "ceilings were not measured", lambda _, r: first(r).update(ceilings=None)),
    ("plots", False, "A line over tool would join levels with nothing between them, such as a",
        lambda s, _: s["views"][0].update(across="tool")),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "grave", "text", "change"), BREACHES)
def test_a_breach_is_detected_and_named(rule: str, grave: bool, text: str, change: Change) -> None:
    result, records = copy.deepcopy(complete_study())
    change(result, records)
    alarms = [alarm for alarm in rules.alarms(result, records) if text in alarm["text"]]
    assert [(alarm["rule"], alarm["grave"]) for alarm in alarms] == [(rule, grave)]
    assert states(result, records)[rule] == BROKEN
    if grave and rule in SPOILING:
        assert not rules.comparable(rules.alarms(result, records))


def test_grave_alarms_come_first() -> None:
    result, records = complete_study()
    first(records).update(ceilings=None, verified=False)
    assert [alarm["grave"] for alarm in rules.alarms(result, records)] == [True, False]


def test_a_stored_result_without_records_can_be_compared() -> None:
    result, _ = complete_study()
    alarms = rules.alarms(result, {})
    assert [alarm["text"][:30] for alarm in alarms] == ["42 run records were not kept, "]
    assert rules.comparable(alarms)
    assert states(result, {})["bounds"] == DOES_NOT_APPLY


def test_a_result_without_findings_breaks_no_rule_on_findings() -> None:
    result, records = complete_study()
    result |= {"claims": [{"name": "x", "untested": "no network"}], "views": []}
    outcomes = states(result, records)
    assert {outcomes[rule] for rule in ("base", "ratios", "comparison", "plots")} == {
        DOES_NOT_APPLY
    }
    text = "\n".join(rules.lines(rules.rulings(result, records)))
    assert " 4 does not apply  Ratios are not averaged" in text


def test_a_study_that_was_run_keeps_its_alarms_and_the_command_prints_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = replace(to_study(TINY), repeats=3)
    result, _ = run.run(study, tmp_path / "out", StudyEnvironment(engine=get_engine), Silent())
    assert {alarm["rule"] for alarm in result["alarms"]} <= {
        "intervals",
        "bounds",
        "timing",
        "summary",
    }
    assert call(["study", "check", str(tmp_path / "out")]) == 0
    assert "verified in full" in capsys.readouterr().out
    file = tmp_path / "out" / "study.json"
    written = json.loads(file.read_text())
    assert written["alarms"] == result["alarms"]
    written["cells"][0]["measures"] = {"work": [1.0]}
    file.write_text(json.dumps(written))
    assert call(["study", "check", str(file)]) == 1
    output = capsys.readouterr()
    assert "NOT COMPARABLE" in output.err
    assert "! Fewer than 3 repeats" in output.out
