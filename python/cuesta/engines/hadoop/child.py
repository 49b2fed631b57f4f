"""The child of a task of Hadoop: `python -m cuesta.engines.hadoop.child FOLDER tasks|part NUMBER`.

`FOLDER` has the round. A child for `tasks` reads their numbers; a child for a `part` reads its
blocks in pieces, each with the number of the sending task, or numbered pieces of text. Both write
blocks for parts, and results, also in pieces: number of the receiving part or task, number of the
sender, number of the piece, and its bytes. `END` ends the input, and the output for each number
that is read; the processor time in milliseconds comes last. The child exits when its parent does.
"""

from __future__ import annotations

import json
import os
import pickle
import select
import sys
import threading
from collections.abc import Iterator
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from cuesta import removal
from cuesta.engines.hadoop.settings import REFUSED, ROUND
from cuesta.engines.hadoop.typed_bytes import read_bytes, read_int, write_bytes, write_int
from cuesta.engines.rounds import Round, combined
from cuesta.errors import CuestaError, Defect, InputError, is_defect

END = -1
PIECE_BYTES = 4 << 20
"""Limit of a block's bytes in one value of Hadoop's, whose tasks have small heaps."""


def main() -> int:
    """Run the tasks or the part that the command line names."""
    _exit_with_parent()
    folder, role = Path(sys.argv[1]), sys.argv[2]
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Output of libraries goes to the log of the task.
    os.dup2(2, 1)
    try:
        job, round_ = pickle.loads((folder / ROUND).read_bytes())
        worker = job.worker()
        if role == "tasks":
            _do_tasks(worker, round_, source, sink)
        else:
            _do_part(worker, round_, int(sys.argv[3]), source, sink)
        write_int(sink, round(1000 * sum(os.times()[:4])))
        sink.close()
    except (InputError, Defect) as error:
        return _refuse(folder, error)
    except BaseException as error:
        if not is_defect(error):
            raise
        return _refuse(folder, Defect.of(error))
    return 0


def _do_tasks(worker: Any, round_: Round, source: IO[bytes], sink: IO[bytes]) -> None:
    results: list[bytes] = []
    last = 0
    for number in _numbers(source):
        result, blocks, ends = worker.task(number, round_.shared, round_.tasks[number])
        if round_.parts:
            view = memoryview(blocks)
            for part, (start, end) in enumerate(pairwise([0, *ends])):
                if start < end:
                    _send(sink, part, number, view[start:end], round_.is_text)
        elif round_.combines:
            results, last = combined(worker, round_, [*results, result]), number
        else:
            _send(sink, number, number, result)
        _end(sink)
    for result in results:
        _send(sink, last, last, result)
    _end(sink)


def _do_part(worker: Any, round_: Round, part: int, source: IO[bytes], sink: IO[bytes]) -> None:
    pieces = ((number, read_bytes(source)) for number in _numbers(source))
    for number, group in groupby(pieces, key=itemgetter(0)):
        parts = [piece for _, piece in group]
        block = parts[0] if len(parts) == 1 else b"".join(parts)
        worker.take((part, number), round_.shared, block)
    _send(sink, part, part, worker.part(part, round_.shared))
    _end(sink)


def _numbers(source: IO[bytes]) -> Iterator[int]:
    """Yield numbers until `END`, or the end of the stream."""
    while (number := read_int(source)) not in (None, END):
        assert number is not None
        yield number


def _send(sink: IO[bytes], key: int, number: int, data: Any, is_text: bool = False) -> None:
    view = memoryview(data)
    cuts = _cuts(view, is_text)
    for piece, (start, end) in enumerate(pairwise(cuts)):
        for value in (key, number, piece):
            write_int(sink, value)
        write_bytes(sink, view[start:end])


def _cuts(view: memoryview, is_text: bool) -> list[int]:
    """Return the bounds of pieces; pieces of text are complete lines, which are short."""
    if not is_text:
        return [*range(0, max(1, len(view)), PIECE_BYTES), len(view)]
    cuts = [0]
    while cuts[-1] < len(view):
        most = cuts[-1] + PIECE_BYTES
        line_end = bytes(view[cuts[-1] : most]).rfind(b"\n") + 1
        cuts.append(len(view) if most >= len(view) else cuts[-1] + line_end)
    return cuts


def _end(sink: IO[bytes]) -> None:
    write_int(sink, END)
    sink.flush()


def _exit_with_parent() -> None:
    """End this process when its parent has closed its standard input.

    It may compute for minutes before it reads again, and the result would have no reader.
    """
    hangup = select.poll()
    hangup.register(sys.stdin.fileno(), 0)

    def wait() -> None:
        hangup.poll()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _refuse(folder: Path, error: CuestaError) -> int:
    """Write the error for the leader, which does not retry; return the exit code."""
    attempt = folder / f"{REFUSED}.{os.getpid()}"
    attempt.write_text(json.dumps([type(error).__name__, str(error)]), encoding="utf-8")
    removal.put(attempt, folder / REFUSED)
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
