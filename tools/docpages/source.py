"""Source of the site: pages of this repository at their own places, with links that lead somewhere.

A link to a page stays; a link to any other file of the repository becomes a download; a link to a
folder leads to its page, or becomes plain text. A link to nothing is an error.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "CORRECTNESS.md", "SECURITY.md",
    "CODE_OF_CONDUCT.md", "GOVERNANCE.md", "bench/README.md", "packages/*/README.md",
    "docs/**/*.md", "workflows/README.md", "spec/formats/*.md", "spec/workloads/README.md",
    "spec/workloads/*/README.md",
)  # fmt: skip
"""Patterns of the pages; the front page is `docs/index.md`."""
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_WRITTEN = "reference/"
"""Folder of pages that `docpages` writes; Sphinx refuses links to one that is not there."""
_FENCE = re.compile(r"^(```.*?^```[ ]*$|~~~.*?^~~~[ ]*$)", re.MULTILINE | re.DOTALL)
_FOREIGN = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|#)")
FRONT = "docs/index.md"
"""The front page, which is at the root of the site."""


class DeadLink(Exception):
    """A link of a page to something that is not there."""


def pages(root: Path = ROOT) -> list[str]:
    """Return the paths of all pages that exist, in order."""
    found = {path for pattern in PAGES for path in root.glob(pattern)}
    return sorted(path.relative_to(root).as_posix() for path in found)


def copy(target: Path, root: Path = ROOT) -> int:
    """Copy all pages, and the files they link to; return the number of links that were looked at.

    Errors: `DeadLink`.
    """
    known = pages(root)
    count = 0
    for name in known:
        text = (root / name).read_text(encoding="utf-8")
        copier = _Copier(root, target, name, known)
        place = target / place_of(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(copier.rewritten(text), encoding="utf-8")
        count += copier.count
    return count


def place_of(name: str) -> str:
    """Return the place of a page in the source of the site."""
    return Path(name).name if name == FRONT else name


class _Copier:
    """Rewrites the links of a page."""

    def __init__(self, root: Path, target: Path, name: str, known: list[str]) -> None:
        self._root, self._target, self._name, self._known = root, target, name, known
        self.count = 0

    def rewritten(self, text: str) -> str:
        return "".join(
            part if part.startswith(("```", "~~~")) else _LINK.sub(self._link, part)
            for part in _FENCE.split(text)
        )

    def _link(self, match: re.Match[str]) -> str:
        words, link = match[1], match[2]
        if _FOREIGN.match(link):
            return match[0]
        self.count += 1
        path, hash_sign, anchor = link.partition("#")
        place = (self._root / self._name).parent / path
        if path.startswith(_WRITTEN) or f"/{_WRITTEN}" in path:
            return f"[{words}]({'docs/' if self._name == FRONT else ''}{link})"
        if not place.exists():
            raise DeadLink(f"{self._name}: [{words}]({link}) leads to nothing")
        inside = place.resolve().relative_to(self._root.resolve()).as_posix()
        if inside == "README.md":  # That of the repository, whose place the front page has here.
            inside = FRONT
        if place.is_dir():
            page = next((page for page in _indices(inside) if page in self._known), None)
            return f"[{words}]({self._relative(page)})" if page else words
        if inside in self._known:
            return f"[{words}]({self._relative(inside)}{hash_sign}{anchor})"
        copied = self._target / inside
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(place, copied)
        return f"[{words}](path:{self._relative(inside)})"

    def _relative(self, inside: str) -> str:
        up = "../" * (len(Path(place_of(self._name)).parts) - 1)
        return f"{up}{place_of(inside)}"


def _indices(folder: str) -> Iterator[str]:
    yield f"{folder}/README.md"
    yield f"{folder}/index.md"
