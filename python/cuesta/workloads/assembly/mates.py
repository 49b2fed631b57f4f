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


def are_pairs(pairs: Sequence[tuple[ReadName, ReadName]]) -> bool:
    """Whether names show that the reads of each pair are first and second read of a fragment."""
    if not pairs:
        return False
    if all(a.stem == b.stem and (a.mate, b.mate) == (1, 2) for a, b in pairs):
        return True
    # The first two of counted names, such as X.1 and X.2 of an archive, end in marks too.
    is_marked = all(a.mark[0] == b.mark[0] and (a.mark[1], b.mark[1]) == (1, 2) for a, b in pairs)
    return is_marked and len({a.mark[0] for a, _ in pairs}) == len(pairs) > 1


def are_in_turn(names: Sequence[ReadName]) -> bool:
    """Whether each two consecutive names are those of a pair; no two names prove it alone."""
    pairs = list(zip(names[::2], names[1::2], strict=False))
    if are_pairs(pairs):
        return True
    is_twice = all(a.text == b.text and not a.mate and not b.mate for a, b in pairs)
    return is_twice and len({a.text for a, _ in pairs}) == len(pairs) > 1


def are_paired_files(
    first: tuple[str, Sequence[ReadName]], second: tuple[str, Sequence[ReadName]]
) -> bool:
    """Whether two files, by the names of their first reads, are of first and of second reads."""
    (path1, names1), (path2, names2) = first, second
    if not names1 or not names2:
        return False
    if all(name.mate == 1 for name in names1) and all(name.mate == 2 for name in names2):
        return not {name.stem for name in names1}.isdisjoint(name.stem for name in names2)
    if all(name.mark[1] == 1 for name in names1) and all(name.mark[1] == 2 for name in names2):
        stems = {name.mark[0] for name in names1}
        return len(stems) == len(names1) > 1 and not stems.isdisjoint(
            name.mark[0] for name in names2
        )
    # Names without a number of the read are those of pairs where the files are numbered.
    are_equal = all(
        a.text == b.text and not a.mate and not b.mate for a, b in zip(names1, names2, strict=False)
    )
    return are_equal and _are_numbered(path1, path2)


def _are_numbered(path1: str, path2: str) -> bool:
    """Whether two paths differ in a 1 and a 2 only."""
    differing = [(a, b) for a, b in zip(path1, path2, strict=False) if a != b]
    return len(path1) == len(path2) and differing == [("1", "2")]


def are_consecutive(first: ReadName, second: ReadName) -> bool:
    """Whether two names differ in their last number only, which is one more in the second."""
    parts = [_LAST_NUMBER.fullmatch(name.text) for name in (first, second)]
    if not (parts[0] and parts[1]):
        return False
    (before, number, after), (before2, number2, after2) = parts[0].groups(), parts[1].groups()
    return before == before2 and after == after2 and int(number) + 1 == int(number2)
