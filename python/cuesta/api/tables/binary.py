"""Reads binary answers: sorted records, assignments of points, and the pair matrix."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.api.tables.columns import Column, Columns, Kind, chosen
from cuesta.errors import EngineMissing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_RECORD_COLUMNS = ("key", "value")
_ASSIGNMENT_COLUMNS = ("point", "cluster")
_KEY_BYTES, _VALUE_BYTES = 10, 90
_NO_ROW, _NO_SCORE = -(2**31) + 1, -(2**31)
_MILLION = 1_000_000
_COUNTS = (
    "num_clusters", "cluster_samples", "missing", "outliers", "pair_outliers", "threshold",
)  # fmt: skip
_TEXTS = ("name1", "name2", "mask")
_SYMBOLS = "01....6789"


def read_records(path: Path, wanted: Sequence[str] | None) -> Columns:
    """Keys and values of sorted records; the file is mapped, not read."""
    np = _numpy(path)
    layout = np.dtype([("key", f"V{_KEY_BYTES}"), ("value", f"V{_VALUE_BYTES}")])
    records = np.memmap(path, layout, "r") if path.stat().st_size else np.empty(0, layout)
    columns = {name: Column(kind="bytes", values=records[name]) for name in _RECORD_COLUMNS}
    return chosen(columns, wanted)


def record_columns(_path: Path) -> tuple[str, ...]:
    """Columns of `read_records`."""
    return _RECORD_COLUMNS


def read_assignments(path: Path, wanted: Sequence[str] | None) -> Columns:
    """The cluster of each point, both counted from 0."""
    np = _numpy(path)
    clusters = np.load(path, mmap_mode="r")
    columns = {
        "point": Column(kind="integer", values=np.arange(len(clusters))),
        "cluster": Column(kind="integer", values=clusters),
    }
    return chosen(columns, wanted)


def assignment_columns(_path: Path) -> tuple[str, ...]:
    """Columns of `read_assignments`."""
    return _ASSIGNMENT_COLUMNS


def matrix_columns(path: Path) -> tuple[str, ...]:
    """Names of the columns that `read_matrix` returns."""
    attributes = _group(path).attrs
    names = ("name1", "name2") if attributes["gene_names"] else ()
    more = tuple(f"score_{index}" for index in range(1, attributes["scores"]))
    mask = () if attributes["masks"] == "none" else ("mask",)
    return ("gene1", "gene2", *names, "cluster", *_COUNTS, "score", *more, *mask)


def read_matrix(path: Path, wanted: Sequence[str] | None) -> Columns:
    """The rows of a pair matrix in the order of gene1, gene2 and cluster."""
    np = _numpy(path)
    group = _group(path)
    names = matrix_columns(path) if wanted is None else tuple(wanted)
    slots = [group, *(group[f"extra/{slot}"] for slot in range(1, len(group.attrs["slot_rows"])))]
    parts = [_slot(group, slot, names) for slot in slots]
    ranks = np.concatenate([part.pop("rank") for part in parts])
    order = np.argsort(ranks, kind="stable")  # slots are in the order of clusters
    columns: Columns = {}
    for name in names:
        values = np.concatenate([part[name] for part in parts])[order]
        if name.startswith("score"):
            missing = values == _NO_SCORE
            values = np.where(missing, np.nan, values / _MILLION)
            columns[name] = Column(kind="number", values=values)
        else:
            kind: Kind = "text" if name in _TEXTS else "integer"
            columns[name] = Column(kind=kind, values=values.tolist() if kind == "text" else values)
    return columns


def _slot(group: Any, slot: Any, names: Sequence[str]) -> dict[str, NDArray[np.generic]]:
    """Columns of the rows of one slot, with their `rank`."""
    import numpy as np

    ranks = np.flatnonzero(slot["score"][:] != _NO_ROW)
    gene1, gene2 = _genes(ranks)
    columns: dict[str, Any] = {"rank": ranks, "gene1": gene1 + 1, "gene2": gene2 + 1}
    for name in names:
        if name in ("name1", "name2"):
            genes = gene1 if name == "name1" else gene2
            columns[name] = np.asarray(group["gene_name"][:], dtype=object)[genes]
        elif name == "mask":
            columns[name] = _masks(group, slot, (gene1, gene2))
        elif name not in columns:
            columns[name] = slot[name][:][ranks]
    return columns


def _genes(ranks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pair of genes, from 0, that has each rank x (x - 1) / 2 + y."""
    import numpy as np

    x = ((1 + np.sqrt(1 + 8 * ranks.astype(np.float64))) / 2).astype(np.int64)
    x += x * (x + 1) // 2 <= ranks  # the root may have been rounded to either side
    x -= x * (x - 1) // 2 > ranks
    return x, ranks - x * (x - 1) // 2


def _masks(
    group: Any, slot: Any, genes: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> NDArray[np.object_]:
    """Masks as text, one symbol a sample."""
    import numpy as np

    samples = group.attrs["samples"]
    if group.attrs["masks"] == "genes":
        missing = np.unpackbits(group["gene_missing"][:], axis=1, bitorder="little")
        codes = 1 + 8 * (missing[genes[0]] | missing[genes[1]])
    else:
        bits = np.unpackbits(slot["mask"][:], axis=2, bitorder="little")
        codes = bits[:, 0] + 6 * bits[:, 1] + 8 * bits[:, 2]
    symbols = np.frombuffer(_SYMBOLS.encode(), np.uint8)[codes[:, :samples]]
    rows = [row.tobytes().decode("ascii") for row in symbols]
    return np.array(rows, dtype=object)


def _group(path: Path) -> Any:
    _numpy(path)
    try:
        import zarr
    except ImportError:
        raise EngineMissing(f"{path} is a pair matrix; pip install zarr to read it") from None
    with warnings.catch_warnings():
        # Zarr warns that a codec of the format is not one of its own, which is known.
        warnings.simplefilter("ignore", UserWarning)
        return zarr.open_group(path, mode="r")


def _numpy(path: Path) -> Any:
    try:
        import numpy
    except ImportError:
        raise EngineMissing(f"{path} is binary; pip install numpy to read it") from None
    return numpy
