"""Complete commands as a user types them, verified, and what a user would run instead."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import limits, packages
from harness.model import THREADS, Answer, Case, Contestant, DifferentAnswer, Ratio, Sample
from harness.size import Size
from peers import assemblers, whole_process

CUESTA = "cuesta"
WORK = "cuesta's work"
VERIFICATION = "cuesta's verification"
PEER_SCRIPT = whole_process.__file__
COMMAND = Path(sys.executable).with_name("cuesta")
UNLIMITED_BYTES = assemblers.UNLIMITED_BYTES
TEXT_MOST, COMPUTED_MOST = 3.0, 1.0
"""Most time of the verification, by the time of the work: of a pass over text, of the rest."""


@dataclass(frozen=True, kw_only=True)
class Typed:
    """A command of ours and its limits.

    Attributes
    ----------
    name
        Name of the case.
    words
        After `cuesta run`, without threads and output.
    inputs
        Files it reads.
    answer
        Reads its answer folder.
    most
        Most time of the verification, by the time of the work.
    made_bytes
        Bytes of the computed data, where nothing is read.
    """

    name: str
    words: tuple[str, ...]
    inputs: tuple[Path, ...]
    answer: Callable[[Path], Answer] | None = None
    most: float = TEXT_MOST
    made_bytes: float = 0.0

    @property
    def amount(self) -> float:
        """Bytes of the inputs, or of the generated data."""
        return self.made_bytes or float(sum(path.stat().st_size for path in self.inputs))


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A program that a user would run instead, and the least ratio of ours to its speed."""

    name: str
    how: str
    work: Callable[[Path], Sample]
    at_least: float | None
    answer: Callable[[Path], Answer] | None = None
    absent: str | None = None
    repeats_max: int | None = None


@dataclass
class _Last:
    """The run record of the last repeat of our command."""

    record: dict[str, Any] = field(default_factory=dict)

    def work_seconds(self, _: Path) -> Sample:
        return Sample(seconds=float(self.record["wall_seconds"]))

    def verification_seconds(self, _: Path) -> Sample:
        return Sample(seconds=float(self.record["verification"]["seconds"]))


def against(size: Size, ours: Typed, *peers: Peer) -> Case:
    """A command and its peers; the parts of its time take part, from the same repeats."""
    last = _Last()
    present = [peer for peer in peers if not (peer.absent or size.left_out(peer.name))]
    parts = ((WORK, last.work_seconds), (VERIFICATION, last.verification_seconds))
    return Case(
        name=ours.name,
        contestants=(
            Contestant(
                name=CUESTA,
                how=f"cuesta run {_shown(ours)}: the whole process, verified",
                work=lambda folder: _typed(ours, folder, last),
                answer=_in_answer(ours.answer),
            ),
            *(Contestant(name=name, how="of its record", work=work) for name, work in parts),
            *(
                Contestant(
                    name=peer.name, how=peer.how, work=peer.work, answer=peer.answer,
                    repeats_max=peer.repeats_max,
                )
                for peer in present
            ),
        ),
        bars=(
            *(
                Ratio(ours=CUESTA, peer=peer.name, at_least=peer.at_least, text=_bar(peer))
                for peer in peers
            ),
            Ratio(
                ours=VERIFICATION, peer=WORK, at_least=1 / ours.most,
                text=f"verification takes at most {ours.most:g} times the work",
            ),
        ),
        amount=ours.amount,
        unit="B",
        inputs=ours.inputs,
        absent={peer.name: why for peer in peers
                if (why := peer.absent or size.left_out(peer.name))},
    )  # fmt: skip


def process(
    name: str,
    at_least: float | None,
    job: tuple[str | Path, ...],
    words: Sequence[object],
    answer: Callable[[Path], Answer] | None = None,
) -> Peer:
    """A job of `peers/whole_process.py`, in a Python that has its package."""
    suffix = str(job[0]).partition("_")[2]
    package = {"onedal": "sklearnex"}.get(suffix, suffix) or "duckdb"
    shown = " ".join(["whole_process.py", str(job[0]), *map(str, words)])
    python = packages.python_with(package)

    def work(folder: Path) -> Sample:
        command = [str(python), PEER_SCRIPT, *map(str, job), str(folder), *map(str, words)]
        return limits.run(command, UNLIMITED_BYTES)

    return Peer(
        name=name, how=f"python {shown}", work=work, at_least=at_least, answer=answer,
        absent=packages.missing(package),
    )  # fmt: skip


def _typed(ours: Typed, folder: Path, last: _Last) -> Sample:
    """Run the command into `folder/answer`. Errors: `DifferentAnswer` when it is not verified."""
    output = folder / "answer"
    words = [str(COMMAND), "run", *ours.words, "--threads", str(THREADS), "-o", str(output)]
    sample = limits.run(words, UNLIMITED_BYTES)
    last.record = record(output)
    if last.record["verified"] is not True:
        raise DifferentAnswer(f"{ours.name}: not verified")
    return sample


def _in_answer(answer: Callable[[Path], Answer] | None) -> Callable[[Path], Answer] | None:
    return None if answer is None else lambda folder: answer(folder / "answer")


def record(answer: Path) -> dict[str, Any]:
    """The run record of an answer folder."""
    fields: dict[str, Any] = json.loads((answer / "run.json").read_text())
    return fields


def recorded(answer: Path) -> Answer:
    """The digest that the verification found: others have no answer like it."""
    return Answer(digest=record(answer)["answer"]["digest"], rows=0)


def _bar(peer: Peer) -> str:
    if peer.at_least is None:
        return f"beside {peer.name}, shown"
    if peer.at_least < 1:
        return f"at most {1 / peer.at_least:g} times {peer.name}"
    return f"{peer.at_least:.3g}x {peer.name}, whole processes"


def _shown(ours: Typed) -> str:
    names = {str(path): path.name for path in ours.inputs}
    return " ".join(names.get(word, word) for word in ours.words)
