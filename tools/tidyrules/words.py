"""Words that have no place in a repository: unowned notes, paths of one machine, dead code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidyrules import Finding, SourceFile

_UNOWNED_NOTE = re.compile(r"\b(?:T[O]DO|FIX[M]E)\b(?!\s*\(?#\d+)")
_MACHINE_PATH = re.compile(r"(?<![\w.~$}])/(?:work|root|home)/[\w.]")
_BANNER = re.compile(r"^\s*(?:#|//[/!]?|/\*+)\s*([-=*#~+_/])\1{3,}")
_CODE_IN_COMMENT = re.compile(
    r"^\s*//\s*(?:(?:let|use|pub|fn|return|if|for|while|match|impl|mod|val|var|def)\b.*"
    r"|[\w:.]+!?\(.*\))[;{]\s*$"
)
_C_LIKE = frozenset({".rs", ".java", ".scala"})
_HASH_COMMENTS = frozenset({".py", ".pyi", ".toml", ".sh", ".yml", ""})


def check(file: SourceFile) -> Iterator[Finding]:
    """Notes without an issue number, machine paths, banners and commented-out code."""
    for number, line in enumerate(file.lines, start=1):
        if _UNOWNED_NOTE.search(line):
            yield file.finding(number, "unowned-note", "a note needs an issue number: (#12)")
        if _MACHINE_PATH.search(line):
            yield file.finding(number, "machine-path", "a path of one machine; use a relative one")
        if file.suffix in _C_LIKE | _HASH_COMMENTS and _BANNER.match(line):
            yield file.finding(number, "banner", "a banner; let names and files do its work")
        if file.suffix in _C_LIKE and _CODE_IN_COMMENT.match(line):
            yield file.finding(number, "commented-code", "commented-out code; delete it")
