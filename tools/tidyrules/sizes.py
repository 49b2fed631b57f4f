"""Limits of sizes: widths of lines, lengths of files, and bytes."""

from __future__ import annotations

from collections.abc import Iterator

from tidyrules import (
    FILE_BYTES_MAX,
    FILE_LINES_MAX,
    LINE_COLUMNS_MAX,
    Finding,
    SourceFile,
    test_modules,
)

LONG_WORD_COLUMNS = 40
LOCKS = frozenset({"tools/requirements.txt", "tools/requirements-build.txt"})
"""Files that `tools/setup.py lock` writes: a hash of each archive of each package."""
_UNBREAKABLE_SUFFIXES = frozenset({".md", ".toml"})


def check_bytes(file: SourceFile) -> Iterator[Finding]:
    """Files over the limit, golden files under `spec/` and locks with their hashes excepted."""
    size_bytes = (file.root / file.path).stat().st_size
    exempt = file.path.startswith("spec/") or file.path in LOCKS
    if size_bytes > FILE_BYTES_MAX and not exempt:
        message = f"{size_bytes} bytes, at most {FILE_BYTES_MAX} outside spec/"
        yield file.finding(1, "file-bytes", message)


def check(file: SourceFile) -> Iterator[Finding]:
    """Lines that are too wide, files of code that are too long."""
    for number, line in enumerate(file.lines, start=1):
        if len(line) > LINE_COLUMNS_MAX and not _cannot_break(file, line):
            message = f"{len(line)} columns, at most {LINE_COLUMNS_MAX}"
            yield file.finding(number, "line-width", message)
    if file.is_code:
        yield from _file_length(file)


def _cannot_break(file: SourceFile, line: str) -> bool:
    """A table row of Markdown, or a line whose last word is long (a link) and runs over."""
    if file.suffix not in _UNBREAKABLE_SUFFIXES:
        return False
    is_row = file.suffix == ".md" and line.lstrip().startswith("|")
    last_word = line.rstrip().rpartition(" ")[2]
    starts_before = len(line.rstrip()) - len(last_word) <= LINE_COLUMNS_MAX
    return is_row or (starts_before and len(last_word) >= LONG_WORD_COLUMNS)


def _file_length(file: SourceFile) -> Iterator[Finding]:
    count = len(file.lines) - (file.lines[-1] == "")
    if file.suffix == ".rs" and count > FILE_LINES_MAX:
        spans = test_modules(file.code)
        count -= sum(file.code.count("\n", start, end) + 1 for start, end in spans)
    if count > FILE_LINES_MAX:
        message = f"{count} lines without tests, at most {FILE_LINES_MAX}"
        yield file.finding(1, "file-length", message)
