"""Names of reads, and the mates they show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SLASH = re.compile(rb"(.+)/([12])")
_MARK = re.compile(rb"(.+)(?:[._]|[._/-]R)([12])")
_ILLUMINA = re.compile(rb"([12]):[NY]:")
_ENDING = re.compile(rb".*/([12])\s*")
_LAST_NUMBER = re.compile(rb"(.*?)(\d{1,18})(\D*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class ReadName:
    """Name of a read."""

    text: bytes
    """The first word of its line."""
    stem: bytes
    """The word without `/1` or `/2`."""
    mate: int
    """Number of the read in its pair by `/1`, or by what follows the word; 0 without one."""
    mark: tuple[bytes, int]
    """Stem and digit of an end such as `.1`, `_1` or `-R1`, which may count reads; 0 without."""


def parsed(line: bytes) -> ReadName:
    """Return the name in a line without its `@` or `>`."""
    text, _, comment = line.partition(b" ") if b" " in line else line.partition(b"\t")
    text = text.strip()
    if slash := _SLASH.fullmatch(text):
        stem, mate = slash[1], int(slash[2])
    else:
        numbered = _ILLUMINA.match(comment) or _ENDING.fullmatch(comment)
        stem, mate = text, int(numbered[1]) if numbered else 0
    mark = _MARK.fullmatch(text)
    return ReadName(
        text=text, stem=stem, mate=mate, mark=(mark[1], int(mark[2])) if mark else (text, 0)
    )


def are_mates(pairs: Sequence[tuple[ReadName, ReadName]]) -> bool:
    """Whether names show that the reads of each pair are first and second read of a fragment."""
    if not pairs:
        return False
    if all(a.stem == b.stem and (a.mate, b.mate) == (1, 2) for a, b in pairs):
        return True
    # The first two of counted names, such as X.1 and X.2 of an archive, end in marks too.
    is_marked = all(a.mark[0] == b.mark[0] and (a.mark[1], b.mark[1]) == (1, 2) for a, b in pairs)
    return is_marked and len({a.mark[0] for a, _ in pairs}) == len(pairs) > 1


def are_consecutive(first: ReadName, second: ReadName) -> bool:
    """Whether two names differ in their last number only, which is one more in the second."""
    parts = [_LAST_NUMBER.fullmatch(name.text) for name in (first, second)]
    if not (parts[0] and parts[1]):
        return False
    (before, number, after), (before2, number2, after2) = parts[0].groups(), parts[1].groups()
    return before == before2 and after == after2 and int(number) + 1 == int(number2)
