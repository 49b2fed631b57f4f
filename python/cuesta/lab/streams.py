"""Inputs that can be read only once: standard input (`-`) and pipes, kept in scratch for a run.

An answer and its verification read the same bytes, and so does every repeat, so a stream is written
to a file first. That file goes when the run ends.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO

from cuesta import ranks, removal
from cuesta.errors import CuestaError, InputError
from cuesta.lab.inputs import InputFacts
from cuesta.lab.observer import Observer
from cuesta.trial import STANDARD_INPUT, Trial, is_remote
from cuesta.units import format_bytes
from cuesta.workloads import get_workload

CHUNK_BYTES = 1 << 20

_GZIP_MAGIC = b"\x1f\x8b"
_EXAMPLE = "`zcat reads.fq.gz | cuesta run assemble - -o DIR`"
_STANDARD_INPUT = "standard input"


def check(trial: Trial) -> None:
    """Errors: `InputError` where the trial has streams that cannot be read, or not so often."""
    found = of(trial)
    if not found:
        return
    name = _called(found[0])
    if not get_workload(trial.workload).streams:
        raise InputError(f"{trial.workload} reads files and folders, not {name}; give a file")
    if found.count(STANDARD_INPUT) > 1:
        raise InputError("- is given twice, but standard input can be read only once; give files")
    if ranks.is_inside():
        raise InputError(f"{name}: only one of the ranks can read it; give files")
    if trial.parameters.get("resume"):
        raise InputError(f"--resume with {name}: it is gone after a run; give files")
    if STANDARD_INPUT in found and sys.stdin is not None and sys.stdin.isatty():
        raise InputError(f"standard input is a terminal; send reads to it, as {_EXAMPLE} does")


def of(trial: Trial) -> list[str]:
    """The inputs that can be read only once; pipes only where a workload takes them."""
    takes = get_workload(trial.workload).streams
    return [path for path in trial.inputs if path == STANDARD_INPUT or (takes and _is_pipe(path))]


def refuse(trial: Trial, why: str) -> None:
    """Errors: `InputError` with `why` where the trial has a stream."""
    for path in of(trial)[:1]:
        raise InputError(f"{_called(path)}: {why}")


@contextmanager
def saved(trial: Trial, folder: Path, observer: Observer) -> Iterator[Trial]:
    """The trial with files in `folder`, made here, in place of its streams.

    Errors that are raised in this context name the streams, not those files. Errors: `InputError`
    when one of them is empty; `OSError` when the disk is full.
    """
    found = of(trial)
    if not found:
        yield trial
        return
    folder.mkdir()
    streams = {index: path for index, path in enumerate(trial.inputs) if path in found}
    files = _keep_all(streams, folder, observer)
    paths = [files.get(index, path) for index, path in enumerate(trial.inputs)]
    try:
        yield replace(trial, inputs=tuple(paths))
    except CuestaError as error:
        error.args = (_in_words_of(trial, paths, str(error)),)
        raise


def with_given_paths(facts: Sequence[InputFacts], given: Trial) -> tuple[InputFacts, ...]:
    """Facts about inputs under the names that they were given by."""
    named = zip(facts, given.inputs, strict=True)
    return tuple(replace(one, path=path) for one, path in named)


def _in_words_of(given: Trial, paths: Sequence[str], text: str) -> str:
    """A message with the names of streams in the place of the paths that they are kept at."""
    for path, name in zip(paths, given.inputs, strict=True):
        text = text if path == name else text.replace(path, _called(name))
    return text


def _keep_all(streams: Mapping[int, str], folder: Path, observer: Observer) -> dict[int, str]:
    """Write all streams to files at once, since one program may fill several pipes in turn."""
    ended: Queue[tuple[int, str | BaseException]] = Queue()

    def keep(index: int, path: str) -> None:
        try:
            ended.put((index, _keep(path, folder / str(index), observer)))
        except BaseException as error:
            ended.put((index, error))

    for index, path in streams.items():
        # A pipe that nobody writes to must not hold the command when another one fails.
        Thread(target=keep, args=(index, path), daemon=True).start()
    files: dict[int, str] = {}
    while len(files) < len(streams):
        index, result = ended.get()
        if isinstance(result, BaseException):
            raise result
        files[index] = result
    return files


def _keep(path: str, file: Path, observer: Observer) -> str:
    """Write a stream to a file, whose name says if it is gzipped, as needs are told by names."""
    name = _called(path)
    observer.stage(f"reading {name}")
    begin = b""
    with _opened(path, name) as source, file.open("xb") as target:
        while chunk := source.read(CHUNK_BYTES):
            begin = begin or chunk[:2]
            target.write(chunk)
    if not begin:
        raise InputError(f"{name} is empty; send reads to it, as {_EXAMPLE} does")
    size = format_bytes(file.stat().st_size)
    observer.note(f"{name}: {size}, kept in scratch until the run ends, to be verified too")
    if begin == _GZIP_MAGIC:
        removal.put_new(file, file := file.with_suffix(".gz"))
    return str(file)


def _opened(path: str, name: str) -> IO[bytes] | nullcontext[IO[bytes]]:
    if path != STANDARD_INPUT:
        return Path(path).open("rb")
    if sys.stdin is None:
        raise InputError(f"{name} is closed; send reads to it, as {_EXAMPLE} does")
    return nullcontext(sys.stdin.buffer)


def _called(path: str) -> str:
    return _STANDARD_INPUT if path == STANDARD_INPUT else path


def _is_pipe(path: str) -> bool:
    try:
        return not is_remote(path) and stat.S_ISFIFO(os.stat(path).st_mode)  # noqa: PTH116
    except OSError:
        return False
