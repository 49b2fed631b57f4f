"""Expression matrices of other kinds than text, and in memory: all give the answer of the text."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata
import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix

import cuesta
from cuesta.errors import CuestaError, InputError
from cuesta.workloads.matrix import columnar
from cuesta.workloads.matrix.memory import matrix_in_memory
from cuesta.workloads.matrix.table import unique

GENES, SAMPLES = 60, 24


def frame() -> pd.DataFrame:
    """Make counts of genes, of which each third follows a profile."""
    random = np.random.default_rng(5)
    profiles = random.normal(size=(3, SAMPLES))
    noise = random.normal(size=(GENES, SAMPLES))
    values = np.round(np.exp2(profiles[np.arange(GENES) % 3] + 0.4 * noise + 6))
    names = [f"G{number}" for number in range(GENES)]
    return pd.DataFrame(values, index=names, columns=[f"s{number}" for number in range(SAMPLES)])


def annotated(table: pd.DataFrame) -> anndata.AnnData:
    """Make the AnnData object of a table."""
    # Versions of anndata for old Pythons write no strings of Arrow, which pandas 3 has.
    obs, var = (pd.DataFrame(index=names.astype(object)) for names in (table.columns, table.index))
    return anndata.AnnData(table.to_numpy().T.copy(), obs=obs, var=var)


def h5ad(kind: Callable[[Any], Any]) -> Callable[[pd.DataFrame, Path], Path]:
    """Return a writer of h5ad with X of a kind."""

    def write(table: pd.DataFrame, folder: Path) -> Path:
        data = annotated(table)
        data.X = kind(data.X)
        data.write_h5ad(folder / "m.h5ad")
        return folder / "m.h5ad"

    return write


def parquet(table: pd.DataFrame, folder: Path) -> Path:
    """Write Parquet with the genes as index."""
    table.to_parquet(folder / "m.parquet")
    return folder / "m.parquet"


def feather(table: pd.DataFrame, folder: Path) -> Path:
    """Write Feather with the genes in the first column."""
    table.reset_index().to_feather(folder / "m.feather")
    return folder / "m.feather"


def stream(table: pd.DataFrame, folder: Path) -> Path:
    """Write a stream of Arrow with the genes in the first column."""
    pl.from_pandas(table.reset_index()).write_ipc_stream(folder / "m.arrows")
    return folder / "m.arrows"


def market(table: pd.DataFrame, folder: Path) -> Path:
    """Write a folder of 10x, with names packed."""
    place = folder / "tenx"
    place.mkdir()
    mmwrite(place / "matrix.mtx", coo_matrix(table.to_numpy().astype(int)))
    rows = "".join(f"ENSG{name}\t{name}\tGene Expression\n" for name in table.index)
    (place / "features.tsv.gz").write_bytes(gzip.compress(rows.encode()))
    (place / "barcodes.tsv").write_text("\n".join(table.columns))
    return place


def tenx_h5(table: pd.DataFrame, folder: Path) -> Path:
    """Write 10x h5 of version 3, with a feature that is no gene."""
    sparse = csc_matrix(np.vstack([table.to_numpy().astype(int), np.ones(SAMPLES, dtype=int)]))
    with h5py.File(folder / "m.h5", "w") as file:
        group = file.create_group("matrix")
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(sparse, name)
        group["shape"] = np.array(sparse.shape)
        group["barcodes"] = np.array(table.columns, dtype="S")
        features = group.create_group("features")
        features["name"] = np.array([*table.index, "CD3"], dtype="S")
        kinds = [*["Gene Expression"] * GENES, "Antibody Capture"]
        features["feature_type"] = np.array(kinds, dtype="S")
    return folder / "m.h5"


WRITERS = {
    "dense": h5ad(lambda x: x), "csr": h5ad(csr_matrix), "csc": h5ad(csc_matrix),
    "parquet": parquet, "feather": feather, "stream": stream, "mtx": market, "10x": tenx_h5,
}  # fmt: skip


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str | None:
    """Digest of the modules of the text."""
    path = tmp_path_factory.mktemp("text") / "m.csv"
    frame().to_csv(path)
    return cuesta.run("modules", path, power=6, min_module_size=8, progress=False).digest


@pytest.mark.parametrize("kind", WRITERS)
def test_a_file_of_any_kind_has_the_answer_of_its_text(
    kind: str, digest: str | None, tmp_path: Path
) -> None:
    path = WRITERS[kind](frame(), tmp_path)
    answer = cuesta.run("modules", path, power=6, min_module_size=8, progress=False)
    assert answer.digest == digest
    assert answer.record["inputs"][0]["path"] == str(path)


def test_matrices_in_memory_have_the_answer_of_their_text(digest: str | None) -> None:
    table = frame()
    named = table.rename_axis("gene").reset_index()
    objects = [table, named, pl.from_pandas(named), pa.Table.from_pandas(table), annotated(table)]
    for value in objects:
        answer = cuesta.run("modules", value, power=6, min_module_size=8, progress=False)
        assert answer.digest == digest, type(value)


IDENTIFIED = pd.DataFrame({"entrez": [7157, 672], "a": [0.5, 1.0], "b": [2.5, 3.0]})


@pytest.mark.parametrize("convert", [lambda x: x, pl.from_pandas, pa.Table.from_pandas])
def test_integers_before_fractions_name_the_genes(convert: Callable[[Any], Any]) -> None:
    """Identifiers in the first column were a sample."""
    matrix = matrix_in_memory(convert(IDENTIFIED), None)
    assert (matrix.genes, matrix.samples) == (["7157", "672"], ["a", "b"])


def test_a_sample_of_integers_remains_where_the_index_names_the_genes() -> None:
    named = IDENTIFIED.set_axis(["TP53", "BRCA1"])
    for value in (named, pa.Table.from_pandas(named)):
        matrix = matrix_in_memory(value, None)
        assert (matrix.genes, matrix.samples) == (["TP53", "BRCA1"], ["entrez", "a", "b"])


def test_the_index_of_a_filtered_frame_is_no_sample() -> None:
    """A filtered frame keeps its index in Parquet, which was a sample."""
    table = frame().rename_axis("gene").reset_index()
    rows = table[table.s0 > table.s0.median()]
    matrix = matrix_in_memory(pa.Table.from_pandas(rows), None)
    assert (matrix.genes, matrix.samples) == (list(rows.gene), list(table.columns[1:]))


def test_rows_of_a_part_of_a_frame_have_its_numbers(tmp_path: Path) -> None:
    """A range as index is no column of Parquet, and its rows were numbered from 1."""
    table = frame().reset_index(drop=True)
    part, second = table.iloc[10:50], table.iloc[::2]
    part.to_parquet(tmp_path / "m.parquet")
    feather_table = pa.Table.from_pandas(part)
    pa.feather.write_feather(feather_table, tmp_path / "m.feather")
    for name in ("m.parquet", "m.feather"):
        matrix = columnar.read(str(tmp_path / name), None)
        assert (matrix.genes[0], matrix.genes[-1], len(matrix.genes)) == ("10", "49", 40)
    numbers = [matrix_in_memory(pa.Table.from_pandas(value), None).genes for value in (
        second, second.rename_axis("entrez"), table, table.rename_axis("entrez"),
    )]  # fmt: skip
    assert [genes[:2] for genes in numbers] == [["0", "2"], ["0", "2"], ["1", "2"], ["0", "1"]]


def test_masked_values_are_missing_and_other_types_are_refused() -> None:
    masked = np.ma.masked_equal(np.array([[1, 2], [3, -9]]), -9)
    rows = matrix_in_memory(masked, None).rows(0, 2)
    assert np.isnan(rows[1][1])
    assert rows[0].tolist() == [1.0, 2.0]
    with pytest.raises(InputError, match="give real numbers"):
        matrix_in_memory(np.array([[1j, 2]]), None)


def test_columns_of_booleans_are_left_out_and_named() -> None:
    table = frame().assign(used=True)
    for value in (table, pa.Table.from_pandas(table)):
        matrix = matrix_in_memory(value, None)
        assert "used" not in matrix.samples
        assert "columns without numbers are left out: used" in matrix.remarks


def test_layers_are_read_by_name_and_other_names_are_refused(tmp_path: Path) -> None:
    data = annotated(frame())
    data.layers["twice"] = data.X * 2
    data.raw = data.copy()
    data.X = None
    path = tmp_path / "m.h5ad"
    data.write_h5ad(path)
    words: dict[str, Any] = {"power": 6, "progress": False}
    layer, raw = (cuesta.run("modules", path, layer=name, **words) for name in ("twice", "raw"))
    assert layer.counts["genes"] == raw.counts["genes"] == GENES
    for name, expected in ((None, "has no X; give one of its layers"), ("x", "twice")):
        with pytest.raises(InputError, match=expected):
            cuesta.run("modules", path, layer=name, **words)
    frame().to_csv(tmp_path / "m.csv")
    with pytest.raises(InputError, match="has no layers"):
        cuesta.run("threshold", tmp_path / "m.csv", layer="x", progress=False)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_repeated_names_get_numbers_as_in_anndata() -> None:
    names = ["a", "b", "a", "a-1", "a", "b"]
    data = anndata.AnnData(np.ones((2, 6)), var=pd.DataFrame(index=names))
    data.var_names_make_unique()
    assert unique(names) == (list(data.var_names), 3)


def test_tools_write_their_results_into_the_object() -> None:
    data = annotated(frame())
    data.obs["age"] = np.arange(SAMPLES, dtype=float)
    data.obs["sex"] = ["f", "m"] * (SAMPLES // 2)
    words: dict[str, Any] = {"min_module_size": 8, "power": 6, "log2": True, "progress": False}
    assert cuesta.tl.modules(data, traits=["age", "sex"], **words) is None
    assert set(data.var["module"]) <= set(data.var["module"].cat.categories)
    modules = data.obsm["eigengenes"].shape[1]
    assert modules >= 2
    assert len(data.uns["module_colors"]) == modules + 1
    assert int(data.var["is_hub"].sum()) == modules
    kme = data.varm["kME"].to_numpy()
    for gene, label in enumerate(data.var["module"].astype(int)):
        if label:
            assert abs(kme[gene, label - 1] - data.var["kme"].iloc[gene]) < 1e-9
    assert set(data.uns["modules"]["traits"]["trait"]) == {"age", "sex=m"}
    changed = cuesta.tl.threshold(data, copy=True, step=0.1, progress=False)
    assert len(changed.uns["threshold"]["powers"]) == 15
    assert "threshold" not in data.uns
    cuesta.tl.correlate(data, min_abs_score=0.7, min_samples=10, progress=False)
    pairs = data.varp["correlations"].tocoo()
    expected = np.corrcoef(data.X.T)
    assert pairs.nnz
    assert np.allclose(expected[pairs.row, pairs.col], pairs.data, atol=1e-6)
    with pytest.raises(InputError, match="obs has no column 'x'"):
        cuesta.tl.modules(data, traits="x")


def test_an_object_for_another_workload_is_refused_in_a_line() -> None:
    for call in (
        lambda: cuesta.run("sort", frame()),
        lambda: cuesta.run("modules", np.ones(3), progress=False),
        lambda: cuesta.tl.modules(frame()),
    ):
        with pytest.raises(CuestaError) as error:
            call()
        assert "\n" not in str(error.value)


def test_a_packed_file_is_to_be_unpacked_first(tmp_path: Path) -> None:
    """The advice was to write its table as text, though the file inside is read."""
    for writer in (WRITERS["csr"], parquet):
        path = writer(frame(), tmp_path)
        packed = path.with_name(f"{path.name}.gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        with pytest.raises(InputError, match=r"compressed by gzip; unpack it first: gunzip FILE"):
            cuesta.run("modules", packed, progress=False)


def test_rows_without_a_name_are_refused(tmp_path: Path) -> None:
    """A missing name was a gene called None or nan."""
    values = [[float(gene * sample % 7) for sample in range(6)] for gene in range(5)]
    columns = [f"s{number}" for number in range(6)]
    for missing in (None, float("nan"), ""):
        table = pd.DataFrame(values, index=["a", "b", missing, "d", "e"], columns=columns)
        with pytest.raises(InputError, match="row 3 has no name of a gene; give every gene one"):
            matrix_in_memory(table, None)
    table.insert(0, "gene", ["a", "b", None, "d", "e"])
    table.reset_index(drop=True).to_parquet(tmp_path / "m.parquet")
    with pytest.raises(InputError, match=r"m\.parquet: row 3 has no name of a gene"):
        cuesta.run("modules", tmp_path / "m.parquet", progress=False)
    assert matrix_in_memory(pd.DataFrame(values, index=[*"abcd", "nan"]), None).genes[4] == "nan"


def test_integers_that_a_double_cannot_hold_have_a_remedy(tmp_path: Path) -> None:
    table = frame().astype("int64")
    table.iloc[3, 2] = 2**53 + 1
    with pytest.raises(InputError, match="subtract an offset from them, or cast them"):
        cuesta.run("modules", parquet(table, tmp_path), power=6, progress=False)


@pytest.mark.parametrize(
    ("present", "added"),
    [
        ("matrix.mtx", "matrix.mtx.gz"),
        ("features.tsv.gz", "features.tsv"),
        ("features.tsv.gz", "genes.tsv"),
        ("barcodes.tsv", "barcodes.tsv.gz"),
    ],
)
def test_a_folder_of_10x_with_a_file_twice_is_refused(
    present: str, added: str, tmp_path: Path
) -> None:
    """The packed file was read where `matrix.mtx` and `matrix.mtx.gz` had different content."""
    folder = market(frame(), tmp_path)
    (folder / added).write_bytes((folder / present).read_bytes())
    with pytest.raises(InputError) as caught:
        cuesta.run("modules", folder, power=6, progress=False)
    assert f"{folder} has both" in str(caught.value)
    assert present in str(caught.value)
    assert added in str(caught.value)


def test_a_dense_matrix_market_file_is_read(tmp_path: Path) -> None:
    """A file of kind `array` was refused by the words of an error of Python."""
    values = np.round(frame().to_numpy(), 3)
    mmwrite(tmp_path / "dense.mtx", values)
    mmwrite(tmp_path / "sparse.mtx", coo_matrix(values))
    answers = []
    for name in ("dense", "sparse"):
        cuesta.run("correlate", [tmp_path / f"{name}.mtx"], output=tmp_path / name)
        answers.append((tmp_path / name / "pairs.txt").read_bytes())
    assert answers[0] == answers[1]
    assert answers[0]
