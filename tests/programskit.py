"""Comparisons of small shell and Python programs for tests."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call

Record = dict[str, Any]
ROWS = "k,v\n1,1.5\n2,2\n3,x\n"


class Caller:
    """A folder from which comparisons are called, with the exit code and lines of the last."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.folder = folder
        self._capsys = capsys
        monkeypatch.chdir(folder)
        self.code = -1
        self.printed = self.error = ""

    def __call__(self, programs: Mapping[str, str], *options: str, repeats: int = 1) -> Record:
        """Compare programs; return the record, empty where there is none."""
        words = [
            word for name, text in programs.items() for word in ("--command", f"{name}={text}")
        ]
        output = self.folder / "out"
        self.code = call(
            ["compare", *words, "--repeats", str(repeats), "-o", str(output), *options]
        )
        captured = self._capsys.readouterr()
        self.printed, self.error = captured.out, captured.err
        file = output / "programs.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file in the folder."""
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


@pytest.fixture
def compare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Caller:
    return Caller(tmp_path, monkeypatch, capsys)


def python(code: str) -> str:
    """A command that runs Python code, without any package."""
    return f"{sys.executable} -I -S -c {shlex.quote(code)}"


def shell(script: str) -> str:
    """A command that runs a script of the shell."""
    return f"sh -c {shlex.quote(script)}"


def writes(text: str) -> str:
    """A command that writes a text as its answer."""
    quoted = shlex.quote(text.replace("%", "%%").replace("\n", "\\n"))
    return shell(f'printf {quoted} > "$CUESTA_ANSWER"')


def cases(record: Record) -> dict[str, Record]:
    """The only case of each program, by name."""
    return {program["name"]: program["cases"][-1] for program in record["programs"]}


def verdicts(record: Record) -> dict[str, str]:
    """The verdict of each program at the largest size."""
    return {name: case["verdict"] for name, case in cases(record).items()}
