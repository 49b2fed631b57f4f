"""A placeholder as the DOI of the citation is a warning, and no failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidyrules.citation import FILE_NAME, PLACEHOLDER, warnings


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"doi: {PLACEHOLDER}\n", "placeholder"),
        ("references:\n  - doi: 10.1016/j.x\n", "has no doi"),
        ("doi: 10.5281/zenodo.1234\n", ""),
    ],
)
def test_a_citation_is_judged_by_its_doi(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text(f"title: Cuesta\n{text}")
    sentences = list(warnings(tmp_path))
    assert bool(sentences) == bool(words)
    assert all(words in sentence for sentence in sentences)


def test_a_checkout_without_a_citation_has_no_warning(tmp_path: Path) -> None:
    assert list(warnings(tmp_path)) == []
