"""Plain English: private words in names, and doc comments that open with a relative clause.

`CONTRIBUTING.md` says what to write instead. A few hits per 1,000 lines are tolerated, since a word
of this list is now and then the field's own term; more are reported, each with its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tidyrules import Finding, SourceFile, line_of

HITS_PER_1000_LINES_MAX = 1
PRIVATE_WORDS = frozenset(
    word
    for line in (
        "asked asks beside every found given gives goes hear heard hears kept lies mates mine",
        "nobody one others own said say says seen somebody spent stays tell tells theirs there",
        "told ways whole",
    )
    for word in line.split()
)
"""Words of a private language: none says what a value is."""

_SUFFIXES = frozenset({".py", ".rs", ".scala", ".java"})
_DECLARATION = re.compile(
    r"\b(?:let(?: mut)?|fn|def|struct|enum|trait|class|val|var|record|for) ([A-Za-z_]\w*)"
    r"|^[ \t]+(?:pub )?([a-z_]\w*): (?=[A-Za-z\"'\[&])"
    r"|^[ \t]*([a-z_]\w*) = "
    r"|[|(,] ?([a-z_]\w*)(?=\|)"
    r"|[(,] ?([a-z_]\w*): (?=[A-Za-z\"'\[&])",
    re.MULTILINE,
)
_OPENING = re.compile(
    r'^\s*(?:///|//!|"""|/\*\*|\*)\s*'
    r"(What|Who|Those|That|One|Where|As there|The same|Of|Which|How|Nothing|Them)\b"
)
_PART = re.compile(r"_|(?<=[a-z])(?=[A-Z])")


def excess(files: Iterable[SourceFile]) -> list[Finding]:
    """Every hit in these files, if there are more than the limit allows; otherwise none."""
    code = [file for file in files if file.suffix in _SUFFIXES]
    hits = [hit for file in code for hit in (*private_names(file), *relative_openings(file))]
    lines = sum(len(file.lines) for file in code)
    return hits if len(hits) * 1000 > lines * HITS_PER_1000_LINES_MAX else []


def private_names(file: SourceFile) -> Iterator[Finding]:
    """A finding for each declared name with a private word; strings and comments do not count."""
    for match in _DECLARATION.finditer(file.code):
        name = match[match.lastindex or 0]
        words = PRIVATE_WORDS.intersection(part.lower() for part in _PART.split(name))
        if words:
            line = line_of(file.code, match.start(match.lastindex or 0))
            yield file.finding(line, "private-word", f"{name}: name it by what it holds")


def relative_openings(file: SourceFile) -> Iterator[Finding]:
    """A finding for each doc comment that opens with a relative clause."""
    for number, line in enumerate(file.lines, start=1):
        if match := _OPENING.match(line):
            message = f"opens with {match[1]}; begin with a noun phrase or a verb"
            yield file.finding(number, "doc-opening", message)
