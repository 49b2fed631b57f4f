"""The gallery of studies: every program that is installed gives an equal answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuesta.cli.app import call
from cuesta.engines import get_engine
from cuesta.lab.observer import Silent
from cuesta_lab.study import file, result, run
from cuesta_lab.study.trials import StudyEnvironment

NAMES = file.names(file.GALLERY)


def test_the_gallery_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(NAMES) >= 5
    assert call(["study", "list"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in NAMES)
    assert call(["study", "check", "gallery/none"]) == 2
    assert "gallery/join" in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_programs_of_the_gallery_give_equal_answers(name: str, tmp_path: Path) -> None:
    """Without `--allow-commands`, since these studies come with Cuesta."""
    study = file.read(name, smoke=True)
    found, rows = run.run(study, tmp_path / "out", StudyEnvironment(engine=get_engine), Silent())
    assert [cell["failed"] for cell in found["cells"] if cell["failed"]] == []
    result.raise_errors(rows)
    timed = [cell for cell in found["cells"] if cell["measures"]]
    missing = [cell for cell in found["cells"] if not cell["measures"]]
    assert timed
    assert all("which is not installed" in cell["left_out"] for cell in missing)
    assert (call(["report", str(tmp_path / "out"), "-o", str(tmp_path / "page.html")])) == 0
