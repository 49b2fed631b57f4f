"""The lint refuses memory budgets that are made outside the entries of a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidykit import rules_broken
from tidyrules import budgets

MADE = "fn f(bytes: u64) { let budget = Budget::new(bytes); }\n"
BROKEN = [
    ("crates/sort/src/run/mod.rs", MADE),
    ("crates/core/src/budget.rs", MADE),
    ("tools/skeleton/crate/src/run.rs", MADE),
    ("crates/core/src/other/job.rs", MADE),
    ("crates/python/src/lib.rs", MADE),
    (
        "crates/sort/src/run.rs",
        "fn f() { let made = sizes.map(cuesta_core::budget::Budget::new); }\n",
    ),
    ("crates/sort/src/run.rs", "fn f() { let made = <Budget>::new(1); }\n"),
    ("crates/sort/src/run.rs", "use cuesta_core::budget::{Budget as Memory, Lease};\n"),
]
CLEAN = [
    *((path, MADE) for path in budgets.ENTRIES),
    ("crates/sort/src/run.rs", "#[cfg(test)]\nmod tests {\n    " + MADE + "}\n"),
    ("crates/sort/src/run/tests.rs", MADE),
    ("crates/sort/src/tests/a.rs", MADE),
    ("crates/sort/tests/a.rs", MADE),
    ("crates/sort/examples/rate.rs", MADE),
    ("crates/testkit/src/lib.rs", MADE),
    ("fuzz/targets/a.rs", MADE),
    ("tools/skeleton/crate/tests/common/mod.rs", MADE),
    ("crates/sort/src/run.rs", "/// See `Budget::new`.\nfn f(budget: &Budget) {}\n"),
    ("crates/sort/src/run.rs", "fn f() { let budget = SearchBudget::new(1); }\n"),
]


@pytest.mark.parametrize(("path", "text"), BROKEN)
def test_a_budget_outside_the_entries_is_refused(tmp_path: Path, path: str, text: str) -> None:
    assert rules_broken(tmp_path, path, text) == {"budget"}


@pytest.mark.parametrize(("path", "text"), CLEAN)
def test_a_budget_of_an_entry_or_a_test_passes(tmp_path: Path, path: str, text: str) -> None:
    assert rules_broken(tmp_path, path, text) == set()


def test_each_entry_exists_and_makes_a_budget() -> None:
    root = Path(__file__).resolve().parent.parent
    for path in budgets.ENTRIES:
        assert "Budget::new" in (root / path).read_text(encoding="utf-8"), path
