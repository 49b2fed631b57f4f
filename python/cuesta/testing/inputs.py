"""Inputs of random sizes, made of a seed, for all workloads."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cuesta.native import native_module, to_json
from cuesta.testing.cases import Case
from cuesta.testing.reads import drawn, reads_of, write_fastq


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


_Made = tuple[list[str], dict[str, Any]]


def _make(folder: Path, name: str, kind: str, **fields: Any) -> None:
    request = fields | {"output": str(folder / name), "threads": 1}
    native_module().data_make(kind, to_json(request))


def _pairs(chance: random.Random, folder: Path, workload: str) -> _Made:
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


def _matrix(chance: random.Random, folder: Path, _: str) -> _Made:
    shape = {"genes": chance.randrange(2, 70), "samples": chance.randrange(12, 60)}
    shape |= {"modules": 3, "seed": chance.randrange(1 << 30)}
    _make(folder, "matrix.txt", "matrix", missing=chance.choice([0.0, 0.2]), **shape)
    method = chance.choice(["pearson", "spearman", "bicor"])
    parameters = {"method": method, "min_abs_score": 0.1, "min_samples": 5}
    return ["matrix.txt"], parameters | {"format": chance.choice(["text", "pairs"])}


def _vectors(chance: random.Random, folder: Path, _: str) -> _Made:
    parameters: dict[str, Any] = {"block_vectors": chance.randrange(1, 90), "shift": "1,2,-3.5"}
    way = chance.choice([("fused", "none"), ("separate", "memory"), ("separate", "disk")])
    parameters |= {"stages": way[0], "keep": way[1]}
    if chance.random() < 0.5:
        return [], parameters | {"blocks": chance.randrange(1, 12)}
    shape = (chance.randrange(1, 400), 3)
    np.save(folder / "a.npy", np.random.default_rng(chance.randrange(99)).normal(size=shape))
    return ["a.npy"], parameters


def _records(chance: random.Random, folder: Path, _: str) -> _Made:
    random_bytes = np.random.default_rng(chance.randrange(1 << 30))
    records = random_bytes.integers(0, 4, (chance.randrange(0, 3000), 100), dtype=np.uint8)
    (folder / "a.dat").write_bytes(records.tobytes())
    return ["a.dat"], {}


def _points(chance: random.Random, folder: Path, _: str) -> _Made:
    rows = chance.randrange(12, 2000)
    shape = {"rows": rows, "dimensions": chance.randrange(1, 9), "clusters": 4}
    _make(folder, "a.npy", "points", spread=1.0, seed=chance.randrange(1 << 30), **shape)
    init = chance.choice(["first", "kmeans++"])
    return ["a.npy"], {"clusters": chance.randrange(1, 12), "iterations": 4, "init": init}


def _images(chance: random.Random, folder: Path, _: str) -> _Made:
    draw = np.random.default_rng(chance.randrange(1 << 30))
    shape = (chance.randrange(1, 9), chance.randrange(1, 40), chance.randrange(1, 40))
    np.save(folder / "a.npy", draw.integers(0, 200, shape, dtype=np.uint8))
    return ["a.npy"], {"min_pixels": chance.randrange(1, 4)}


def _reads(chance: random.Random, folder: Path, _: str) -> _Made:
    genome = drawn(chance.randrange(400, 3000), chance.randrange(99))
    write_fastq(folder / "a.fq", reads_of(genome, 10, 0.003, chance.randrange(99)))
    sizes = chance.choice(["21", "31", "21,41"])
    chains = chance.choice(["auto", "buckets", "ranking"])
    return ["a.fq"], {"kmer_sizes": sizes, "chains": chains}


def _bytes(chance: random.Random, folder: Path, _: str) -> _Made:
    for name in ("a.bin", "b.bin"):
        (folder / name).write_bytes(chance.randbytes(chance.randrange(0, 9000)))
    request_bytes, skip_bytes = chance.randrange(1, 2000), chance.choice([0, 700])
    return ["a.bin", "b.bin"], {"request_bytes": request_bytes, "skip_bytes": skip_bytes}


def _expression(chance: random.Random, folder: Path, workload: str) -> _Made:
    shape = {"genes": chance.randrange(8, 70), "samples": chance.randrange(12, 60)}
    shape |= {"modules": 3, "seed": chance.randrange(1 << 30)}
    _make(folder, "matrix.txt", "matrix", missing=chance.choice([0.0, 0.1]), **shape)
    network = chance.choice(["unsigned", "signed", "signed-hybrid"])
    parameters: dict[str, Any] = {"method": chance.choice(["pearson", "bicor"]), "network": network}
    if workload == "modules":
        parameters["min_module_size"] = chance.randrange(2, 12)
    return ["matrix.txt"], parameters


_MAKERS: dict[str, Callable[[random.Random, Path, str], _Made]] = {
    "correlate": _matrix,
    "modules": _expression,
    "threshold": _expression,
    "dataflow": _vectors,
    "sort": _records,
    "kmeans": _points,
    "images": _images,
    "assemble": _reads,
    "ioread": _bytes,
}
