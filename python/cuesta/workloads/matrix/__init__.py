"""Conversion of expression matrices of other programs to files in scratch, for the kernels.

AnnData (`h5ad`), 10x (`mtx`, `h5`), loom, Parquet and Feather are read by the libraries that define
them, which are optional. The kernels read text, or the file of a sparse matrix where its zeros are
not needed, so that all engines and the verifier have the same reader.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from cuesta.errors import InputError
from cuesta.trial import Phase, Trial, is_remote
from cuesta.workloads.matrix import sparse_file
from cuesta.workloads.matrix.kinds import READERS, Question, kind_of
from cuesta.workloads.matrix.table import Matrix, write

__all__ = ["made_file", "readable", "sentences"]

_OF_TEXT = {"delimiter": "tab", "decimal": "point", "header": "present"}
"""Layout of the text that is made."""

_GENES_FEW = 1000


def readable(trial: Trial, scratch: Path) -> tuple[Trial, tuple[Phase, ...]]:
    """Return the trial with files in `scratch` for matrices of other kinds than text.

    A file that was converted into `scratch` before is not converted again. Errors: `InputError`
    for a file that cannot be read or has no such layer; `EngineMissing` without its library.
    """
    kinds = _kinds(trial)
    if not any(kinds):
        _check_layer(trial)
        return trial, ()
    started = time.perf_counter()
    inputs, size_bytes = [], 0
    for number, (path, kind) in enumerate(zip(trial.inputs, kinds, strict=True)):
        if kind is None:
            inputs.append(path)
            continue
        inputs.append(str(_made(trial, scratch, number, kind)))
        size_bytes += _size_bytes(Path(path))
    phase = Phase(name="convert", seconds=time.perf_counter() - started, bytes=size_bytes)
    parameters = {**trial.parameters, **_OF_TEXT}
    return replace(trial, inputs=tuple(inputs), parameters=parameters), (phase,)


def _made(trial: Trial, scratch: Path, number: int, kind: str) -> Path:
    """Return the file of a matrix for the kernels, made unless it exists."""
    text, sparse = made_file(scratch, number), made_file(scratch, number).with_suffix(".sparse")
    made = next((file for file in (text, sparse) if file.exists()), None)
    if made is not None:
        return made
    path = trial.inputs[number]
    matrix = _read(trial, path, kind)
    is_sparse = sparse_file.is_for(trial.workload, trial.parameters, matrix)
    if is_sparse and sparse_file.write(matrix, sparse, path):
        return sparse
    write(matrix, text, path)
    return text


def sentences(trial: Trial) -> list[str] | None:
    """Describe a matrix that is not text; None for text. Errors: as for `readable`."""
    kinds = _kinds(trial)
    if not any(kinds):
        _check_layer(trial)
        return None
    texts: list[str] = []
    for path, kind in zip(trial.inputs, kinds, strict=True):
        if kind is None:
            continue
        matrix = _read(trial, path, kind)
        turned = "; --transpose takes its samples as genes"
        is_turned = trial.parameters.get("transpose")
        texts.append(f"{path}: {matrix.sentence()}{turned if is_turned else ''}")
        texts += [f"warning: {path}: {remark}" for remark in matrix.remarks]
        if not is_turned and _may_be_turned(matrix):
            texts.append(
                f"warning: {path}: more samples than genes; if that is wrong, give --transpose"
            )
    return texts


def _may_be_turned(matrix: Matrix) -> bool:
    """Whether genes are few and fewer than samples; a set of single cells has many of both."""
    return len(matrix.genes) < min(len(matrix.samples), _GENES_FEW)


def made_file(scratch: Path, number: int) -> Path:
    """Return the place of the text that is made of an input; a sparse matrix has another suffix."""
    return scratch / f"matrix-{number}.tsv"


def _kinds(trial: Trial) -> list[str | None]:
    return [None if is_remote(path) else kind_of(Path(path)) for path in trial.inputs]


def _read(trial: Trial, path: str, kind: str) -> Matrix:
    layer = trial.parameters.get("layer")
    return READERS[kind](path, Question(layer=None if layer is None else str(layer)))


def _check_layer(trial: Trial) -> None:
    if (layer := trial.parameters.get("layer")) is not None:
        raise InputError(
            f"{trial.inputs[0]} has no layers, --layer is {layer}; leave it out, or give an "
            "AnnData file (h5ad)"
        )


def _size_bytes(path: Path) -> int:
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
