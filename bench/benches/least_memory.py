"""Every workload at the smallest `--memory` at which its work succeeds: verified, and inside it.

The smallest limit is searched for with the work alone, which knows nothing of the verification.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benches.as_typed import ONE_LINE
from benches.typed import COMMAND, UNLIMITED_BYTES
from harness import limits, reads
from harness.data import (
    Matrix,
    Pairs,
    Points,
    images_stack,
    matrix_text,
    pairs_text,
    points_array,
    tera_records,
)
from harness.model import THREADS, Answer, Case, Contestant, DifferentAnswer, MemoryLimit, Sample
from harness.size import Size

LEAST_BYTES = 16 << 20
"""The command line takes no smaller limit."""
MOST_BYTES = 2 << 30
STEP = 1.1
"""Two limits nearer than this are one."""
TRIES = 4


@dataclass(frozen=True, kw_only=True)
class Work:
    """A workload with its arguments."""

    workload: str
    inputs: tuple[Path, ...]
    options: tuple[str, ...]

    @property
    def name(self) -> str:
        """As a line."""
        return " ".join([self.workload, *self.options])


def cases(size: Size) -> Iterator[Case]:
    """A case for each workload."""
    base_bytes = interpreter_bytes(size)
    for work in works(size):
        yield case(size, work, base_bytes)


def works(size: Size) -> Iterator[Work]:
    """Inputs of about 100 MB, so that many limits can be tried."""
    genes = size.pick(200, 640)
    one, other = (pairs_text(size.folder, Pairs(genes=genes, variant=index)) for index in (0, 1))
    score = ("--min-abs-score", "0.5")
    yield _work("scan", (one,), *score)
    yield _work("join", (one, other), *score)
    yield _work("degrees", (one,), *score)
    for method in ("components", "label-propagation", "louvain"):
        yield _work("communities", (one,), *score, "--method", method)
    yield _work("load", (one,))
    matrix = matrix_text(size.folder, Matrix(genes=size.pick(100, 3000), samples=100))
    yield _work("correlate", (matrix,), "--min-abs-score", "0.8")
    yield _work("sort", (tera_records(size.folder, size.pick(50_000, 1_000_000)),))
    points = points_array(size.folder, Points(rows=size.pick(20_000, 1_000_000)))
    yield _work("kmeans", (points,), "--clusters", "10", "--iterations", "3")
    blocks, vectors = size.pick(4, 32), size.pick(1 << 12, 1 << 18)
    yield _work("dataflow", (), "--blocks", str(blocks), "--block-vectors", str(vectors))
    yield _work("images", (images_stack(size.folder, size.pick(4, 64)),))
    yield _work("assemble", reads.read_pairs(size.folder, smoke=size.smoke).files, "-k", "31")


def _work(workload: str, inputs: tuple[Path, ...], *options: str) -> Work:
    return Work(workload=workload, inputs=inputs, options=options)


def case(size: Size, work: Work, base_bytes: int) -> Case:
    """The whole command at its smallest limit, in a control group."""
    limit_bytes = least(size, work)
    within_bytes = limit_bytes + base_bytes
    limit = f"--memory {limit_bytes >> 20}MiB"

    def run(folder: Path) -> Sample:
        words = words_of(work, limit_bytes, folder / "answer")
        return limits.run(words, within_bytes, data_segment=False)

    return Case(
        name=f"{work.name}, {limit}",
        contestants=(
            Contestant(
                name="cuesta",
                how=f"cuesta run {work.name} {limit}: the whole process, verified",
                work=run,
                answer=lambda folder: _verified(folder / "answer"),
            ),
        ),
        bars=(
            MemoryLimit(
                ours="cuesta",
                below_bytes=within_bytes + 1,
                text=f"within {limit} and {base_bytes >> 20} MiB of Python",
            ),
        ),
        amount=float(sum(path.stat().st_size for path in work.inputs) or 1),
        unit="B",
        inputs=work.inputs,
        repeats_max=2,
    )


def least(size: Size, work: Work) -> int:
    """The smallest whole number of MiB at which the work alone succeeds, to within `STEP`."""
    low, high = LEAST_BYTES, LEAST_BYTES
    while not succeeds(size, work, high):
        low, high = high, 2 * high
        if high > MOST_BYTES:
            raise RuntimeError(f"{work.name}: fails within {MOST_BYTES >> 30} GiB")
    while high / low > STEP:
        middle = int((low * high) ** 0.5) >> 20 << 20
        if middle in (low, high):
            break
        low, high = (low, middle) if succeeds(size, work, middle) else (middle, high)
    return high


def succeeds(size: Size, work: Work, limit_bytes: int) -> bool:
    """Whether the work succeeds every time: threads may want their most at once, or not."""
    tries = size.pick(2, TRIES)
    return all(succeeds_once(size, work, limit_bytes) for _ in range(tries))


def succeeds_once(size: Size, work: Work, limit_bytes: int) -> bool:
    """Whether the command reaches its verification, whatever the result of that."""
    with tempfile.TemporaryDirectory(dir=size.folder) as folder:
        done = subprocess.run(
            words_of(work, limit_bytes, Path(folder) / "answer"),
            check=False,
            capture_output=True,
            text=True,
            env=os.environ | {"NO_COLOR": "1"},
        )
    if done.returncode and "--memory" not in done.stderr:
        raise RuntimeError(f"{work.name}: {done.stderr.strip()}")
    return "\nverifying" in done.stderr


def words_of(work: Work, limit_bytes: int, output: Path) -> list[str]:
    """The command."""
    words = [str(COMMAND), "run", work.workload, *map(str, work.inputs), *work.options]
    return [*words, "--threads", str(THREADS), "--memory", str(limit_bytes), "-o", str(output)]


def interpreter_bytes(size: Size) -> int:
    """Peak of the command on one line: Python, its modules and ours."""
    path = size.folder / "one-line.txt"
    path.write_text(ONE_LINE)
    output = size.folder / "least-start"
    words = [str(COMMAND), "run", "scan", str(path), "-o", str(output), "--overwrite"]
    sample = limits.run(words, UNLIMITED_BYTES)
    subprocess.run(["rm", "-rf", str(output)], check=True)
    return sample.peak_resident_bytes or 0


def _verified(answer: Path) -> Answer:
    record = json.loads((answer / "run.json").read_text())
    if record["verified"] is not True:
        raise DifferentAnswer(f"{answer}: not verified")
    return Answer(digest=record["answer"]["digest"], rows=0)
