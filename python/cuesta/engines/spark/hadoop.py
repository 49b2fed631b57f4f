"""Inputs that only Spark can read: `hdfs://`, `s3a://` and other schemes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuesta.engines.spark.failures import first_words
from cuesta.engines.spark.session import Session
from cuesta.errors import InputError


@dataclass(frozen=True, kw_only=True)
class File:
    """A file with Hadoop's path of it."""

    path: str
    size_bytes: int


def files_of(session: Session, uri: str) -> list[File]:
    """Return the files at or under `uri` in the order of the input. Errors: `InputError`."""
    reader = session.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    with _opening(uri):
        table = reader.load(_escaped(uri)).select("path", "length").toArrow()
    pairs = zip(table.column("path").to_pylist(), table.column("length").to_pylist(), strict=True)
    files = [File(path=path, size_bytes=size_bytes) for path, size_bytes in pairs]
    return sorted(files, key=lambda file: file.path.split("/"))


def fetch(session: Session, uri: str, folder: Path) -> Path:
    """Copy a file or a folder to `folder` with Hadoop's client; return the copy."""
    target = folder / (uri.rstrip("/").rpartition("/")[2] or "input")
    jvm: Any = session.spark.sparkContext._jvm
    context: Any = session.spark.sparkContext._jsc
    hadoop_path = jvm.org.apache.hadoop.fs.Path
    with _opening(uri):
        source = hadoop_path(uri)
        system = source.getFileSystem(context.hadoopConfiguration())
        system.copyToLocalFile(False, source, hadoop_path(f"file://{target}"), True)
    return target


@contextmanager
def _opening(uri: str) -> Iterator[None]:
    """Convert Spark's errors in opening `uri` into an `InputError` of one line."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        words = str(error)
        if "PATH_NOT_FOUND" in words or "FileNotFoundException" in words:
            raise InputError(f"input: {uri}: no such file or folder; check the address") from None
        raise InputError(
            f"input: opening {uri} failed: {first_words(error)}; check the address, and the "
            "settings of its file system (--engine-option spark.hadoop.KEY=VALUE)"
        ) from None


def _escaped(path: str) -> str:
    """Escape the pattern characters of a path for Hadoop."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)
