"""Rules of `tools/tidy.py` on a single file, for their tests."""

from __future__ import annotations

from pathlib import Path

import tidy


def rules_broken(root: Path, path: str, text: str) -> set[str]:
    """Return the names of the rules that a file with this text breaks."""
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return {finding.rule for finding in tidy.findings(root, [path])}
