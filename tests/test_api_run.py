"""A Python call returns the result of the command line, cleans up, and stops at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest

import cuesta
from apikit import CASES, Case, make_files
from cuesta.api import process
from cuesta.api.jobs import Run
from cuesta.api.keywords import read
from cuesta.cli.app import call
from cuesta.lab.observer import Silent
from cuesta.workloads import get_workload
from labkit import below, names
from waitkit import wait_for

SAME = ("workload", "engine", "parameters", "inputs", "threads", "memory_bytes", "seed", "cache",
        "engine_options", "repeats", "verified", "preview")  # fmt: skip


MODULES_MAX = 40
"""Limit of standard library modules that `import cuesta` may load."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make_files(tmp_path_factory.mktemp("inputs"))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Empty folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_record_equals_that_of_the_command_line(
    case: Case, files: dict[str, Path], tmp_path: Path
) -> None:
    inputs = [files[name] for name in case.inputs]
    typed = ["run", case.workload, *map(str, inputs), *case.words, "-o", str(tmp_path / "typed")]
    assert call(typed) == 0
    called = cuesta.run(
        case.workload, *inputs, output=tmp_path / "called", progress=False, **case.keywords
    )  # type: ignore[call-overload]
    from_command = json.loads((tmp_path / "typed" / "run.json").read_text())
    assert {name: called.record[name] for name in SAME} == {
        name: from_command[name] for name in SAME
    }
    assert called.record.keys() == from_command.keys()
    assert called.record["answer"]["digest"] == from_command["answer"]["digest"] == called.digest
    assert called.counts == from_command["answer"]["counts"]
    assert names(tmp_path / "called") == names(tmp_path / "typed")


def test_an_answer_without_a_place_lives_as_long_as_what_is_returned(
    files: dict[str, Path], temporary: Path
) -> None:
    answer = cuesta.run("degrees", files["pairs"], progress=False)
    assert answer.output.is_relative_to(temporary)
    assert answer.output.name == "degrees"
    assert [file.name for file in answer.files] == ["degrees.tsv", "distribution.tsv"]
    assert answer.record["command"][-2:] == ["--output", "degrees"]
    table = answer.table(as_="numpy")
    del answer
    assert names(temporary) == set()
    assert len(table) == 60


def test_an_engine_s_answer_keeps_the_folder_of_its_comparison(
    files: dict[str, Path], temporary: Path
) -> None:
    compared = cuesta.compare("degrees", files["pairs"], engines=["native"], progress=False)
    answer = compared.answers["native"]
    assert compared.digest == answer.digest
    del compared
    assert answer.table(as_="python")["gene"][:3] == [1, 2, 3]
    del answer
    assert names(temporary) == set()


AT_EXIT = """
import os, sys, cuesta
answer = cuesta.run("degrees", sys.argv[1], progress=False)
child = os.fork()
if child == 0:
    del answer
    sys.exit(0)
os.waitpid(child, 0)
assert answer.files[0].is_file(), "a forked copy removed the folder"
print(answer.output)
if sys.argv[2] == "error":
    raise ValueError
"""


@pytest.mark.parametrize("ending", ["end", "error"])
def test_a_temporary_answer_outlives_a_fork_and_is_removed_with_the_interpreter(
    ending: str, files: dict[str, Path], temporary: Path
) -> None:
    words = [sys.executable, "-c", AT_EXIT, str(files["pairs"]), ending]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ("ValueError" in done.stderr) == (ending == "error"), done.stderr
    assert done.stdout.startswith(str(temporary))
    assert names(temporary) == set()


def test_an_answer_is_an_input_of_the_next_workload(files: dict[str, Path]) -> None:
    pairs = cuesta.run("correlate", files["matrix"], min_abs_score=0.2, progress=False)
    joined = cuesta.run("join", pairs, [pairs], min_abs_score=0.3, progress=False)
    assert [source["path"] for source in joined.record["inputs"]] == [str(pairs.files[0])] * 2
    assert joined.counts["both"] > 0


