"""The JVM that submits jobs to Hadoop and reports their end."""

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
"""Time for the JVM to kill its job and to end."""
LINE_CHARACTERS_MAX = 300
_JARS = ("hadoop-client-*.jar", "slf4j-api-*.jar", "jcl-over-slf4j-*.jar", "log4j-*.jar")
"""Jars of PySpark that Hadoop's client needs."""


def hadoop_jars() -> list[Path]:
    """Return the jars of Hadoop's client in PySpark; none without PySpark."""
    spec = find_spec("pyspark")
    places = spec.submodule_search_locations if spec else None
    folder = Path(next(iter(places)), "jars") if places else Path()
    return [jar for pattern in _JARS for jar in sorted(folder.glob(pattern))]


def java_words(options: Options, jar: Path, tasks_bytes: int, *more: str) -> list[str]:
    """Return the command of a JVM with Hadoop's client and a jar, without the main class.

    Arguments: `tasks_bytes` is the heap of tasks, which run in this JVM without a site's settings.
    Errors: `EngineMissing` without Java.
    """
    java = find_java(os.environ)
    if java is None:
        raise EngineMissing(how_to_get("hadoop"))
    heap = CLIENT_HEAP_BYTES + (0 if options.conf else tasks_bytes)
    classes = [*([options.conf] if options.conf else []), jar, *hadoop_jars()]
    program = str(java.home / "bin" / "java")
    return [program, f"-Xmx{heap // MIB}m", *more, "-cp", os.pathsep.join(map(str, classes))]


def first_cause(log: str) -> str:
    """Return the first error of a log of Java, empty without one."""
    lines = (line.strip() for line in log.splitlines())
    causes = (line for line in lines if "Exception" in line or "Error" in line)
    return next(causes, "")[:LINE_CHARACTERS_MAX]


class Jobs:
    """A JVM that runs jobs one by one. Not for use by several threads."""

    def __init__(self, options: Options, slots: int, jar: Path) -> None:
        """Start the JVM. Errors: `EngineMissing` without Java; `EngineError` where that fails."""
        self.is_local = options.conf is None
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
        word, self.hadoop_version = self._receive().partition(" ")[::2]
        if word != "ready":
            self.close()
            raise EngineError(
                f"engine hadoop: its JVM says {word!r} when it starts; see whether `java` prints "
                f"that by itself{site.remark(site.HADOOP)}"
            )

    def run(self, settings: Path, report: Callable[[float], None]) -> Mapping[str, int]:
        """Run the job of a file of settings; call `report` with the part done; return counters.

        Errors: `EngineError` with Hadoop's reason; the error of a refused task.
        """
        self._send(str(settings))
        counters: Counter[str] = Counter()
        while True:
            word, text = self._receive().partition(" ")[::2]
            match word:
                case "progress":
                    report(float(text))
                case "counter":
                    name, count = text.split(" ")
                    counters[name] += int(count)
                case "done":
                    return counters
                case "refused":
                    raise _refusal(settings.parent)
                case "failed":
                    raise EngineError(f"engine hadoop: {_remedy(text)}{self._log_excerpt()}")

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

    def _send(self, line: str) -> None:
        try:
            print(line, file=_pipe(self._process.stdin), flush=True)
        except OSError:
            raise self._died() from None

    def _receive(self) -> str:
        line = _pipe(self._process.stdout).readline()
        if not line:
            raise self._died()
        return line.rstrip("\n")

    def _died(self) -> EngineError:
        return EngineError(
            f"engine hadoop: its JVM died{self._log_excerpt()}{site.remark(site.HADOOP)}; see what "
            "`java -version` prints, and give less --memory if the machine ran out of it"
        )

    def _log_excerpt(self) -> str:
        """Return the first error of the JVM's log for a message, empty without one."""
        self._log.seek(0)
        cause = first_cause(self._log.read().decode(errors="replace"))
        return f"; its log says {cause}" if cause else ""


def results_in(folder: Path) -> list[bytes]:
    """Return the results that a job has written to a folder, in order of tasks or parts."""
    pieces: dict[int, list[bytes]] = {}
    for path in folder.glob("part-*"):
        with path.open("rb") as file:
            while (number := read_int(file)) is not None:
                pieces.setdefault(number, []).append(read_bytes(file))
    return [b"".join(pieces[number]) for number in sorted(pieces)]


_SIGNS = {
    "invalid null input: name": WITHOUT_NAME,
    "Permission denied": "containers run as another user than this one, who cannot read the "
    "round; ask for LinuxContainerExecutor with limit-users=false",
    "Mkdirs failed": "containers run as another user than this one, who cannot write here; ask for "
    "LinuxContainerExecutor with limit-users=false",
    "UnsupportedClassVersionError": "the nodes' Java is older than 8; install a newer one there",
    "Invalid resource request": "a container may not be so large there; give less --memory, or "
    "more --threads",
    "Java heap space": "a task of Hadoop ran out of memory; give more by --engine-option "
    "mapreduce.map.java.opts and mapreduce.reduce.java.opts",
}


def _remedy(text: str) -> str:
    """Return the known remedy of a failure with Hadoop's message, or that alone."""
    known = next((remedy for sign, remedy in _SIGNS.items() if sign in text), None)
    return f"{known} ({text[:LINE_CHARACTERS_MAX]})" if known else text[:LINE_CHARACTERS_MAX]


def _refusal(folder: Path) -> cuesta.errors.CuestaError:
    name, message = json.loads((folder / REFUSED).read_text(encoding="utf-8"))
    error: cuesta.errors.CuestaError = getattr(cuesta.errors, name, EngineError)(message)
    return error


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
