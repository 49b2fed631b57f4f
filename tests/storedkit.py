"""A store over the inputs of the golden cases, and runs that read it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformancekit import Case
from cuesta import _native
from cuesta.engines import get_engine
from cuesta.native import to_request
from labkit import ROOT
from storekit import RunningStore, running_store

BLOCK_BYTES = 1000


@pytest.fixture(scope="module")
def under(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the inputs of the golden cases, and of some of random size."""
    folder = tmp_path_factory.mktemp("under")
    for path in (ROOT / "spec/cases").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.fixture(scope="module")
def stored(under: Path) -> Iterator[RunningStore]:
    """Store with room for some of their blocks."""
    time.sleep(0.12)
    with running_store(under, memory_bytes=300 * BLOCK_BYTES, block_bytes=BLOCK_BYTES) as store:
        before = os.environ.get("CUESTA_STORE")
        os.environ["CUESTA_STORE"] = str(store.folder)
        yield store
        if before is None:
            del os.environ["CUESTA_STORE"]
        else:
            os.environ["CUESTA_STORE"] = before


def digest_of(case: Case, name: str, folder: Path, **options: str) -> str:
    """Return the digest of the verified answer of an engine."""
    engine: Any = get_engine(name)
    if reason := engine.missing():
        pytest.skip(reason)
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
    """Return the case with its inputs in the store."""
    names = tuple(f"cuesta:///{Path(path).name}" for path in case.inputs)
    return replace(case, inputs=names)