def test_a_run_that_fails_leaves_no_temporary_folder(temporary: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("3\t1\n")
    with pytest.raises(cuesta.InputError, match=r"bad\.txt"):
        cuesta.run("scan", tmp_path / "bad.txt", progress=False)
    assert names(temporary) == set()


def test_an_existing_answer_is_opened_and_another_folder_refused(
    files: dict[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = cuesta.run("scan", files["pairs"], output=out, progress=False)
    assert cuesta.Answer(out).digest == cuesta.Answer(str(out)).digest == first.digest
    assert repr(first) == repr(cuesta.Answer(out))
    assert repr(first).startswith(f"scan on native: verified, digest {first.digest}\n")
    with pytest.raises(cuesta.InputError, match=r"is not an answer folder; it has no run\.json"):
        cuesta.Answer(tmp_path)
    with pytest.raises(cuesta.InputError, match="exists already; give another output, or overwr"):
        cuesta.run("scan", files["pairs"], output=out, progress=False)
    replaced = cuesta.run("scan", files["pairs"], output=out, overwrite=True, progress=False)
    assert replaced.digest == first.digest


def test_what_was_verified_of_an_answer_is_reported(files: dict[str, Path]) -> None:
    def answer_at(level: Literal["full", "sample", "none"]) -> cuesta.Answer:
        return cuesta.run("scan", files["pairs"], verify=level, progress=False)

    full, sample, none = answer_at("full"), answer_at("sample"), answer_at("none")
    assert repr(full).startswith(f"scan on native: verified, digest {full.digest}\n")
    assert repr(sample).startswith(f"scan on native: verified (sample), digest {full.digest}\n")
    assert repr(none).startswith("scan on native: not verified\n")
    assert none.digest is None
    assert none.table() == full.table()
    assert "NOT VERIFIED" in none._repr_html_()
    assert "NOT VERIFIED" not in full._repr_html_()


def test_a_report_is_made_of_answers_comparisons_and_folders(
    files: dict[str, Path], tmp_path: Path
) -> None:
    answer = cuesta.run("scan", files["pairs"], progress=False)
    folder = tmp_path / "degrees"
    cuesta.run("degrees", files["pairs"], output=folder, progress=False)
    compared = cuesta.compare("join", files["pairs"], files["other"], engines="native",
                              progress=False)  # fmt: skip
    page = cuesta.report(answer, compared, folder, output=tmp_path / "page.html")
    assert page == tmp_path / "page.html"
    text = page.read_text()
    assert all(f"{name} on native" in text for name in ("scan", "join", "degrees"))


def test_calls_named_as_packages_stay_calls_whatever_is_imported() -> None:
    program = (
        "import cuesta, sys, types\n"
        "import cuesta.report, cuesta.assess.assessment\n"
        "from cuesta.report import write\n"
        "from cuesta import report, data, CuestaError\n"
        "assert report is cuesta.report and isinstance(report, types.FunctionType)\n"
        "assert isinstance(cuesta.assess, types.FunctionType)\n"
        "assert isinstance(sys.modules['cuesta.report'], types.ModuleType)\n"
        "assert {'run', 'report', 'data', 'Answer', 'InputError'} <= set(dir(cuesta))\n"
        "try:\n    cuesta.nothing\nexcept AttributeError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout == "module 'cuesta' has no attribute 'nothing'\n"


def test_importing_cuesta_imports_nothing_of_weight() -> None:
    program = (
        "import sys\nbefore = set(sys.modules)\nimport cuesta\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    words = [sys.executable, "-c", program]
    modules = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert {module for module in modules if module.startswith("cuesta")} == {"cuesta"}
    # Its imports from the standard library are few, too.
    assert len(modules) < MODULES_MAX


@pytest.mark.parametrize("command", ["run", "compare"])
def test_ctrl_c_stops_a_call_and_leaves_nothing(command: str, large: Path, temporary: Path) -> None:
    calls: dict[str, Any] = {"run": cuesta.run, "compare": cuesta.compare}
    more = {"engines": "native"} if command == "compare" else {}
    stop = threading.Event()

    def interrupt() -> None:
        while not any(temporary.glob("*/degrees.partial-*")):
            time.sleep(0.01)
        time.sleep(0.3)
        stop.set()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        calls[command]("degrees", large, repeat=1000, progress=False, **more)
    assert stop.is_set()
    thread.join()
    assert names(temporary) == set()
    assert below(os.getpid(), "cuesta.api.worker") == []


def test_a_call_of_a_process_that_is_killed_ends_soon_after_it(large: Path, tmp_path: Path) -> None:
    program = (
        "import cuesta, sys\n"
        "cuesta.run('degrees', sys.argv[1], repeat=1000, output=sys.argv[2], progress=False)\n"
    )
    words = [sys.executable, "-c", program, str(large), str(tmp_path / "out")]
    caller = subprocess.Popen(words)
    while not names(tmp_path):
        time.sleep(0.02)
    (partial,) = tmp_path.iterdir()
    worker = int(partial.name.removeprefix("out.partial-"))
    caller.kill()
    caller.wait()
    wait_for(lambda: not Path(f"/proc/{worker}").exists())
    assert names(tmp_path) == set()


def test_a_run_whose_process_is_killed_is_an_error_that_names_the_kill(
    large: Path, tmp_path: Path
) -> None:
    def kill() -> None:
        while not names(tmp_path):
            time.sleep(0.02)
        (partial,) = tmp_path.iterdir()
        os.kill(int(partial.name.removeprefix("out.partial-")), signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(cuesta.EngineError, match="died of SIGKILL; if the machine ran out"):
        cuesta.run("degrees", large, repeat=1000, output=tmp_path / "out", progress=False)
    thread.join()


class Breaks:
    """A job with a defect."""

    def do(self, _observer: object) -> None:
        raise ZeroDivisionError("nought")


def test_a_defect_is_an_error_that_shows_where() -> None:
    with pytest.raises(
        cuesta.Defect, match="please report it: ZeroDivisionError: nought"
    ) as caught:
        process.call(Breaks(), Silent())  # type: ignore[arg-type]
    assert 'raise ZeroDivisionError("nought")' in caught.value.__notes__[0]


def test_an_error_keeps_its_class_across_the_processes(tmp_path: Path) -> None:
    keywords = {"inputs": (tmp_path / "none.txt",), "output": tmp_path / "out"}
    job = Run(request=read("run", get_workload("scan"), Run.engines, keywords))
    with pytest.raises(cuesta.InputError, match=r"none\.txt"):
        process.call(job, Silent())


def test_two_runs_at_once_disturb_neither_answers_nor_measurements(
    large: Path, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def run_workload(workload: str) -> cuesta.Answer:
        result: cuesta.Answer = cuesta.run(
            workload, large, min_abs_score=0.6, repeat=20, scratch=scratch, progress=False
        )  # type: ignore[call-overload]
        return result

    alone = {name: run_workload(name).digest for name in ("degrees", "scan")}
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(run_workload, ("degrees", "scan") * 2))
    for answer in answers:
        assert answer.digest == alone[answer.workload]
        assert answer.record["peak_resident_bytes"] < 200 << 20
        size = large.stat().st_size
        assert size <= answer.record["read_bytes"] < 1.2 * size
    assert names(scratch) == set()


def test_progress_is_written_to_stderr_in_plain_lines_and_only_when_wanted(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    cuesta.run("scan", files["pairs"], progress=False)
    output = capsys.readouterr()
    assert output.out == output.err == ""
    cuesta.run("scan", files["pairs"])
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("to read: ")
    assert "\nrunning\nverifying\n" in output.err
    assert "\x1b" not in output.err


def test_an_assessment_is_that_of_the_command_line(files: dict[str, Path], tmp_path: Path) -> None:
    answer = cuesta.run("assemble", files["reads"], k=31, output=tmp_path / "a", progress=False)
    assessed = cuesta.assess(answer, min_contig=100, progress=False)
    assert call(["assess", str(answer.output), "--min-contig", "100"]) == 0
    assert assessed.record == json.loads((answer.output / "assessment.json").read_text())
    assert assessed.record["min_contig"] == 100
    assert "completeness" in repr(assessed)
    with pytest.raises(cuesta.InputError, match="assess has no keyword 'circular'"):
        cuesta.assess(answer, circular=True)  # type: ignore[call-arg]
    with pytest.raises(cuesta.InputError, match="not an assembly"):
        cuesta.assess(cuesta.run("scan", files["pairs"], progress=False), progress=False)
