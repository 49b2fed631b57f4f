"""The JVM of a session, started as `spark-submit` does, but directly.

`spark-submit` starts a JVM that only determines the command line of another JVM. Its words are the
same each time, so here they are queried once and stored in the user's cache, with all that they
depend on in the key. Where a site has settings that only `spark-submit` reads, that starts Spark.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cuesta import removal
from cuesta.engines.spark.java import VECTOR_MODULE_WORD, Java
from cuesta.machine import cache_folder
from cuesta.private import is_trusted

LAUNCHER = ("org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit")
SHELL = "pyspark-shell"
ASK_SECONDS = 60.0
MARK = "-Dcuesta.mark=1"
_SITE_SCRIPT = "spark-env.sh"
"""File of a site that only the script `spark-submit` reads."""
_SITE_FILES = ("spark-defaults.conf", "java-opts")
"""Files of a site that Spark's launcher reads."""
_SITE_VARIABLES = ("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "SPARK_PREPEND_CLASSES")
_KEY_VARIABLES = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")
"""Variables that the words depend on."""
_CHANGING_SETTINGS = (
    "spark.driver.extraClassPath", "spark.driver.extraLibraryPath",
    "spark.driver.defaultJavaOptions",
)  # fmt: skip
"""Settings of a user that change the words."""


@dataclass(frozen=True, kw_only=True)
class Words:
    """The command line of a JVM of Spark here: home of Spark, Java, class path, and options."""

    home: Path
    java: Path
    class_path: str
    options: tuple[str, ...]

    @property
    def scala(self) -> str:
        """Version of Scala that `spark-submit` sets for processes of Spark."""
        script = self.home / "bin" / "load-spark-env.sh"
        text = script.read_text(errors="replace") if script.is_file() else ""
        named = re.search(r"^export SPARK_SCALA_VERSION=([\d.]+)$", text, re.MULTILINE)
        return named[1] if named else "2.13"

    @property
    def jars_path(self) -> str:
        """Jars of the class path, in their order."""
        return ":".join(filter(_has_jars, self.class_path.split(":")))

    @property
    def ordered_path(self) -> str:
        """Class path with its folders, which have settings, after its jars.

        An archive matches a class path that begins with the jars that it was made with.
        """
        folders = (entry for entry in self.class_path.split(":") if not _has_jars(entry))
        return ":".join(filter(None, [self.jars_path, *folders]))

    @property
    def jars(self) -> list[Path]:
        """Jars of Spark itself."""
        return sorted((self.home / "jars").glob("*.jar"))


def find(java: Java, environment: Mapping[str, str]) -> Words | None:
    """Return the words for a Java; None where `spark-submit` must determine them each time."""
    from pyspark.find_spark_home import _find_spark_home

    home = Path(environment.get("SPARK_HOME") or _find_spark_home())
    site = Path(environment.get("SPARK_CONF_DIR") or home / "conf")
    scripted = (site / _SITE_SCRIPT).exists() or any(map(environment.get, _SITE_VARIABLES))
    if scripted or not (home / "jars").is_dir():
        return None
    files = [home / "jars", *(site / name for name in _SITE_FILES if (site / name).exists())]
    facts = [stamp(java, files), *map(environment.get, _KEY_VARIABLES)]
    key = sha256(json.dumps(facts).encode()).hexdigest()[:16]
    cache_file = cache_folder() / "spark" / f"{key}.json"
    return _read(cache_file, home) or _ask(cache_file, home, java, environment)


def suits(settings: Mapping[str, str]) -> bool:
    """Whether a JVM with these settings of a user can be started from the cached words."""
    changes_words = any(name in settings for name in _CHANGING_SETTINGS)
    # Spark's launcher refuses -Xmx, with a message of its own.
    return not changes_words and "-Xmx" not in settings.get("spark.driver.extraJavaOptions", "")


def spark_home(
    words: Words, conf: Mapping[str, str], folder: Path, more: Sequence[str] = ()
) -> Path:
    """Make a `SPARK_HOME` with our own `spark-submit`, for PySpark to start its JVM with.

    Arguments: `conf` are the settings of the session; `more` are further options of the JVM.
    """
    jar = conf.get("spark.driver.extraClassPath", "")
    command = [
        str(words.java),
        "-cp",
        # The jar is last, so that an archive of Spark's classes matches with it and without.
        f"{words.ordered_path}:{jar}" if jar else words.ordered_path,
        f"-Xmx{conf['spark.driver.memory']}",
        *words.options,
        *more,
        *shlex.split(conf["spark.driver.extraJavaOptions"]),
        LAUNCHER[1],
    ]
    home = folder / "spark-home"
    program = home / "bin" / "spark-submit"
    program.parent.mkdir(parents=True)
    real = shlex.quote(str(words.home))
    program.write_text(
        "#!/bin/sh\n"
        f"export SPARK_HOME={real} SPARK_ENV_LOADED=1 PYTHONHASHSEED=0\n"
        f'export SPARK_CONF_DIR="${{SPARK_CONF_DIR:-$SPARK_HOME/conf}}"\n'
        f"export SPARK_SCALA_VERSION={words.scala}\n"
        f'exec {shlex.join(command)} "$@"\n'
    )
    program.chmod(0o755)
    return home


def stamp(java: Java, files: Sequence[Path]) -> str:
    """Return a hash of a Java and of files' paths, sizes and times."""
    facts: list[object] = [str(java.home.resolve()), java.release]
    for file in files:
        status = file.stat()
        facts.append([str(file), status.st_size, status.st_mtime_ns])
    return sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _has_jars(entry: str) -> bool:
    """Whether an entry of a class path is a jar, or all jars of a folder."""
    return entry.endswith((".jar", "*"))


def _read(cache_file: Path, home: Path) -> Words | None:
    # The words are executed.
    if not is_trusted(cache_file):
        return None
    try:
        record = json.loads(cache_file.read_text())
        return Words(
            home=home,
            java=Path(record["java"]),
            class_path=record["class_path"],
            options=tuple(record["options"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _ask(cache_file: Path, home: Path, java: Java, environment: Mapping[str, str]) -> Words | None:
    """Query Spark's launcher, and write its words to the cache if possible."""
    program = java.home / "bin" / "java"
    command = [str(program), "-Xmx128m", "-cp", f"{home}/jars/*", *LAUNCHER]
    # The mark replaces a site's options, as the session's options do later.
    command += ["--conf", f"spark.driver.extraJavaOptions={MARK}", SHELL]
    variables = dict(environment) | {"SPARK_HOME": str(home), "JAVA_HOME": str(java.home)}
    # The launcher requires one, though it matters only in a build of Spark itself.
    variables.setdefault("SPARK_SCALA_VERSION", "2.13")
    try:
        done = subprocess.run(
            command, env=variables, capture_output=True, check=False, timeout=ASK_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = done.stdout.decode(errors="replace").partition("\0\n")[2].split("\0")
    parsed = _parsed(words, home, java) if done.returncode == 0 else None
    if parsed:
        _write(cache_file, parsed)
    return parsed


def _parsed(words: Sequence[str], home: Path, java: Java) -> Words | None:
    """Parse the words `java -cp PATH OPTION... CLASS pyspark-shell`; None for any others."""
    if words[1:2] != ["-cp"] or LAUNCHER[1] not in words:
        return None
    options = words[3 : words.index(LAUNCHER[1])]
    options = [word for word in options if word != MARK and not word.startswith("-Xmx")]
    if not java.has_vector_module:
        # Only Spark's machine learning uses it.
        options = [word for word in options if word != VECTOR_MODULE_WORD]
    return Words(home=home, java=Path(words[0]), class_path=words[2], options=tuple(options))


def _write(cache_file: Path, words: Words) -> None:
    text = json.dumps(
        {"java": str(words.java), "class_path": words.class_path, "options": words.options}
    )
    partial = cache_file.with_name(f"{cache_file.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        cache_file.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text)
        removal.put(partial, cache_file)
