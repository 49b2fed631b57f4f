"""Figures of modules and thresholds, made of the tables of an answer alone."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cuesta.workloads import derived, figures
from cuesta.workloads.colours import css
from cuesta.workloads.figures import svg
from cuesta.workloads.figures.tree import leaf_order

TABLES = {
    "modules.tsv": "gene\tname\tmodule\tkme\n1\ta\t1\t0.9\n2\tb<\t0\tNA\n3\tc\t1\t0.8\n",
    "tree.tsv": "merge\tfirst\tsecond\theight\n1\t-1\t-3\t0.2\n2\t-2\t1\t0.9\n",
    "modules.gmt": "turquoise\tmodule 1, 2 genes\ta\tc\n",
    "eigengenes.tsv": "sample\tME1\ns1\t0.7\ns2\t-0.7\ns3\tNA\n",
    "traits.tsv": "module\ttrait\tr\tp\tq\tn\n1\tage & <sex>\t0.5\t0\t0.1\t9\n"
    "1\tx\tNA\tNA\tNA\t3\n",
    "powers.tsv": "power\tr_squared\tslope\ttruncated_r_squared\tmean_connectivity\t"
    "median_connectivity\tmax_connectivity\n1\t0.1\t0.5\t0.2\t9\t8\t10\n2\t0.9\t-1\t1\t3\t2\t5\n"
    "3\tNA\tNA\tNA\t0\t0\t0\n",
}


def write(folder: Path, tables: dict[str, str]) -> Path:
    for name, text in tables.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_each_table_has_a_figure_and_its_data(tmp_path: Path) -> None:
    made = figures.contents(write(tmp_path, TABLES))
    stems = ["tree", "eigengenes", "traits", "volcano", "powers"]
    assert list(made) == [f"figure_{stem}.{kind}" for stem in stems for kind in ("svg", "csv")]
    for name, content in made.items():
        text = b"".join(content()).decode()
        if name.endswith("svg"):
            ElementTree.fromstring(text)
        else:
            assert len(list(csv.reader(io.StringIO(text)))) > 1


def test_a_tree_shows_the_genes_from_left_to_right(tmp_path: Path) -> None:
    assert leaf_order([(-1, -3, 0.2), (-2, 1, 0.9)]) == [2, 1, 3]
    assert leaf_order([]) == []
    made = figures.contents(write(tmp_path, TABLES))
    rows = list(csv.reader(io.StringIO(b"".join(made["figure_tree.csv"]()).decode())))
    assert rows[1:] == [
        ["1", "2", "b<", "0", "grey"],
        ["2", "1", "a", "1", "turquoise"],
        ["3", "3", "c", "1", "turquoise"],
    ]


def test_an_answer_without_modules_has_figures_too(tmp_path: Path) -> None:
    empty = {
        "modules.tsv": "gene\tname\tmodule\tkme\n1\ta\t0\tNA\n",
        "modules.gmt": "",
        "eigengenes.tsv": "sample\ns1\n",
        "traits.tsv": "module\ttrait\tr\tp\tq\tn\n",
        "tree.tsv": "merge\tfirst\tsecond\theight\n",
    }
    for name, content in figures.contents(write(tmp_path, TABLES | empty)).items():
        if name.endswith("svg"):
            ElementTree.fromstring(b"".join(content()))


def test_figures_are_part_of_the_answer(tmp_path: Path) -> None:
    folder = write(tmp_path, TABLES)
    derived.write("modules", folder, "")
    assert len(derived.names("modules", folder)) == 10
    assert derived.fault("modules", folder, "") == ""
    changed = (folder / "figure_tree.svg").read_text(encoding="utf-8").replace("turquoise", "red")
    (folder / "figure_tree.svg").write_text(changed, encoding="utf-8")
    assert "figure_tree.svg differs" in derived.fault("modules", folder, "")


@pytest.mark.parametrize(
    ("value", "expected"), [(0.0, "0"), (-0.001, "0"), (-1.5, "-1.5"), (10.0, "10"), (2.005, "2")]
)
def test_coordinates_have_at_most_two_decimals(value: float, expected: str) -> None:
    assert svg.number(value) == expected


def test_colours_are_those_of_css() -> None:
    assert (css("turquoise"), css("grey60")) == ("turquoise", "#999999")
    assert css("salmon4") == css("salmon4") != css("salmon3")
    assert svg.diverging(1.0) == "#ff0000"
    assert svg.diverging(math.nan) == "#dddddd"
