"""Unique names: a public Rust type has a name that no other file defines."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from tidyrules import Finding, SourceFile, line_of

SHARED = {
    "Counts": "how many of each kind were met",
    "Leader": "what plans the rounds of a run; also as Python sees it",
    "Params": "what a caller asks for",
    "Plan": "parameters of a workload that were checked, with what follows from them",
    "Row": "one row of a table",
    "Scratch": "memory of one thread that is used again",
    "Share": "the part of an input that one task works on",
    "Worker": "what does tasks of a run; also as Python sees it",
}
"""Names that several files may define because the concept is the same in each, and that concept."""

_TYPE = re.compile(r"^pub(?:\([a-z]+\))? (?:struct|enum|trait|union) (\w+)", re.MULTILINE)


def repeated(files: Iterable[SourceFile]) -> list[Finding]:
    """A finding for each place of a public name that several files define, shared names apart."""
    return [
        file.finding(line, "type-name", f"{name} is the name of {len(places)} types, find others")
        for name, places in sorted(several(files).items())
        if name not in SHARED
        for file, line in places
    ]


def several(files: Iterable[SourceFile]) -> dict[str, list[tuple[SourceFile, int]]]:
    """The public names that several files define, tests apart, with the line of each definition."""
    places: dict[str, list[tuple[SourceFile, int]]] = defaultdict(list)
    for file in files:
        if file.suffix == ".rs" and file.path.startswith("crates/") and "/src/" in file.path:
            for match in _TYPE.finditer(file.code_without_tests):
                places[match[1]].append((file, line_of(file.code, match.start())))
    return {name: found for name, found in places.items() if len({f.path for f, _ in found}) > 1}
