"""Inputs that can be read only once, standard input (`-`) and pipes, saved in scratch for a run.

An answer, its verification and each repeat read the same bytes, so a stream is written to a file
first. That file is removed at the end of the run.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
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
    """Raise `InputError` for streams that the trial cannot read, or not as often as needed."""
    streams = list_streams(trial)
    if not streams:
        _refuse_pipes(trial)
        return
    name = _called(streams[0])
    if not get_workload(trial.workload).streams:
        raise InputError(f"{trial.workload} reads files and folders, not {name}; give a file")
    if streams.count(STANDARD_INPUT) > 1:
        raise InputError("- is given twice, but standard input can be read only once; give files")
    if ranks.is_inside():
        raise InputError(f"{name}: only one of the ranks can read it; give files")
    if trial.parameters.get("resume"):
        raise InputError(f"--resume with {name}: it is gone after a run; give files")
    if STANDARD_INPUT in streams and sys.stdin is not None and sys.stdin.isatty():
        raise InputError(f"standard input is a terminal; send reads to it, as {_EXAMPLE} does")


def _refuse_pipes(trial: Trial) -> None:
    """Raise `InputError` for a pipe: opening it waits for a writer, and nothing ends that."""
    options = [value for value in trial.parameters.values() if isinstance(value, str)]
    for path in [*trial.inputs, *([trial.names] if trial.names else []), *options]:
        if not is_remote(path) and _is_pipe(path):
            raise InputError(
                f"{trial.workload} reads files and folders, not the pipe {path}; write it to a "
                f"file first: cat {path} > FILE"
            )


def list_streams(trial: Trial) -> list[str]:
    """List the inputs that can be read only once; pipes only if the workload accepts them."""
    takes = get_workload(trial.workload).streams
    return [path for path in trial.inputs if path == STANDARD_INPUT or (takes and _is_pipe(path))]


def refuse(trial: Trial, why: str) -> None:
    """Raise `InputError` with the reason `why` if the trial has a stream."""
    for path in list_streams(trial)[:1]:
        raise InputError(f"{_called(path)}: {why}")


@contextmanager
def saved(trial: Trial, folder: Path, observer: Observer) -> Iterator[Trial]:
    """Save the streams of a trial in `folder`; yield the trial with these files as inputs.

    Errors that are raised in this context name the streams, not the files. Errors: `InputError` if
    a stream is empty; `OSError` if the disk is full.
    """
    stream_paths = list_streams(trial)
    if not stream_paths:
        yield trial
        return
    folder.mkdir()
    streams = {index: path for index, path in enumerate(trial.inputs) if path in stream_paths}
    files = _save_all(streams, folder, observer)
    paths = [files.get(index, path) for index, path in enumerate(trial.inputs)]
    try:
        yield replace(trial, inputs=tuple(paths))
    except CuestaError as error:
        error.args = (_with_stream_names(trial, paths, str(error)),)
        raise


def restore_paths(facts: Sequence[InputFacts], trial: Trial) -> tuple[InputFacts, ...]:
    """Replace the paths in facts about inputs by those of `trial`."""
    named = zip(facts, trial.inputs, strict=True)
    return tuple(replace(fact, path=path) for fact, path in named)


def _with_stream_names(trial: Trial, paths: Sequence[str], text: str) -> str:
    """Replace the paths of saved streams in a message by the names of the streams."""
    for path, name in zip(paths, trial.inputs, strict=True):
        text = text if path == name else text.replace(path, _called(name))
    return text


def _save_all(streams: Mapping[int, str], folder: Path, observer: Observer) -> dict[int, str]:
    """Write all streams to files concurrently, since a program may fill several pipes in turn."""
    from queue import Queue

    ended: Queue[tuple[int, str | BaseException]] = Queue()

    def save(index: int, path: str) -> None:
        try:
            ended.put((index, _save(path, folder / str(index), observer)))
        except BaseException as error:
            ended.put((index, error))

    for index, path in streams.items():
        # A pipe without a writer must not block the command when another one fails.
        Thread(target=save, args=(index, path), daemon=True).start()
    files: dict[int, str] = {}
    while len(files) < len(streams):
        index, result = ended.get()
        if isinstance(result, BaseException):
            raise result
        files[index] = result
    return files


def _save(path: str, file: Path, observer: Observer) -> str:
    """Write a stream to a file, with the suffix `.gz` if it is gzipped; return its path."""
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
