"""Runs whose inputs are in the store find what they find in the files themselves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuesta.cli.app import call
from cuesta.engines import ENGINE_NAMES, ReadsUris, get_engine
from conformancekit import Case, golden_cases, random_case
from cuesta import _native
from cuesta.native import to_request
from labkit import ROOT, record_of
from storekit import RunningStore, noise, running_store

BLOCK_BYTES = 1000
CASES = golden_cases()


@pytest.fixture(scope="module")
def under(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The inputs of the golden cases, and some of random size."""
    folder = tmp_path_factory.mktemp("under")
    for path in (ROOT / "spec/cases").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.fixture(scope="module")
def stored(under: Path) -> Iterator[RunningStore]:
    """A store that has room for some of their blocks."""
    time.sleep(0.12)
    with running_store(under, memory_bytes=300 * BLOCK_BYTES, block_bytes=BLOCK_BYTES) as one:
        before = os.environ.get("CUESTA_STORE")
        os.environ["CUESTA_STORE"] = str(one.folder)
        yield one
        if before is None:
            del os.environ["CUESTA_STORE"]
        else:
            os.environ["CUESTA_STORE"] = before


def digest_of(case: Case, name: str, folder: Path, **options: str) -> str:
    """The digest of the verified answer that an engine gives."""
    engine: Any = get_engine(name)
    if lacking := engine.missing():
        pytest.skip(lacking)
    output, scratch = folder / "answer", folder / "scratch"
    for place in (output, scratch):
        place.mkdir(parents=True)
    trial = case.trial(name, **options)
    try:
        engine.run(trial, output, scratch)
    finally:
        if hasattr(engine, "close"):
            engine.close()
    verdict = json.loads(_native.verify(case.workload, to_request(trial, output, scratch)))
    assert verdict["verified"], verdict["remark"]
    digest: str = verdict["digest"]
    return digest


def in_store(case: Case) -> Case:
    """The case with its inputs in the store."""
    names = tuple(f"cuesta:///{Path(path).name}" for path in case.inputs)
    return replace(case, inputs=names)


def ids(case: Case) -> str:
    return f"{case.workload}-{case.name}"


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_every_workload_reads_the_store(case: Case, stored: RunningStore, tmp_path: Path) -> None:
    before = stored.status()
    assert digest_of(in_store(case), "native", tmp_path) == case.digest
    now = stored.status()
    asked = now["hits"] + now["misses"] - before["hits"] - before["misses"]
    assert asked > 0 or not case.inputs


@pytest.mark.parametrize("name", ["mpi", "dask", "spark"])
@pytest.mark.parametrize("workload", ["scan", "kmeans"])
def test_tasks_in_other_processes_read_the_store(
    name: str, workload: str, stored: RunningStore, tmp_path: Path
) -> None:
    case = next(one for one in CASES if one.workload == workload and not one.native_only)
    options = {"mpi": {"ranks": "2"}, "dask": {"tasks": "3"}, "spark": {"partitions": "2"}}
    before = stored.status()
    assert digest_of(in_store(case), name, tmp_path, **options[name]) == case.digest
    now = stored.status()
    assert now["hits"] + now["misses"] > before["hits"] + before["misses"]
