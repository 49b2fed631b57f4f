"""Inputs of a call that are matrices in memory: they become files in a temporary folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuesta.api.temporary import TemporaryFolder
from cuesta.errors import InputError
from cuesta.workloads import Workload
from cuesta.workloads.matrix import sparse_file
from cuesta.workloads.matrix.memory import is_matrix, matrix_in_memory
from cuesta.workloads.matrix.table import Matrix, write


def with_files(
    workload: Workload, inputs: Sequence[Any], words: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], TemporaryFolder | None]:
    """Return inputs without matrices in memory, the words for them, and the folder to hold.

    Errors: `InputError` where the workload takes no matrix, or a matrix cannot be read.
    """
    if not any(map(is_matrix, inputs)):
        return tuple(inputs), words, None
    if workload.converter != "matrix":
        kind = next(type(value).__name__ for value in inputs if is_matrix(value))
        raise InputError(f"{workload.name} takes no {kind}; it takes {workload.inputs_help}")
    folder = TemporaryFolder()
    rest = {word: value for word, value in words.items() if word != "layer"}
    layer = words.get("layer")
    files: list[Any] = []
    for number, value in enumerate(inputs):
        if not is_matrix(value):
            files.append(value)
            continue
        matrix = matrix_in_memory(value, None if layer is None else str(layer))
        # Its name is that of the input in the record.
        path = folder.path / f"{type(value).__name__}-{layer or number}.tsv"
        files.append(_written(workload, rest, matrix, path))
    layout = {"delimiter": "tab", "decimal": "point", "header": "present"}
    return tuple(files), {**rest, **layout}, folder


def _written(workload: Workload, words: dict[str, Any], matrix: Matrix, text: Path) -> Path:
    """Write a matrix without its zeros where the workload reads it so, else as `text`."""
    source = f"the {text.name.partition('-')[0]}"
    sparse = text.with_suffix(".sparse")
    is_sparse = sparse_file.is_for(workload.name, words, matrix)
    if is_sparse and sparse_file.write(matrix, sparse, source):
        return sparse
    write(matrix, text, source)
    return text
