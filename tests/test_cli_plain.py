"""A plain command line starts fast: it is parsed without Typer, to the same values."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cuesta.api.declared import Option
from cuesta.api.options import options
from cuesta.cli import commands, plain, signature
from cuesta.cli.app import call
from cuesta.workloads import WORKLOAD_NAMES, Workload, get_workload

LINE = "3\t1\t1\t1\t4\t0\t0\t0\t0\t0.900000\t1111\n"
CASES = 40
SLOW = {
    "typer", "rich", "jinja2", "pydantic", "numpy", "pyarrow", "subprocess",
    "multiprocessing", "tempfile", "importlib.metadata", "importlib.resources", "jsonschema",
    "statistics", "platform", "concurrent.futures", "asyncio", "http.client", "ssl",
    "hashlib", "socket", "shutil",
}  # fmt: skip


MODULES_MAX = 450
"""Limit of modules that a plain run may load, standard library included."""


@pytest.mark.parametrize("name", WORKLOAD_NAMES)
@pytest.mark.parametrize("command", plain.COMMANDS)
def test_the_values_are_those_that_typer_reads(
    command: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: dict[str, Any] = {}

    def collect(_workload: Workload, _engines: Option, _body: object) -> Callable[..., None]:
        return lambda **values: read.update(values)

    monkeypatch.setattr(signature, "make_command", collect)
    monkeypatch.setattr(plain, "make_command", collect)
    engines = import_module(f"cuesta.cli.{command}").ENGINES
    options_by_word = options(get_workload(name), engines)
    draw = random.Random(f"{command} {name}")
    for _ in range(CASES):
        words = [command, name, *drawn_words(draw, options_by_word)]
        prepared = plain.command(words)
        assert prepared is not None, words
        read.clear()
        prepared()
        parsed = {**read, "inputs": read["inputs"] or None}
        read.clear()
        commands.call(words)
        assert parsed == {**read, "inputs": read["inputs"] or None}, words


def drawn_words(draw: random.Random, all_options: list[Option]) -> list[str]:
    """Draw inputs and options in any order, each option as often as allowed."""
    groups = [[f"input-{number}"] for number in range(draw.randint(1, 3))]
    for option in all_options:
        for _ in range(draw.choice((0, 1, 2) if option.many else (0, 1)) or option.required):
            groups.append(drawn_option(draw, option))
    draw.shuffle(groups)
    return [word for group in groups for word in group]


def drawn_option(draw: random.Random, option: Option) -> list[str]:
    word = draw.choice(option.words)
    if option.kind is bool:
        return [word]
    texts = {
        int: str(draw.randint(0, 99)), float: draw.choice(("0.25", "1e-3", "3", ".5")),
    }  # fmt: skip
    text = texts.get(option.kind) or draw.choice(("word", "a=b", "x,y", "with space", "é"))
    if option.alone:
        return [word] if draw.random() < 0.5 else [f"{word}={text}"]
    return [f"{word}={text}"] if word.startswith("--") and draw.random() < 0.5 else [word, text]


@pytest.mark.parametrize(
    "words",
    [
        "",
        "run",
        "run scan",
        "run scan --help",
        "run scan in.txt",
        "run scan -o out",
        "run scan in.txt -o",
        "run scan in.txt -o -h",
        "run scan in.txt -oout",
        "run scan in.txt -o=out",
        "run scan in.txt -o out -- more.txt",
        "run scan in.txt -o out --json=yes",
        "run scan in.txt -o out --seed many",
        "run scan in.txt -o out --seed 1_0",
        "run scan in.txt -o out --seed -1",
        "run scan in.txt -o out --min-abs 1",
        "run walk in.txt -o out",
        "verify out",
    ],
)
def test_what_is_not_plain_is_left_to_typer(words: str) -> None:
    assert plain.command(words.split()) is None


def test_completion_is_left_to_typer(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["run", "scan", "in.txt", "-o", "out"]
    assert plain.command(words) is not None
    monkeypatch.setenv("_CUESTA_COMPLETE", "complete_bash")
    assert plain.command(words) is None


@pytest.fixture
def pair_file(tmp_path: Path) -> Path:
    path = tmp_path / "one.txt"
    path.write_text(LINE)
    return path


def test_a_plain_run_imports_nothing_slow(pair_file: Path) -> None:
    code = (
        "import sys; from cuesta.cli.app import call; code = call(sys.argv[1:]); "
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    words = ["run", "scan", str(pair_file), "-o", str(pair_file.parent / "out")]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.split())
    assert "cuesta._native" in loaded
    assert not SLOW & loaded


def test_a_plain_run_imports_few_modules(pair_file: Path) -> None:
    """Imports are the cost of a short run; the bench `promptness` measures its time."""
    code = (
        "import sys; from cuesta.cli.app import call; code = call(sys.argv[1:]); "
        "print(len(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    words = ["run", "scan", str(pair_file), "-o", str(pair_file.parent / "out")]
    command = [sys.executable, "-I", "-c", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stderr.split()[-1]) < MODULES_MAX


def test_a_plain_command_line_is_recorded_as_it_was_typed(
    pair_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = pair_file.parent / "out"
    words = ["run", "scan", str(pair_file), "--cold", "-o", str(out)]
    monkeypatch.setattr(sys, "argv", ["cuesta", *words])
    assert call(words) == 0
    text = (out / "run.json").read_text()
    assert '"--cold"' in text
    assert '"cache": "input-dropped"' in text


def test_the_version_is_printed_without_typer(capsys: pytest.CaptureFixture[str]) -> None:
    """`cuesta --version` imported all commands, and took four times as long as Python itself."""
    assert call(["--version"]) == 0
    fast = capsys.readouterr().out
    commands.call(["--version"])
    assert fast == capsys.readouterr().out


def test_the_version_needs_no_workload() -> None:
    """`cuesta --version` imported all options of `run`, half of its time."""
    code = (
        "import sys; from cuesta.cli.app import call; code = call(['--version']); "
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "cuesta.errors" in loaded
    assert not {"cuesta.trial", "cuesta.workloads", "cuesta.api.options"} & loaded
