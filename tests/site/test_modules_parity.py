"""Modules of a real matrix are those of R's WGCNA, as `docs/guide/modules-parity.md` has them."""

from __future__ import annotations

from pathlib import Path

import pytest

import cuesta
import modules_parity as parity
from cuesta.errors import CuestaError

INDEX_MIN = 0.99
"""Least agreement with R, whose last bits depend on its BLAS."""


@pytest.fixture(scope="module")
def matrix() -> Path:
    """Obtain the NCI60 matrix."""
    try:
        (path,) = cuesta.data.get("nci60")
    except CuestaError as error:
        pytest.skip(str(error))
    return Path(path)


@pytest.mark.parametrize(
    "network", parity.networks(), ids=lambda network: f"{network.kind}-{network.deep_split}"
)
def test_modules_of_nci60_are_those_of_r(
    matrix: Path, network: parity.Network, tmp_path: Path
) -> None:
    result = parity.agreement(matrix, network, tmp_path / "modules")
    assert result.row() in parity.PAGE.read_text("utf-8").splitlines()
    assert max(result.ours) == max(network.labels)
    assert parity.rand_index(result.ours, network.labels) >= INDEX_MIN


def test_the_page_has_a_row_for_each_network() -> None:
    networks = parity.networks()
    assert {(network.kind, network.deep_split) for network in networks} == {
        (kind, deep) for kind in ("unsigned", "signed") for deep in range(5)
    }
    text = parity.PAGE.read_text("utf-8")
    assert text.startswith(parity.HEADER)
    assert text.endswith(parity.FOOTER)
    assert len(text.removeprefix(parity.HEADER).removesuffix(parity.FOOTER).splitlines()) == 10


def test_the_index_does_not_depend_on_the_numbers_of_groups() -> None:
    assert parity.rand_index([0, 0, 1, 1, 2], [5, 5, 3, 3, 0]) == 1.0
    # By hand: one pair together in both of 2 and 2, of 6.
    assert parity.rand_index([0, 0, 1, 1], [0, 0, 1, 2]) == pytest.approx(4 / 7)
