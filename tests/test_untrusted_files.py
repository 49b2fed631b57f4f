"""Small files are read only where they are regular: a device never ends, a pipe may never begin."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cuesta.assess import sequences
from cuesta.errors import InputError

TIMEOUT_S = 120.0
MEMORY_KIB = 4 << 20
"""Address space of a command: one that reads a device without end fails instead of filling it."""
COMMANDS = (
    "verify FILE",
    "explain FILE",
    "report FILE",
    "model fit FILE -o model.json",
    "model predict FILE FILE -o out.csv",
    "model nodes FILE",
    "model replay FILE",
    "model machines FILE",
    "study check FILE",
    "study run FILE -o study",
    "store simulate FILE",
    "run assemble --samples FILE -o batch",
    "run scan pairs.txt --genes FILE -o answer",
    "assess FILE",
)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_device_and_a_pipe_without_a_writer_are_refused(words: str, tmp_path: Path) -> None:
    (tmp_path / "pairs.txt").touch()
    os.mkfifo(tmp_path / "pipe")
    for file in ("/dev/zero", str(tmp_path / "pipe")):
        done = command(words.replace("FILE", file).split(), tmp_path)
        assert done.returncode == 2, done.stderr
        line = done.stderr.splitlines()[-1]
        assert line.startswith("cuesta: "), done.stderr
        assert ";" in line, line


def command(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    limited = ["bash", "-c", f'ulimit -v {MEMORY_KIB}; exec "$@"', "_"]
    return subprocess.run(
        [*limited, sys.executable, "-m", "cuesta", *words],
        check=False, capture_output=True, text=True, cwd=folder, timeout=TIMEOUT_S,
    )  # fmt: skip


def test_a_device_and_a_pipe_are_no_genome(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file in (Path("/dev/zero"), tmp_path / "pipe"):
        with pytest.raises(InputError, match="not a regular file"):
            sequences.read(file)
