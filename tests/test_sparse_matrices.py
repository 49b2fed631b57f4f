"""Sparse matrices of any source: the answer of the same matrix with its zeros, byte by byte."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix

import cuesta
from cuesta.errors import CuestaError, InputError
from cuesta.workloads.matrix import sparse_file, stored_entries
from cuesta.workloads.matrix.memory import matrix_in_memory
from cuesta.workloads.matrix.table import Matrix

GENES, CELLS = 50, 90


def counts(seed: int = 3) -> Any:
    """Make counts of cells by genes, a fifth of which is not zero."""
    random = np.random.default_rng(seed)
    means = random.gamma(0.5, 0.5, size=GENES) * random.gamma(2, 0.5, size=(CELLS, 1))
    return random.poisson(means).astype(np.float32)


def annotated(values: Any) -> anndata.AnnData:
    """Make an AnnData object."""
    obs, var = (
        pd.DataFrame(index=pd.Index([f"{letter}{i}" for i in range(count)], dtype=object))
        for letter, count in (("c", CELLS), ("g", GENES))
    )
    return anndata.AnnData(values, obs=obs, var=var)


def files(answer: Any) -> dict[str, str]:
    """Return the checksums of the files of an answer."""
    folder = Path(answer.output)
    places = (place for place in folder.rglob("*") if place.is_file())
    sums = {
        str(place.relative_to(folder)): hashlib.blake2b(place.read_bytes()).hexdigest()
        for place in places
        if place.name not in ("run.json", "report.html")
    }
    assert sums
    return sums


@pytest.fixture
def sparse_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a matrix becomes text."""

    def refuse(*_: object) -> None:
        raise AssertionError("the matrix became text")

    monkeypatch.setattr("cuesta.workloads.matrix.write", refuse)
    monkeypatch.setattr("cuesta.api.matrices.write", refuse)


def raw(values: Any) -> anndata.AnnData:
    """Make an object whose counts are in `raw`."""
    data = annotated(csr_matrix(values))
    data.raw = data.copy()
    data.X = np.ones_like(values)
    return data


def layered(values: Any) -> anndata.AnnData:
    """Make an object with a layer."""
    data = annotated(np.ones_like(values))
    data.layers["counts"] = csc_matrix(values)
    return data


def shuffled(values: Any) -> anndata.AnnData:
    """Make an object whose indices are not in order, with explicit zeros."""
    marked = values.copy()
    marked[::7, ::5] += 100
    sparse = csr_matrix(marked)
    indices, data = sparse.indices.copy(), np.where(sparse.data < 100, 0, 100)
    data = sparse.data - data
    assert (data == 0).any()
    for start, end in zip(sparse.indptr, sparse.indptr[1:], strict=False):
        indices[start:end], data[start:end] = indices[start:end][::-1], data[start:end][::-1]
    matrix = csr_matrix((data, indices, sparse.indptr), shape=sparse.shape)
    return annotated(matrix)


OBJECTS: dict[str, tuple[Callable[[Any], anndata.AnnData], str | None]] = {
    "csr": (lambda values: annotated(csr_matrix(values)), None),
    "csc": (lambda values: annotated(csc_matrix(values)), None),
    "integers": (lambda values: annotated(csr_matrix(values.astype(np.int64))), None),
    "layer": (layered, "counts"),
    "raw": (raw, "raw"),
    "shuffled": (shuffled, None),
}


@pytest.mark.usefixtures("sparse_only")
@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_files_and_objects_have_the_answer_of_the_dense_matrix(
    kind: str, method: str, tmp_path: Path
) -> None:
    values = counts()
    table = pd.DataFrame(values.T, index=[f"g{gene}" for gene in range(GENES)])
    table.columns = [f"c{cell}" for cell in range(CELLS)]
    table.to_csv(tmp_path / "m.csv")
    words: dict[str, Any] = {"method": method, "progress": False, "min_abs_score": 0.05}
    words |= {"log2": True, "min_mean": 0.05, "top_variable": 40}
    expected = cuesta.run("correlate", tmp_path / "m.csv", output=tmp_path / "text", **words)
    make, layer = OBJECTS[kind]
    data = make(values)
    data.write_h5ad(tmp_path / "m.h5ad")
    for number, source in enumerate((tmp_path / "m.h5ad", data)):
        output = tmp_path / f"answer-{number}"
        answer = cuesta.run("correlate", source, layer=layer, output=output, **words)
        assert answer.digest == expected.digest
        assert files(answer) == files(expected)


@pytest.mark.usefixtures("sparse_only")
def test_matrices_of_other_programs_are_sparse_too(tmp_path: Path) -> None:
    values = counts().astype(int)
    expected = cuesta.run("correlate", annotated(csr_matrix(values)), progress=False)
    mmwrite(tmp_path / "bare.mtx", coo_matrix(values.T))
    bare = cuesta.run("correlate", tmp_path / "bare.mtx", progress=False)
    in_memory = cuesta.run("correlate", csr_matrix(values.T), progress=False)
    assert bare.digest == in_memory.digest == expected.digest
    (tmp_path / "barcodes.tsv").write_text("\n".join(f"c{cell}" for cell in range(CELLS)))
    with pytest.raises(InputError, match=r"there is no features\.tsv or genes\.tsv beside it"):
        cuesta.run("correlate", tmp_path / "bare.mtx", progress=False)
    rows = "".join(f"E{gene}\tg{gene}\n" for gene in range(GENES))
    (tmp_path / "genes.tsv").write_text(rows)
    named = cuesta.run("correlate", tmp_path / "bare.mtx", progress=False)
    assert named.digest == expected.digest


