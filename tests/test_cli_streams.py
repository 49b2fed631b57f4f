"""Streams of a terminal as they come: any encoding, closed, full, a broken pipe."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "cuesta"]
DEFECT = 70
ENCODINGS: dict[str, dict[str, str]] = {
    "ascii": {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"},
    "latin-1": {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0", "LC_ALL": "C"},
    "ascii, strict": {"PYTHONIOENCODING": "ascii:strict"},
    "no coercion": {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"},
    "C": {"LC_ALL": "C"},
    "an unknown locale": {"LC_ALL": "xx_XX.ISO-8859-1"},
}


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small expression matrix whose genes have names outside of Latin-1 and of ASCII."""
    draw = random.Random(1)
    base = [draw.gauss(8, 2) for _ in range(40)]
    rows = [
        "\t".join([f"\u0394g\u00e9ne{gene}", *(f"{b + draw.gauss(0, 0.2):.3f}" for b in base)])
        for gene in range(6)
    ]
    path = tmp_path_factory.mktemp("matrix") / "m\u00e9.tsv"
    header = "\t".join(f"s{sample}" for sample in range(40))
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return path


def run(words: Sequence[str], variables: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    """Run the command with these variables in its environment."""
    return subprocess.run(
        [*COMMAND, *words], env=os.environ | variables, capture_output=True, check=False
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_any_encoding_of_the_terminal_will_do(encoding: str, matrix: Path, tmp_path: Path) -> None:
    variables = ENCODINGS[encoding]
    answer = tmp_path / "r\u00e9sultat"
    words = ["run", "correlate", str(matrix), "--min-abs-score", "0.5", "-o", str(answer)]
    done = run([*words, "--json"], variables)
    assert (done.returncode, done.stderr.count(b"cuesta: ")) == (0, 0), done.stderr
    record = json.loads(done.stdout)
    assert record["inputs"][0]["path"] == str(matrix)
    for words in (["verify", str(answer)], ["explain", str(answer)], ["doctor"]):
        done = run(words, variables)
        assert done.returncode == 0, (words, done.stderr)
        if "ascii" in encoding:
            assert done.stdout.isascii() or words == ["doctor"]


def test_names_that_are_no_text_do_not_end_a_run(tmp_path: Path, matrix: Path) -> None:
    place = os.fsencode(tmp_path) + b"/m\xe9.tsv"
    Path(os.fsdecode(place)).write_bytes(matrix.read_bytes())
    for variables in ({}, *ENCODINGS.values()):
        words = ["run", "correlate", os.fsdecode(place), "-o", str(tmp_path / "out"), "--overwrite"]
        done = run(words, variables)
        assert done.returncode in (0, 2), done.stderr
        assert done.returncode == 0 or done.stderr.count(b"cuesta: ") == 1
        assert not done.stdout


REDIRECTIONS = (">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full", "2>&1 | true")


@pytest.mark.parametrize("redirection", REDIRECTIONS)
def test_a_run_ends_well_with_any_stream_closed(
    redirection: str, matrix: Path, tmp_path: Path
) -> None:
    words = f'"$0" -m cuesta run correlate "$1" -o "$2" {redirection}'
    script = f"set -o pipefail; {words}"
    done = subprocess.run(
        ["bash", "-c", script, sys.executable, str(matrix), str(tmp_path / "out")],
        capture_output=True,
        check=False,
        text=True,
    )
    pipe = "|" in redirection
    assert done.returncode in ((0, 128 + 13) if pipe else (0,)), done
    assert (tmp_path / "out" / "run.json").is_file()
    assert "Exception" not in done.stderr
    lines = (tmp_path / "out" / "pairs.txt").read_text(encoding="utf-8").splitlines()
    assert all(line.count("\t") == 10 for line in lines)


@pytest.mark.parametrize("words", ["--version", "--help", "doctor --json", "data list", "run"])
def test_a_full_disk_under_standard_output_is_named(words: str) -> None:
    script = f'exec "$0" -m cuesta {words} >/dev/full'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable], capture_output=True, check=False, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("cuesta: standard output: no space left on device")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", ["--version", "--help", "run sort --help", "config", "doctor"])
def test_a_broken_pipe_ends_a_command_as_sigpipe_does(words: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as output:
        done = subprocess.run(
            [sys.executable, "-m", "cuesta", *words.split()],
            stdout=output, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert done.returncode == 128 + 13
    assert b"Error" not in done.stderr


@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-", "2>/dev/full"])
@pytest.mark.parametrize(("words", "code"), [("--version", 0), ("walk", 2), ("run scan none", 2)])
def test_the_exit_code_is_the_same_with_closed_streams(
    words: str, code: int, redirection: str
) -> None:
    script = f'exec "$0" -m cuesta {words} {redirection}'
    done = subprocess.run(["bash", "-c", script, sys.executable], capture_output=True, check=False)
    assert done.returncode == code
