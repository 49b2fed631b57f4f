"""Seconds until a reader passes a lost store, Ctrl-C ends a run, and a command starts.

Tests hold that these things happen; how long they take is a matter of the machine and its load.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benches.store_misses import taken
from cuesta_store import control
from cuesta_store.client import CachedFile
from harness import stores
from harness.model import Answer, Case, Contestant, Ratio, Sample, TimeLimit
from harness.size import Size

PASSED_SECONDS = 1.5
"""Seconds in which a store that does not answer is queried again, then pinged."""
ENDED_SECONDS = 1.0
IMPORT_SECONDS = 0.03
SIGNALS = {"has ended": signal.SIGKILL, "hangs": signal.SIGSTOP}
_COMMAND = [sys.executable, "-m", "cuesta"]


def cases(size: Size) -> Iterator[Case]:
    """Stores, runs, starts."""
    for state, number in SIGNALS.items():
        yield passed(size, state, number)
    yield interrupted(size)
    yield started(size)
    yield imported()


def passed(size: Size, state: str, number: signal.Signals) -> Case:
    """The rest of a file whose first bytes came from a store."""
    path = stores.records(size)
    memory_bytes = path.stat().st_size + 4 * stores.block_bytes(size)

    def work(answers: Path) -> Sample:
        with stores.running(size, memory_bytes) as store:
            file = CachedFile(store.folder, f"/{path.relative_to(size.folder)}")
            content = bytearray(file.size_bytes)
            file.read_into(memoryview(content)[:1], 0)
            pid = int(control.status(store.folder)["pid"])
            os.kill(pid, number)
            begun = time.perf_counter()
            file.read_into(memoryview(content)[-1:], len(content) - 1)
            seconds = time.perf_counter() - begun
            file.read_into(memoryview(content), 0)
            if number == signal.SIGSTOP:
                os.kill(pid, signal.SIGCONT)
        (answers / "read").write_bytes(content)
        return Sample(seconds=seconds)

    limit = TimeLimit(ours="cuesta", below_seconds=PASSED_SECONDS, text="passed within 1.5 s")
    return Case(
        name=f"a store that {state}",
        contestants=(
            Contestant(
                name="cuesta",
                how=f"the next byte of an open file after {number.name}",
                work=work,
                answer=lambda answers: taken(answers / "read"),
            ),
        ),
        bars=(limit,),
        amount=1,
        unit="reads",
    )


def interrupted(size: Size) -> Case:
    """A run of a thousand repeats, in its fourth."""
    points = size.folder / "promptness.txt"
    words = ["--genes", "300", "--samples", "50", "--pairs", "30000", "--seed", "3"]
    made = ["data", "make", "clusters", *words, "-o", str(points)]
    if not points.exists():
        subprocess.run([*_COMMAND, *made], check=True, capture_output=True)

    def work(answers: Path) -> Sample:
        output = answers / "out"
        command = ["run", "degrees", str(points), "--repeat", "1000", "-o", str(output)]
        with subprocess.Popen([*_COMMAND, *command], stderr=subprocess.PIPE, text=True) as run:
            if run.stderr is None or not any("run 4 of 1000" in line for line in run.stderr):
                raise RuntimeError(f"{command}: ended by itself")
            begun = time.perf_counter()
            run.send_signal(signal.SIGINT)
            run.communicate()
            seconds = time.perf_counter() - begun
        (answers / "code").write_text(f"{run.returncode}, an answer: {output.exists()}")
        return Sample(seconds=seconds)

    limit = TimeLimit(ours="cuesta", below_seconds=ENDED_SECONDS, text="ended within 1 s")
    return Case(
        name="Ctrl-C",
        contestants=(
            Contestant(
                name="cuesta",
                how="run degrees --repeat 1000, SIGINT in the fourth",
                work=work,
                answer=lambda answers: Answer(digest=(answers / "code").read_text(), rows=1),
            ),
        ),
        bars=(limit,),
        amount=1,
        unit="runs",
    )


def started(size: Size) -> Case:
    """A scan of one line, compared with the import of a database."""
    line = size.folder / "promptness-line.txt"
    line.write_text("3\t1\t1\t1\t4\t0\t0\t0\t0\t0.900000\t1111\n")
    scan = [*_COMMAND, "run", "scan", str(line), "--min-abs-score", "0.9", "--overwrite", "-o"]
    database = [sys.executable, "-c", "import duckdb"]
    return Case(
        name="a run of one line",
        contestants=(
            Contestant(
                name="cuesta",
                how="cuesta run scan, as typed",
                work=lambda answers: timed([*scan, str(answers / "out")]),
                answer=lambda answers: scanned(answers / "out"),
            ),
            Contestant(name="duckdb", how="import duckdb", work=lambda _: timed(database)),
        ),
        bars=(
            Ratio(
                ours="cuesta",
                peer="duckdb",
                at_least=1 / 1.2,
                text="takes at most 1.2 times the import of a database",
            ),
        ),
        amount=1,
        unit="runs",
    )


def imported() -> Case:
    """`import cuesta`, beyond the interpreter, in time of the processor."""
    code = (
        "import time\nbegun = time.process_time()\nimport cuesta\n"
        "print(time.process_time() - begun, cuesta.__version__)"
    )

    def work(answers: Path) -> Sample:
        words = [sys.executable, "-c", code]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        seconds, version = done.stdout.split()
        (answers / "version").write_text(version)
        return Sample(seconds=float(seconds))

    limit = TimeLimit(ours="cuesta", below_seconds=IMPORT_SECONDS, text="within 30 ms")
    return Case(
        name="import cuesta",
        contestants=(
            Contestant(
                name="cuesta",
                how="import cuesta",
                work=work,
                answer=lambda answers: Answer(digest=(answers / "version").read_text(), rows=1),
            ),
        ),
        bars=(limit,),
        amount=1,
        unit="imports",
    )


def scanned(folder: Path) -> Answer:
    """The answer of a scan of one line."""
    answer = json.loads((folder / "run.json").read_text())["answer"]
    return Answer(digest=answer["digest"], rows=answer["counts"]["rows"])


def timed(command: list[str]) -> Sample:
    """A command from its start to its end."""
    begun = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return Sample(seconds=time.perf_counter() - begun)
