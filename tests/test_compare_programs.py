"""Comparing any programs: each bad one has a verdict, the others go on, and nothing is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cuesta.programs import groups
from programskit import ROWS, Caller, cases, compare, python, shell, verdicts, writes
from waitkit import HANG_SECONDS

__all__ = ["compare"]

GOOD = writes(ROWS)


def alive(marker: str) -> list[str]:
    """Processes with a marker among their words."""
    lines = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in lines.stdout.splitlines() if marker in line and "ps -eo" not in line]


def test_equal_answers_in_another_order_and_notation_have_times(compare: Caller) -> None:
    other = writes("v,k\nx,3\n15e-1,1\n2.0,2\n")
    record = compare({"a": GOOD, "b": other}, "--answer", "out.csv", repeats=2)
    assert compare.code == 0
    assert verdicts(record) == {"a": "reference", "b": "equal"}
    assert record["equal"]
    for case in cases(record).values():
        assert len(case["runs"]) == 2
        assert case["statistics"]["wall_seconds"]["median"] > 0
    assert (compare.folder / "out" / "b" / "out.csv").read_text().startswith("v,k")
    assert sorted(path.name for path in compare.folder.iterdir()) == ["out"]
    assert "The answers of a and b are equal." in compare.printed


def test_equal_answers_without_rows_are_doubtful(compare: Caller) -> None:
    """Two programs whose answers had no rows were equal, and nothing more."""
    empty = writes("k,v\n")
    record = compare({"a": empty, "b": empty}, "--answer", "out.csv")
    assert (compare.code, record["equal"]) == (0, True)
    assert "The answers of a and b are equal, but have no rows." in compare.printed
    assert compare.printed.splitlines()[-1].startswith("Doubtful: no answer has rows")
    compare({"a": GOOD, "b": GOOD}, "--answer", "out.csv", "--overwrite")
    assert "Doubtful" not in compare.printed


def test_a_different_answer_has_no_time_and_is_shown_as_a_row(compare: Caller) -> None:
    other = writes("k,v\n1,1.5\n2,3\n3,x\n")
    record = compare({"a": GOOD, "b": other}, "--answer", "out.csv", "--key", "k")
    assert compare.code == 1
    case = cases(record)["b"]
    assert case["verdict"] == "different"
    assert case["statistics"] is None
    assert "in the row with k = 2, column 'v' is 3, in the reference 2" in case["sentence"]
    difference = case["difference"]
    assert (difference["row"], difference["column"]) == ({"k": "2"}, "v")
    assert (difference["answer"], difference["reference"]) == ("3", "2")
    assert compare.error.splitlines()[-1].startswith("cuesta: answers differ: b: in the row")


@pytest.mark.parametrize(
    ("bad", "verdict", "sentence"),
    [
        (shell("echo lost; echo why >&2; exit 4"), "failed", "exit code 4; its last line is: why"),
        (shell("kill -SEGV $$"), "failed", "signal SIGSEGV"),
        ("no-such-program --x", "not started", "no-such-program: no such file"),
        ("true", "not comparable", "it wrote no answer"),
        (writes(""), "not comparable", "its answer is empty (0 bytes)"),
        (shell('mkfifo "$CUESTA_ANSWER"'), "not comparable", "is a link, pipe or device"),
        (shell('ln -s /etc/passwd "$CUESTA_ANSWER"'), "not comparable", "is a link, pipe"),
        (writes("k,v\n1\n"), "not comparable", "line 2 of out.csv has 1 fields, expected 2"),
        (writes("k,k\n1,2\n"), "not comparable", "two of its columns are called 'k'"),
        (writes("j,v\n1,1.5\n"), "not comparable", "no column 'k' for --key; it has j, v"),
        (writes("k,v\n1,2\n1,3\n"), "not comparable", "two rows of its answer have the key k = 1"),
        (shell("head -c 3 /dev/zero >\"$CUESTA_ANSWER\"; printf '\\377' >>\"$CUESTA_ANSWER\""),
         "not comparable", "is not UTF-8"),
        (shell("cat /dev/tty"), "failed", "exit code 1"),
        (shell("read line || exit 7"), "failed", "exit code 7"),
    ],
)  # fmt: skip
def test_a_bad_program_has_a_verdict_and_the_rest_run(
    compare: Caller, bad: str, verdict: str, sentence: str
) -> None:
    programs = {"bad": bad, "a": GOOD, "b": GOOD}
    record = compare(programs, "--answer", "out.csv", "--key", "k", repeats=2)
    assert compare.code == 3
    assert verdicts(record) == {"bad": verdict, "a": "reference", "b": "equal"}
    case = cases(record)["bad"]
    assert sentence in case["sentence"]
    assert case["statistics"] is None
    assert len(case["runs"]) == 1
    assert len(cases(record)["b"]["runs"]) == 2
    assert compare.error.splitlines()[-1].startswith("cuesta: not all programs gave an answer: bad")


def test_other_column_names_differ(compare: Caller) -> None:
    record = compare({"a": GOOD, "b": writes("k,w\n1,1.5\n")}, "--answer", "out.csv")
    assert compare.code == 1
    assert "it has 'w' and it lacks 'v'" in cases(record)["b"]["sentence"]


def test_a_program_that_hangs_is_ended_with_all_it_started(compare: Caller) -> None:
    marker = f"31{os.getpid()}"
    hangs = shell(f"trap '' TERM; (setsid sleep {marker} &); sleep {marker}")
    record = compare({"a": GOOD, "b": hangs}, "--answer", "out.csv", "--time-limit", "0.5s")
    assert compare.code == 3
    assert verdicts(record) == {"a": "reference", "b": "timed out"}
    assert "more than 500 ms (--time-limit)" in cases(record)["b"]["sentence"]
    assert alive(marker) == []


def test_a_daemon_that_a_program_leaves_is_ended_and_named(compare: Caller) -> None:
    marker = f"32{os.getpid()}"
    leaves = shell(
        f"(setsid sh -c 'sleep {marker} & wait' >/dev/null 2>&1 &); printf 'k\\n1\\n' >out.csv"
    )
    record = compare({"a": writes("k\n1\n"), "b": leaves}, "--answer", "out.csv")
    assert compare.code == 0
    (remark,) = cases(record)["b"]["remarks"]
    assert remark == "it left processes running (sh, sleep), which were ended"
    assert alive(marker) == []
    assert "it left processes running" in compare.printed


def test_a_daemon_that_holds_the_output_open_does_not_hang_the_comparison(compare: Caller) -> None:
    marker = f"33{os.getpid()}"
    leaves = shell(f"sleep {marker} & printf 'k\\n1\\n' >out.csv")
    record = compare({"a": leaves, "b": leaves}, "--answer", "out.csv")
    assert verdicts(record) == {"a": "reference", "b": "equal"}
    assert alive(marker) == []


@pytest.mark.parametrize("has_group", [True, False])
def test_a_program_over_its_memory_is_ended(
    compare: Caller, monkeypatch: pytest.MonkeyPatch, has_group: bool
) -> None:
    if not has_group:
        monkeypatch.setattr(groups, "make", lambda limit_bytes: None)
    code = (
        "import time; x = bytearray(200 << 20); x[::4096] = b'1' * len(x[::4096]); time.sleep(60)"
    )
    options = ("--answer", "out.csv", "--memory", "100MiB")
    record = compare({"a": GOOD, "b": python(code)}, *options)
    assert compare.code == 3
    assert verdicts(record) == {"a": "reference", "b": "out of memory"}
    assert "more than 100 MiB of memory (--memory)" in cases(record)["b"]["sentence"]
    assert record["memory_by"] in ({"control group", "samples"} if has_group else {"samples"})


def test_gigabytes_of_output_are_cut_and_the_tail_is_shown(
    compare: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    prints = shell("head -c 40000000 /dev/zero | tr '\\0' x; echo; echo the end; "
                   "printf 'k\\n1\\n' >out.csv")  # fmt: skip
    record = compare({"a": writes("k\n1\n"), "b": prints}, "--answer", "out.csv")
    assert compare.code == 0
    stdout = cases(record)["b"]["stdout"]
    assert stdout["bytes"] == 40_000_009
    assert stdout["is_cut"]
    assert stdout["tail"].endswith("the end\n")
    assert (compare.folder / "out" / "b" / "stdout.txt").stat().st_size == 16 << 20
    assert "it printed 38.1 MiB on standard output" in cases(record)["b"]["remarks"][0]


def test_files_that_a_program_writes_elsewhere_are_named(compare: Caller) -> None:
    elsewhere = compare.folder / "mine.txt"
    script = f"exec 5>{elsewhere}; echo x >&5; sleep 0.3; printf 'k\\n1\\n' >out.csv"
    record = compare({"a": writes("k\n1\n"), "b": shell(script)}, "--answer", "out.csv")
    assert compare.code == 0
    remarks = cases(record)["b"]["remarks"]
    assert f"it wrote outside of its folder: {elsewhere}" in remarks
    assert "mine.txt, in the folder where you are, changed while it ran" in remarks
    assert cases(record)["a"]["remarks"] == []


def test_an_answer_that_changes_from_run_to_run_is_unstable(compare: Caller) -> None:
    counter = compare.folder / "counter"
    script = f"echo x >>{counter}; printf 'k\\n' >out.csv; wc -l <{counter} >>out.csv"
    record = compare({"a": writes("k\n1\n"), "b": shell(script)}, "--answer", "out.csv", repeats=3)
    assert compare.code == 1
    assert verdicts(record)["b"] == "unstable"
    assert "its answers differ from run to run" in cases(record)["b"]["sentence"]
    assert len(cases(record)["b"]["runs"]) == 2
    assert len(cases(record)["a"]["runs"]) == 3


def test_a_different_answer_outweighs_a_failure_in_the_exit_code(compare: Caller) -> None:
    programs = {"a": GOOD, "b": writes("k,v\n1,2\n"), "c": "false"}
    compare(programs, "--answer", "out.csv")
    assert compare.code == 1


def test_an_expected_answer_is_the_reference(compare: Caller) -> None:
    compare.write("right.csv", ROWS)
    programs = {"a": writes("k,v\n1,2\n"), "b": GOOD}
    record = compare(programs, "--answer", "out.csv", "--expected", "right.csv")
    assert compare.code == 1
    assert verdicts(record) == {"a": "different", "b": "equal"}


def test_a_single_program_is_compared_with_an_expected_answer(compare: Caller) -> None:
    compare.write("right.csv", ROWS)
    compare({"a": GOOD}, "--answer", "out.csv", "--expected", "right.csv")
    assert compare.code == 0


def test_answers_that_are_printed_are_compared(compare: Caller) -> None:
    programs = {"a": shell("printf 'a\\nb\\n'"), "b": shell("printf 'b\\na\\n'")}
    compare(programs, "--answer", "-", "--format", "lines")
    assert compare.code == 0
    compare(programs, "--answer", "-", "--overwrite")
    assert compare.code == 1
    assert "for rows in any order give --format" in compare.error


def test_sizes_are_the_first_rows_of_the_input(compare: Caller) -> None:
    compare.write("in.csv", "k\n" + "".join(f"{index}\n" for index in range(100)))
    counts = "grep -c . {input} > {answer}"
    programs = {"a": shell(counts), "b": shell("wc -l < {input} > {answer}")}
    options = ("--input", "in.csv", "--sizes", "1,2,4", "--answer", "out.csv", "--no-header")
    record = compare(programs, *options)
    assert compare.code == 0
    assert record["comparison"]["sizes"] == ["1/4", "1/2", "1"]
    rows = [(compare.folder / "out/a" / name / "out.csv").read_text().strip()
            for name in ("size-1-of-4", "size-1-of-2", "size-1")]  # fmt: skip
    assert rows == ["26", "51", "101"]


def test_runs_are_interleaved_in_an_order_that_the_seed_draws(compare: Caller) -> None:
    programs = dict.fromkeys(("a", "b", "c"), GOOD)
    orders = [
        compare(programs, "--answer", "out.csv", "--seed", seed, "--overwrite", repeats=3)["order"]
        for seed in ("1", "1", "2")
    ]
    assert orders[0] == orders[1] != orders[2]
    assert all(sorted(round_) == ["a 1", "b 1", "c 1"] for round_ in orders[0])


def test_a_program_uses_the_chosen_cores(compare: Caller) -> None:
    script = shell('grep Cpus_allowed_list /proc/self/status > "$CUESTA_ANSWER"')
    record = compare({"a": script, "b": script}, "--answer", "out.txt", "--threads", "1")
    assert compare.code == 0
    text = (compare.folder / "out/a/out.txt").read_text()
    assert text.split()[-1] == str(record["cores"][0]) == str(min(os.sched_getaffinity(0)))


def test_what_a_program_used_is_counted_over_its_tree(compare: Caller) -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    script = shell(f"({sys.executable} -I -S -c '{burn}' &) ; {sys.executable} -I -S -c '{burn}'; "
                   "sleep 0.2; printf 'k\\n1\\n' >out.csv")  # fmt: skip
    record = compare({"a": script, "b": script}, "--answer", "out.csv")
    for case in cases(record).values():
        (run,) = case["runs"]
        assert run["user_seconds"] + run["system_seconds"] >= 0.3
        assert run["peak_resident_bytes"] > 1 << 20
        assert run["processes"] >= 2
        assert {"seconds", "tree"} & case["timeline"].keys()


def test_a_result_is_replaced_only_with_overwrite_and_unchanged(compare: Caller) -> None:
    programs = {"a": GOOD, "b": GOOD}
    compare(programs, "--answer", "out.csv")
    compare(programs, "--answer", "out.csv")
    assert compare.code == 2
    assert "out exists already; give another --output, or --overwrite" in compare.error
    compare(programs, "--answer", "out.csv", "--overwrite")
    assert compare.code == 0
    (compare.folder / "out" / "a" / "mine.txt").write_text("mine")
    compare(programs, "--answer", "out.csv", "--overwrite")
    assert compare.code == 2


def test_json_is_the_record(compare: Caller) -> None:
    record = compare({"a": GOOD, "b": GOOD}, "--answer", "out.csv", "--json")
    assert json.loads(compare.printed) == record


@pytest.mark.parametrize("signal_name", ["INT", "TERM", "KILL"])
def test_a_comparison_that_is_ended_leaves_nothing_running(
    compare: Caller, signal_name: str, tmp_path: Path
) -> None:
    marker = f"34{os.getpid()}{len(signal_name)}"
    hangs = shell(f"touch {tmp_path}/started; (setsid sleep {marker} &); sleep {marker}")
    words = ["--command", f"a={hangs}", "--command", f"b={hangs}", "--answer", "out.csv"]
    process = subprocess.Popen(
        [sys.executable, "-m", "cuesta", "compare", *words, "-o", "out"], cwd=tmp_path
    )
    deadline = time.monotonic() + HANG_SECONDS
    while not (tmp_path / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    subprocess.run(["kill", f"-{signal_name}", str(process.pid)], check=True)
    process.wait(HANG_SECONDS)
    while alive(marker) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert alive(marker) == []
    assert not (tmp_path / "out").exists()
