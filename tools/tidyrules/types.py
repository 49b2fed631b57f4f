"""Names of public Rust types that several files define: one word for several concepts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from tidyrules import Finding, SourceFile, line_of

SHARED = frozenset(
    {
        "Args", "Counts", "Error", "Leader", "Limits", "Options", "Params", "Place", "Reader",
        "Request", "Response", "Row", "Scratch", "Steps", "Table", "Tests", "Work", "Worker",
        "Writer",
    }
)  # fmt: skip
"""Names of roles that every crate has, each of its own."""

_TYPE = re.compile(r"^pub(?:\([a-z]+\))? (?:struct|enum|trait|union) (\w+)", re.MULTILINE)


def repeated(files: Iterable[SourceFile]) -> list[Finding]:
    """A finding for each place of a public name that several files define, tests apart."""
    places: dict[str, list[tuple[SourceFile, int]]] = defaultdict(list)
    for file in files:
        if file.suffix == ".rs" and file.path.startswith("crates/") and "/src/" in file.path:
            for found in _TYPE.finditer(file.code_without_tests):
                if found[1] not in SHARED:
                    places[found[1]].append((file, line_of(file.code, found.start())))
    several = {name: found for name, found in places.items() if len({f.path for f, _ in found}) > 1}
    return [
        file.finding(line, "type-name", f"{name} is the name of {len(found)} types")
        for name, found in sorted(several.items())
        for file, line in found
    ]
