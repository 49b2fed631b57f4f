"""What a session sets of Spark's settings."""

from __future__ import annotations

import shlex
from pathlib import Path

from cuesta.engines.spark.options import Settings
from cuesta.errors import InputError

ARROW_ROWS = 65_536
ARROW_BYTES = 16 << 20
"""Bounds of a batch on its way between the JVM and a Python worker."""


def configured(settings: Settings, folder: Path, events: Path) -> dict[str, str]:
    """Spark's settings: ours, and over them the user's.

    Arguments: `folder` is the session's own; `events` is where the event log is written. Errors:
    `InputError` for a folder that Spark cannot be told of.
    """
    if "," in str(folder):
        raise InputError(
            f"{folder}: Spark takes a comma in it for two folders; give another --scratch"
        )
    # It may have spaces; options of Java are words.
    java_options = shlex.quote(f"-XX:ErrorFile={folder}/java-crash.log")
    given = dict(settings.options.spark)
    given_java_options = given.pop("spark.driver.extraJavaOptions", "")
    if settings.options.is_local:
        place = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    else:
        place = {
            "spark.executor.memory": f"{settings.heap_bytes >> 20}m",
            "spark.executor.memoryOverhead": f"{settings.beside_bytes >> 20}m",
        }
    return {
        "spark.app.name": "cuesta",
        "spark.master": settings.options.master,
        "spark.driver.memory": f"{settings.heap_bytes >> 20}m",
        "spark.driver.extraJavaOptions": f"{java_options} {given_java_options}".strip(),
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_ROWS),
        "spark.sql.execution.arrow.maxBytesPerBatch": str(ARROW_BYTES),
        # Listing a thousand folders takes less than starting a job for it.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",
        # A row twice must be found before anything is filtered out by the other side.
        "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
        **place,
        **_jar(settings.jar),
        **given,
    }


def _jar(path: str) -> dict[str, str]:
    """The jar for the driver and for the executors of a cluster, and what RDDs travel fast with."""
    if not path:
        return {}
    return {
        "spark.jars": path,
        "spark.driver.extraClassPath": path,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    }
