"""Advice among runs: a choice is of runs that are alike, in their settings and in their machine."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call
from cuesta_lab.model import measured
from cuesta_lab.model.choices import Choice
from test_advise import to_advice


def record(engine: str, size_bytes: int, seconds: float, start: float = 0.0) -> dict[str, Any]:
    return {
        "schema": "cuesta.run/1",
        "workload": "sort",
        "engine": engine,
        "engine_options": {},
        "parameters": {"seed": 3},
        "inputs": [{"path": "x", "bytes": size_bytes}],
        "threads": 2,
        "memory_bytes": 2**30,
        "verified": True,
        "machine": {"cpu": "here"},
        "phases": [{"name": "start", "seconds": start}, {"name": "sort", "seconds": seconds}],
        "statistics": {"wall_seconds": {"median": seconds}},
    }


def write(folder: Path, records: Iterable[dict[str, Any]]) -> None:
    for index, run_record in enumerate(records):
        (folder / str(index)).mkdir()
        (folder / str(index) / "run.json").write_text(json.dumps(run_record))


def among(folder: Path, records: Iterable[dict[str, Any]], size: float = 1e9) -> list[Choice]:
    """Return the choices among these runs."""
    write(folder, records)
    return measured.choices("sort", size, [folder])


def seconds(choices: Iterable[Choice]) -> dict[str, int]:
    """Return the time of each choice by its name."""
    return {choice.machine: round(choice.seconds.value) for choice in choices if choice.seconds}


def test_runs_made_here_are_separate_choices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [
        record("native", 10**9, 3.0),
        record("native", 2 * 10**9, 6.0),
        record("spark", 10**9, 10.0, start=9.0),
        record("mpi", 10**9, 4.0),
    ]
    write(tmp_path, records)
    far_advice = to_advice(capsys, "sort", "--input-size", "20GB", "--runs", str(tmp_path))
    assert [ranked["choice"]["engine"] for ranked in far_advice["best"]] == [
        "spark",
        "native",
        "mpi",
    ]
    assert far_advice["best"][0]["choice"]["seconds"]["value"] == pytest.approx(29.0)
    near_advice = to_advice(capsys, "sort", "--input-size", "2GB", "--runs", str(tmp_path))
    assert near_advice["best"][0]["choice"]["engine"] == "native"
    page = tmp_path / "page.html"
    words = ["advise", "sort", "--input-size", "2GB", "--runs", str(tmp_path), "-o", str(page)]
    assert call(words) == 0
    assert page.read_text().count('<svg class="chart') == 1
    assert call(["advise", "sort", "--input-size", "200GB", "--runs", str(tmp_path)]) == 2
    assert "its largest run had 1 GB; measure at least 6.67 GB" in capsys.readouterr().err
    assert call(["advise", "scan", "--input-size", "1GB", "--runs", str(tmp_path)]) == 2
    assert "no run of scan in what --runs names; there is sort" in capsys.readouterr().err


def test_runs_on_other_machines_are_choices_named_by_what_differs(tmp_path: Path) -> None:
    """Runs on a fast and on a slow processor were merged into a single choice, with a time that
    neither has. Now each is a choice, named by the difference.
    """
    fast, slow = record("native", 10**9, 3.0), record("native", 10**9, 30.0)
    slow["machine"] = {"cpu": "old", "cores": 2}
    assert seconds(among(tmp_path, [fast, slow, slow])) == {
        "2 cores, 1 GiB, on here": 3,
        "2 cores, 1 GiB, on old with 2 cores": 30,
    }


def test_runs_of_other_factors_caches_and_inputs_are_separate_choices(tmp_path: Path) -> None:
    base = {**record("native", 10**9, 3.0), "cache": "as-is"}
    disk_rate = {"machine_factors": {"asked": {"disk-rate": "50MB/s"}, "probed": {}}}
    systems = {"machine": {"cpu": "here", "filesystems": {"output": "tmpfs"}}}
    stored = {"inputs": [{"path": "cuesta:///x", "bytes": 10**9}]}
    records = [
        base,
        {**base, **disk_rate, "statistics": {"wall_seconds": {"median": 20.0}}},
        {**base, "cache": "input-dropped", "statistics": {"wall_seconds": {"median": 5.0}}},
        {**base, **systems, "statistics": {"wall_seconds": {"median": 2.0}}},
        {**base, **stored, "statistics": {"wall_seconds": {"median": 4.0}}},
    ]
    start = "2 cores, 1 GiB, input"
    plain = "no file system of output"
    assert seconds(among(tmp_path, records)) == {
        f"{start} in files, cache as-is, no disk-rate, {plain}": 3,
        f"{start} in files, cache as-is, disk-rate 50MB/s, {plain}": 20,
        f"{start} in files, cache input-dropped, no disk-rate, {plain}": 5,
        f"{start} in files, cache as-is, no disk-rate, output on tmpfs": 2,
        f"{start} at cuesta://, cache as-is, no disk-rate, {plain}": 4,
    }


def test_several_nodes_are_a_choice_wherever_their_cluster_was(tmp_path: Path) -> None:
    """A study starts a cluster for each run, at a new address, which is no setting of the run."""
    records = [
        {
            **record("spark", 10**9, 8.0),
            "nodes": 2,
            "threads": 4,
            "engine_options": {"master": f"spark://node:{port}", "partitions": "8"},
        }
        for port in (7077, 7078)
    ]
    choices = among(tmp_path, [*records, {**record("spark", 10**9, 10.0), "threads": 4}])
    assert seconds(choices) == {
        "2 nodes with 2 cores each, 1 GiB, partitions 8": 8,
        "4 cores, 1 GiB": 10,
    }
    assert {choice.nodes: choice.cores for choice in choices} == {1: 4, 2: 4}


def test_a_line_through_times_that_are_mostly_starts_is_unsure(tmp_path: Path) -> None:
    """Two ranks took 0.84 and 0.89 s, nearly all of it their start, and 2.36 s for four times the
    data. The interval was 0.91 to 1.34 s. Now such a line has a wide interval.
    """
    write(tmp_path, [record("mpi", 54 * 10**6, 0.84), record("mpi", 216 * 10**6, 0.89)])
    (choice,) = measured.choices("sort", 864e6, [tmp_path])
    assert choice.seconds
    assert choice.seconds.high > 1.6 * choice.seconds.value
    (near_choice,) = measured.choices("sort", 216e6, [tmp_path])
    assert near_choice.seconds
    assert near_choice.seconds.high < 1.2 * near_choice.seconds.value


def test_far_less_input_than_any_run_had_is_refused_and_a_little_less_unsure(
    tmp_path: Path,
) -> None:
    records = [record("native", 10**9, 3.0)]
    (tiny,) = among(tmp_path, records, 1e7)
    assert tiny.refused == "its smallest run had 1 GB; measure at most 300 MB"
    small, known_size = (
        measured.choices("sort", size, [tmp_path])[0].seconds for size in (1e8, 1e9)
    )
    assert small
    assert known_size
    assert small.high / small.low > 1.5 * known_size.high / known_size.low
