"""Commands and pages of other products are found by entry points, and named where they lack."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from cuesta import plugins
from cuesta.cli import commands, products
from cuesta.cli.app import call
from cuesta.report import extensions
from cuesta_lab.report.studies import FILE_NAME, SCHEMA

LAB = Path(__file__).resolve().parent.parent / "packages/lab/pyproject.toml"
LINE = "is a command of cuesta-lab, which is not installed; "
LINE += "pip install 'cuesta[lab]' --find-links RELEASE"
OF_LAB = {name for name, each in products.COMMANDS.items() if each.extra == "lab"}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuesta without any other product."""
    monkeypatch.setattr(metadata, "entry_points", lambda **_: ())


def study(folder: Path) -> Path:
    folder.mkdir()
    (folder / "study.json").write_text(json.dumps({"schema": SCHEMA}))
    return folder


def test_the_table_has_the_entry_points_of_the_package() -> None:
    declared = tomllib.loads(LAB.read_text())["project"]["entry-points"]
    assert set(declared[products.GROUP]) == OF_LAB < set(commands.COMMANDS)
    assert list(declared[extensions.GROUP]) == ["study"]
    assert (extensions.STUDY_FILE, extensions.STUDY_SCHEMA) == (FILE_NAME, SCHEMA)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    "words", ["study", "study run none -o out", "explain --help", "model fit a", "advise -x 1"]
)
def test_a_missing_product_is_named_with_its_remedy(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(words.split()) == 3
    assert capsys.readouterr().err == f"cuesta: `cuesta {words.split()[0]}` {LINE}\n"


@pytest.mark.usefixtures("alone")
def test_help_lists_the_commands_of_a_missing_product(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"│ {name} " in text for name in commands.COMMANDS)
    words = " ".join(text.replace("│", "").split())
    assert words.count("(cuesta-lab).") == len(OF_LAB)


@pytest.mark.usefixtures("alone")
def test_a_page_of_a_study_without_its_product_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, page = study(tmp_path / "of a study"), tmp_path / "page.html"
    assert call(["report", str(folder), "-o", str(page)]) == 3
    line = f"cuesta: report: {folder} is a study, which needs pip install 'cuesta[lab]'"
    assert capsys.readouterr().err == f"{line} --find-links RELEASE\n"
    assert not page.exists()


def test_the_page_of_a_study_is_written_by_its_product(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert call(["report", str(study(tmp_path / "of a study")), "-o", str(page)]) == 0
    assert 'id="study-title"' in page.read_text()


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed distribution whose entry point is in a package of the folder."""
    about = tmp_path / "gone-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: gone\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[cuesta.tests]\nit = gone.module:thing\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("gone", None)


def test_metadata_without_its_package_count_as_not_installed(broken: Path) -> None:
    assert plugins.plugin("cuesta.tests", "it") is None


def test_a_package_that_lacks_another_says_so(broken: Path) -> None:
    (broken / "gone").mkdir()
    (broken / "gone/__init__.py").write_text("")
    (broken / "gone/module.py").write_text("import no_such_package\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        plugins.plugin("cuesta.tests", "it")


def test_a_command_of_cuesta_reads_no_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: str) -> None:
        raise AssertionError("entry points were read")

    monkeypatch.setattr(metadata, "entry_points", refuse)
    assert call(["data", "list"]) == 0
    assert call(["study", "list"]) == 70
