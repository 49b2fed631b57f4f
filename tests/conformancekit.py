"""Golden cases, inputs of random sizes, and an engine that runs tasks on threads at random."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from assemblykit import drawn, reads_of, write_fastq
from cuesta import _native
from cuesta.engines import Capabilities, Engine, rounds
from cuesta.engines.rounds import Job, Means, Round
from cuesta.trial import Outcome, Trial
from cuesta.workloads import get_workload
from labkit import ROOT

MEMORY_BYTES = 2 << 30
SPEC = ROOT / "spec"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A trial; `digest` of its answer where that is known."""

    workload: str
    name: str
    inputs: tuple[str, ...]
    parameters: Mapping[str, Any]
    seed: int = 0
    digest: str = ""
    native_only: bool = False

    def trial(self, engine: str, **options: str) -> Trial:
        """Return the trial of the case for an engine on two threads."""
        return Trial(
            workload=self.workload,
            engine=engine,
            inputs=self.inputs,
            parameters=get_workload(self.workload).check(dict(self.parameters)),
            threads=2,
            memory_bytes=MEMORY_BYTES,
            seed=self.seed,
            engine_options=options,
        )


def golden_cases() -> list[Case]:
    """Yield all cases of `spec/`."""
    return [_case(path) for path in sorted(SPEC.glob("workloads/*/cases/*.json"))]


def _case(path: Path) -> Case:
    fields = json.loads(path.read_text())
    return Case(
        workload=path.parent.parent.name,
        name=path.stem,
        inputs=tuple(str(SPEC / "cases" / name) for name in fields["inputs"]),
        parameters=fields["parameters"],
        seed=fields["seed"],
        digest=fields["digest"],
        native_only=fields.get("native_only", False),
    )


def random_case(workload: str, seed: int, folder: Path) -> Case:
    """Return a trial on an input of random size, made in `folder`."""
    chance = random.Random(f"{workload} {seed}")
    inputs, parameters = _MAKERS.get(workload, _pairs)(chance, folder, workload)
    return Case(
        workload=workload,
        name=f"random-{seed}",
        inputs=tuple(str(folder / name) for name in inputs),
        parameters=parameters,
        seed=seed,
    )


Made = tuple[list[str], dict[str, Any]]


def _make(folder: Path, name: str, kind: str, **fields: Any) -> None:
    _native.data_make(kind, json.dumps(fields | {"output": str(folder / name), "threads": 1}))


def _pairs(chance: random.Random, folder: Path, workload: str) -> Made:
    names = ["a.txt", "b.txt"] if workload == "join" else ["a.txt"]
    genes = chance.randrange(3, 60)
    for number, name in enumerate(names):
        most = genes * (genes - 1) // 2
        shape = {"genes": genes, "samples": chance.randrange(5, 40), "clusters": 3}
        shape |= {"pairs": chance.randrange(1, most + 1), "variant": number, "tree": False}
        _make(folder, name, "clusters", seed=chance.randrange(1 << 30), **shape)
    parameters: dict[str, Any] = {"min_abs_score": chance.choice([0.0, 0.5, 0.9])}
    if workload == "load":
        parameters = {}
    if workload == "join":
        parameters["how"] = chance.choice(["inner", "left", "outer"])
    if workload == "communities":
        parameters["method"] = chance.choice(["components", "label-propagation"])
    return names, parameters


def _matrix(chance: random.Random, folder: Path, _: str) -> Made:
    shape = {"genes": chance.randrange(2, 70), "samples": chance.randrange(12, 60)}
    shape |= {"modules": 3, "seed": chance.randrange(1 << 30)}
    _make(folder, "matrix.txt", "matrix", missing=chance.choice([0.0, 0.2]), **shape)
    method = chance.choice(["pearson", "spearman"])
    parameters = {"method": method, "min_abs_score": 0.1, "min_samples": 5}
    return ["matrix.txt"], parameters | {"format": chance.choice(["text", "pairs"])}


def _vectors(chance: random.Random, folder: Path, _: str) -> Made:
    parameters: dict[str, Any] = {"block_vectors": chance.randrange(1, 90), "shift": "1,2,-3.5"}
    way = chance.choice([("fused", "none"), ("separate", "memory"), ("separate", "disk")])
    parameters |= {"stages": way[0], "keep": way[1]}
    if chance.random() < 0.5:
        return [], parameters | {"blocks": chance.randrange(1, 12)}
    shape = (chance.randrange(1, 400), 3)
    np.save(folder / "a.npy", np.random.default_rng(chance.randrange(99)).normal(size=shape))
    return ["a.npy"], parameters


def _records(chance: random.Random, folder: Path, _: str) -> Made:
    random_bytes = np.random.default_rng(chance.randrange(1 << 30))
    records = random_bytes.integers(0, 4, (chance.randrange(0, 3000), 100), dtype=np.uint8)
    (folder / "a.dat").write_bytes(records.tobytes())
    return ["a.dat"], {}


