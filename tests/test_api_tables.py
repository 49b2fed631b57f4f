"""The tables of an answer: the content of its files, in all forms, with and without PyArrow."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cuesta
from apikit import CASES, Case, make_files
from cuesta.api.tables import forms, text
from cuesta.api.tables.columns import kind_of

FORMS = ("arrow", "pandas", "polars", "numpy", "python")
COLUMNS = {
    "correlate": "gene1 gene2 name1 name2 cluster num_clusters cluster_samples missing outliers "
    "pair_outliers threshold score mask",
    "scan": "gene1 gene2 cluster num_clusters cluster_samples missing outliers pair_outliers "
    "threshold score mask",
    "join": "gene1 gene2 cluster side score_a score_b difference",
    "degrees": "gene in out total",
    "communities": "gene community",
    "dataflow": "block vectors sum_x sum_y sum_z mean_x mean_y mean_z",
    "sort": "key value",
    "kmeans": "cluster size inertia x1 x2 x3",
    "images": "image file page height width threshold pixels objects largest",
    "threshold": "threshold edges density genes_with_edges components largest_component "
    "mean_connectivity median_connectivity max_connectivity r_squared slope p fdr",
    "modules": "gene name module kme",
    "ioread": "input requests bytes crc32c",
}
ROWS = {
    "dataflow": 3,
    "sort": 50,
    "kmeans": 4,
    "images": 2,
    "degrees": 80,
    "communities": 60,
    "ioread": 1,
    "threshold": 7,
    "modules": 30,
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, cuesta.Answer]:
    """The answer of each case, by its name."""
    files = make_files(tmp_path_factory.mktemp("inputs"))
    run: Any = cuesta.run
    return {
        case.name: run(
            case.workload, *(files[name] for name in case.inputs), progress=False, **case.keywords
        )
        for case in CASES
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_all_forms_of_each_table_has_the_same_cells(
    case: Case, answers: dict[str, cuesta.Answer]
) -> None:
    answer = answers[case.name]
    assert answer.tables
    for name in answer.tables:
        arrow = answer.table(name, as_="arrow")
        cells = answer.table(name, as_="python")
        assert arrow.to_pydict() == cells
        assert answer.table(name, as_="polars").to_dict(as_series=False) == cells
        assert _cells(answer.table(name, as_="pandas")) == cells
        array = answer.table(name, as_="numpy")
        assert list(array.dtype.names or ()) == list(cells)
        for column, values in cells.items():
            assert [_plain(value) for value in array[column].tolist()] == values


def _cells(frame: pd.DataFrame) -> dict[str, list[Any]]:
    return {str(name): [_plain(value) for value in frame[name].tolist()] for name in frame.columns}


def _plain(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_without_pyarrow_the_cells_are_the_same(
    case: Case, answers: dict[str, cuesta.Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = answers[case.name]
    with_arrow = {name: answer.table(name, as_="python") for name in answer.tables}
    for module in (text, forms):
        monkeypatch.setattr(module, "find_spec", lambda name: None if name == "pyarrow" else name)
    for name, cells in with_arrow.items():
        assert answer.table(name, as_="python") == cells
        assert answer.table(name, as_="polars").to_dict(as_series=False) == cells
        assert _cells(answer.table(name, as_="pandas")) == cells
        assert isinstance(answer.table(name), pd.DataFrame)
    with pytest.raises(cuesta.EngineMissing, match="as_ is 'arrow'; pip install pyarrow to have"):
        answer.table(as_="arrow")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_main_table_comes_first_with_known_columns_and_all_rows(
    case: Case, answers: dict[str, cuesta.Answer]
) -> None:
    answer = answers[case.name]
    table = answer.table()
    assert isinstance(table, pa.Table)
    if case.workload in COLUMNS and case.keywords.get("format") != "pairs":
        assert table.column_names == COLUMNS[case.workload].split()
    assert table.num_rows == ROWS.get(case.workload, table.num_rows)
    for name in answer.tables:
        if (answer.output / f"{name}.tsv").is_file():
            texts = {
                column for column in answer.table(name).column_names if kind_of(column) == "text"
            }
            known = {"side", "file", "name", "crc32c", "kind", "reason", "sample", "trait", "id"}
            assert texts <= known, "a column whose kind is not known"


def test_only_the_requested_columns_are_returned_in_their_order(
    answers: dict[str, cuesta.Answer],
) -> None:
    for answer in answers.values():
        for name in answer.tables:
            columns = answer.table(name).column_names[::-2]
            table = answer.table(name, as_="arrow", columns=columns)
            assert table.column_names == columns
            assert table == answer.table(name, as_="arrow").select(columns)


def test_scores_are_those_of_the_text_and_of_the_pair_matrix(
    answers: dict[str, cuesta.Answer], tmp_path: Path
) -> None:
    matrix = answers["load"].table(as_="pandas")
    from_matrix = cuesta.run("scan", answers["load"].files[0], progress=False)
    rows = [line.split("\t") for line in from_matrix.files[0].read_text().splitlines()]
    assert [float(row[9]) for row in rows] == matrix["score"].tolist()
    assert [row[10] for row in rows] == matrix["mask"].tolist()
    for place, name in enumerate(list(matrix.columns)[:9]):
        assert [int(row[place]) for row in rows] == matrix[name].tolist()
    assert answers["load"].table().combine_chunks() == from_matrix.table().combine_chunks()


def test_pairs_of_an_expression_matrix_know_the_names_of_genes(
    answers: dict[str, cuesta.Answer],
) -> None:
    for name in ("correlate-pairs", "correlate-0.3"):
        table = answers[name].table(as_="pandas")
        assert (table["name1"] == [f"gene{number}" for number in table["gene1"]]).all()
        assert (table["name2"] == [f"gene{number}" for number in table["gene2"]]).all()
        assert (table["mask"] == "1" * 40).all()


def test_several_scores_and_missing_ones_are_separate_columns(tmp_path: Path) -> None:
    rows = ["3\t1\t1\t1\t4\t0\t0\t0\t0\t0.900000,nan,-0.5\t1111",
            "3\t2\t1\t1\t4\t0\t0\t0\t0\t0.800000,0.25,0\t1111"]  # fmt: skip
    (tmp_path / "pairs.txt").write_text("".join(f"{row}\n" for row in rows))
    answer = cuesta.run("scan", tmp_path / "pairs.txt", progress=False)
    table = answer.table(as_="python", columns=["score", "score_1", "score_2", "gene2"])
    assert table == {
        "score": [0.9, 0.8], "score_1": [None, 0.25], "score_2": [-0.5, 0.0], "gene2": [1, 2],
    }  # fmt: skip
    frame = answer.table(as_="pandas")
    assert list(frame.columns)[9:] == ["score", "score_1", "score_2", "mask"]
    assert frame["score_1"].isna().tolist() == [True, False]


def test_an_answer_without_a_row_is_a_table_without_a_row(
    answers: dict[str, cuesta.Answer], tmp_path: Path
) -> None:
    none = cuesta.run("scan", answers["scan-0.5-2"].files[0], min_cluster_samples=99,
                      progress=False)  # fmt: skip
    for form in FORMS[:4]:
        assert len(none.table(as_=form)) == 0  # type: ignore[call-overload]
    assert none.table().column_names == COLUMNS["scan"].split()
    joined = cuesta.run("join", *[answers["load"].files[0]] * 2, min_cluster_samples=99,
                        progress=False)  # fmt: skip
    assert len(joined.table(as_="pandas")) == 0
    assert list(joined.table(as_="polars").columns) == COLUMNS["join"].split()


def test_sums_over_all_rows_are_a_separate_table(answers: dict[str, cuesta.Answer]) -> None:
    flow = answers["dataflow-3-100-[1, -2.5, 3]"]
    rows, totals = flow.table(as_="pandas"), flow.table("all", as_="pandas")
    assert rows["sum_x"].sum() == totals["sum_x"][0]
    assert rows["vectors"].sum() == totals["vectors"][0] == 300
    images = answers["images-3"]
    assert images.table("all", as_="python")["objects"] == [
        sum(images.table(as_="python")["objects"])
    ]


def test_sorted_records_are_bytes_of_a_fixed_length(answers: dict[str, cuesta.Answer]) -> None:
    answer = answers["sort-2GiB"]
    data = answer.files[0].read_bytes()
    table = answer.table(as_="arrow")
    assert table.schema.types == [pa.binary(10), pa.binary(90)]
    keys, values = (column.to_pylist() for column in table.columns)
    assert b"".join(key + value for key, value in zip(keys, values, strict=True)) == data
    assert answer.table(as_="numpy").tobytes() == data
    assert keys == sorted(keys)


def test_contigs_are_rows_with_their_length_depth_and_sequence(
    answers: dict[str, cuesta.Answer],
) -> None:
    answer = answers["assemble-31"]
    assert answer.tables[:4] == ("contigs", "unitigs", "segments", "links")
    contigs = answer.table(as_="pandas")
    assert contigs["name"].tolist() == ["contig_1"]
    assert contigs["length"].tolist() == [len(contigs["sequence"][0])]
    assert contigs["circular"].tolist() == [True]
    segments, links = answer.table("segments"), answer.table("links", as_="python")
    assert segments["sequence"].to_pylist() == contigs["sequence"].tolist()
    assert links["source"] == links["target"] == ["contig_1"]
    assert links["overlap"] == [0]
    unitigs = answer.table("unitigs", as_="pandas")
    assert (unitigs["kmer_counts"] >= unitigs["length"] - 30).all()


def test_assignments_are_rows_of_point_and_cluster(answers: dict[str, cuesta.Answer]) -> None:
    answer = next(candidate for name, candidate in answers.items() if name.startswith("kmeans"))
    table = answer.table("assignments", as_="polars")
    assert table["point"].to_list() == list(range(100))
    assert table["cluster"].to_list() == np.load(answer.output / "assignments.npy").tolist()
    sizes = answer.table("centres", as_="polars")["size"].to_list()
    assert [int((table["cluster"] == cluster).sum()) for cluster in range(4)] == sizes
    assert isinstance(table, pl.DataFrame)


def test_a_missing_table_is_refused_with_the_list_of_tables(
    answers: dict[str, cuesta.Answer],
) -> None:
    answer = answers["degrees-80"]
    with pytest.raises(cuesta.InputError, match="no table 'pairs'; it has degrees, distribution"):
        answer.table("pairs")
    with pytest.raises(cuesta.InputError, match="no column 'name'; it has gene, in, out, total"):
        answer.table(columns=["gene", "name"])
    with pytest.raises(cuesta.InputError, match="as_ is 'duckdb', give one of arrow, pandas"):
        answer.table(as_="duckdb")  # type: ignore[call-overload]


def test_a_damaged_table_is_reported_in_a_single_line_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "pairs.txt").write_text("3\t1\t1\t1\t4\t0\t0\t0\t0\t0.900000\t1111\n")
    answer = cuesta.run("degrees", tmp_path / "pairs.txt", output=tmp_path / "out", progress=False)
    (tmp_path / "out" / "degrees.tsv").write_text("gene\tin\tout\ttotal\n1\tone\t0\t1\n")
    for absent in (None, "pyarrow"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(text, "find_spec", lambda name, absent=absent: name != absent or None)
            with pytest.raises(cuesta.InputError, match=r"degrees\.tsv: .*`cuesta verify` tells"):
                answer.table()
    (tmp_path / "out" / "degrees.tsv").unlink()
    with pytest.raises(cuesta.InputError, match=r"degrees\.tsv: no such file"):
        answer.table()
