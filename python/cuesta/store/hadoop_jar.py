"""The jar of the store for Hadoop and Spark: in the wheel; in a checkout compiled when needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cuesta.errors import EngineMissing

JAR = Path(__file__).parents[1] / "jars" / "cuesta-hadoop-store.jar"
FILE_SYSTEM = "cuesta.hadoop.CuestaFileSystem"
ABSTRACT_FILE_SYSTEM = "cuesta.hadoop.CuestaFs"

_COMPILER = Path(__file__).parents[3] / "tools" / "hadoop_jar.py"


def current() -> Path:
    """The jar; in a checkout, of its sources.

    Errors: `EngineMissing` where there is none, and it cannot be compiled.
    """
    if _COMPILER.is_file():
        command = [sys.executable, str(_COMPILER), "build", str(JAR)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            raise EngineMissing(f"the jar for Hadoop does not compile: {''.join(last)}")
    if not JAR.is_file():
        raise EngineMissing(f"the jar for Hadoop is gone: {JAR}; install cuesta's wheel again")
    return JAR


def settings(folder: Path) -> dict[str, str]:
    """What Hadoop is to be told of the store in a folder."""
    return {
        "fs.cuesta.impl": FILE_SYSTEM,
        "fs.AbstractFileSystem.cuesta.impl": ABSTRACT_FILE_SYSTEM,
        "fs.cuesta.store": str(folder.absolute()),
    }


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
