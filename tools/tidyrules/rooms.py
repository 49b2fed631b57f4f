"""The rooms of a workload crate, its modules at the top, use each other without circles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tidyrules import Finding, SourceFile
from tidyrules.arrows import is_workload
from tidyrules.circles import circles

_USED = re.compile(r"\bcrate::(?:(\w+)|\{([^;]*)\})")


def check(file: SourceFile) -> Iterator[Finding]:
    """The rooms of a crate that are in circles, at its `lib.rs`."""
    parts = PurePosixPath(file.path).parts
    if len(parts) != 4 or parts[0] != "crates" or parts[2:] != ("src", "lib.rs"):
        return
    if not is_workload(parts[1]):
        return
    uses = _uses(file.root, PurePosixPath(file.path).parent)
    for circle in circles(uses):
        names = " and ".join(sorted(circle))
        yield file.finding(1, "rooms", f"{names} use each other; let one be below the other")


def _uses(root: Path, source: PurePosixPath) -> dict[str, set[str]]:
    """By room, the rooms that its files name, tests left out."""
    uses: dict[str, set[str]] = {}
    for path in sorted((root / source).rglob("*.rs")):
        inner = path.relative_to(root / source)
        room = inner.parts[0].removesuffix(".rs")
        if room in ("lib", "main"):
            continue
        code = SourceFile(root, path.relative_to(root).as_posix()).code_without_tests
        named = uses.setdefault(room, set())
        for name, names in _USED.findall(code):
            named.update([name] if name else re.findall(r"(?:^|,)\s*(\w+)", names))
        named.discard(room)
    return {room: named & uses.keys() for room, named in uses.items()}
