"""The JVM that submits jobs to Hadoop, and how each of them ended."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import cuesta.errors
from cuesta.engines import site
from cuesta.engines.hadoop.settings import (
    CLIENT_HEAP_BYTES,
    HEAP_BYTES,
    MIB,
    REFUSED,
    Options,
)
from cuesta.engines.hadoop.typed_bytes import read_bytes, read_int
from cuesta.engines.spark.failures import WITHOUT_NAME
from cuesta.engines.spark.java import find_java, how_to_get
from cuesta.errors import EngineError, EngineMissing

MAIN = "cuesta.mapreduce.Rounds"
STOP_SECONDS = 30.0
"""How long the JVM may take to kill its job and to end."""
LINE_CHARACTERS_MAX = 300
_JARS = ("hadoop-client-*.jar", "slf4j-api-*.jar", "jcl-over-slf4j-*.jar", "log4j-*.jar")
"""Those of PySpark that Hadoop's client needs."""


def hadoop_jars() -> list[Path]:
    """Hadoop's client as PySpark brings it; none without PySpark."""
    spec = find_spec("pyspark")
    places = spec.submodule_search_locations if spec else None
    folder = Path(next(iter(places)), "jars") if places else Path()
    return [jar for pattern in _JARS for jar in sorted(folder.glob(pattern))]


def java_words(options: Options, jar: Path, tasks_bytes: int, *more: str) -> list[str]:
    """How a JVM with Hadoop's client starts that has the main class of a jar.

    Arguments: `tasks_bytes` is the heap of tasks, which are in this JVM where no site's settings
    are. Errors: `EngineMissing` without Java.
    """
    java = find_java(os.environ)
    if java is None:
        raise EngineMissing(how_to_get("hadoop"))
    heap = CLIENT_HEAP_BYTES + (0 if options.conf else tasks_bytes)
    classes = [*([options.conf] if options.conf else []), jar, *hadoop_jars()]
    program = str(java.home / "bin" / "java")
    return [program, f"-Xmx{heap // MIB}m", *more, "-cp", os.pathsep.join(map(str, classes))]


def first_cause(log: str) -> str:
    """The first error of a log of Java, if there is one."""
    lines = (line.strip() for line in log.splitlines())
    causes = (line for line in lines if "Exception" in line or "Error" in line)
    return next(causes, "")[:LINE_CHARACTERS_MAX]


class Jobs:
    """A JVM that runs one job after the other. Not shared by threads."""

    def __init__(self, options: Options, slots: int, jar: Path) -> None:
        """Start it. Errors: `EngineMissing` without Java; `EngineError` where it does not start."""
        more = ("-XX:+UseSerialGC", "-XX:-UsePerfData", "-Djava.net.preferIPv4Stack=true")
        # Closed by `close`.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [*java_words(options, jar, slots * HEAP_BYTES, *more, "-Dlog4j2.level=WARN"), MAIN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        word, self.hadoop_version = self._hear().partition(" ")[::2]
        if word != "ready":
            self.close()
            raise EngineError(f"engine hadoop: its JVM says {word!r} when it starts")

    def run(self, settings: Path, say: Callable[[float], None]) -> Mapping[str, int]:
        """Run the job of a file of settings; its counters. `say` hears what part is done.

        Errors: `EngineError` with Hadoop's reason; those of a task that was refused.
        """
        self._tell(str(settings))
        counters: Counter[str] = Counter()
        while True:
            word, text = self._hear().partition(" ")[::2]
            match word:
                case "progress":
                    say(float(text))
                case "counter":
                    name, count = text.split(" ")
                    counters[name] += int(count)
                case "done":
                    return counters
                case "refused":
                    raise _refusal(settings.parent)
                case "failed":
                    raise EngineError(f"engine hadoop: {_remedy(text)}{self._said()}")

    def close(self) -> None:
        """End the JVM, which kills a job that runs."""
        with contextlib.suppress(OSError):
            _pipe(self._process.stdin).close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _pipe(self._process.stdout).close()
        self._log.close()

    def _tell(self, line: str) -> None:
        try:
            print(line, file=_pipe(self._process.stdin), flush=True)
        except OSError:
            raise self._died() from None

    def _hear(self) -> str:
        line = _pipe(self._process.stdout).readline()
        if not line:
            raise self._died()
        return line.rstrip("\n")

    def _died(self) -> EngineError:
        return EngineError(f"engine hadoop: its JVM died{self._said()}{site.remark(site.HADOOP)}")

    def _said(self) -> str:
        """The first error of its log, if there is one."""
        self._log.seek(0)
        cause = first_cause(self._log.read().decode(errors="replace"))
        return f"; its log says {cause}" if cause else ""


def found_in(folder: Path) -> list[bytes]:
    """What the job has written there, in the order of its tasks or parts."""
    found: dict[int, list[bytes]] = {}
    for path in folder.glob("part-*"):
        with path.open("rb") as file:
            while (number := read_int(file)) is not None:
                found.setdefault(number, []).append(read_bytes(file))
    return [b"".join(found[number]) for number in sorted(found)]


_SIGNS = {
    "invalid null input: name": WITHOUT_NAME,
    "Permission denied": "containers run as another user than this one, who cannot read the "
    "round; ask for LinuxContainerExecutor with limit-users=false",
    "Mkdirs failed": "containers run as another user than this one, who cannot write here; ask for "
    "LinuxContainerExecutor with limit-users=false",
    "UnsupportedClassVersionError": "the nodes' Java is older than 8",
    "Invalid resource request": "a container may not be so large there; give less --memory, or "
    "more --threads",
    "Java heap space": "a task of Hadoop ran out of memory; give more by --engine-option "
    "mapreduce.map.java.opts and mapreduce.reduce.java.opts",
}


def _remedy(text: str) -> str:
    """What is known of a failure, with Hadoop's own words."""
    known = next((remedy for sign, remedy in _SIGNS.items() if sign in text), None)
    return f"{known} ({text[:LINE_CHARACTERS_MAX]})" if known else text[:LINE_CHARACTERS_MAX]


def _refusal(folder: Path) -> cuesta.errors.CuestaError:
    name, message = json.loads((folder / REFUSED).read_text(encoding="utf-8"))
    error: cuesta.errors.CuestaError = getattr(cuesta.errors, name, EngineError)(message)
    return error


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
