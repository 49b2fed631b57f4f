"""A real Slurm for all tests of a file, of two nodes on this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import testbed_slurm
from testbed_service import TestbedError
from testbed_slurm import SlurmBed


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmBed]:
    """Slurm that runs until the last test; skips where its packages are not available."""
    folder = tmp_path_factory.mktemp("testbed") / "slurm"
    try:
        bed = testbed_slurm.up(folder)
    except TestbedError as error:
        pytest.skip(str(error))
    yield bed
    testbed_slurm.down(folder)


def revive(bed: SlurmBed, name: str) -> None:
    """Start the daemon of a killed node, and wait until Slurm uses the node again."""
    bed.start_node(name)
    testbed_slurm.wait_until_idle(bed, 2)
