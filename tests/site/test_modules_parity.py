"""Modules of real matrices are those of R's WGCNA, as `docs/guide/modules-parity.md` has them."""

from __future__ import annotations

from pathlib import Path

import pytest

import modules_parity as parity
from cuesta.errors import CuestaError
from debian import DebianError
from paritysets import SETS, ExpressionSet
from rdata import RDataError

INDEX_MIN = 0.99
"""Least agreement with R, whose last bits depend on its BLAS."""
CORRELATION_MIN = 0.9999
"""Least correlation of an eigengene with that of R."""
FIT_MAX = 1e-9
"""Largest difference of a fit index from that of R."""

NETWORKS = [(of, network) for of in SETS for network in parity.results_of_r(of.name)[0]]
POWERS = [(of, powers) for of in SETS for powers in parity.results_of_r(of.name)[1]]


def obtained(of: ExpressionSet) -> None:
    """Obtain a matrix; skip the test without it."""
    try:
        of.matrix()
    except (CuestaError, DebianError, RDataError) as error:
        pytest.skip(str(error))


def lines() -> list[str]:
    """Return the lines of the page."""
    return parity.PAGE.read_text("utf-8").splitlines()


@pytest.mark.parametrize(
    ("of", "network"),
    NETWORKS,
    ids=[f"{of.name}-{network.kind}-{network.deep_split}" for of, network in NETWORKS],
)
def test_modules_of_real_data_are_those_of_r(
    of: ExpressionSet, network: parity.Network, tmp_path: Path
) -> None:
    obtained(of)
    result = parity.agreement(of, network, tmp_path / "modules")
    section = lines()[lines().index(f"## {of.title}") + 1 :]
    section = section[: next(n for n, line in enumerate(section) if line.startswith("## "))]
    assert result.row() in section
    assert max(result.ours) == max(network.labels)
    assert parity.rand_index(result.ours, network.labels) >= INDEX_MIN
    least = result.least_correlation()
    assert least is None or least >= CORRELATION_MIN


@pytest.mark.parametrize(
    ("of", "powers"), POWERS, ids=[f"{of.name}-{powers.kind}" for of, powers in POWERS]
)
def test_tables_of_powers_of_real_data_are_those_of_r(
    of: ExpressionSet, powers: parity.Powers, tmp_path: Path
) -> None:
    obtained(of)
    result = parity.power_agreement(of, powers, tmp_path / "threshold")
    assert result.row() in lines()
    assert result.estimate() == powers.estimate
    assert result.differences() <= FIT_MAX


def test_the_page_has_a_row_for_each_network_and_table() -> None:
    kinds = {"nci60": ("unsigned", "signed")}
    for of in SETS:
        networks, powers = parity.results_of_r(of.name)
        expected = kinds.get(of.name, ("unsigned", "signed", "signed-hybrid"))
        assert {(network.kind, network.deep_split) for network in networks} == {
            (kind, deep) for kind in expected for deep in range(5)
        }
        assert f"## {of.title}" in lines()
        assert sum(line.startswith(f"| {of.name} |") for line in lines()) == len(powers)
    text = parity.PAGE.read_text("utf-8")
    assert text.startswith(parity.HEADER)
    assert text.endswith(parity.FOOTER)
    rows = [line for line in lines() if line.startswith(("| unsigned", "| signed"))]
    assert len(rows) == len(NETWORKS)


def test_the_index_does_not_depend_on_the_numbers_of_groups() -> None:
    assert parity.rand_index([0, 0, 1, 1, 2], [5, 5, 3, 3, 0]) == 1.0
    # By hand: one pair together in both of 2 and 2, of 6.
    assert parity.rand_index([0, 0, 1, 1], [0, 0, 1, 2]) == pytest.approx(4 / 7)
