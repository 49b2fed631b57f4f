"""Memory budgets are made where a process gets its request; all other code shares that one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidyrules import Finding, SourceFile, line_of

ENTRIES = {
    "crates/core/src/job.rs": "decodes the request of a process, with its limit",
    "crates/python/src/workloads.rs": "gives a leader or a worker in rounds its share of the limit",
}
"""Files that make budgets, each with its reason."""

_INSTALLED = re.compile(
    r"^(?:crates/(?!testkit/)[^/]+|tools/skeleton/crate)"
    r"/src/(?!(?:.*/)?(?:tests?|benches)(?:/|\.rs$)).*\.rs$"
)
"""Code that users run, and that of new workloads: no tests, examples or benches."""

_MADE = re.compile(r"\bBudget\b(?:\s*>?\s*::\s*new\b|\s+as\s)")
"""A new budget, or another name by which one could be made."""


def check(file: SourceFile) -> Iterator[Finding]:
    """Budgets that installed code makes outside the entries of a process."""
    if file.path in ENTRIES or not _INSTALLED.match(file.path):
        return
    for match in _MADE.finditer(file.code_without_tests):
        message = "Budget::new: a process has one budget; use that of its request or context"
        yield file.finding(line_of(file.code, match.start()), "budget", message)
