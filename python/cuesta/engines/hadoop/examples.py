"""Hadoop's own TeraSort as a variant of `sort`: `--engine-option examples=JAR`, for comparison."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from cuesta.engines import rounds
from cuesta.engines.hadoop.jobs import first_cause, java_words
from cuesta.engines.hadoop.settings import (
    CLIENT_BYTES,
    MASTER_BYTES,
    MIB,
    Options,
    of_every_job,
)
from cuesta.errors import EngineError, InputError
from cuesta.trial import Outcome, Phase, Trial, is_remote

MAIN = "org.apache.hadoop.examples.terasort.TeraSort"
HEAP_MIB = 1024
"""Of a task."""
SORT_MIB = 400
"""A task's room for sorting: a split of 128 MiB and more, in one piece."""
CONTAINER_MIB = 1280
_BLOCK_BYTES = 1 << 20


def sort(trial: Trial, options: Options, output: Path, scratch: Path) -> Outcome:
    """Sort by TeraSort, then put its parts together. Errors: `InputError`, `EngineError`."""
    if trial.workload != "sort":
        raise InputError("--engine-option examples is for sort: it has Hadoop's own TeraSort")
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
    given, parts = trial.inputs[0], scratch / "parts"
    source = given if is_remote(given) else f"file://{Path(given).absolute()}"
    started = time.perf_counter()
    _run(trial, options, [source, f"file://{parts.absolute()}"], scratch)
    sorted_at = time.perf_counter()
    records = _joined(sorted(parts.glob("part-r-*")), output / "sorted.dat") // 100
    phases = (
        Phase(name="sort", seconds=sorted_at - started, bytes=records * 100, rows=records),
        Phase(name="join parts", seconds=time.perf_counter() - sorted_at, bytes=records * 100),
    )
    for left in (parts, scratch / "hadoop"):
        shutil.rmtree(left, ignore_errors=True)
    return Outcome(phases=phases, counts={"records": records, "tasks": trial.threads})


def _run(trial: Trial, options: Options, places: list[str], scratch: Path) -> None:
    assert options.examples is not None
    settings = {
        **of_every_job(options, trial.threads, scratch.absolute()),
        "mapreduce.job.reduces": trial.threads,
        "mapreduce.task.io.sort.mb": SORT_MIB,
        **{f"mapreduce.{kind}.memory.mb": CONTAINER_MIB for kind in ("map", "reduce")},
        **{f"mapreduce.{kind}.java.opts": f"-Xmx{HEAP_MIB}m" for kind in ("map", "reduce")},
        **options.hadoop,
    }
    java = java_words(options, options.examples, trial.threads * HEAP_MIB * MIB)
    words = [f"-D{name}={value}" for name, value in settings.items()]
    done = subprocess.run(
        [*java, MAIN, *words, *places],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = first_cause(done.stderr + done.stdout) or "its log names no error"
        raise EngineError(f"engine hadoop: TeraSort ended with code {done.returncode}: {said}")


def _joined(parts: list[Path], target: Path) -> int:
    """Write files one after the other; their bytes."""
    with target.open("wb") as out:
        for part in parts:
            with part.open("rb") as file:
                shutil.copyfileobj(file, out, _BLOCK_BYTES)
        return out.tell()
