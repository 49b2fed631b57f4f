"""Runs of a program, each in a place of its own, with its verdict so far."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cuesta.lab import inputs
from cuesta.lab.child import run_in_child
from cuesta.programs import tree, verdicts
from cuesta.programs.commands import Program, Values, environment, words_of
from cuesta.programs.output import LIMIT_BYTES
from cuesta.programs.verdicts import Case

PRINTED_MAX_BYTES = 64 << 30
"""Most bytes of an answer that a program prints."""
ENTRIES_MAX = 10_000
"""Most entries of the caller's folder that are looked at for changes."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Folders of a run: of the program, of its temporary files, and of its output."""

    folder: Path
    temporary: Path
    output: Path

    def answer(self, step: Step) -> Path:
        """The answer that a step writes or prints."""
        return (self.output if step.is_printed else self.folder) / step.answer


@dataclass(frozen=True, kw_only=True)
class Step:
    """A program with the values and the limits of a run.

    Attributes
    ----------
    answer
        Path of the answer in the folder of the run, or in that of its output.
    is_printed
        Whether the program prints its answer.
    cache
        State of the page cache before the run, a `CACHE_` constant of `cuesta.lab.inputs`.
    """

    program: Program
    values: Values
    answer: str
    is_printed: bool
    cores: tuple[int, ...]
    time_limit_seconds: float
    cache: str = inputs.CACHE_AS_IS


def make_place(root: Path, answer: str) -> Place:
    """Make the folders of a run below `root`, also that of its answer."""
    place = Place(folder=root / "run", temporary=root / "temporary", output=root / "output")
    for path in (place.folder, place.temporary, place.output):
        path.mkdir(parents=True)
    (place.folder / answer).parent.mkdir(parents=True, exist_ok=True)
    return place


def run(step: Step, case: Case, place: Place) -> bool:
    """Run a step and add it to its case; return whether there may be an answer."""
    values = step.values
    words = words_of(step.program, values, step.answer)
    case.words, case.resolved = words.words, words.resolved
    request = tree.Request(
        words=words.words,
        folder=place.folder,
        output=place.output,
        environment={**environment(values), "TMPDIR": str(place.temporary)},
        cores=step.cores,
        memory_bytes=values.memory_bytes,
        time_limit_seconds=step.time_limit_seconds,
        stdout_limit_bytes=PRINTED_MAX_BYTES if step.is_printed else LIMIT_BYTES,
    )
    _drop_cached(step)
    before = _entries(values.here)
    ended = _run_in_child(request, place.temporary.with_name("ended"))
    case.runs.append(ended)
    for name in _changes(before, _entries(values.here)):
        case.remarks[f"{name}, in the folder where you are, changed while it ran"] = None
    verdicts.remark(case, ended)
    return verdicts.judge_end(case, ended, step.time_limit_seconds, values.memory_bytes)


def _drop_cached(step: Step) -> None:
    paths = [path for path in (step.values.input, *step.values.further_inputs) if path]
    if paths and step.cache == inputs.CACHE_INPUT_DROPPED:
        inputs.drop_cached(paths, step.cache)
    elif step.cache == inputs.CACHE_MACHINE_DROPPED:
        inputs.drop_cached([], step.cache)


def _run_in_child(request: tree.Request, file: Path) -> tree.Ended:
    """Run a program below a process of its own, which ends with all that the program started."""

    def work() -> None:
        file.write_bytes(pickle.dumps(tree.run(request)))

    run_in_child(f"program {request.words[0]}", work)
    ended: tree.Ended = pickle.loads(file.read_bytes())
    file.unlink()
    return ended


def _entries(folder: Path) -> dict[str, tuple[int, int]]:
    """Sizes and times of the files in a folder, and the names of folders in it."""
    entries: dict[str, tuple[int, int]] = {}
    with contextlib.suppress(OSError), os.scandir(folder) as scan:
        for entry in scan:
            with contextlib.suppress(OSError):
                facts = entry.stat(follow_symlinks=False)
                is_folder = entry.is_dir(follow_symlinks=False)
                entries[entry.name] = (0, 0) if is_folder else (facts.st_size, facts.st_mtime_ns)
            if len(entries) >= ENTRIES_MAX:
                break
    return entries


def _changes(
    before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]]
) -> list[str]:
    """Names of files that are new, removed or changed."""
    names = sorted(before.keys() | after.keys())
    return [name for name in names if before.get(name) != after.get(name)][:10]
