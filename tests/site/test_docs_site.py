"""The site is built without a warning, with search and man pages."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import docsite
from cuesta.cli.commands import COMMANDS


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    assert docsite.build(folder) >= docsite.LINKS_MIN
    return folder


def test_the_front_page_has_a_command_for_each_of_five_people(site: Path) -> None:
    text = (site / "html" / "index.html").read_text()
    assert text.count('class="person docutils container"') == 5
    assert (site / "html" / "searchindex.js").stat().st_size > 100_000


def test_each_command_has_a_man_page(site: Path) -> None:
    pages = {page.name for page in (site / "man").glob("*.1")}
    assert pages == {f"cuesta-{name}.1" for name in COMMANDS}


@pytest.mark.skipif(shutil.which("man") is None, reason="there is no man")
def test_man_reads_its_pages_without_a_complaint(site: Path) -> None:
    page = site / "man" / "cuesta-run.1"
    words = ["man", "--warnings", "-l", str(page)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    # Words of a cell that is narrower than they are cannot be spread over its line.
    is_of_width = re.compile("can(not|'t) (adjust|break) line$").search
    assert [line for line in done.stderr.splitlines() if not is_of_width(line)] == []
    assert "--memory" in done.stdout
