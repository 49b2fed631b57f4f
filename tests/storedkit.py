"""A store over the inputs of the golden cases, and runs that read it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cuesta import testing
from cuesta.engines import get_engine
from cuesta.testing import Case
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
    """Return the digest of the verified answer of an engine, which is closed after it."""
    engine = get_engine(name)
    if reason := engine.missing():
        pytest.skip(reason)
    try:
        return testing.digest_of(case, engine, folder, **options)
    finally:
        engine.close()


def in_store(case: Case) -> Case:
    """Return the case with its inputs in the store."""
    names = tuple(f"cuesta:///{Path(path).name}" for path in case.inputs)
    return replace(case, inputs=names)
