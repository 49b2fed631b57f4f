"""Relative links of Markdown files: the file is there, and so is the heading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from tidyrules import Finding, SourceFile

_FENCE = re.compile(r"^\s*(```|~~~)")
_INLINE_CODE = re.compile(r"`+[^`]*`+")
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_DEFINITION = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)")
_HTML = re.compile(r"<(?:img|a)\b[^>]*?\b(?:src|href)=\"([^\"]+)\"")
_ELSEWHERE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_LINK_TEXT = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")

_GENERATED = "reference/"
"""Folder of the pages that the site makes itself; its own check finds dead links to them."""


def check(file: SourceFile) -> Iterator[Finding]:
    """Links to files or headings that do not exist."""
    if file.suffix != ".md":
        return
    for number, line in _prose(file.lines):
        visible = _INLINE_CODE.sub("", line)
        for pattern in (_LINK, _DEFINITION, _HTML):
            for target in pattern.findall(visible):
                problem = _problem(file, target)
                if problem:
                    yield file.finding(number, "dead-link", problem)


def _problem(file: SourceFile, target: str) -> str | None:
    if _ELSEWHERE.match(target):
        return None
    name, _, anchor = target.partition("#")
    here = file.root / file.path
    goal = here if not name else _resolve(file, unquote(name))
    if not goal.exists() and _GENERATED not in name:
        return f"{name} does not exist"
    if anchor and goal.suffix == ".md" and unquote(anchor).lower() not in _anchors(goal):
        return f"{name or 'this file'} has no heading #{anchor}"
    return None


def _resolve(file: SourceFile, name: str) -> Path:
    if name.startswith("/"):
        return file.root / name[1:]
    return (file.root / file.path).parent / name


def _anchors(path: Path) -> set[str]:
    """Heading anchors as code hosts make them: lower case, punctuation gone, blanks to hyphens."""
    anchors: set[str] = set()
    for _, line in _prose(path.read_text(encoding="utf-8", errors="replace").split("\n")):
        heading = _HEADING.match(line)
        if not heading:
            continue
        words = _LINK_TEXT.sub(r"\1", heading[1]).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        count = 0
        while (anchor := f"{slug}-{count}" if count else slug) in anchors:
            count += 1
        anchors.add(anchor)
    return anchors


def _prose(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Lines outside fenced code, with their numbers."""
    fence = ""
    for number, line in enumerate(lines, start=1):
        match = _FENCE.match(line)
        if match and not fence:
            fence = match[1]
        elif match and match[1] == fence:
            fence = ""
        elif not fence:
            yield number, line
