"""Reads KINC text by the native splits: pieces of rows as columns, in the order of the text.

Threads parse ahead; at most `threads + 1` pieces are in memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cuesta.engines.array.sizes import LINE_BYTES_MAX
from cuesta.engines.array.store import COUNTS, DIMENSIONS, Batch
from cuesta.errors import InputError
from cuesta.native import from_response, native_module

WHOLE_FILE = (1 << 64) - 1
"""Size of a split that stands for a complete compressed file."""

_IN_BLOCK = re.compile(r"line (\d+) of a block of text ")

Columns = dict[str, bytes]


@dataclass(frozen=True, kw_only=True)
class Text:
    """Gene pairs as text, cut into splits of `(path, first byte, bytes)`."""

    splits: tuple[tuple[str, int, int], ...]
    samples: int
    parameters: str

    @property
    def paths(self) -> list[str]:
        """Distinct files, in their order."""
        return list(dict.fromkeys(path for path, _, _ in self.splits))

    @property
    def size_bytes(self) -> int:
        """Bytes of the files on disk."""
        return sum(Path(path).stat().st_size for path in self.paths)

    def fingerprint(self) -> str:
        """Return a hash of the path, size and modification time of each file."""
        digest = hashlib.blake2b(digest_size=16)
        for path in self.paths:
            status = Path(path).stat()
            facts = (os.path.realpath(path), status.st_size, status.st_mtime_ns)
            digest.update(repr(facts).encode("utf-8", "surrogateescape"))
        return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Rows of a range of text, all of the same length, all with the requested score."""

    path: str
    columns: Batch
    rows_read: int
    text_bytes: int
    disk_bytes: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns["gene1"])

    @property
    def score_count(self) -> int:
        """Scores of a row; 0 when there is no row."""
        return sum(name.startswith("score") for name in self.columns)


@dataclass(frozen=True, kw_only=True)
class _Task:
    """A range of text to be parsed by `parse`."""

    path: str
    parse: Callable[[], Columns]
    text_bytes: int
    disk_bytes: int


def open_text(inputs: list[str], score_index: int, split_bytes: int) -> Text:
    """List the splits of `inputs`. Errors: `InputError`."""
    for path in inputs:
        if (Path(path) / "zarr.json").is_file() or path.rstrip("/").endswith(".zarr"):
            raise InputError(
                f"array: {path} is a pair matrix, which engine array does not read; "
                "give the KINC text it was loaded from"
            )
    chosen: dict[str, Any] = {"score_index": score_index}
    text = native_module().splits(json.dumps(inputs), json.dumps(chosen), split_bytes)
    plan = from_response(text)
    chosen |= {"version": plan["version"], "samples": plan["samples"]}
    return Text(
        splits=tuple((path, offset, size) for path, offset, size in plan["splits"]),
        samples=plan["samples"],
        parameters=json.dumps(chosen),
    )


def pieces(text: Text, threads: int, split_bytes: int) -> Iterator[Piece]:
    """Yield pieces of the text in order. Errors: `InputError` naming file and line."""
    running: deque[tuple[_Task, Future[Columns]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for task in _tasks(text, split_bytes):
                running.append((task, pool.submit(task.parse)))
                if len(running) > threads:
                    yield _finished(running, text.samples)
            while running:
                yield _finished(running, text.samples)
        finally:
            for _, future in running:
                future.cancel()


def _finished(running: deque[tuple[_Task, Future[Columns]]], samples: int) -> Piece:
    task, future = running.popleft()
    columns = future.result()
    return Piece(
        path=task.path,
        columns=_arrays(columns, samples),
        rows_read=int.from_bytes(columns["rows_read"], "little"),
        text_bytes=task.text_bytes,
        disk_bytes=task.disk_bytes,
    )


def _arrays(columns: Columns, samples: int) -> Batch:
    """Return arrays on the bytes of the native module, with an array for each score."""
    numbers = {name: np.frombuffer(columns[name], "<u4") for name in (*DIMENSIONS, *COUNTS)}
    rows = len(numbers["gene1"])
    scores = np.frombuffer(columns["scores"], "<i4")
    if rows:
        table = scores.reshape(rows, -1)
        for index in range(table.shape[1]):
            numbers[f"score{index}"] = np.ascontiguousarray(table[:, index])
    numbers["mask"] = np.frombuffer(columns["mask"], f"S{samples}")
    return numbers


def _tasks(text: Text, split_bytes: int) -> Iterator[_Task]:
    map_split = native_module().map_split
    for path, offset, size_bytes in text.splits:
        if size_bytes == WHOLE_FILE:
            yield from _packed_tasks(path, text, split_bytes)
            continue
        parse = partial(map_split, text.parameters, (path, offset, size_bytes))
        yield _Task(path=path, parse=parse, text_bytes=size_bytes, disk_bytes=size_bytes)


def _packed_tasks(path: str, text: Text, split_bytes: int) -> Iterator[_Task]:
    """Yield tasks of complete lines, so that a compressed file of any size takes bounded memory."""
    lines = 0
    place = 0
    for block, position in _unpacked_blocks(path, split_bytes):
        parse = partial(_parse_block, path, lines, text.parameters, block)
        yield _Task(path=path, parse=parse, text_bytes=len(block), disk_bytes=position - place)
        place = position
        lines += block.count(b"\n")


def _unpacked_blocks(path: str, split_bytes: int) -> Iterator[tuple[bytes, int]]:
    """Yield complete lines, and the position in the file. Errors: `InputError` for damage."""
    rest = b""
    file = native_module().UnpackedFile(path)
    while more := file.read(split_bytes):
        end = more.rfind(b"\n") + 1
        if end:
            yield rest + more[:end], file.tell()
            rest = more[end:]
            continue
        rest += more
        if len(rest) > LINE_BYTES_MAX:
            raise InputError(
                f"input.kinc: {path} has a line longer than {LINE_BYTES_MAX >> 20} MiB; "
                "is it KINC text?"
            )
    if rest:
        yield rest, file.tell()


def _require_undamaged(path: str) -> None:
    """Read a file to its end, as damage may make faults of its text. Errors: `InputError`."""
    file = native_module().UnpackedFile(path)
    while file.read(LINE_BYTES_MAX):
        pass


def _parse_block(path: str, lines_before: int, parameters: str, block: bytes) -> Columns:
    try:
        columns: Columns = native_module().map_bytes(parameters, block)
    except InputError as error:
        _require_undamaged(path)
        place = _IN_BLOCK.search(str(error))
        if place is None:
            raise
        number = int(place[1]) + lines_before
        raise InputError(_IN_BLOCK.sub(f"line {number} of {path} ", str(error))) from None
    return columns
