"""The lint refuses messages of errors that only say what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidykit import rules_broken

PLACE = "python/cuesta/lab/a.py"
BROKEN = [
    'raise InputError("--engines names no engine")',
    'raise InputError(f"{path} is empty")',
    'raise EngineError(f"{path} is empty")',
    'raise InputError(\n    f"{path}: sequence {name!r} "\n    "is no nucleotide"\n) from None',
]
CLEAN = [
    'raise InputError("--engines names no engine; give some")',
    'raise InputError(f"{path}: give a FASTA file")',
    'raise InputError(f"{path}: {in_words(error)}")',
    'raise InputError(f"{path}: no record ({in_words(error)})")',
    "raise InputError(text)",
]


@pytest.mark.parametrize("text", BROKEN)
def test_a_message_without_a_remedy_is_refused(text: str, tmp_path: Path) -> None:
    assert rules_broken(tmp_path, PLACE, f"{text}\n") == {"remedy"}
    assert rules_broken(tmp_path, "tests/a.py", f"{text}\n") == set()


@pytest.mark.parametrize("text", CLEAN)
def test_a_message_with_a_remedy_or_a_value_at_its_end_is_not(text: str, tmp_path: Path) -> None:
    assert rules_broken(tmp_path, PLACE, f"{text}\n") == set()
