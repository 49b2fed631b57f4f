"""`cuesta run assemble` as users start it: a command, two clocks, and comparison of answers."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import limits
from harness.answers import digest
from harness.model import THREADS, Answer, Contestant, Sample
from peers.assemblers import UNLIMITED_BYTES

CUESTA = "cuesta"
K = 31
UNITIGS = "unitigs.fa"
FILES = ("contigs.fa", UNITIGS, "graph.gfa", "spectrum.tsv", "stats.json")
"""Files of an answer that are the same bytes on any engine."""

_PLACES = bytes.maketrans(b"ACGT", b"TGCA")


@dataclass(frozen=True, kw_only=True)
class Command:
    """The command on these files.

    Attributes
    ----------
    files, options, threads
        Arguments of the command.
    limit_bytes
        Memory that the system lets it have.
    """

    files: tuple[Path, ...]
    options: tuple[str, ...] = ()
    threads: int = THREADS
    limit_bytes: int = UNLIMITED_BYTES

    @property
    def text(self) -> str:
        """As a line, without the files."""
        return " ".join(["cuesta run assemble", *self.options, "--threads", str(self.threads)])


@dataclass(frozen=True, kw_only=True)
class Done:
    """A command that has ended: seconds from its start to its end, and its run record."""

    seconds: float
    record: dict[str, Any]

    @property
    def phases(self) -> list[dict[str, Any]]:
        """The phases of the work: all but `start`."""
        return [phase for phase in self.record["phases"] if phase["name"] != "start"]


def run(command: Command, folder: Path) -> Done:
    """Run the command, its answer in `folder/answer`. Errors: `RuntimeError` with its output."""
    output = folder / "answer"
    words = [sys.executable, "-m", "cuesta", "run", "assemble", *map(str, command.files)]
    words += [*command.options, "--threads", str(command.threads), "-o", str(output)]
    ran = limits.run(words, command.limit_bytes)
    return Done(seconds=ran.seconds, record=json.loads((output / "run.json").read_text()))


def typed_command(
    command: Command, answer: Callable[[Path], Answer] | None = None, name: str = CUESTA
) -> Contestant:
    """Contestant of the complete process but for the verification, which others do not have."""

    def seconds(done: Done) -> float:
        return done.seconds - float(done.record["verification"]["seconds"])

    how = f"{command.text}, less its verification"
    return Contestant(name=name, how=how, work=_timed(command, seconds), answer=_read(answer))


def phases(command: Command, answer: Callable[[Path], Answer], name: str = CUESTA) -> Contestant:
    """Contestant of the work alone, to compare our engines without their start."""

    def seconds(done: Done) -> float:
        return sum(float(phase["seconds"]) for phase in done.phases)

    how = f"{command.text}, its phases but `start`"
    return Contestant(name=name, how=how, work=_timed(command, seconds), answer=_read(answer))


def _timed(command: Command, seconds: Callable[[Done], float]) -> Callable[[Path], Sample]:
    def work(folder: Path) -> Sample:
        done = run(command, folder)
        peak = done.record["peak_resident_bytes"]
        return Sample(seconds=seconds(done), peak_resident_bytes=peak)

    return work


def _read(answer: Callable[[Path], Answer] | None) -> Callable[[Path], Answer] | None:
    return None if answer is None else lambda folder: answer(folder / "answer")


def files(answer: Path) -> Answer:
    """Every byte of `FILES`."""
    sums = {name: hashlib.sha256((answer / name).read_bytes()).hexdigest() for name in FILES}
    combined = digest(f"{name} {text}".encode() for name, text in sums.items())
    return Answer(digest=combined.digest, rows=combined.rows, values=sums)


def same_files(answer: Answer, other: Answer) -> str | None:
    """The names of files that differ, or None."""
    names = [name for name in FILES if answer.values[name] != other.values[name]]
    return f"other bytes in {', '.join(names)}" if names else None


def unitigs(answer: Path) -> Answer:
    """The unitigs of an answer folder, as a set."""
    return unitig_set(answer / UNITIGS)


def unitig_set(path: Path) -> Answer:
    """The set of unitigs, each on the strand and, where circular, in the rotation that is least."""
    sequences = re.findall(rb"^[ACGT]+$", path.read_bytes(), flags=re.MULTILINE)
    return digest(form(sequence) for sequence in sequences)


def form(sequence: bytes) -> bytes:
    """A unitig on the strand and, where circular, in the rotation that is least."""
    turned = sequence.translate(_PLACES)[::-1]
    if len(sequence) > K - 1 and sequence[: K - 1] == sequence[1 - K :]:
        circles = [strand[: 1 - K] for strand in (sequence, turned)]
        return min(circle[at:] + circle[:at] for circle in circles for at in range(len(circle)))
    return min(sequence, turned)
