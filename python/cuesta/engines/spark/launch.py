"""The JVM of a session, started as `spark-submit` does, but at once.

`spark-submit` starts a JVM that only finds out the words that another JVM is started with. They are
the same each time, so here they are asked for once and kept in the user's cache, by what they
depend on. Where a site has put settings that only `spark-submit` reads, it is left to start Spark.
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
"""What only the script `spark-submit` reads."""
_SITE_FILES = ("spark-defaults.conf", "java-opts")
"""What Spark's launcher reads of a site."""
_SITE_VARIABLES = ("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "SPARK_PREPEND_CLASSES")
_ASKED_VARIABLES = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")
"""Those that the words depend on."""
_OWN_WAY = (
    "spark.driver.extraClassPath", "spark.driver.extraLibraryPath",
    "spark.driver.defaultJavaOptions",
)  # fmt: skip
"""Settings of a user that change the words in ways of their own."""


@dataclass(frozen=True, kw_only=True)
class Words:
    """With what a JVM of Spark is started here: where Spark is, the class path, and options."""

    home: Path
    java: Path
    class_path: str
    options: tuple[str, ...]

    @property
    def scala(self) -> str:
        """The version of Scala that `spark-submit` tells whatever Spark starts."""
        script = self.home / "bin" / "load-spark-env.sh"
        text = script.read_text(errors="replace") if script.is_file() else ""
        named = re.search(r"^export SPARK_SCALA_VERSION=([\d.]+)$", text, re.MULTILINE)
        return named[1] if named else "2.13"

    @property
    def jars_path(self) -> str:
        """The jars of the class path, in their order."""
        return ":".join(filter(_has_jars, self.class_path.split(":")))

    @property
    def ordered_path(self) -> str:
        """The class path with its folders, which have settings, behind its jars.

        An archive fits where the class path begins with the jars that it was made with.
        """
        folders = (entry for entry in self.class_path.split(":") if not _has_jars(entry))
        return ":".join(filter(None, [self.jars_path, *folders]))

    @property
    def jars(self) -> list[Path]:
        """Spark's own jars."""
        return sorted((self.home / "jars").glob("*.jar"))


def find(java: Java, environment: Mapping[str, str]) -> Words | None:
    """The words for that Java; None where `spark-submit` must find them each time."""
    from pyspark.find_spark_home import _find_spark_home

    home = Path(environment.get("SPARK_HOME") or _find_spark_home())
    site = Path(environment.get("SPARK_CONF_DIR") or home / "conf")
    scripted = (site / _SITE_SCRIPT).exists() or any(map(environment.get, _SITE_VARIABLES))
    if scripted or not (home / "jars").is_dir():
        return None
    files = [home / "jars", *(site / name for name in _SITE_FILES if (site / name).exists())]
    facts = [stamp(java, files), *map(environment.get, _ASKED_VARIABLES)]
    key = sha256(json.dumps(facts).encode()).hexdigest()[:16]
    kept = cache_folder() / "spark" / f"{key}.json"
    return _read(kept, home) or _ask(kept, home, java, environment)


def suits(given: Mapping[str, str]) -> bool:
    """Whether a JVM with these settings of a user can be started from the kept words."""
    own = any(name in given for name in _OWN_WAY)
    # Spark's launcher refuses it, in words of its own.
    return not own and "-Xmx" not in given.get("spark.driver.extraJavaOptions", "")


def spark_home(
    words: Words, conf: Mapping[str, str], folder: Path, more: Sequence[str] = ()
) -> Path:
    """A folder to be `SPARK_HOME` while PySpark starts its JVM: its `spark-submit` is our own.

    Arguments: `conf` are the settings of the session; `more` are further options of the JVM.
    """
    jar = conf.get("spark.driver.extraClassPath", "")
    command = [
        str(words.java),
        "-cp",
        # Behind Spark's own, so that an archive of their classes fits with the jar and without.
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
    """What a Java and these files are, in a short word: other ones have another word."""
    facts: list[object] = [str(java.home.resolve()), java.release]
    for file in files:
        status = file.stat()
        facts.append([str(file), status.st_size, status.st_mtime_ns])
    return sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _has_jars(entry: str) -> bool:
    """Whether an entry of a class path is a jar, or all those of a folder."""
    return entry.endswith((".jar", "*"))


def _read(kept: Path, home: Path) -> Words | None:
    # They are run.
    if not is_trusted(kept):
        return None
    try:
        found = json.loads(kept.read_text())
        return Words(
            home=home,
            java=Path(found["java"]),
            class_path=found["class_path"],
            options=tuple(found["options"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _ask(kept: Path, home: Path, java: Java, environment: Mapping[str, str]) -> Words | None:
    """Ask Spark's launcher, and keep what it says where the cache can be written."""
    program = java.home / "bin" / "java"
    command = [str(program), "-Xmx128m", "-cp", f"{home}/jars/*", *LAUNCHER]
    # In place of a site's, as those of a session will be.
    command += ["--conf", f"spark.driver.extraJavaOptions={MARK}", SHELL]
    variables = dict(environment) | {"SPARK_HOME": str(home), "JAVA_HOME": str(java.home)}
    # The launcher wants one, though it matters only where Spark itself is being built.
    variables.setdefault("SPARK_SCALA_VERSION", "2.13")
    try:
        done = subprocess.run(
            command, env=variables, capture_output=True, check=False, timeout=ASK_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = done.stdout.decode(errors="replace").partition("\0\n")[2].split("\0")
    found = _parsed(words, home, java) if done.returncode == 0 else None
    if found:
        _keep(kept, found)
    return found


def _parsed(words: Sequence[str], home: Path, java: Java) -> Words | None:
    """The words of `java -cp PATH OPTION... CLASS pyspark-shell`; None where they are others."""
    if words[1:2] != ["-cp"] or LAUNCHER[1] not in words:
        return None
    options = words[3 : words.index(LAUNCHER[1])]
    options = [word for word in options if word != MARK and not word.startswith("-Xmx")]
    if not java.has_vector_module:
        # Only Spark's machine learning uses it.
        options = [word for word in options if word != VECTOR_MODULE_WORD]
    return Words(home=home, java=Path(words[0]), class_path=words[2], options=tuple(options))


def _keep(kept: Path, found: Words) -> None:
    text = json.dumps(
        {"java": str(found.java), "class_path": found.class_path, "options": found.options}
    )
    partial = kept.with_name(f"{kept.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text)
        removal.put(partial, kept)
