"""The command line itself: help, versions, and errors as a single line with the right exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cuesta import __version__
from cuesta.cli import app
from cuesta.cli.app import call
from cuesta.cli.commands import COMMANDS
from cuesta.errors import EngineError, EngineMissing, InputError, VerificationError
from cuesta.workloads import WORKLOAD_NAMES, get_workload

COMMAND = [sys.executable, "-m", "cuesta"]


def errors_of(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the output on stderr, which must be a single line."""
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    return text


@pytest.mark.parametrize("words", [[], ["run"], ["compare"], ["data"]])
def test_without_a_subcommand_help_is_shown(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(words) == 2
    output = capsys.readouterr()
    assert "Usage: cuesta" in output.out
    assert output.err == ""


def test_help_lists_the_commands_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["--help"]) == 0
    text = capsys.readouterr().out
    places = [text.index(f"│ {name} ") for name in COMMANDS]
    assert places == sorted(places)


@pytest.mark.parametrize("name", WORKLOAD_NAMES)
@pytest.mark.parametrize("command", ["run", "compare"])
def test_help_of_a_workload_has_all_parameters(
    command: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call([command, name, "--help"]) == 0
    text = capsys.readouterr().out
    for parameter in get_workload(name).parameters:
        assert parameter.option in text


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["--version"]) == 0
    assert capsys.readouterr().out == f"cuesta {__version__}\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("walk", "No such command 'walk'"),
        ("run scam", "No such command 'scam'"),
        ("assemble -1 a -2 b", "'assemble' is no command; type `cuesta run assemble ...`"),
        ("correlat a", "'correlat' is no command; type `cuesta run correlate ...`"),
        ("run scan -o out", "Missing argument 'PAIRS'"),
        ("run scan x", "Missing option '-o' / '--output'"),
        ("run scan x -o out --min-score 1", "No such option: --min-score"),
        ("run scan none.txt -o out", "none.txt: no such file or folder"),
        ("run scan x -o out --min-abs-score 2", "--min-abs-score is 2.0, give a number from 0"),
        ("run scan x -o out --min-abs-score high", "--min-abs-score is high, give a number from 0"),
        ("run scan x -o out --min-abs-score 0,7", "from 0 to 1, with a decimal point"),
        ("run assemble x -o out --depth 0.5", "--depth is 0.5, give a whole number from 1 to"),
        ("run scan x -o out --threads=1.5", "--threads is 1.5, give a whole number from 1 to"),
        ("data make points --rows 1.5 -o x", "--rows is 1.5, give a whole number"),
        ("run communities x -o o --iterations 5", "--iterations is for --method label-propagation"),
        ("run kmeans x -o o --init kmeans++ --centres y", "--init kmeans++ with --centres, which"),
        ("run scan x -o out --threads 0", "--threads is 0, give at least 1"),
        ("run scan x -o out --memory 8gigs", "--memory is '8gigs', give a size such as 8GiB"),
        ("run scan x -o out --memory 1MiB", "--memory is 1MiB, give at least 16 MiB"),
        ("run scan x -o out --memory 2000PiB", "--memory is 2000PiB, give at most 1024 PiB"),
        ("run scan x -o out --seed -1", "--seed is -1, give 0 to 2^64 - 1"),
        ("run scan x -o out --cold=deep", "--cold is 'deep', give --cold or --cold=machine"),
        ("run scan x -o out --engine-option a", "--engine-option is 'a', give KEY=VALUE"),
        ("run scan x -o out --engine-option a=b", "--engine-option a: engine native has no"),
        ("run scan x -o out --engine fast", "engine 'fast' is not known; choose from native"),
        ("run load x -o out --engine array", "engine array does not run load; it runs communities"),
        ("run scan x -o out --engine native,array", "--engine takes one engine"),
        ("run join x -o out", "got 1; give 2, as in `cuesta run join PAIRS PAIRS -o DIR`"),
        ("run correlate x y -o out", "got 2; give a single MATRIX a run, as in `cuesta run corr"),
        ("run communities x -o out --method fast", "--method is fast, give one of components"),
        ("compare scan x -o out --engines ,", "--engines names no engine"),
        ("compare scan x -o out --engines native,native", "takes different engines"),
        ("verify none", "none: no run record"),
    ],
)
def test_bad_words_are_reported_in_a_single_line_with_exit_code_2(
    words: str, text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert call(words.split()) == 2
    assert text in errors_of(capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "exit_code", "text"),
    [
        (VerificationError("wrong"), 1, "wrong"),
        (InputError("two\nlines"), 2, "two lines"),
        (PermissionError(13, "Permission denied", "x"), 2, "x: permission denied"),
        (EngineMissing("pip install it"), 3, "pip install it"),
        (EngineError("broke"), 3, "broke"),
        (ZeroDivisionError("bug"), 70, "internal error, please report it: ZeroDivisionError: bug"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (app.Terminated(signal.SIGTERM), 143, "ended by SIGTERM"),
    ],
)
def test_each_kind_of_error_is_reported_in_a_single_line_with_its_exit_code(
    error: BaseException, exit_code: int, text: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def fail() -> None:
        raise error

    monkeypatch.setattr(app, "_run", lambda _: fail())
    assert call(["run"]) == exit_code
    assert f"cuesta: {text}" in errors_of(capsys)


@pytest.mark.parametrize(
    "words", [["--help"], ["run", "join", "--help"], ["--version"], ["verify", "none"]]
)
def test_help_starts_without_anything_heavy(words: list[str]) -> None:
    code = (
        "import sys; from cuesta.cli.app import call; call(sys.argv[1:]); "
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    heavy = {"numpy", "pyarrow", "pyspark", "tiledb", "jinja2", "pooch", "cuesta._native"}
    assert not heavy & set(done.stderr.split())


def test_the_module_runs_as_the_command_does() -> None:
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"cuesta {__version__}\n"


def test_a_closed_pipe_ends_quietly() -> None:
    script = f"{sys.executable} -m cuesta run scan --help | true"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("typed", "offered"), [("cuesta comp", "compare"), ("cuesta run join --how o", "outer")]
)
def test_the_shell_completes_commands_options_and_choices(typed: str, offered: str) -> None:
    words = typed.split()
    environment = {
        "_CUESTA_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        COMMAND, capture_output=True, text=True, check=False, env=os.environ | environment
    )
    assert offered in done.stdout.split()


@pytest.mark.parametrize(
    ("words", "subject"),
    [
        (["run", "sort", "", "-o", "e"], "the word after sort"),
        (["run", "sort", "a", "-o", ""], "-o"),
        (["run", "sort", "a", "-o", "e", "--scratch", ""], "--scratch"),
        (["run", "sort", "a", "-o", "e", "--engine="], "--engine"),
        (["run", "scan", "a", "-o", "e", "--genes", ""], "--genes"),
        (["--log-file", "", "doctor"], "--log-file"),
        (["store", "start", "--under", ""], "--under"),
        (["doctor", "--listen", ""], "--listen"),
        ([""], "the word after cuesta"),
    ],
)
def test_an_empty_word_is_refused(
    words: list[str], subject: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`run sort "$INPUT"` sorted the records of the working folder where `INPUT` was not set."""
    assert call(words) == 2
    assert f"cuesta: {subject} is empty; give a value" in errors_of(capsys)


@pytest.mark.parametrize(
    "words", ["doctor", "run sort /dev/null -o x", "data make tera --rows 9 -o x"]
)
def test_a_working_folder_that_was_removed_is_named(words: str, tmp_path: Path) -> None:
    script = f'mkdir gone && cd gone && rmdir ../gone && exec "{sys.executable}" -m cuesta {words}'
    done = subprocess.run(
        ["bash", "-c", script], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 2
    assert done.stderr == "cuesta: system: the working folder is gone; cd to another\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("run assemble x -o out -k 31 -k33", "--kmer-sizes is given twice, 31 and 33; the last"),
        ("run scan x -o out -o y", "-o/--output is given twice, out and y; the last counts"),
        ("compare scan x -o out --seed 1 --seed=2", "--seed is given twice, 1 and 2; the last"),
        ("compare --command a=b --repeat 2 --repeat 3 -o out", "--repeat is given twice, 2 and 3"),
        ("run scan x -o out -o y -q", ""),
        ("run scan x --seed 1 --seed 1 -o y", ""),
    ],
)
def test_the_last_value_of_a_repeated_option_counts(
    words: str,
    text: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    call(words.split())
    printed = capsys.readouterr().err
    assert printed.count(text) == 1 if text else "given twice" not in printed
