"""A fit and an advice group the same runs: those of the same setting."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from cuesta_lab.model import fit, measured, records
from cuesta_lab.model.predict import predict
from test_advise_runs import record, write

SIZES = (10**9, 2 * 10**9, 4 * 10**9)

CHANGES: dict[str, dict[str, Any]] = {
    "quota": {"machine_factors": {"asked": {"cpu-quota": "0.5"}}},
    "latency": {"machine_factors": {"asked": {"link-latency": "5ms"}}},
    "file system of disks": {"machine_factors": {"asked": {"file-system": "xfs"}}},
    "cache": {"cache": "input-dropped"},
    "options": {"engine_options": {"partitions": "8"}},
    "processor": {"machine": {"cpu": "old"}},
    "cores of the machine": {"machine": {"cpu": "here", "cores": 64}},
    "file system": {"machine": {"cpu": "here", "filesystems": {"output": "tmpfs"}}},
    "store": {"inputs": [{"path": "cuesta:///x", "bytes": 10**9}]},
    "parameters": {"parameters": {"order": "descending"}},
}


def groups(folder: Path) -> list[dict[str, Any]]:
    return list(fit.fit(records.observed([folder]), [folder.name], 0)["groups"])


@pytest.mark.parametrize("name", CHANGES)
def test_what_makes_another_choice_makes_another_group(name: str, tmp_path: Path) -> None:
    """A fit put runs under a quota and without into the same group, though their times differ
    tenfold. Now a quota makes another group.
    """
    write(tmp_path, [record("native", 10**9, 3.0), record("native", 10**9, 30.0) | CHANGES[name]])
    assert len(measured.choices("sort", 1e9, [tmp_path])) == 2
    assert [len(group["runs"]) for group in groups(tmp_path)] == [1, 1]


def test_a_seed_and_the_place_of_a_cluster_make_neither(tmp_path: Path) -> None:
    several = {"nodes": 2, "threads": 4}
    run_records = [
        record("spark", 10**9, 3.0)
        | {"parameters": {"seed": seed}, "engine_options": {"master": f"spark://n:{seed}"}}
        | several
        for seed in (1, 2)
    ]
    write(tmp_path, run_records)
    assert len(measured.choices("sort", 1e9, [tmp_path])) == 1
    assert [group["runs"][0]["repeats"] for group in groups(tmp_path)] == [2]


def test_numbers_that_a_model_has_terms_for_make_choices_and_a_single_group(tmp_path: Path) -> None:
    links = {"link-rate": "1gbit", "link-nodes": "2"}
    run_records = [
        record("mpi", 10**9, 3.0),
        record("mpi", 10**9, 3.0) | {"memory_bytes": 2**31},
        record("mpi", 10**9, 3.0) | {"threads": 4},
        record("mpi", 10**9, 3.0) | {"machine_factors": {"asked": {"disk-rate": "50MB/s"}}},
        record("mpi", 10**9, 3.0) | {"nodes": 2, "threads": 4, "machine_factors": {"asked": links}},
    ]
    write(tmp_path, run_records)
    assert len(measured.choices("sort", 1e9, [tmp_path])) == len(run_records)
    (only,) = groups(tmp_path)
    assert len(only["runs"]) == len(run_records)


def test_ranks_are_cores_and_no_other_setting(tmp_path: Path) -> None:
    """A study passes its ranks to MPI as an option: a fit is about runs on more of them."""
    run_records = [
        record("mpi", 10**9, 8 / ranks) | {"engine_options": {"ranks": str(ranks)}, "nodes": nodes}
        for nodes, ranks in ((1, 2), (2, 4), (4, 8))
    ]
    write(tmp_path, run_records)
    assert [choice.cores for choice in measured.choices("sort", 1e9, [tmp_path])] == [2, 4, 8]
    (only,) = groups(tmp_path)
    assert [(run["nodes"], run["cores_per_node"]) for run in only["runs"]] == [
        (1, 2),
        (2, 2),
        (4, 2),
    ]


def test_a_question_with_a_quota_is_not_answered_by_runs_without(tmp_path: Path) -> None:
    known_folder, questions = tmp_path / "known", tmp_path / "asked"
    for folder in (known_folder, questions):
        folder.mkdir()
    write(known_folder, [record("native", size, 3e-9 * size) for size in SIZES])
    write(questions, [record("native", SIZES[-1], 9.0) | CHANGES["quota"]])
    model = fit.fit(records.observed([known_folder]), ["known"], 0)
    (question,) = records.observed([questions])
    prediction = predict(model, question)
    assert prediction.refused.startswith("no runs of here sort native")
    assert "factors=cpu-quota 0.5" in prediction.refused


def test_all_records_have_the_same_names_of_a_group(tmp_path: Path) -> None:
    """A name that the runs lack would be ignored in a question."""
    write(tmp_path, [record("native", 10**9, 3.0) | changes for changes in CHANGES.values()])
    names = [list(run.group) for run in records.observed([tmp_path])]
    assert all(first == second for first, second in itertools.pairwise(names))
