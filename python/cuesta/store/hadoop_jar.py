"""The jar of the store for Hadoop and Spark: in the wheel; in a checkout compiled when needed."""

from __future__ import annotations

from pathlib import Path

from cuesta import jarfile

JAR = jarfile.FOLDER / "cuesta-hadoop-store.jar"
FILE_SYSTEM = "cuesta.hadoop.CuestaFileSystem"
ABSTRACT_FILE_SYSTEM = "cuesta.hadoop.CuestaFs"


def current() -> Path:
    """The jar; in a checkout, of its sources. Errors: as `jarfile.current`."""
    return jarfile.current(JAR)


CLASSES = {
    "fs.cuesta.impl": FILE_SYSTEM,
    "fs.AbstractFileSystem.cuesta.impl": ABSTRACT_FILE_SYSTEM,
}
"""What Hadoop is to be told where each process finds its store by `$CUESTA_STORE`."""


def settings(folder: Path) -> dict[str, str]:
    """What Hadoop is to be told of the store in a folder."""
    return CLASSES | {"fs.cuesta.store": str(folder.absolute())}


def spark_lines(folder: Path) -> list[str]:
    """Lines of a `spark-defaults.conf`."""
    jar = current()
    options = {f"spark.{who}.extraClassPath": str(jar) for who in ("driver", "executor")}
    options |= {f"spark.hadoop.{name}": value for name, value in settings(folder).items()}
    return [f"{name} {value}" for name, value in options.items()]


def hadoop_lines(folder: Path) -> list[str]:
    """Lines of a `core-site.xml`."""
    from xml.sax.saxutils import escape

    lines = [f"<!-- export HADOOP_CLASSPATH={escape(str(current()))} -->", "<configuration>"]
    for name, value in settings(folder).items():
        lines.append(f"  <property><name>{name}</name><value>{escape(value)}</value></property>")
    return [*lines, "</configuration>"]
