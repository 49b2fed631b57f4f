"""A study runs commands at each level of its factors, and compares their answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cuesta.cli.app import call
from cuesta.errors import EngineError, InputError, VerificationError
from cuesta.lab.observer import Silent
from cuesta_lab.study import baseline, cells, file, result, rules, run
from labkit import SCHEMA
from studycommandkit import ALLOWED, STUDY, SUM, write_study

Outcome = tuple[dict[str, Any], list[result.CombinationRuns]]


def ran(path: Path, out: Path) -> Outcome:
    return run.run(file.read(str(path)), out, ALLOWED, Silent())


def with_level(words: str) -> str:
    """The study with a third level, which comes first in the file."""
    return STUDY.replace("levels = [", f'levels = [{{ name = "other", {words} }}, ')


def cell(outcome: Outcome, **levels: str) -> dict[str, Any]:
    return next(row for row in outcome[0]["cells"] if row["levels"] == levels)


def test_commands_are_timed_where_their_answers_are_equal(tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome = ran(write_study(tmp_path / "study"), out)
    for tool in ("first", "second"):
        row = cell(outcome, tool=tool)
        assert row["failed"] == []
        assert len(row["measures"]["work"]) == 2
        assert row["measures"]["work"] == row["measures"]["wall"]
        assert row["measures"]["count rows"] == [1.0, 1.0]
        assert [path.name for path in (out / row["runs"][0]).iterdir()] == ["run.json"]
    # Their values differ within the tolerance, so they share the digest of the exact columns.
    digests = {row["digest"] for row in outcome[0]["cells"]}
    assert len(digests) == 1
    record = json.loads((out / "runs/second/1/run.json").read_text())
    jsonschema.validate(record, SCHEMA)
    assert record["command"][1:] == [
        str(tmp_path / "study" / "sum.py"),
        str(out / "inputs" / "numbers"),
        record["command"][3],
        "1e-9",
    ]
    assert not list(out.glob(".scratch-*"))
    result.raise_errors(outcome[1])


def test_a_study_of_commands_continues_where_it_was_stopped(tmp_path: Path) -> None:
    path, out = write_study(tmp_path / "study"), tmp_path / "out"
    ran(path, out)
    first = out / "runs/first/1/run.json"
    before = first.stat().st_mtime_ns
    (out / "runs/second/2/run.json").unlink()
    resumed = ran(path, out)
    assert first.stat().st_mtime_ns == before
    assert [len(row["runs"]) for row in resumed[0]["cells"]] == [2, 2]


def test_a_changed_script_is_run_anew(tmp_path: Path) -> None:
    path, out = write_study(tmp_path / "study"), tmp_path / "out"
    ran(path, out)
    (tmp_path / "study" / "sum.py").write_text(SUM.replace("sum(rows)", "(sum(rows) + 7)"))
    again = ran(path, out)
    assert [row["failed"] for row in again[0]["cells"]] == [[], []]
    facts = json.loads(next((out / "answers").glob("*/reference.json")).read_text())
    assert facts["by"] in ("first", "second")
    (tmp_path / "study" / "make_numbers.py").write_text("import sys\nopen(sys.argv[1], 'w')\n")
    assert ran(path, out)[0]["cells"][0]["digest"] == again[0]["cells"][0]["digest"]
    assert (out / "inputs" / "numbers").read_text() == ""


@pytest.mark.parametrize(
    ("words", "why", "wrong"),
    [
        ('argument = "0.5"', "column 'value' is", True),
        ("command = \"sh -c 'echo lost >&2; exit 4'\"", "exit code 4; its last line is: lost",
         False),
        ("command = \"sh -c 'kill -SEGV $$'\"", "signal SIGSEGV", False),
        ('command = "no-such-program x"', "no-such-program: no such file", False),
        ('command = "true"', "it wrote no answer", False),
        ('command = "sleep 60"\ntime_limit = "0.2s"', "(time_limit) and was ended", False),
        ("command = \"sh -c 'echo j,value >sum.csv; echo 1,2 >>sum.csv'\"", "no column 'what'",
         False),
        ('setup = ["false"]', "setup 1: it failed with exit code 1", False),
        ('argument = "0"\ncheck = ["true", "false"]', "check 2: it failed with exit code 1", True),
        ('argument = "0"\ncheck = ["no-such-program"]', "check 1: it could not be started", False),
    ],
)  # fmt: skip
def test_a_bad_command_has_a_verdict_and_the_rest_continues(
    words: str, why: str, wrong: bool, tmp_path: Path
) -> None:
    levels = ", ".join(words.splitlines())
    path, out = write_study(tmp_path / "study", with_level(levels)), tmp_path / "out"
    outcome = ran(path, out)
    other = cell(outcome, tool="other")
    failed = other["failed"] or next(row["failed"] for row in outcome[0]["cells"] if row["failed"])
    assert why in failed[0]["why"]
    assert failed[0]["wrong"] is wrong
    timed = [row for row in outcome[0]["cells"] if row["measures"]]
    # Where the answer is another one, the first that was written is the reference.
    assert len(timed) == 2 or (wrong and "value" in why)
    with pytest.raises(VerificationError if wrong else EngineError):
        result.raise_errors(outcome[1])
    assert not list(out.glob(".scratch-*"))


def test_an_expected_answer_is_the_reference(tmp_path: Path) -> None:
    expected = '[settings]\nexpected = "right.csv"'
    text = with_level('argument = "0.5"').replace("[settings]", expected)
    path, out = write_study(tmp_path / "study", text), tmp_path / "out"
    (tmp_path / "study" / "right.csv").write_text("what,value\nsum,499500\n")
    outcome = ran(path, out)
    assert cell(outcome, tool="other")["failed"][0]["wrong"]
    assert "column 'value' is 749250" in cell(outcome, tool="other")["failed"][0]["why"]
    for tool in ("first", "second"):
        assert len(cell(outcome, tool=tool)["runs"]) == 2
    # A wrong answer is not run again, unless the expected one changes.
    assert cell(ran(path, out), tool="other")["failed"][0]["wrong"]
    (tmp_path / "study" / "right.csv").write_text("what,value\nsum,749250.0\n")
    changed = ran(path, out)
    assert cell(changed, tool="other")["failed"] == []
    assert cell(changed, tool="first")["failed"][0]["wrong"]


def test_a_command_that_answers_otherwise_each_time_has_no_time(tmp_path: Path) -> None:
    script = "import os, sys\nprint('what,value')\nprint(f'sum,{499500 + os.getpid()}')\n"
    level = with_level('command = "{python} unstable.py", answer = "-", format = "csv"')
    level = level.replace('{ name = "first", argument = "0" }, ', "").replace(
        '{ name = "second", argument = "1e-9" }', ""
    )
    path, out = write_study(tmp_path / "study", level), tmp_path / "out"
    (tmp_path / "study" / "unstable.py").write_text(script)
    outcome = ran(path, out)
    other = cell(outcome, tool="other")
    assert "its answers differ from run to run" in other["failed"][0]["why"]
    assert (other["runs"], other["measures"]) == ([], {})


def test_factors_that_change_the_answer_are_named(tmp_path: Path) -> None:
    factor = '\n[[factor]]\nname = "part"\nlevels = [{ name = "0" }, { name = "1" }]\n'
    text = STUDY.replace('{tool}"', '{part}"') + factor
    path = write_study(tmp_path / "study", text)
    with pytest.raises(VerificationError):
        result.raise_errors(ran(path, tmp_path / "out")[1])
    path = write_study(tmp_path / "study", f'answer_by = ["part"]\n{text}')
    outcome = ran(path, tmp_path / "named")
    result.raise_errors(outcome[1])
    assert all(len(row["runs"]) == 2 for row in outcome[0]["cells"])
    assert len({row.combination.answers for row in outcome[1]}) == 2


def test_a_command_that_needs_what_is_not_here_is_left_out(tmp_path: Path) -> None:
    for words, why in (
        ('needs = ["no-such-program"]', "needs no-such-program, which is not installed"),
        ('needs_python = ["no_such_module"]', "needs no_such_module, which is not installed for"),
    ):
        path = write_study(tmp_path / "study", with_level(words))
        outcome = ran(path, tmp_path / words.partition(" ")[0])
        assert str(cell(outcome, tool="other")["left_out"]).startswith(why)
        assert len(cell(outcome, tool="first")["runs"]) == 2
        result.raise_errors(outcome[1])


def test_what_a_command_writes_elsewhere_is_named(tmp_path: Path) -> None:
    script = f"{SUM}open('{tmp_path}/study/elsewhere', 'w').write(str(sys.argv))\n"
    path, out = write_study(tmp_path / "study"), tmp_path / "out"
    (tmp_path / "study" / "sum.py").write_text(script)
    outcome = ran(path, out)
    remarks = [remark for row in outcome[0]["cells"] for remark in row["remarks"]]
    assert any("elsewhere" in remark for remark in remarks)
    page = tmp_path / "page.html"
    assert call(["report", str(out), "-o", str(page)]) == 0
    assert "elsewhere, next to the study file" in page.read_text()


def test_the_gate_compares_two_studies_of_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_study(tmp_path / "study")
    before, _ = ran(path, tmp_path / "before")
    now, _ = ran(path, tmp_path / "now")
    gate = baseline.check(before, now, "work")
    assert {change.repeats for change in gate.changes} == {(2, 2)}
    now["cells"][0]["digest"] = "0" * 32
    assert baseline.check(before, now, "work").verdict == baseline.OTHER_ANSWER
    command = ["study", "check", str(tmp_path / "now"), "--baseline", str(tmp_path / "before")]
    assert call(command) == 2
    assert "too few repeats to tell" in capsys.readouterr().err


def test_answers_that_nothing_else_gave_are_reported(tmp_path: Path) -> None:
    text = STUDY.replace(', { name = "second", argument = "1e-9" }', "")
    alone, _ = ran(write_study(tmp_path / "alone", text), tmp_path / "out")
    texts = [alarm["text"] for alarm in alone["alarms"]]
    assert any(text.startswith("Compared with no other program") for text in texts)
    checked = text.replace("[settings]", '[settings]\ncheck = ["test -s {answer}"]')
    both, _ = ran(write_study(tmp_path / "checked", checked), tmp_path / "with-check")
    assert not any("no other program" in alarm["text"] for alarm in both["alarms"])
    assert {rule.name for rule in rules.RULES} >= {alarm["rule"] for alarm in both["alarms"]}


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("{tool}", "{tol}", r"tool first: command: \{tol\} is none of \{input\}"),
        ("{input} ", "{input2} ", r"command: \{input2\} is none of"),
        ('inputs = ["numbers"]', "inputs = []", r"\{input\} has no value: inputs has no name"),
        ('answer = "sum.csv"', "", "answer is missing; add answer"),
        ('answer = "sum.csv"', 'answer = "../sum.csv"', "give a path in the folder of each run"),
        ('answer = "sum.csv"', 'answer = "-"\nformat = "csv"',
         r"\{answer\} has no value: the answer is what"),
        ("{answer} {tool}", "{answer} | cat", "command: '|' is for a shell"),
        ('key = ["what"]', 'key = "what"', "key is 'what', give a list of texts"),
        ("value = 1e-6", 'value = "much"', "tolerance is 'value=much'"),
        ('answer = "sum.csv"', 'answer = "sum"', "the answer is read as bytes; add format"),
        ('answer = "sum.csv"', 'answer = "a.csv"\nformat = "xml"', "format is 'xml', give one of"),
        ("cores = 1", 'cores = 1\nengine = "native"', "engine is not for a command"),
        ("cores = 1", 'time_limit = "soon"', "time_limit is 'soon'"),
        ("cores = 1", "setup = [1]", "setup is .1., give a list of texts"),
        ("cores = 1", 'needs = ["a b"]', "needs: 'a b' is no name"),
        ("cores = 1", 'expected = "none.csv"', "no such file or folder"),
        ("cores = 1", 'header = "no"', "header is 'no', give true or false"),
        ('command = "{python} sum', 'words = "{python} sum', "words"),
    ],
)  # fmt: skip
def test_wrong_settings_of_a_command_are_named(
    old: str, new: str, error: str, tmp_path: Path
) -> None:
    text = write_study(tmp_path).read_text()
    assert old in text
    path = write_study(tmp_path, text.replace(old, new))
    with pytest.raises(InputError, match=error.replace("|", r"\|")):
        cells.combinations(file.read(str(path)))


def test_settings_of_a_command_need_a_command(tmp_path: Path) -> None:
    text = 'question = "?"\nworkload = "sort"\n[settings]\nanswer = "x.csv"\n'
    with pytest.raises(InputError, match="answer is for a command; add command"):
        cells.combinations(file.read(str(write_study(tmp_path, text))))
    with pytest.raises(InputError, match="answer_by: colour is not a factor; there are tool"):
        file.read(str(write_study(tmp_path, f'answer_by = ["colour"]\n{STUDY}')))


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("false", "input numbers: its command: it failed with exit code 1"),
        ("true", r"input numbers: its command wrote nothing to \{answer\}"),
        ("cat {input}", r"command: \{input\} has no value: it writes an input"),
    ],
)
def test_an_input_whose_command_fails_is_named(command: str, error: str, tmp_path: Path) -> None:
    text = STUDY.replace("{python} make_numbers.py {answer} 1000", command)
    path = write_study(tmp_path / "study", text)
    with pytest.raises(InputError, match=error):
        ran(path, tmp_path / "out")
