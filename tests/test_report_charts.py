"""Charts of a page as files: pictures that stand alone, what their marks say, nothing replaced."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from lxml import etree

from cuesta.cli.app import call
from cuesta.errors import InputError
from cuesta.report import charts
from labkit import ROOT

CASES = ROOT / "spec" / "cases"


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Answer of a join, whose page has charts of several kinds."""
    folder = tmp_path_factory.mktemp("answer") / "joined"
    words = ["run", "join", str(CASES / "clusters-a.txt"), str(CASES / "clusters-b.txt")]
    assert call([*words, "-o", str(folder)]) == 0
    return folder


def test_each_chart_is_a_picture_a_pdf_and_a_table(answer: Path, tmp_path: Path) -> None:
    page, folder = tmp_path / "page.html", tmp_path / "charts"
    assert call(["report", str(answer), "-o", str(page), "--charts", str(folder)]) == 0
    pictures = sorted(folder.glob("*.svg"))
    assert len(pictures) == page.read_text().count('<svg class="chart') >= 4
    for picture in pictures:
        root = etree.parse(picture).getroot()
        style = "".join(root.itertext("{*}style"))
        # Nothing is left to a page around it: no variable, and each class that is used has a rule.
        assert "var(" not in style
        assert picture.with_suffix(".pdf").read_bytes().startswith(b"%PDF-")
    (phases,) = folder.glob("*where-the-time-went.csv")
    rows = list(csv.reader(phases.open()))
    assert rows[0] == ["mark", "value"]
    assert rows[1][0].startswith("native, ")
    assert rows[1][1].endswith("s")
    colours = (folder / phases.name).with_suffix(".svg").read_text()
    assert "fill: #0b6b69" in colours


def test_a_folder_that_exists_is_not_written_to(answer: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    page = tmp_path / "page.html"
    assert call(["report", str(answer), "-o", str(page), "--charts", str(folder)]) == 2
    assert not page.exists()
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_a_page_without_a_chart_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<html><style></style><p>words</p></html>")
    with pytest.raises(InputError, match=r"has no chart; leave --charts out"):
        charts.export(page, tmp_path / "charts")
    assert not (tmp_path / "charts").exists()


def test_figures_of_an_answer_come_with_their_data(answer: Path, tmp_path: Path) -> None:
    folder = tmp_path / "answer"
    folder.mkdir()
    (folder / "figure_tree.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
    )
    (folder / "figure_tree.csv").write_text("x,y\n1,2\n")
    page = tmp_path / "page.html"
    assert call(["report", str(answer), "-o", str(page)]) == 0
    names = charts.export(page, tmp_path / "charts", [folder])
    assert {"figure_tree.svg", "figure_tree.csv", "figure_tree.pdf"} <= set(names)
    several = charts.export(page, tmp_path / "several", [folder, folder])
    assert {"answer-1-figure_tree.svg", "answer-2-figure_tree.svg"} <= set(several)
