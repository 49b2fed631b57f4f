"""Spark SQL on a Parquet table, by way of the store, of the page cache and of Alluxio."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benches.store import ReadMethod, contestant, ratio, stated
from cuesta_store import hadoop_jar
from cuesta_store.errors import EngineMissing
from harness import data, stores
from harness.model import Case
from harness.size import Size
from harness.stores import Reader
from peers import alluxio_cluster, spark_sql, spark_tables
from peers.alluxio_cluster import Cluster

CUESTA = "cuesta"
PAGE_CACHE = "page cache"
ALLUXIO = "alluxio"
HOWS = {
    CUESTA: "cuesta://, all of it in memory",
    PAGE_CACHE: "file://, all of it in the page cache",
    ALLUXIO: "alluxio://, all of it in the memory of a worker on this machine",
}
ROWS_SMOKE, ROWS_REAL = 80_000, 16_000_000


def cases(size: Size) -> Iterator[Case]:
    """A scan of all columns, by one session."""
    path = data.table(size.folder, size.pick(ROWS_SMOKE, ROWS_REAL))
    files = sorted(path.iterdir())
    size_bytes = sum(file.stat().st_size for file in files)
    with ExitStack() as stack:
        absent = lacking(size)
        memory_bytes = 2 * size_bytes + (len(files) + 4) * stores.block_bytes(size)
        store = stack.enter_context(stores.running(size, memory_bytes))
        words = [sys.executable, spark_tables.__file__]
        reader = Reader(words, store, path, alluxio(size, path, size_bytes, stack, absent))
        stack.callback(reader.close)
        methods = [ReadMethod(name=name, kind=name, how=how) for name, how in HOWS.items()]
        yield Case(
            name=f"Spark SQL, all columns of a Parquet table, {stated(size_bytes)}",
            contestants=tuple(contestant(w, reader) for w in methods if w.name not in absent),
            bars=(ratio(CUESTA, PAGE_CACHE, 0.95), ratio(CUESTA, ALLUXIO, 1.0)),
            amount=size_bytes,
            unit="B",
            inputs=tuple(files),
            absent=absent,
        )


def lacking(size: Size) -> dict[str, str]:
    """Contestants that cannot take part, with reasons."""
    why = spark_sql.missing()
    try:
        hadoop_jar.current()
    except EngineMissing as error:
        why = why or str(error)
    if why:
        return dict.fromkeys(HOWS, why)
    left_out = size.left_out(ALLUXIO) or alluxio_cluster.missing()
    left_out = left_out or ("at the real size alone" if size.smoke else None)
    left_out = left_out or alluxio_cluster.missing_jars()
    return {ALLUXIO: left_out} if left_out else {}


def alluxio(
    size: Size, path: Path, size_bytes: int, stack: ExitStack, absent: dict[str, str]
) -> list[str]:
    """The table there, and the jar of the client."""
    if ALLUXIO in absent:
        return []
    cluster = Cluster(path, 2 * size_bytes + (256 << 20), stores.new_folder(ALLUXIO))
    stack.callback(cluster.close)
    place = cluster.ask("address").rstrip("/")
    return [f"{place}/under/{path.relative_to(size.folder)}", str(alluxio_cluster.client_jar())]
