"""Inputs of the benches: made once, by seed, into the data folder."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cuesta.native import native_module
from harness.model import THREADS

TABLE_FILES = 8
KEY_BYTES, VALUE_BYTES = 10, 90
"""Bytes of key and value in a record of TeraGen."""

SAMPLES = 475
"""Samples of the paper's matrix; nine tenths of a line of text are its mask."""


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Gene-pair text: every pair of `genes` genes; `variant` 1 is another version of variant 0."""

    genes: int
    variant: int = 0
    samples: int = SAMPLES
    seed: int = 1

    @property
    def rows(self) -> int:
        """Lines of the text."""
        return self.genes * (self.genes - 1) // 2


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """An expression matrix without missing values."""

    genes: int
    samples: int = SAMPLES
    seed: int = 1


@dataclass(frozen=True, kw_only=True)
class Points:
    """Points in normal clouds, single precision, as HiBench makes them for k-means."""

    rows: int
    dimensions: int = 27
    clusters: int = 10
    seed: int = 1


def points_array(folder: Path, points: Points) -> Path:
    """The `.npy` file of `points`, made if it is not there."""
    name = f"points-{points.rows}x{points.dimensions}-seed{points.seed}.npy"
    return _made(folder / name, "points", asdict(points))


def pairs_text(folder: Path, pairs: Pairs) -> Path:
    """The text of `pairs`, made if it is not there."""
    name = f"pairs-{pairs.genes}x{pairs.samples}-seed{pairs.seed}-variant{pairs.variant}.txt"
    return _made(folder / name, "clusters", asdict(pairs))


def matrix_text(folder: Path, matrix: Matrix) -> Path:
    """The text of `matrix`, made if it is not there."""
    name = f"matrix-{matrix.genes}x{matrix.samples}-seed{matrix.seed}.gem.txt"
    return _made(folder / name, "matrix", asdict(matrix))


def tera_records(folder: Path, rows: int) -> Path:
    """The first `rows` records of TeraGen, made if they are not there."""
    return _made(folder / f"tera-{rows}.dat", "tera", {"rows": rows})


def tera_columns(records: Path) -> Path:
    """A file of records as a table of key and value, in Parquet without compression."""
    path = records.with_suffix(".parquet")
    if path.exists():
        return path
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet

    rows = np.memmap(records, dtype=np.uint8, mode="r").reshape(-1, KEY_BYTES + VALUE_BYTES)
    columns = {"key": rows[:, :KEY_BYTES], "value": rows[:, KEY_BYTES:]}
    partial = path.with_suffix(".partial")
    arrays = {
        name: pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(part.shape[1]), len(part), [None, pa.py_buffer(part.tobytes())]
        ).cast(pa.binary())
        for name, part in columns.items()
    }
    pyarrow.parquet.write_table(pa.table(arrays), partial, compression="none", use_dictionary=False)
    return partial.rename(path)


def tera_bytes(columns: Path) -> Path:
    """A table of key and value as a file of records, next to it."""
    import numpy as np
    import pyarrow.parquet

    path = columns.with_suffix(".dat")
    with path.open("wb") as out:
        for batch in pyarrow.parquet.ParquetFile(columns).iter_batches(1 << 20):
            key, value = (
                np.frombuffer(b"".join(batch[name].to_pylist()), np.uint8).reshape(-1, size)
                for name, size in (("key", KEY_BYTES), ("value", VALUE_BYTES))
            )
            out.write(np.hstack([key, value]).tobytes())
    return path


def drawn_reads(folder: Path, bases: int) -> Path:
    """Single reads, 40 times over a genome of `bases` drawn by seed, made if they are not there."""
    request = {"bases": bases, "coverage": 40.0, "length": 100, "errors": 0.005, "seed": 3}
    full = request | {"repeats": 0.0, "fragment": 0}
    return _made(folder / f"reads-{bases}-40x-seed3.fq", "reads", full)


def genome_reads(folder: Path, bases: int, depth: int) -> Path:
    """Mates, one after the other, of a genome with repeats, gzipped, made if they are not there."""
    request = {"bases": bases, "coverage": float(depth), "length": 100, "errors": 0.005, "seed": 1}
    full = request | {"repeats": 0.1, "fragment": 400}
    return _made(folder / f"reads-{bases}-{depth}x-seed1.fq.gz", "reads", full)


def images_stack(folder: Path, images: int) -> Path:
    """A stack of grey images with discs, made if it is not there."""
    request = {"images": images, "height": 1024, "width": 1024, "discs": 40, "seed": 1}
    return _made(folder / f"images-{images}.npy", "images", request)


def _made(path: Path, kind: str, request: dict[str, Any]) -> Path:
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"partial-{os.getpid()}-{path.name}")
    try:
        full = request | {"output": str(partial), "threads": THREADS}
        native_module().data_make(kind, json.dumps(full))
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def warm(path: Path) -> int:
    """Read a file, or every file of a folder, into the page cache; return the bytes."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    total = 0
    buffer = bytearray(1 << 20)
    for file in files:
        with file.open("rb", buffering=0) as stream:
            while count := stream.readinto(buffer):
                total += count
    return total


def table(folder: Path, rows: int) -> Path:
    """A Parquet table of `rows` rows in eight files, made if it is not there: numbers, drawn."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as parquet

    made = folder / f"table-{rows}"
    if not made.is_dir():
        partial = folder / f".{made.name}-{os.getpid()}"
        partial.mkdir()
        chance = np.random.default_rng(1)
        for part in range(TABLE_FILES):
            count = rows // TABLE_FILES
            columns: dict[str, Any] = {"key": chance.integers(0, 1 << 20, count)}
            columns |= {name: chance.integers(0, 1 << 30, count) / 1024 for name in "abcd"}
            parquet.write_table(pa.table(columns), partial / f"{part}.parquet")
        partial.rename(made)
    return made