def _points(chance: random.Random, folder: Path, _: str) -> Made:
    rows = chance.randrange(12, 2000)
    shape = {"rows": rows, "dimensions": chance.randrange(1, 9), "clusters": 4}
    _make(folder, "a.npy", "points", spread=1.0, seed=chance.randrange(1 << 30), **shape)
    init = chance.choice(["first", "kmeans++"])
    return ["a.npy"], {"clusters": chance.randrange(1, 12), "iterations": 4, "init": init}


def _images(chance: random.Random, folder: Path, _: str) -> Made:
    draw = np.random.default_rng(chance.randrange(1 << 30))
    shape = (chance.randrange(1, 9), chance.randrange(1, 40), chance.randrange(1, 40))
    np.save(folder / "a.npy", draw.integers(0, 200, shape, dtype=np.uint8))
    return ["a.npy"], {"min_pixels": chance.randrange(1, 4)}


def _reads(chance: random.Random, folder: Path, _: str) -> Made:
    genome = drawn(chance.randrange(400, 3000), chance.randrange(99))
    write_fastq(folder / "a.fq", reads_of(genome, 10, 0.003, chance.randrange(99)))
    sizes = chance.choice(["21", "31", "21,41"])
    chains = chance.choice(["auto", "buckets", "ranking"])
    return ["a.fq"], {"kmer_sizes": sizes, "chains": chains}


def _bytes(chance: random.Random, folder: Path, _: str) -> Made:
    for name in ("a.bin", "b.bin"):
        (folder / name).write_bytes(chance.randbytes(chance.randrange(0, 9000)))
    request_bytes, skip_bytes = chance.randrange(1, 2000), chance.choice([0, 700])
    return ["a.bin", "b.bin"], {"request_bytes": request_bytes, "skip_bytes": skip_bytes}


_MAKERS: dict[str, Callable[[random.Random, Path, str], Made]] = {
    "correlate": _matrix,
    "dataflow": _vectors,
    "sort": _records,
    "kmeans": _points,
    "images": _images,
    "assemble": _reads,
    "ioread": _bytes,
}


class RandomThreads(Engine):
    """Engine that runs tasks on threads in random order, some twice, some by workers that die
    midway.
    """

    name = "random threads"
    workloads = rounds.workloads()
    capabilities = Capabilities(reads_uris=True)

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._lock = threading.Lock()

    def missing(self) -> str | None:
        """Return None: it needs nothing."""
        return None

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        """Compute the answer of `trial`."""
        tasks = self._below(5) or None
        takes_text = self._below(2) == 1
        means = Means(slots=3, memory_bytes=trial.memory_bytes, tasks=tasks, text=takes_text)
        return rounds.run(trial, (output, scratch), means, self._round_outputs)

    def _below(self, end: int) -> int:
        with self._lock:
            return self._chance.randrange(end)

    def _round_outputs(self, job: Job, round_: Round) -> list[bytes]:
        done = self._all(partial(self._task, job, round_), len(round_.tasks))
        outputs = [output for output, _ in done]
        if round_.parts:
            sent = [blocks for _, blocks in done]
            outputs = self._all(partial(self._part, job, round_, sent), round_.parts)
        while round_.combines and len(outputs) > 1:
            left, right = (outputs.pop(self._below(len(outputs))) for _ in range(2))
            outputs.append(job.worker().combine(round_.shared, left, right))
        return outputs

    def _all(self, work: Callable[[int], Any], count: int) -> list[Any]:
        numbers = [number for number in range(count) for _ in range(1 + self._below(2))]
        self._chance.shuffle(numbers)
        with ThreadPoolExecutor(3) as pool:
            done = dict(zip(numbers, pool.map(work, numbers), strict=True))
        return [output for _, output in sorted(done.items())]

    def _task(self, job: Job, round_: Round, number: int) -> tuple[bytes, list[bytes]]:
        output, blocks, ends = job.worker().task(number, round_.shared, round_.tasks[number])
        data = bytes(blocks)
        pieces = [data[start:end] for start, end in pairwise([0, *ends])]
        return output, pieces + [b""] * (round_.parts - len(pieces))

    def _part(self, job: Job, round_: Round, sent: list[list[bytes]], part: int) -> bytes:
        for attempt in range(1 + self._below(2), -1, -1):
            worker = job.worker()
            order = list(range(len(sent)))
            with self._lock:
                self._chance.shuffle(order)
            # A worker that dies has not taken all of its tasks.
            for number in order[: len(order) // 2] if attempt else order:
                block = np.frombuffer(sent[number][part], np.uint8)
                worker.take((part, number), round_.shared, block)
        output: bytes = worker.part(part, round_.shared)
        return output
