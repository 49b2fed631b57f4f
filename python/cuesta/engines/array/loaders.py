"""Loads text by several processes, as the instances of a distributed array database do.

Each parses a part of the text and sends every row to the process that owns its chunk, a stretch of
genes; that one writes the rows it has as fragments of its own. This is the paper's *Distributed
SciDB* (its Figure 2), whose instances lie on several machines.
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
from cuesta.engines.array.load import Order, Writer, check_piece, create, session_settings
from cuesta.engines.array.store import Batch, Shape
from cuesta.engines.array.text_source import Piece, Text, pieces
from cuesta.errors import CuestaError, EngineError

CHUNK_GENES = 64
"""Genes of a chunk, whose rows one process owns; chunks are dealt out in turn."""
WAITING_PIECES = 4
"""Batches that may wait for a process before those that send to it wait too."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """What one process does: its number, how many there are, and its part of the text."""

    number: int
    count: int
    order: Order
    place: Path
    shape: Shape


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a process has read and written."""

    rows: int
    rows_read: int
    text_bytes: int


class Loaders:
    """Processes that load, ready for one text after the other; a context manager.

    Errors on entering: `EngineError` when one of them does not come up.
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
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(self._queues, theirs), daemon=True)
                process.start()
                theirs.close()
                self._running.append((process, ours))
            for one in self._running:
                _heard(*one)
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

    def load(self, order: Order, place: Path) -> tuple[Shape, Done]:
        """Write the rows of a text into a new array; its shape, and what they did in all.

        Errors: as `load`; `EngineError` when a process ends before its time.
        """
        shape = _shape(order)
        create(place, shape, order)
        for number, (_, ours) in enumerate(self._running):
            own = replace(
                order,
                text=_part(order.text, number, self._count),
                threads=1,
                sizes=replace(order.sizes, batch=order.sizes.batch // self._count),
                loaders=None,
                progress=None,
            )
            count = self._count
            # One that has ended is told of when it is listened to.
            with contextlib.suppress(BrokenPipeError):
                ours.send(Share(number=number, count=count, order=own, place=place, shape=shape))
        found = _gathered(self._running, order)
        return shape, Done(
            rows=sum(one.rows for one in found),
            rows_read=sum(one.rows_read for one in found),
            text_bytes=sum(one.text_bytes for one in found),
        )


def _shape(order: Order) -> Shape:
    """Of the first row that there is."""
    for piece in pieces(order.text, 1, order.sizes.split):
        if piece.rows:
            return Shape(samples=order.text.samples, score_count=piece.score_count)
    return Shape(samples=order.text.samples, score_count=order.score_index + 1)


def _part(text: Text, number: int, count: int) -> Text:
    """Every so-manieth split."""
    return replace(text, splits=text.splits[number::count])


def _gathered(running: Sequence[tuple[BaseProcess, Connection]], order: Order) -> list[Done]:
    """What the processes tell: bytes now and then, and in the end what they did."""
    waiting = {ours: process for process, ours in running}
    found: list[Done] = []
    done = 0
    while waiting:
        for ready in wait(list(waiting)):
            assert isinstance(ready, Connection)
            told = _heard(waiting[ready], ready)
            if isinstance(told, Done):
                found.append(told)
                del waiting[ready]
                continue
            done += told
            if order.progress:
                order.progress(done, order.text.size_bytes)
    return found


def _heard(process: BaseProcess, ours: Connection) -> Any:
    """What a process tells next. Errors: its own; `EngineError` when it has ended."""
    try:
        told = ours.recv()
    except (EOFError, ConnectionError):
        process.join()
        raise EngineError(
            f"array: a process that loads ended with code {process.exitcode}; "
            "give it more memory, or load with fewer"
        ) from None
    if isinstance(told, CuestaError):
        raise told
    return told


def _serve(queues: Sequence[Queue[Any]], theirs: Connection) -> None:
    """One process: load shares until it is ended."""
    theirs.send(0)
    while True:
        try:
            share = theirs.recv()
        except EOFError:
            return
        _load(share, queues, theirs)


def _load(share: Share, queues: Sequence[Queue[Any]], told: Connection) -> None:
    """Read, send, and meanwhile write what the others send."""
    failed: list[CuestaError] = []
    rows: list[int] = []

    def receive() -> None:
        try:
            rows.append(_written(share, queues[share.number]))
        except CuestaError as error:
            failed.append(error)
            told.send(error)

    try:
        with store.session(1, session_settings(share.order.sizes)):
            writer = threading.Thread(target=receive, daemon=True)
            writer.start()
            read = _sent(share, queues, told)
            writer.join()
        if rows:
            told.send(replace(read, rows=rows[0]))
    except CuestaError as error:
        told.send(error)


def _sent(share: Share, queues: Sequence[Queue[Any]], told: Connection) -> Done:
    """Send every row of this part to its owner; None says that no more comes."""
    rows_read = text_bytes = 0
    for piece in pieces(share.order.text, 1, share.order.sizes.split):
        rows_read += piece.rows_read
        text_bytes += piece.text_bytes
        if piece.rows:
            check_piece(piece, share.shape)
            for owner, columns in _divided(piece, share.count):
                queues[owner].put(columns)
        told.send(piece.disk_bytes)
    for queue in queues:
        queue.put(None)
    return Done(rows=0, rows_read=rows_read, text_bytes=text_bytes)


def _divided(piece: Piece, count: int) -> Iterator[tuple[int, Batch]]:
    """The rows of a piece by the process that owns their chunk."""
    owners = (piece.columns["gene1"] - 1) // CHUNK_GENES % count
    for owner in range(count):
        mine = np.flatnonzero(owners == owner)
        if len(mine):
            yield owner, {name: column[mine] for name, column in piece.columns.items()}


def _written(share: Share, queue: Queue[Any]) -> int:
    """Write the rows that this process owns; how many there were."""
    sizes = share.order.sizes
    writer = Writer(place=share.place, batch_bytes=sizes.batch, extents=share.order.extents)
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
