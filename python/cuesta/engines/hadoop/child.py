"""What a task of Hadoop starts: `python -m cuesta.engines.hadoop.child FOLDER tasks|part NUMBER`.

`FOLDER` has the round. One for `tasks` reads their numbers; one for a `part` reads the blocks that
are for it in pieces, each with the number of the task that sent it, or pieces of text that are
numbered. Both write what is sent to parts, and what was found, in pieces too: the number of the
part or task that it is for, that of who sends it, that of the piece, and its bytes. `END` is the
end of what is read, and of what is written for each number that is read; last comes the processor
time in milliseconds. When whoever started it is gone, it ends.
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
"""So much of a block is one value of Hadoop's, whose tasks have small heaps."""


def main() -> int:
    """Do what the command line says."""
    _end_with_the_other_side()
    folder, role = Path(sys.argv[1]), sys.argv[2]
    asked, told = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Whatever a library prints goes to the log of the task.
    os.dup2(2, 1)
    try:
        job, round_ = pickle.loads((folder / ROUND).read_bytes())
        worker = job.worker()
        if role == "tasks":
            _do_tasks(worker, round_, asked, told)
        else:
            _do_part(worker, round_, int(sys.argv[3]), asked, told)
        write_int(told, round(1000 * sum(os.times()[:4])))
        told.close()
    except (InputError, Defect) as error:
        return _refuse(folder, error)
    except BaseException as error:
        if not is_defect(error):
            raise
        return _refuse(folder, Defect.of(error))
    return 0


def _do_tasks(worker: Any, round_: Round, asked: IO[bytes], told: IO[bytes]) -> None:
    kept: list[bytes] = []
    last = 0
    for number in _numbers(asked):
        found, blocks, ends = worker.task(number, round_.shared, round_.tasks[number])
        if round_.parts:
            view = memoryview(blocks)
            for part, (start, end) in enumerate(pairwise([0, *ends])):
                if start < end:
                    _tell(told, part, number, view[start:end], round_.is_text)
        elif round_.combines:
            kept, last = combined(worker, round_, [*kept, found]), number
        else:
            _tell(told, number, number, found)
        _end(told)
    for found in kept:
        _tell(told, last, last, found)
    _end(told)


def _do_part(worker: Any, round_: Round, part: int, asked: IO[bytes], told: IO[bytes]) -> None:
    pieces = ((number, read_bytes(asked)) for number in _numbers(asked))
    for number, some in groupby(pieces, key=itemgetter(0)):
        found = [piece for _, piece in some]
        block = found[0] if len(found) == 1 else b"".join(found)
        worker.take((part, number), round_.shared, block)
    _tell(told, part, part, worker.part(part, round_.shared))
    _end(told)


def _numbers(asked: IO[bytes]) -> Iterator[int]:
    """Those until the end, whoever asked ending too."""
    while (number := read_int(asked)) not in (None, END):
        assert number is not None
        yield number


def _tell(told: IO[bytes], key: int, number: int, data: Any, is_text: bool = False) -> None:
    view = memoryview(data)
    cuts = _cuts(view, is_text)
    for piece, (start, end) in enumerate(pairwise(cuts)):
        for one in (key, number, piece):
            write_int(told, one)
        write_bytes(told, view[start:end])


def _cuts(view: memoryview, is_text: bool) -> list[int]:
    """Where pieces begin and end; those of text are whole lines, which are short."""
    if not is_text:
        return [*range(0, max(1, len(view)), PIECE_BYTES), len(view)]
    found = [0]
    while found[-1] < len(view):
        most = found[-1] + PIECE_BYTES
        line_end = bytes(view[found[-1] : most]).rfind(b"\n") + 1
        found.append(len(view) if most >= len(view) else found[-1] + line_end)
    return found


def _end(told: IO[bytes]) -> None:
    write_int(told, END)
    told.flush()


def _end_with_the_other_side() -> None:
    """End this process when nobody can write to its standard input any more.

    It may compute for minutes before it reads again, and nobody wants that then.
    """
    gone = select.poll()
    gone.register(sys.stdin.fileno(), 0)

    def wait() -> None:
        gone.poll()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _refuse(folder: Path, error: CuestaError) -> int:
    """Leave word for the leader, which tries no other time; the exit code."""
    attempt = folder / f"{REFUSED}.{os.getpid()}"
    attempt.write_text(json.dumps([type(error).__name__, str(error)]), encoding="utf-8")
    removal.put(attempt, folder / REFUSED)
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
