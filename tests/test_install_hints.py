"""Hints on what to install are true today: no package index has Cuesta."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from cuesta.plugins import OWN, RELEASE, remedy

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
CODE = [*(ROOT / "python").rglob("*.py"), *(ROOT / "packages").rglob("*.py")]
GUIDES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "packages").rglob("*.md")]
HINT = re.compile(r"pip install (?:\S+ )*['\"]?cuesta(?:\[(\w+)\])?")


def test_a_single_place_of_the_code_has_the_words() -> None:
    assert len(CODE) > 200
    found = {path.name for path in CODE if HINT.search(path.read_text())}
    assert found == {"plugins.py"}


def test_all_hints_of_the_code_name_an_extra() -> None:
    names = {
        name for path in CODE for name in re.findall(r"remedy\(['\"](\w+)['\"]\)", path.read_text())
    }
    assert len(names) >= 6
    assert names <= EXTRAS.keys()


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_files_of_the_release_alone_are_searched_in_it(extra: str) -> None:
    is_own = any(line.startswith("cuesta-") for line in EXTRAS[extra])
    assert (extra in OWN) == is_own
    assert (f"--find-links {RELEASE}" in remedy(extra)) == is_own


def test_guides_name_the_source_of_cuesta_itself() -> None:
    looked_at = 0
    for page in GUIDES:
        if "adr" in page.parts:
            continue
        for line in page.read_text().splitlines():
            match = HINT.search(line)
            if match is None:
                continue
            looked_at += 1
            extra = match[1]
            assert extra, f"{page}: {line}: no index has Cuesta"
            assert extra not in OWN or "--find-links" in line, f"{page}: {line}"
            assert page.name == "install.md" or "beside Cuesta" in line or extra in OWN, page
    assert looked_at >= 4
