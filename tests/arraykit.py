"""Small gene-pair texts, and two engines on them, for the tests of the array engine."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuesta.engines import Engine, get_engine
from cuesta.engines.array.sizes import Sizes
from cuesta.lab.verify import verify
from cuesta.trial import Outcome, Trial
from cuesta.workloads import get_workload

TINY = Sizes(split=3000, batch=6000, tile=300, query=1 << 20, wide=2000, narrow=200)
"""Limits so small that a few rows need many splits, batches, fragments, tiles and incomplete
queries.
"""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of KINC version-1 text."""

    gene1: int
    gene2: int
    cluster: int = 1
    score: str = "0.500000"
    cluster_samples: int = 5
    missing: int = 1
    mask: str = "11910711"

    def __str__(self) -> str:
        numbers = (self.gene1, self.gene2, self.cluster, 2, self.cluster_samples, self.missing)
        return "\t".join(map(str, (*numbers, 0, 1, 0, self.score, self.mask)))


def write(path: Path, rows: list[Row], end: str = "\n") -> str:
    """Write rows to a file; return its path."""
    path.write_text("".join(f"{row}{end}" for row in rows), newline="")
    return str(path)


def random_rows(seed: int, count: int = 300, genes: int = 40) -> list[Row]:
    """Return rows in no order, some with a missing score, without duplicates."""
    draw = random.Random(seed)
    keys = [(x, y, c) for x in range(2, genes) for y in range(1, x) for c in (1, 2)]
    return [
        Row(
            gene1=gene1,
            gene2=gene2,
            cluster=cluster,
            score=draw.choice([f"{draw.uniform(-1, 1):.6f}", "0.8", "-0.800000", "nan", "1"]),
            cluster_samples=draw.randrange(9),
            missing=draw.randrange(4),
            mask="".join(draw.choices("016789", k=8)),
        )
        for gene1, gene2, cluster in draw.sample(keys, count)
    ]


def trial(workload: str, inputs: list[str], parameters: dict[str, Any], **changes: Any) -> Trial:
    """Return a trial on two threads."""
    defaults: dict[str, Any] = {
        "workload": workload,
        "engine": "array",
        "inputs": tuple(inputs),
        "parameters": get_workload(workload).check(parameters),
        "threads": 2,
        "memory_bytes": 64 << 20,
    }
    return Trial(**(defaults | changes))


def run(job: Trial, folder: Path, engine: Engine | None = None) -> Outcome:
    """Run into `folder/NAME`, verify, and check that nothing is left in scratch."""
    runner = engine or get_engine(job.engine)
    output, scratch = folder / runner.name, folder / "scratch"
    output.mkdir(parents=True)
    scratch.mkdir(exist_ok=True)
    outcome = runner.run(job, output, scratch)
    assert not any(scratch.iterdir())
    verification = verify(job, output, scratch)
    assert verification.verified, verification
    return outcome


def both(workload: str, inputs: list[str], parameters: dict[str, Any], folder: Path) -> Outcome:
    """Run on both engines and compare all files; return the outcome of the array engine."""
    job = trial(workload, inputs, parameters)
    outcome = run(job, folder)
    run(job, folder, get_engine("native"))
    for file in (folder / "native").iterdir():
        expected = file.read_bytes()
        actual = (folder / "array" / file.name).read_bytes()
        if workload == "scan":
            expected, actual = sorted_text(expected), actual
        assert actual == expected, file.name
    return outcome


def sorted_text(text: bytes) -> bytes:
    """Return KINC text in the order of the coordinates, scores with six decimals."""
    rows = [line.split(b"\t") for line in text.splitlines()]
    rows.sort(key=lambda row: tuple(map(int, row[:3])))
    for row in rows:
        scores = row[9].split(b",")
        row[9] = b",".join(b"nan" if s == b"nan" else b"%.6f" % float(s) for s in scores)
    return b"".join(b"\t".join(row) + b"\n" for row in rows)
