"""All command lines in the README and the guide use existing subcommands and options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

from cuesta.cli.commands import COMMANDS, build

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    ROOT / "README.md",
    ROOT / "bench" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
)
_BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"\s{2,}#.*|\s#\s.*")


def lines(page: Path) -> Iterator[list[str]]:
    """Return the words of each line in a code block that begins with the command."""
    for block in _BLOCK.findall(page.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            words = _COMMENT.sub("", re.sub(r"^(\w+)?\$ ", "", line.strip()))
            for part in re.split(r"\s&&\s", words):
                if part.startswith("cuesta "):
                    yield shlex.split(part)[1:]


@cache
def app() -> Any:
    return typer.main.get_command(build())


def wrong(words: list[str]) -> str:
    """Return the fault of a command line, or an empty text."""
    command, rest = app(), list(words)
    while rest and hasattr(command, "commands") and not rest[0].startswith("-"):
        name = rest.pop(0)
        if name not in command.commands:
            # WORKLOAD or `start|stop` stand for any of several.
            several = name.split("|")
            if name.isupper():
                return ""
            if not set(several) <= set(command.commands) or len(several) == 1:
                return f"no subcommand {name}"
            name = several[0]
        command = command.commands[name]
    known_flags = {
        flag for parameter in command.params for flag in parameter.opts + parameter.secondary_opts
    }
    known_flags |= {"--help", "-h"}
    for index, word in enumerate(rest):
        if word == "--":
            inner = rest[index + 1 :]
            return wrong(inner) if inner and inner[0] in COMMANDS else ""
        option = word.partition("=")[0]
        if re.match(r"^--?[a-z]", option) and option not in known_flags:
            return f"no option {option}"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_all_command_lines_of_a_page_can_be_typed(page: Path) -> None:
    assert {" ".join(words): reason for words in lines(page) if (reason := wrong(words))} == {}


def test_a_command_line_that_cannot_be_typed_is_reported() -> None:
    assert wrong(["model", "guess"]) == "no subcommand guess"
    assert wrong(["run", "sort", "rows.dat", "--clusters", "3"]) == "no option --clusters"
    submit = ["cluster", "submit", "--nodes", "2", "--", "run", "scan", "a", "--memry", "1GiB"]
    assert wrong(submit) == "no option --memry"
    assert wrong(["run", "sort", "rows.dat", "--memory=1GiB", "-o", "out"]) == ""


def test_lines_are_extracted_over_ends_behind_prompts_and_without_remarks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```\nnode1$ cuesta doctor --listen 1  # wait\ncuesta model fit \\\n  a -o b\n```\n"
    )
    assert [*lines(page)] == [["doctor", "--listen", "1"], ["model", "fit", "a", "-o", "b"]]
