"""`-q`, `-v`, `--timestamps` and `--log-file`; from Python, `logging`."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cuesta
from cuesta.cli.app import call

LINE = "3\t1\t1\t1\t4\t0\t0\t0\t0\t0.900000\t1111\n"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ "


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("one.txt").write_text(LINE)
    return Path("one.txt")


def lines(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[list[str], list[str]]:
    """Lines on standard output and error of a scan with more words before or behind it."""
    capsys.readouterr()
    before = words[: words.index("run")]
    behind = words[words.index("run") + 1 :]
    scan = ["run", "scan", "one.txt", "-o", "out", "--overwrite"]
    assert call([*before, *scan, *behind]) == 0
    written = capsys.readouterr()
    return written.out.splitlines(), written.err.splitlines()


@pytest.mark.parametrize("words", [("-q", "run"), ("--quiet", "run"), ("run", "-q")])
def test_quiet_leaves_the_result(
    words: tuple[str, ...], pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, errors = lines(capsys, *words)
    assert out[0].startswith("scan on native: verified")
    assert errors == []


def test_quiet_with_json_prints_the_record_alone(
    pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, errors = lines(capsys, "run", "--json", "--quiet")
    assert out[0] == "{"
    assert errors == []


@pytest.mark.parametrize("words", [("-v", "run"), ("run", "-v"), ("run", "-vv")])
def test_verbose_adds_details(
    words: tuple[str, ...], pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, plain = lines(capsys, "run")
    _, verbose = lines(capsys, *words)
    assert len(verbose) > len(plain)
    assert any(line.startswith("engine native, ") for line in verbose)
    assert any(line.startswith("answer in out: digest ") for line in verbose)


@pytest.mark.parametrize("words", [("--timestamps", "run"), ("run", "--timestamps")])
def test_timestamps_begin_each_line_on_standard_error(
    words: tuple[str, ...], pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, errors = lines(capsys, *words)
    assert errors
    assert all(re.match(TIME, line) for line in errors)
    assert not any(re.match(TIME, line) for line in out)


def test_an_error_has_the_time_too(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--timestamps", "run", "scan"], ["run", "scan", "--timestamps"]):
        assert call([*words, "absent.txt", "-o", "out"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert re.match(f"{TIME}cuesta: .*absent.txt", line)
    assert call(["run", "scan", "absent.txt", "-o", "out"]) == 2
    assert capsys.readouterr().err.startswith("cuesta: ")


@pytest.mark.parametrize(
    "words", [("--log-file", "log", "run"), ("--log-file=log", "run"), ("run", "--log-file=log")]
)
def test_a_log_file_has_everything_with_its_time(
    words: tuple[str, ...],
    pairs: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["cuesta", "run", "scan", "one.txt"])
    _, errors = lines(capsys, *words, "-q")
    assert errors == []
    lines(capsys, *words)
    rows = Path("log").read_text().splitlines()
    assert all(re.match(rf"{TIME}(DEBUG|INFO|ERROR) \S", row) for row in rows)
    assert sum(" INFO cuesta " in row for row in rows) == 2
    assert sum("digest" in row for row in rows) == 2
    assert not [each for each in logging.getLogger("cuesta").handlers if hasattr(each, "stream")]


def test_an_error_is_in_the_log_file(pairs: Path) -> None:
    assert call(["run", "scan", "absent.txt", "-o", "out", "--log-file", "log"]) == 2
    assert " ERROR " in Path("log").read_text().splitlines()[-1]
    assert "absent.txt" in Path("log").read_text().splitlines()[-1]


def test_a_log_on_a_full_disk_ends_and_the_command_continues(
    pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ended a verified run with stack traces of `logging` and exit code 1."""
    words = ["--log-file", "/dev/full", "run", "scan", str(pairs), "-o", "answer"]
    assert call(words) == 0
    assert Path("answer/run.json").is_file()
    text = capsys.readouterr().err
    assert text.count("cuesta: --log-file /dev/full: no space left on device; free some space") == 1
    assert "Traceback" not in text


@pytest.mark.parametrize("place", ["one.txt", "answer/log"])
def test_an_input_and_a_place_in_an_answer_are_no_log_file(
    place: str, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["run", "scan", "one.txt", "-o", "answer"]) == 0
    before = Path("one.txt").read_bytes()
    capsys.readouterr()
    assert call(["run", "scan", "one.txt", "-o", "other", "--log-file", place]) == 2
    assert f"--log-file {place}" in capsys.readouterr().err
    assert Path("one.txt").read_bytes() == before
    assert not Path("answer/log").exists()


def test_a_name_cannot_add_a_line_to_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a\nb.txt").write_text(LINE)
    call(["--log-file", "log", "run", "scan", "a\nb.txt", "-o", "out"])
    assert all(re.match(TIME, row) for row in Path("log").read_text().splitlines())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-q", "-v", "doctor"], "-q and -v"),
        (["-q", "run", "scan", "one.txt", "-o", "out", "-v"], "-q and -v"),
        (["--log-file"], "names no file"),
        (["--log-file", "no/such/log", "doctor"], "no such file or directory"),
    ],
)
def test_what_is_refused(
    words: list[str], message: str, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_refused_log_file_is_reported_once(tmp_path: Path) -> None:
    """Without a handler, logging itself printed the message a second time."""
    words = [sys.executable, "-m", "cuesta", "--log-file", "no/such/log", "doctor"]
    done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("no/such/log") == 1, done.stderr


def test_options_before_the_command_are_none_of_a_rank(
    pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cuesta", "-q", "run", "scan", "one.txt", "-o", "out"],
        env={"PATH": "/usr/bin:/bin", "PMI_RANK": "1", "PMI_SIZE": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "this process is rank 1" in done.stderr


def test_calls_from_python_log_and_print_nothing(
    pairs: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "cuesta")
    cuesta.run("scan", pairs, progress=False)
    written = capsys.readouterr()
    assert (written.out, written.err) == ("", "")
    levels = {record.levelno for record in caplog.records if record.name == "cuesta"}
    assert levels == {logging.INFO, logging.DEBUG}
    assert any("engine native" in record.getMessage() for record in caplog.records)
