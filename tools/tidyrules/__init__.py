"""The rules of `tools/tidy.py`: each takes source files and yields findings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tidyrules.blank import blanked

LINE_COLUMNS_MAX = 100
FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 400
PARAMETERS_MAX = 5
FILE_BYTES_MAX = 200_000

CODE_SUFFIXES = frozenset({".rs", ".py", ".pyi", ".scala", ".java"})
TEXT_SUFFIXES = CODE_SUFFIXES | {".md", ".toml", ".sh", ".css", ".js", ".html", ".yml", ".j2"}
TEXT_NAMES = frozenset({"Makefile", ".gitignore", "run"})


_WRITTEN_BY = re.compile(r"# Written by `[^`\n]+` from [^\n]+; change that instead\.\n")
"""First lines of files that programs write; a test compares them with the current output."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A broken rule at a place; `line` is 1-based."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


@dataclass(frozen=True)
class SourceFile:
    """A file of the repository: where the checkout is, and the path within it."""

    root: Path
    path: str

    @property
    def suffix(self) -> str:
        """The ending of the name, with its dot."""
        return Path(self.path).suffix

    @property
    def is_code(self) -> bool:
        """Whether the limits of functions and files apply to it."""
        return self.suffix in CODE_SUFFIXES

    @property
    def is_text(self) -> bool:
        """Whether people write it, so that the limits of lines and words apply to it."""
        is_text = self.suffix in TEXT_SUFFIXES or Path(self.path).name in TEXT_NAMES
        return is_text and not _WRITTEN_BY.match(self.text)

    @cached_property
    def text(self) -> str:
        """The content; bytes that are not UTF-8 are replaced."""
        return (self.root / self.path).read_text(encoding="utf-8", errors="replace")

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends."""
        return self.text.split("\n")

    @cached_property
    def code(self) -> str:
        """The text with comments and strings made blank, every other character where it was."""
        return blanked(self.text, self.suffix)

    @cached_property
    def code_without_tests(self) -> str:
        """`code` with the bodies of Rust's `#[cfg(test)] mod` made blank."""
        code = self.code
        for start, end in test_modules(code):
            body = re.sub(r"[^\n]", " ", code[start:end])
            code = code[:start] + body + code[end:]
        return code

    def finding(self, line: int, rule: str, message: str) -> Finding:
        """A finding in this file."""
        return Finding(path=self.path, line=line, rule=rule, message=message)


_TEST_MODULE = re.compile(
    r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*(?=\{)"
)


def test_modules(code: str) -> Iterator[tuple[int, int]]:
    """Offsets at which the `#[cfg(test)] mod` blocks of blanked Rust code begin and end."""
    position = 0
    while found := _TEST_MODULE.search(code, position):
        position = matching(code, found.end())
        yield found.start(), position


_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}


def matching(code: str, opening: int) -> int:
    """The offset behind the bracket that closes the one at `opening`; the end when none does."""
    opens = code[opening]
    closes = _PAIRS[opens]
    depth = 0
    for bracket in re.compile(re.escape(opens) + "|" + re.escape(closes)).finditer(code, opening):
        offset = bracket.start()
        if closes == ">" and code[offset - 1] in "-=":
            continue
        depth += 1 if code[offset] == opens else -1
        if depth == 0:
            return offset + 1
    return len(code)


def line_of(text: str, offset: int) -> int:
    """The 1-based line of a character offset."""
    return text.count("\n", 0, offset) + 1
