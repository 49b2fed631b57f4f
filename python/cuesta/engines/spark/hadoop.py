"""Inputs that only Spark can read: `hdfs://`, `s3a://` and whatever else has a scheme.

Spark's text reader gives the lines, the kernel reads them in blocks. What a folder's name says of
the scores in it is not used, so no file of a `clusters-*` tree is skipped but `nan` and `skipped`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.engines.spark import executor, text
from cuesta.engines.spark.context import Context
from cuesta.engines.spark.executor import Reading
from cuesta.engines.spark.failures import first_words
from cuesta.engines.spark.session import Session
from cuesta.engines.spark.source import Source
from cuesta.errors import InputError
from cuesta.native import native_module

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PARTITION_BYTES = 128 << 20
FILES_A_PARTITION_MAX = 32
_UNSCORED = frozenset({"nan", "skipped"})
_HAS_DATA = "value NOT IN ('', '\\r') AND NOT startswith(value, '#')"


@dataclass(frozen=True, kw_only=True)
class File:
    """A file as Hadoop names it."""

    path: str
    size_bytes: int


def files_of(session: Session, uri: str) -> list[File]:
    """The files at or under `uri` in the order of the input. Errors: `InputError`."""
    reader = session.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    with _opening(uri):
        table = reader.load(_escaped(uri)).select("path", "length").toArrow()
    pairs = zip(table.column("path").to_pylist(), table.column("length").to_pylist(), strict=True)
    found = [File(path=path, size_bytes=size_bytes) for path, size_bytes in pairs]
    wanted = [file for file in found if not _is_unscored(file.path)]
    return sorted(wanted, key=lambda file: file.path.split("/"))


def fetch(session: Session, uri: str, folder: Path) -> Path:
    """Copy a file or a folder to `folder` with Hadoop's own client; return the copy."""
    target = folder / (uri.rstrip("/").rpartition("/")[2] or "input")
    jvm: Any = session.spark.sparkContext._jvm
    context: Any = session.spark.sparkContext._jsc
    hadoop_path = jvm.org.apache.hadoop.fs.Path
    with _opening(uri):
        source = hadoop_path(uri)
        system = source.getFileSystem(context.hadoopConfiguration())
        system.copyToLocalFile(False, source, hadoop_path(f"file://{target}"), True)
    return target


def open_source(context: Context, inputs: tuple[str, ...], kind: str, version: str) -> Source:
    """The columns of `kind` of the lines in `inputs`."""
    lines, reading, files = _open(context, inputs, kind, version)
    rows = context.session.map_arrow(
        lines, partial(text.columns, reading), executor.schema_of(kind)
    )
    size_bytes = sum(file.size_bytes for file in files)
    return Source(rows=rows, size_bytes=size_bytes, partitions=rows.rdd.getNumPartitions())


def scan(context: Context, folder: Path) -> list[str]:
    """Write the lines that pass to files in `folder`; return their names in the input's order."""
    with context.phase("open"):
        lines, reading, files = _open(context, context.trial.inputs, "scan", "")
    function = partial(text.scan, reading, str(folder))
    with context.phase("scan") as measure:
        measure.bytes = sum(file.size_bytes for file in files)
        table = context.session.map_arrow(lines, function, text.PART_SCHEMA).toArrow()
        measure.rows = context.counted()[0]
    order = {_plain(file.path): number for number, file in enumerate(files)}
    parts = [(order[_plain(row["path"])], row["start"], row["name"]) for row in table.to_pylist()]
    return [name for _, _, name in sorted(parts)]


def _open(
    context: Context, inputs: tuple[str, ...], kind: str, version: str
) -> tuple[DataFrame, Reading, list[File]]:
    session = context.session
    files = [file for uri in inputs for file in files_of(session, uri)]
    # Splits of a block each lie where their blocks lie.
    wanted = context.task_bytes or _block_bytes(session, files)
    session.spark.conf.set("spark.sql.files.maxPartitionBytes", str(wanted))
    session.spark.conf.set("spark.sql.files.openCostInBytes", str(wanted // FILES_A_PARTITION_MAX))
    parameters = json.dumps(dict(context.trial.parameters) | _shape(session, inputs, files))
    reading = Reading(kind=kind, parameters=parameters, version=version, tally=context.tally)
    lines = _lines(session, files).selectExpr(
        "CAST(value AS binary) AS value",
        "_metadata.file_path AS path",
        "_metadata.file_block_start AS start",
    )
    return lines, reading, files


def _block_bytes(session: Session, files: Sequence[File]) -> int:
    """The block size of the largest file, in which its file system would have it read."""
    if not files:
        return PARTITION_BYTES
    largest = max(files, key=lambda file: file.size_bytes)
    jvm: Any = session.spark.sparkContext._jvm
    context: Any = session.spark.sparkContext._jsc
    path = jvm.org.apache.hadoop.fs.Path(largest.path)
    status = path.getFileSystem(context.hadoopConfiguration()).getFileStatus(path)
    return int(status.getBlockSize()) or PARTITION_BYTES


def _lines(session: Session, files: Sequence[File]) -> DataFrame:
    """The lines of the files, carriage returns included, which the kernel knows how to take."""
    reader = session.spark.read.option("lineSep", "\n")
    return reader.text([_escaped(file.path) for file in files])


def _shape(session: Session, inputs: tuple[str, ...], files: Sequence[File]) -> dict[str, int]:
    """Version and samples, from the first line with data. Errors: `InputError`."""
    for file in files:
        lines = _lines(session, [file]).filter(_HAS_DATA)
        first = lines.selectExpr("CAST(value AS binary)").first()
        if first is None:
            continue
        line = bytes(first[0])
        block = text.Block(place=(file.path, 0), lines_before=0, text=line)
        with text.located(block):
            native_module().map_bytes("degrees", "{}", line)
        fields = line.rstrip(b"\r").split(b"\t")
        return {"version": 3 if len(fields) == 7 else 1, "samples": len(fields[-1])}
    raise InputError(f"input.kinc: {', '.join(inputs)} holds no gene pair; give KINC text")


@contextmanager
def _opening(uri: str) -> Iterator[None]:
    """What keeps Spark from opening `uri`, as one line."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        words = str(error)
        if "PATH_NOT_FOUND" in words or "FileNotFoundException" in words:
            raise InputError(f"input: {uri}: no such file or folder") from None
        raise InputError(
            f"input: opening {uri} failed: {first_words(error)}; check the address, and the "
            "settings of its file system (--engine-option spark.hadoop.KEY=VALUE)"
        ) from None


def _is_unscored(path: str) -> bool:
    """Whether the file is below `clusters-*/nan` or `clusters-*/skipped`."""
    folders = path.split("/")[:-1]
    return any(
        above.startswith("clusters-") and name in _UNSCORED for above, name in pairwise(folders)
    )


def _plain(path: str) -> str:
    """A path without what differs between Spark's ways to print it."""
    return re.sub(r"^(\w+):/+", r"\1:/", path)


def _escaped(path: str) -> str:
    """A path that Hadoop takes as it is, whatever characters of a pattern are in it."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)
