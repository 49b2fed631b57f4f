"""Options of engines that cannot name code, a host or a file, whoever wrote them.

Other options in a study file could have a JVM load a jar, start another interpreter, or send
data to a host: only a person at the keyboard may request that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_NUMBER = r"[0-9]{1,12}(\.[0-9]{1,6})?"
_SIZE = r"[0-9]{1,15} ?([kmgtKMGT]?[iI]?[bB]?)"
_TIME = r"[0-9]{1,9}(ms|s|m|min|h)?"
_FLAG = "true|false"
_CODECS = "lz4|lzf|snappy|zstd"

_FORMS: Mapping[str, str] = {
    "budget": _SIZE,
    "cache": "auto|none|inputs|output|all",
    "capacity": _NUMBER,
    "codec": f"{_CODECS}|none",
    "kernels": "native|numpy|c",
    "keys": "number|text",
    "loaders": _NUMBER,
    "mapreduce.job.reduces": _NUMBER,
    "mapreduce.map.memory.mb": _NUMBER,
    "mapreduce.reduce.memory.mb": _NUMBER,
    "mapreduce.task.io.sort.factor": _NUMBER,
    "mapreduce.task.io.sort.mb": _NUMBER,
    "master": r"local(\[([0-9]{1,5}|\*)\])?",
    "pages": "kept|dropped",
    "partitions": _NUMBER,
    "ranks": _NUMBER,
    "serializer": "java|kryo",
    "spark.default.parallelism": _NUMBER,
    "spark.driver.cores": _NUMBER,
    "spark.driver.memory": _SIZE,
    "spark.executor.cores": _NUMBER,
    "spark.executor.instances": _NUMBER,
    "spark.executor.memory": _SIZE,
    "spark.executor.memoryOverhead": _SIZE,
    "spark.io.compression.codec": _CODECS,
    "spark.io.compression.lz4.blockSize": _SIZE,
    "spark.io.compression.snappy.blockSize": _SIZE,
    "spark.io.compression.zstd.level": _NUMBER,
    "spark.kryoserializer.buffer": _SIZE,
    "spark.kryoserializer.buffer.max": _SIZE,
    "spark.local.dir": r"\{scratch\}",
    "spark.locality.wait": _TIME,
    "spark.memory.fraction": _NUMBER,
    "spark.memory.offHeap.enabled": _FLAG,
    "spark.memory.offHeap.size": _SIZE,
    "spark.memory.storageFraction": _NUMBER,
    "spark.network.timeout": _TIME,
    "spark.python.worker.reuse": _FLAG,
    "spark.rdd.compress": _FLAG,
    "spark.reducer.maxSizeInFlight": _SIZE,
    "spark.serializer": r"org\.apache\.spark\.serializer\.(Java|Kryo)Serializer",
    "spark.shuffle.compress": _FLAG,
    "spark.shuffle.file.buffer": _SIZE,
    "spark.shuffle.sort.bypassMergeThreshold": _NUMBER,
    "spark.shuffle.spill.compress": _FLAG,
    "spark.speculation": _FLAG,
    "spark.sql.adaptive.enabled": _FLAG,
    "spark.sql.files.maxPartitionBytes": _SIZE,
    "spark.sql.shuffle.partitions": _NUMBER,
    "spark.task.cpus": _NUMBER,
    "spark.task.maxFailures": _NUMBER,
    "storage-level": "memory-only|memory-and-disk|disk-only|memory-only-ser|memory-and-disk-ser",
    "task-bytes": _SIZE,
    "tasks": _NUMBER,
    "tile": r"[0-9]{1,9}(x[0-9]{1,9}){0,2}",
}
"""By name of an option, the values it may have."""


def unsafe(options: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of those options that could name code, a host or a file."""
    for name, value in options.items():
        form = _FORMS.get(name)
        if form is None or not re.fullmatch(form, value):
            yield name
