"""What was changed of the machine, so that it is undone: at the end, or by whoever comes next.

A step is written down before it is done. A journal is named after the process that keeps it and
when that one was started; one whose process no longer lives is undone by the next that looks.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from cuesta import processes
from cuesta.errors import CuestaError, EngineError

FOLDER = Path("/run/cuesta/machines")
"""In memory, as what the journals tell of is gone too when the machine is started again."""

LEFT = "has left"
"""In the sentence about what could not be undone."""

_NAME = re.compile(r"(\d+)-(\d+)\.jsonl")

Step = Mapping[str, str]
Undo = Callable[[Step], None]


class Journal:
    """The steps of this process, undone in reverse; `undo` says how, by kind of step."""

    def __init__(self, undo: Mapping[str, Undo], folder: Path = FOLDER) -> None:
        self._undo = undo
        self._folder = folder
        own = processes.identity(os.getpid())
        self._path = folder / f"{own.replace(':', '-')}.jsonl"

    def note(self, kind: str, **facts: str) -> None:
        """Write down a step that comes now; `kind` says how it is undone."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as out:
            out.write(f"{json.dumps({'kind': kind, **facts})}\n")

    def undo(self) -> None:
        """Undo every step, the last one first.

        Errors: `EngineError` where something is left; it is tried again by `sweep`.
        """
        left = list(_undo_all(self._path, self._undo))
        if left:
            raise EngineError(f"the machine was not put back: {'; '.join(left)}")

    def sweep(self) -> Iterator[str]:
        """Undo what processes have left that no longer live; yields a sentence about each."""
        for path, pid in self._others():
            if not lives(path):
                left = list(_undo_all(path, self._undo))
                if left:
                    yield f"process {pid} was killed and {LEFT} {'; '.join(left)}"
                else:
                    yield f"put back what process {pid}, now killed, had changed of the machine"

    def holders(self, kind: str) -> list[int]:
        """Living processes that have done a step of `kind`."""
        return [
            pid
            for path, pid in self._others()
            if lives(path) and any(step["kind"] == kind for step in _steps(path))
        ]

    def _others(self) -> list[tuple[Path, int]]:
        if not self._folder.is_dir():
            return []
        named = [(path, _NAME.fullmatch(path.name)) for path in sorted(self._folder.iterdir())]
        return [(path, int(match[1])) for path, match in named if match and path != self._path]


def lives(journal: Path) -> bool:
    """Whether the process that keeps a journal still runs."""
    match = _NAME.fullmatch(journal.name)
    return match is not None and processes.lives(f"{match[1]}:{match[2]}")


def _steps(path: Path) -> list[Step]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]  # A torn line was never done.
    except OSError:
        return []
    return [json.loads(line) for line in lines]


def _undo_all(path: Path, undo: Mapping[str, Undo]) -> Iterator[str]:
    """What could not be undone, in words; where all was, the journal is removed."""
    left = []
    for step in reversed(_steps(path)):
        try:
            undo[step["kind"]](step)
        except (OSError, CuestaError, KeyError) as error:
            left.append(f"{' '.join(step.values())} ({error})")
    if not left:
        path.unlink(missing_ok=True)
    yield from left
