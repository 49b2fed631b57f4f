"""The DOI of the citation: a placeholder is a warning until an archive has given a real one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

FILE_NAME = "CITATION.cff"
PLACEHOLDER = "10.0000/placeholder"
_OWN = re.compile(r"^doi: *(.*)$", re.MULTILINE)


def warnings(root: Path) -> Iterator[str]:
    """Yield a sentence for a citation without a DOI of its own; references have theirs indented."""
    file = root / FILE_NAME
    if not file.exists():
        return
    match = _OWN.search(file.read_text(encoding="utf-8"))
    doi = match[1].strip() if match else ""
    if not doi:
        yield f"{FILE_NAME}: has no doi; write that of the archive, or {PLACEHOLDER}"
    elif doi == PLACEHOLDER:
        yield f"{FILE_NAME}: its doi is a placeholder; write that of the archive of the release"
