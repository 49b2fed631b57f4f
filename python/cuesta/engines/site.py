"""Environment variables by which a site changes how Java, Hadoop and Spark start."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

_OF_JAVA = ("_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
"""Options that every JVM adds to its command line; those of the first override ours."""
_OF_HADOOP = ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "HADOOP_OPTS", "HADOOP_CLASSPATH", "CLASSPATH")
_OF_SPARK = (
    "SPARK_HOME", "SPARK_CONF_DIR", "SPARK_SUBMIT_OPTS", "SPARK_DIST_CLASSPATH",
    "SPARK_DAEMON_JAVA_OPTS", "SPARK_LOCAL_DIRS", "PYSPARK_SUBMIT_ARGS", "PYSPARK_PYTHON",
    "PYSPARK_DRIVER_PYTHON", "PYTHONPATH",
)  # fmt: skip
HADOOP = (*_OF_JAVA, *_OF_HADOOP)
SPARK = (*_OF_JAVA, *_OF_SPARK, *_OF_HADOOP)
VALUE_CHARACTERS_MAX = 60


def remark(names: Sequence[str], environment: Mapping[str, str] = os.environ) -> str:
    """Return the remedy for a failed start where the site has set variables, else nothing."""
    values = {name: environment[name] for name in names if environment.get(name)}
    if not values:
        return ""
    shown = ", ".join(f"{name}={value[:VALUE_CHARACTERS_MAX]}" for name, value in values.items())
    return f"; the environment sets {shown}: try `env {_unset(values)} cuesta ...`"


def _unset(names: Mapping[str, str]) -> str:
    return " ".join(f"-u {name}" for name in names)


def spark_home(environment: Mapping[str, str]) -> Path | None:
    """Return the folder of Spark in place of a `SPARK_HOME` that does not suit this PySpark.

    None where the variable is not set, or names a Spark of the version of the installed PySpark.
    """
    chosen = environment.get("SPARK_HOME")
    package = find_spec("pyspark")
    if not chosen or package is None or package.origin is None:
        return None
    installed = Path(package.origin).parent
    ours, site = set(_cores(installed)), set(_cores(Path(chosen)))
    if not ours or (ours == site and (Path(chosen) / "bin" / "spark-submit").is_file()):
        return None
    return installed


def spark_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return variables to set while Spark starts, by `spark_home`."""
    home = spark_home(environment)
    return {"SPARK_HOME": str(home)} if home else {}


def _cores(home: Path) -> Iterator[str]:
    """Yield names of the core jar, which have the versions of Spark and of its Scala."""
    yield from (jar.name for jar in (home / "jars").glob("spark-core_*.jar"))
