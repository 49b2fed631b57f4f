"""Hadoop's TeraSort as a variant of `sort`: `--engine-option examples=JAR`, for comparison."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from cuesta import removal
from cuesta.engines import rounds
from cuesta.engines.hadoop import watchdog
from cuesta.engines.hadoop.jobs import first_cause, java_words
from cuesta.engines.hadoop.settings import (
    CLIENT_BYTES,
    MASTER_BYTES,
    MIB,
    Options,
    common_properties,
)
from cuesta.errors import EngineError, InputError
from cuesta.processes import die_with_parent, identity
from cuesta.trial import Outcome, Phase, Trial, is_remote

MAIN = "org.apache.hadoop.examples.terasort.TeraSort"
JOB_CLIENT = "org.apache.hadoop.mapred.JobClient"
HEAP_MIB = 1024
"""Heap of a task."""
SORT_MIB = 400
"""Memory for sorting in a task: for a split of 128 MiB and more at once."""
CONTAINER_MIB = 1280
_BLOCK_BYTES = 1 << 20
MASTER_SECONDS = 3
"""Time for the master of a killed job to end by itself."""


def sort(trial: Trial, options: Options, output: Path, scratch: Path) -> Outcome:
    """Sort by TeraSort, then concatenate its parts. Errors: `InputError`, `EngineError`."""
    if trial.workload != "sort":
        raise InputError(
            "--engine-option examples is for sort, as Hadoop's own TeraSort; leave it out"
        )
    assert options.examples is not None
    if not options.examples.is_file():
        raise InputError(
            f"--engine-option examples is {options.examples}, which is not there; name the "
            "hadoop-mapreduce-examples-VERSION.jar of your Hadoop"
        )
    if len(trial.inputs) > 1:
        raise InputError("--engine-option examples sorts one file or folder; give one")
    least = (trial.threads * CONTAINER_MIB + CLIENT_BYTES // MIB + MASTER_BYTES // MIB) * MIB
    rounds.check_memory(trial, least, f"TeraSort with {trial.threads} tasks at once")
    input_path, parts = trial.inputs[0], scratch / "parts"
    source = input_path if is_remote(input_path) else f"file://{Path(input_path).absolute()}"
    started = time.perf_counter()
    _run(trial, options, [source, f"file://{parts.absolute()}"], scratch)
    sorted_at = time.perf_counter()
    records = _joined(sorted(parts.glob("part-r-*")), output / "sorted.dat") // 100
    phases = (
        Phase(name="sort", seconds=sorted_at - started, bytes=records * 100, rows=records),
        Phase(name="join parts", seconds=time.perf_counter() - sorted_at, bytes=records * 100),
    )
    for folder in (parts, scratch / "hadoop"):
        removal.discard(folder)
    return Outcome(phases=phases, counts={"records": records, "tasks": trial.threads})


def _run(trial: Trial, options: Options, places: list[str], scratch: Path) -> None:
    assert options.examples is not None
    settings = {
        **common_properties(options, trial.threads, scratch.absolute()),
        "mapreduce.job.reduces": trial.threads,
        "mapreduce.task.io.sort.mb": SORT_MIB,
        **{f"mapreduce.{kind}.memory.mb": CONTAINER_MIB for kind in ("map", "reduce")},
        **{f"mapreduce.{kind}.java.opts": f"-Xmx{HEAP_MIB}m" for kind in ("map", "reduce")},
        **options.hadoop,
    }
    log = ["-Dlog4j2.level=INFO"] if options.conf else []
    java = java_words(options, options.examples, trial.threads * HEAP_MIB * MIB, *log)
    with tempfile.TemporaryFile() as sink:
        code = _run_client([*java, MAIN, *_words(settings), *places], sink, options)
        log_text = _read(sink)
    if code:
        cause = first_cause(log_text) or "its log names no error"
        raise EngineError(f"engine hadoop: TeraSort ended with code {code}: {cause}")


def _run_client(command: list[str], sink: IO[bytes], options: Options) -> int:
    """Run a client of Hadoop that writes its log to `sink`; return its exit code.

    If the client is stopped or killed by a signal, its jobs on YARN are killed; also if this
    process ends or is killed.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=sink,
        stderr=subprocess.STDOUT,
        # Ctrl-C is handled by this process alone.
        start_new_session=True,
        preexec_fn=die_with_parent,
    )
    code, log = -1, sink.fileno()
    watchdog_process = None
    try:
        if options.conf:
            watchdog_process = watchdog.started(identity(process.pid), log, _kill_words(options))
        code = process.wait()
    finally:
        if code < 0:
            process.kill()
            process.wait()
            watchdog.kill(_kill_words(options), watchdog.jobs_in(log))
        if watchdog_process:
            watchdog.dismiss(watchdog_process)
    return code


def _kill_words(options: Options) -> list[str]:
    """Return a command that kills a job on YARN, to which the job's name is appended."""
    assert options.examples is not None
    settings = {
        **common_properties(options, 1, Path()),
        "yarn.app.mapreduce.am.hard-kill-timeout-ms": MASTER_SECONDS * 1000,
        **options.hadoop,
    }
    return [*java_words(options, options.examples, 0), JOB_CLIENT, *_words(settings), "-kill"]


def _words(settings: Mapping[str, object]) -> list[str]:
    return [f"-D{name}={value}" for name, value in settings.items()]


def _read(sink: IO[bytes]) -> str:
    sink.seek(0)
    return sink.read().decode(errors="replace")


def _joined(parts: list[Path], target: Path) -> int:
    """Concatenate files; return their bytes."""
    with target.open("wb") as out:
        for part in parts:
            with part.open("rb") as file:
                shutil.copyfileobj(file, out, _BLOCK_BYTES)
        return out.tell()
