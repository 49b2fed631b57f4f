"""The jar of the store for Hadoop and Spark: in the wheel; in a checkout compiled when needed."""

from __future__ import annotations

from pathlib import Path

from cuesta_store import jarfile

JAR = jarfile.FOLDER / "cuesta-hadoop-store.jar"
FILE_SYSTEM = "cuesta.hadoop.CuestaFileSystem"
ABSTRACT_FILE_SYSTEM = "cuesta.hadoop.CuestaFs"


def current() -> Path:
    """Return the jar; in a checkout, of the current sources. Errors: as `jarfile.current`."""
    return jarfile.current(JAR)


CLASSES = {
    "fs.cuesta.impl": FILE_SYSTEM,
    "fs.AbstractFileSystem.cuesta.impl": ABSTRACT_FILE_SYSTEM,
}
"""Hadoop's settings for processes that find their store by `$CUESTA_STORE`."""


def settings(folder: Path) -> dict[str, str]:
    """Return Hadoop's settings for the store in a folder."""
    return CLASSES | {"fs.cuesta.store": str(folder.absolute())}


def spark_lines(folder: Path) -> list[str]:
    """Return lines of a `spark-defaults.conf`."""
    jar = current()
    options = {f"spark.{who}.extraClassPath": str(jar) for who in ("driver", "executor")}
    options |= {f"spark.hadoop.{name}": value for name, value in settings(folder).items()}
    return [f"{name} {value}" for name, value in options.items()]


def hadoop_lines(folder: Path) -> list[str]:
    """Return lines of a `core-site.xml`."""
    from xml.sax.saxutils import escape

    lines = [f"<!-- export HADOOP_CLASSPATH={escape(str(current()))} -->", "<configuration>"]
    for name, value in settings(folder).items():
        lines.append(f"  <property><name>{name}</name><value>{escape(value)}</value></property>")
    return [*lines, "</configuration>"]
