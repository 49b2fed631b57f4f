"""The equations of the two-level paper give its numbers, and obey bounds of any site."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta.cli.app import call
from cuesta_lab.model.crossover import PAPER, crossovers, with_aggregate
from cuesta_lab.model.mapreduce import (
    MovedBytes,
    NodeRates,
    job_seconds,
    map_seconds,
    reduce_seconds,
    shuffle_seconds,
)
from cuesta_lab.model.storage import (
    StorageRates,
    hdfs_read,
    hdfs_write,
    memory_read,
    memory_write,
    parallel_read,
    parallel_write,
    two_level_read,
    two_level_write,
)

PALMETTO = StorageRates(
    network=1.25e9,
    disk_read=65e6,
    disk_write=65e6,
    memory=13.2e9,
    data_nodes=2,
    data_disk_read=400e6,
    data_disk_write=200e6,
)
"""The nodes of section 5.1: 16 with a disk of 65 MB/s, 2 data nodes with 400 and 200 MB/s each."""


def to_rows(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert call(["model", "crossover", "--json", *words]) == 0
    crossings: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["crossovers"]
    return crossings


def test_the_published_crossings_come_out(capsys: pytest.CaptureFixture[str]) -> None:
    rows = to_rows(capsys)
    nodes = {(r["operation"], r["in_memory"], r["parallel_bytes_per_s"]): r["nodes"] for r in rows}
    assert nodes == {
        ("read", 0.0, 10e9): 43,
        ("read", 0.2, 10e9): 53,
        ("read", 0.5, 10e9): 83,
        ("write", 0.0, 10e9): 259,
        ("read", 0.0, 50e9): 211,
        ("read", 0.2, 50e9): 262,
        ("read", 0.5, 50e9): 414,
        ("write", 0.0, 50e9): 1294,
    }


def test_throughputs_belong_to_a_number_of_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {r["nodes"]: r for r in to_rows(capsys, "--parallel", "10GB/s")}
    assert rows[53]["aggregate_bytes_per_s"] == pytest.approx(12.41e9, abs=5e6)
    assert rows[53]["limit_bytes_per_s"] == pytest.approx(12.5e9)
    assert rows[83]["aggregate_bytes_per_s"] == pytest.approx(19.62e9, abs=5e6)
    assert rows[83]["limit_bytes_per_s"] == pytest.approx(20.0e9)


def test_the_first_iteration_of_k_means_has_the_papers_rates() -> None:
    assert 16 * hdfs_read(PALMETTO, 16) == pytest.approx(1040e6)
    assert 16 * parallel_read(PALMETTO, 16) == pytest.approx(800e6)


@pytest.mark.parametrize("data_nodes", [2, 3, 12])
def test_another_data_node_adds_what_its_disks_write(data_nodes: int) -> None:
    """Section 5.3: with a new data node roughly an extra 200 MB/s can be written."""
    more = replace(PALMETTO, data_nodes=data_nodes)
    assert 16 * parallel_write(more, 16) == pytest.approx(data_nodes * 200e6)


def test_a_slow_network_or_backplane_limits_what_passes_it() -> None:
    slow = replace(PALMETTO, network=20e6)
    assert hdfs_read(slow, 16) == 65e6
    assert hdfs_read(slow, 16, local=False) == 20e6
    assert hdfs_write(slow, 16) == 10e6
    assert memory_read(slow, 16, local=False) == 20e6
    narrow = replace(PALMETTO, backplane=160e6)
    assert hdfs_read(narrow, 16, local=False) == 10e6
    assert hdfs_write(narrow, 16) == 5e6
    assert parallel_read(narrow, 16) == parallel_write(narrow, 16) == 10e6
    assert memory_read(narrow, 16, local=False) == 10e6


def test_memory_is_written_at_its_rate_and_two_levels_at_the_lower_rate() -> None:
    assert memory_write(PALMETTO) == 13.2e9
    assert two_level_write(PALMETTO, 16) == parallel_write(PALMETTO, 16)


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_a_read_of_two_levels_is_between_its_levels(nodes: int, in_memory: float) -> None:
    rate = two_level_read(PALMETTO, nodes, in_memory)
    below = parallel_read(PALMETTO, nodes)
    assert below * (1 - 1e-9) <= rate <= PALMETTO.memory * (1 + 1e-9)


def test_memory_of_other_nodes_is_read_at_the_rate_of_the_network() -> None:
    slow = replace(PALMETTO, network=125e6)
    assert two_level_read(slow, 16, 0.0, 1.0) == pytest.approx(125e6)
    # A half at 125 MB/s, a quarter at 13.2 GB/s, a quarter at the data nodes' 250 MB/s for 16.
    expected = 1 / (0.5 / 125e6 + 0.25 / 13.2e9 + 0.25 / (250e6 / 16))
    assert two_level_read(slow, 16, 0.25, 0.5) == pytest.approx(expected)
    for wrong in ((-0.1, 0.5), (0.5, -0.1), (0.6, 0.5)):
        with pytest.raises(ValueError, match="are not between 0 and 1"):
            two_level_read(slow, 16, *wrong)


@given(st.integers(1, 10_000), st.floats(0, 0.5), st.floats(0, 0.5))
def test_a_block_elsewhere_in_memory_is_slower_than_local_memory_and_faster_than_storage(
    nodes: int, in_memory: float, remote: float
) -> None:
    rate = two_level_read(PALMETTO, nodes, in_memory, remote)
    # Where there are more nodes than data nodes, as the paper assumes.
    if nodes > PALMETTO.data_nodes:
        assert two_level_read(PALMETTO, nodes, in_memory) <= rate * (1 + 1e-9)
    assert rate <= two_level_read(PALMETTO, nodes, in_memory + remote) * (1 + 1e-9)


@given(st.floats(1e9, 1e12), st.floats(0, 0.99))
def test_below_a_crossing_shared_storage_is_not_slower(parallel: float, in_memory: float) -> None:
    site = with_aggregate(PAPER, parallel)
    for crossing in crossovers(PAPER, [parallel], [in_memory]):
        nodes = crossing.nodes or 0
        for count, ahead in ((nodes - 1, False), (nodes, True)):
            if count and crossing.operation == "read":
                shared = two_level_read(site, count, crossing.in_memory)
                assert (hdfs_read(site, count) > shared) is ahead
            elif count:
                assert (hdfs_write(site, count) > two_level_write(site, count)) is ahead


def test_the_time_of_a_job_is_bytes_by_rates() -> None:
    moved_bytes = MovedBytes(read=1000.0, spilled=200.0, shuffled=100.0, written=50.0)
    rates = NodeRates(read=10.0, write=5.0, intermediate=20.0)
    assert map_seconds(moved_bytes, rates) == 110
    assert shuffle_seconds(moved_bytes, rates) == 15
    assert reduce_seconds(moved_bytes, rates) == 15
    assert job_seconds(moved_bytes, rates) == 140


def test_what_is_in_memory_alone_is_never_overtaken(capsys: pytest.CaptureFixture[str]) -> None:
    rows = to_rows(capsys, "--in-memory", "1")
    cached = [row for row in rows if row["in_memory"] == 1]
    assert {(row["nodes"], row["limit_bytes_per_s"]) for row in cached} == {(None, None)}


def test_people_see_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["model", "crossover", "--node", "disk-read=474MB/s", "--parallel", "10GB/s"]) == 0
    output = capsys.readouterr().out
    assert "22 nodes" in output
    assert "disk-read 474 MB/s, disk-write 116 MB/s" in output
    assert "(of the paper: network, disk-write, memory, backplane; --node changes them)" in output
    assert math.ceil(10e9 / 474e6) == 22


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--parallel", "fast"], "--parallel is 'fast', give a rate such as 237MB/s"),
        (["--parallel", "0MB/s"], "give a rate above zero"),
        (["--node", "disk=1MB/s"], "--node is 'disk=1MB/s', give NAME=RATE with one of network"),
        (["--in-memory", "2"], "'--in-memory'"),
    ],
)
def test_a_wrong_word_is_named(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["model", "crossover", *words]) == 2
    assert message in capsys.readouterr().err