def path_of(matrix: Matrix, folder: Path, **parameters: object) -> str:
    """Return the form in which a matrix reaches the kernel."""
    for_it = sparse_file.is_for("correlate", parameters, matrix)
    is_sparse = for_it and sparse_file.write(matrix, folder / "m.sparse", "m")
    assert (folder / "m.sparse").exists() == is_sparse
    assert not list(folder.glob("*.partial"))
    return "sparse" if is_sparse else "text"


def test_matrices_that_need_their_zeros_become_text(tmp_path: Path) -> None:
    values = counts()

    def form(values: Any, **parameters: object) -> str:
        matrix = matrix_in_memory(annotated(values), None)
        (tmp_path / "m.sparse").unlink(missing_ok=True)
        return path_of(matrix, tmp_path, **parameters)

    sparse = csr_matrix(values)
    assert form(sparse) == form(sparse, method="spearman", log2=True) == "sparse"
    assert form(sparse, method="bicor") == form(sparse, transpose=True) == "text"
    assert form(sparse, missing="0.0") == form(sparse, columns="1-9") == "text"
    assert form(values) == form(csr_matrix(values + 1)) == "text"
    for wrong in (np.nan, np.inf):
        changed = sparse.copy()
        changed.data[7] = wrong
        assert form(changed) == "text"
    places = sparse.indices.copy()
    row = int(np.argmax(np.diff(sparse.indptr) > 1))
    places[sparse.indptr[row] + 1] = places[sparse.indptr[row]]
    assert form(csr_matrix((sparse.data, places, sparse.indptr), shape=sparse.shape)) == "text"


def test_missing_values_and_entries_that_add_up_have_the_dense_answer(tmp_path: Path) -> None:
    values = counts()
    missing = csr_matrix(values)
    missing.data[5] = np.nan
    words: dict[str, Any] = {"progress": False, "method": "spearman", "min_samples": 10}
    twice = coo_matrix(values)
    rows, columns = (np.concatenate([places, places[:9]]) for places in (twice.row, twice.col))
    data = np.concatenate([twice.data, np.ones(9, dtype=np.float32)])
    order = np.argsort(rows, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=CELLS))])
    doubled = csr_matrix((data[order], columns[order], starts), shape=values.shape)
    for sparse in (missing, doubled):
        data = annotated(sparse.copy())
        data.write_h5ad(tmp_path / "m.h5ad")
        dense = cuesta.run("correlate", annotated(sparse.toarray()), **words)
        assert cuesta.run("correlate", tmp_path / "m.h5ad", **words).digest == dense.digest


def test_chunks_of_any_size_give_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chunks of the file are those of its format; what is read at a time may be less."""
    values = counts()
    annotated(csr_matrix(values)).write_h5ad(tmp_path / "m.h5ad")
    with h5py.File(tmp_path / "m.h5ad") as file:
        matrix = stored_entries.matrix_of(file, str(tmp_path / "m.h5ad"), None, lambda: None)
    assert matrix is not None
    assert sparse_file.write(matrix, tmp_path / "a.sparse", "m")
    assert matrix.nonzeros is not None
    with matrix.nonzeros.opened() as entries:
        complete = list(sparse_file._parts(entries))
        monkeypatch.setattr(sparse_file, "CHUNK_ENTRIES", 37)
        parts = list(sparse_file._parts(entries))
    assert len(complete) == 1
    assert len(parts) > CELLS // 4
    for column in (0, 1):
        joined = np.concatenate([part[column] for part in parts])
        assert (joined == complete[0][column]).all()


def test_a_damaged_file_never_has_an_answer(tmp_path: Path) -> None:
    values = counts()
    matrix = matrix_in_memory(annotated(csr_matrix(values)), None)
    path = tmp_path / "m.sparse"
    assert sparse_file.write(matrix, path, "m")
    right = path.read_bytes()
    assert cuesta.run("correlate", path, progress=False).counts["genes"] == GENES
    for wrong in (right[:-1], right[: len(right) // 2], right[:-9] + b"x" + right[-8:]):
        path.write_bytes(wrong)
        with pytest.raises(CuestaError, match="make it again from its source") as error:
            cuesta.run("correlate", path, progress=False)
        assert "\n" not in str(error.value)


def test_a_cut_h5ad_is_refused_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "m.h5ad"
    annotated(csr_matrix(counts())).write_h5ad(path)
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(CuestaError, match="cannot be read") as error:
        cuesta.run("correlate", path, progress=False)
    assert "\n" not in str(error.value)


def test_the_tool_for_objects_reads_sparse_ones() -> None:
    values = counts()
    sparse, dense = annotated(csr_matrix(values)), annotated(values)
    for data in (sparse, dense):
        cuesta.tl.correlate(data, method="spearman", min_abs_score=0.1, progress=False)
    scores = [data.varp["correlations"].tocsr() for data in (sparse, dense)]
    assert scores[0].nnz
    assert (scores[0] != scores[1]).nnz == 0
