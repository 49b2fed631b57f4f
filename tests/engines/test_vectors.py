"""Answers and verdicts are the same with whichever of the processor's vector instructions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cuesta.engines import get_engine
from cuesta.testing import digest_of, random_case
from cuesta.workloads import WORKLOAD_NAMES
from labkit import ROOT

SEEDS = 2


def digests(folder: Path) -> list[str]:
    """The digests of verified answers to questions of every workload."""
    native = get_engine("native")
    values = []
    for workload in WORKLOAD_NAMES:
        for seed in range(SEEDS):
            place = folder / f"{workload}-{seed}"
            place.mkdir(parents=True)
            values.append(digest_of(random_case(workload, seed, place), native, place / "run"))
    return values


@pytest.fixture(scope="module")
def widest(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Digests with all that the processor has."""
    return digests(tmp_path_factory.mktemp("widest"))


@pytest.mark.parametrize("level", ["portable", "avx2"])
def test_fewer_instructions_give_the_same_answers(
    level: str, widest: list[str], tmp_path: Path
) -> None:
    code = "import sys, pathlib; from test_vectors import digests; "
    code += "print(*digests(pathlib.Path(sys.argv[1])))"
    folders = ("python", "tests", "tests/engines")
    paths = os.pathsep.join(str(ROOT / folder) for folder in folders)
    settings = {**os.environ, "CUESTA_VECTORS": level, "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env=settings,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == widest
