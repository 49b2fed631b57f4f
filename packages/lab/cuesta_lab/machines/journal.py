"""Journal of changes of the machine, which are undone at the end, or by the next process.

A step is written down before it is done. A journal is named after its process and the start time of
that process. The journal of a process that has exited is undone by the next process that sweeps.
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
"""Folder in memory: a restart of the machine undoes the steps and loses the journals alike."""

LEFT = "has left"
"""Words in the sentence about a step that could not be undone."""

_NAME = re.compile(r"(\d+)-(\d+)\.jsonl")

Step = Mapping[str, str]
Undo = Callable[[Step], None]


class Journal:
    """Steps of this process, undone in reverse by the functions of `undo`, by kind of step."""

    def __init__(self, undo: Mapping[str, Undo], folder: Path = FOLDER) -> None:
        self._undo = undo
        self._folder = folder
        identity = processes.identity(os.getpid())
        self._path = folder / f"{identity.replace(':', '-')}.jsonl"

    def note(self, kind: str, **facts: str) -> None:
        """Write down a step before it is done; `kind` selects how it is undone."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as out:
            out.write(f"{json.dumps({'kind': kind, **facts})}\n")

    def undo(self) -> None:
        """Undo all steps, the last one first.

        Errors: `EngineError` if a step fails; `sweep` tries it again.
        """
        failures = list(_undo_all(self._path, self._undo))
        if failures:
            raise EngineError(
                f"the machine was not put back: {'; '.join(failures)}; `cuesta study run` will "
                "try again"
            )

    def sweep(self) -> Iterator[str]:
        """Undo the journals of exited processes; yield a sentence about each."""
        for path, pid in self._foreign_journals():
            if not lives(path):
                failures = list(_undo_all(path, self._undo))
                if failures:
                    yield f"process {pid} was killed and {LEFT} {'; '.join(failures)}"
                else:
                    yield f"put back what process {pid}, now killed, had changed of the machine"

    def holders(self, kind: str) -> list[int]:
        """List the living processes with a step of `kind`."""
        return [
            pid
            for path, pid in self._foreign_journals()
            if lives(path) and any(step["kind"] == kind for step in _steps(path))
        ]

    def _foreign_journals(self) -> list[tuple[Path, int]]:
        if not self._folder.is_dir():
            return []
        named = [(path, _NAME.fullmatch(path.name)) for path in sorted(self._folder.iterdir())]
        return [(path, int(match[1])) for path, match in named if match and path != self._path]


def lives(journal: Path) -> bool:
    """Whether the process of a journal still runs."""
    match = _NAME.fullmatch(journal.name)
    return match is not None and processes.lives(f"{match[1]}:{match[2]}")


def _steps(path: Path) -> list[Step]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]  # A torn line was never done.
    except OSError:
        return []
    return [json.loads(line) for line in lines]


def _undo_all(path: Path, undo: Mapping[str, Undo]) -> Iterator[str]:
    """Undo all steps and remove the journal; yield descriptions of steps that failed."""
    failures = []
    for step in reversed(_steps(path)):
        try:
            undo[step["kind"]](step)
        except (OSError, CuestaError, KeyError) as error:
            failures.append(f"{' '.join(step.values())} ({error})")
    if not failures:
        path.unlink(missing_ok=True)
    yield from failures
