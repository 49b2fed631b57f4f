"""Loads text by several processes, as the instances of a distributed array database do.

Each parses a part of the text and sends each row to the process that owns its chunk, a range of
genes; the owner writes its rows as separate fragments. This is the paper's *Distributed SciDB* (its
Figure 2), whose instances are on several machines.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import numpy as np

from cuesta.engines.array import store
from cuesta.engines.array.store import Batch, Shape
from cuesta.engines.array.text_source import Piece, Text, pieces
from cuesta.engines.array.writer import (
    LoadCounts,
    LoadRequest,
    Writer,
    check_piece,
    create,
    session_settings,
)
from cuesta.errors import CuestaError, EngineError

CHUNK_GENES = 64
"""Genes of a chunk, whose rows one process owns; chunks are assigned round-robin."""
WAITING_PIECES = 4
"""Batches in the queue of a process; senders wait while it is full."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """The work of a loading process: its number, the number of processes, and its part of text."""

    number: int
    count: int
    request: LoadRequest
    place: Path
    shape: Shape


class Loaders:
    """Loading processes, which load texts one by one; a context manager.

    Errors on entering: `EngineError` when a process does not start.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._running: list[tuple[BaseProcess, Connection]] = []
        self._queues: list[Queue[Any]] = []

    def __enter__(self) -> Loaders:
        context = multiprocessing.get_context("spawn")
        self._queues = [context.Queue(WAITING_PIECES) for _ in range(self._count)]
        try:
            for _ in range(self._count):
                leader_end, loader_end = context.Pipe()
                process = context.Process(
                    target=_serve, args=(self._queues, loader_end), daemon=True
                )
                process.start()
                loader_end.close()
                self._running.append((process, leader_end))
            for running in self._running:
                _received(*running)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        for process, _ in self._running:
            process.kill()
            process.join()

    def load(self, request: LoadRequest, place: Path) -> tuple[Shape, LoadCounts]:
        """Write the rows of a text into a new array; return its shape and total amounts.

        Errors: as `load`; `EngineError` when a process ends unexpectedly.
        """
        shape = _shape(request)
        create(place, shape, request)
        for number, (_, leader_end) in enumerate(self._running):
            part_request = replace(
                request,
                text=_part(request.text, number, self._count),
                threads=1,
                sizes=replace(request.sizes, batch=request.sizes.batch // self._count),
                progress=None,
            )
            count = self._count
            # The end of a process is reported when its messages are read.
            with contextlib.suppress(BrokenPipeError):
                leader_end.send(
                    Share(
                        number=number, count=count, request=part_request, place=place, shape=shape
                    )
                )
        counts = _gathered(self._running, request)
        return shape, LoadCounts(
            rows=sum(part.rows for part in counts),
            rows_read=sum(part.rows_read for part in counts),
            text_bytes=sum(part.text_bytes for part in counts),
        )


def _shape(request: LoadRequest) -> Shape:
    """Return the shape of the first row, or a default without rows."""
    for piece in pieces(request.text, 1, request.sizes.split):
        if piece.rows:
            return Shape(samples=request.text.samples, score_count=piece.score_count)
    return Shape(samples=request.text.samples, score_count=request.score_index + 1)


def _part(text: Text, number: int, count: int) -> Text:
    """Return every `count`-th split from `number` on."""
    return replace(text, splits=text.splits[number::count])


def _gathered(
    running: Sequence[tuple[BaseProcess, Connection]], request: LoadRequest
) -> list[LoadCounts]:
    """Receive progress in bytes, and at the end the amounts of all processes."""
    waiting = {leader_end: process for process, leader_end in running}
    counts: list[LoadCounts] = []
    done = 0
    while waiting:
        for ready in wait(list(waiting)):
            assert isinstance(ready, Connection)
            message = _received(waiting[ready], ready)
            if isinstance(message, LoadCounts):
                counts.append(message)
                del waiting[ready]
                continue
            done += message
            if request.progress:
                request.progress(done, request.text.size_bytes)
    return counts


def _received(process: BaseProcess, leader_end: Connection) -> Any:
    """Receive a message. Errors: those of the process; `EngineError` when it has ended."""
    try:
        message = leader_end.recv()
    except (EOFError, ConnectionError):
        process.join()
        raise EngineError(
            f"array: a process that loads ended with code {process.exitcode}; "
            "give it more memory, or load with fewer"
        ) from None
    if isinstance(message, CuestaError):
        raise message
    return message


def _serve(queues: Sequence[Queue[Any]], loader_end: Connection) -> None:
    """Load shares until the process is ended."""
    loader_end.send(0)
    while True:
        try:
            share = loader_end.recv()
        except EOFError:
            return
        _load(share, queues, loader_end)


def _load(share: Share, queues: Sequence[Queue[Any]], leader: Connection) -> None:
    """Read and send rows, and meanwhile write rows of this process's chunks."""
    failed: list[CuestaError] = []
    rows: list[int] = []

    def receive() -> None:
        try:
            rows.append(_written(share, queues[share.number]))
        except CuestaError as error:
            failed.append(error)
            leader.send(error)

    try:
        with store.session(1, session_settings(share.request.sizes)):
            writer = threading.Thread(target=receive, daemon=True)
            writer.start()
            read = _sent(share, queues, leader)
            writer.join()
        if rows:
            leader.send(replace(read, rows=rows[0]))
    except CuestaError as error:
        leader.send(error)


def _sent(share: Share, queues: Sequence[Queue[Any]], leader: Connection) -> LoadCounts:
    """Send each row of this part to its owner; None marks the end."""
    rows_read = text_bytes = 0
    for piece in pieces(share.request.text, 1, share.request.sizes.split):
        rows_read += piece.rows_read
        text_bytes += piece.text_bytes
        if piece.rows:
            check_piece(piece, share.shape)
            for owner, columns in _divided(piece, share.count):
                queues[owner].put(columns)
        leader.send(piece.disk_bytes)
    for queue in queues:
        queue.put(None)
    return LoadCounts(rows=0, rows_read=rows_read, text_bytes=text_bytes)


def _divided(piece: Piece, count: int) -> Iterator[tuple[int, Batch]]:
    """Divide the rows of a piece by the process that owns their chunk."""
    owners = (piece.columns["gene1"] - 1) // CHUNK_GENES % count
    for owner in range(count):
        rows = np.flatnonzero(owners == owner)
        if len(rows):
            yield owner, {name: column[rows] for name, column in piece.columns.items()}


def _written(share: Share, queue: Queue[Any]) -> int:
    """Write the rows that this process owns; return their number."""
    sizes = share.request.sizes
    writer = Writer(place=share.place, batch_bytes=sizes.batch, extents=share.request.extents)
    rows = 0
    ended = 0
    while ended < share.count:
        columns = queue.get()
        if columns is None:
            ended += 1
            continue
        rows += len(columns["gene1"])
        writer.add(columns)
    writer.close()
    return rows
