"""Tiles, capacity and budget of the array engine change its arrays and queries, never an answer."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tiledb")

import numpy as np
import tiledb
from hypothesis import given
from hypothesis import strategies as st

from arraykit import TINY, random_rows, run, sorted_text, trial, write
from cuesta.engines import get_engine
from cuesta.engines.array import store, work
from cuesta.engines.array.keys import order_keys, row_keys
from cuesta.engines.array.sizes import CLUSTER_MAX, GENE_MAX, Extents
from cuesta.errors import InputError
from cuesta.trial import Outcome

OPTIONS: list[dict[str, str]] = [
    {"tile": "8"},
    {"tile": "8x8"},
    {"tile": "4x16x1"},
    {"tile": "1x1x1"},
    {"capacity": "7"},
    {"capacity": "5000"},
    {"budget": "2MiB"},
    {"pages": "dropped"},
    {"tile": "16x2", "capacity": "3", "budget": "4MiB"},
]
WORKLOADS: list[tuple[str, dict[str, Any]]] = [
    ("scan", {"min_abs_score": 0.3}),
    ("join", {"how": "outer"}),
    ("join", {"how": "inner", "max_missing": 2}),
    ("degrees", {}),
    ("communities", {}),
    ("communities", {"method": "label-propagation", "iterations": 3}),
]


@pytest.fixture(params=[False, True], ids=["usual", "tiny"])
def buffers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers of the usual size, or of a few rows."""
    if request.param:
        monkeypatch.setattr(work, "sizes", lambda _memory_bytes, _threads: TINY)


def inputs(folder: Path, workload: str) -> list[str]:
    other = [replace(row, score="0.25") for row in random_rows(1)[:200]]
    paths = [write(folder / "a.txt", random_rows(1)), write(folder / "b.txt", other)]
    return paths if workload == "join" else paths[:1]


@pytest.mark.usefixtures("buffers")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(("workload", "parameters"), WORKLOADS, ids=str)
def test_answers_equal_those_of_the_native_engine(
    workload: str, parameters: dict[str, Any], options: dict[str, str], tmp_path: Path
) -> None:
    job = trial(workload, inputs(tmp_path, workload), parameters, engine_options=options)
    run(job, tmp_path)
    run(replace(job, engine_options={}), tmp_path, get_engine("native"))
    for file in (tmp_path / "native").iterdir():
        texts = [(tmp_path / name / file.name).read_bytes() for name in ("native", "array")]
        if workload == "scan":
            texts = [sorted_text(text) for text in texts]
        assert texts[0] == texts[1], file.name


def test_an_array_has_the_tiles_and_the_capacity_that_were_requested(tmp_path: Path) -> None:
    options = {"array": str(tmp_path / "kept"), "tile": "16x8x2", "capacity": "50"}
    path = write(tmp_path / "a.txt", random_rows(1))
    run(trial("degrees", [path], {}, engine_options=options), tmp_path)
    (place,) = (tmp_path / "kept").glob("a-txt-*")
    schema = tiledb.ArraySchema.load(str(place))
    assert [int(schema.domain.dim(index).tile) for index in range(3)] == [16, 8, 2]
    assert schema.capacity == 50


def test_a_query_has_the_budget_that_was_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets = []
    session = store.query_session

    def noted(threads: int, query_bytes: int, column_bytes: int) -> Any:
        budgets.append(query_bytes)
        return session(threads, query_bytes, column_bytes)

    monkeypatch.setattr(store, "query_session", noted)
    options = {"budget": "8MiB"}
    for workload in ("degrees", "join"):
        paths = inputs(tmp_path, workload)
        run(trial(workload, paths, {}, engine_options=options), tmp_path / workload)
    assert budgets == [8 << 20, 4 << 20]


def degrees(folder: Path, options: dict[str, str]) -> Outcome:
    shutil.rmtree(folder / "array", ignore_errors=True)
    array_options = {"array": str(folder / "kept")} | options
    return run(trial("degrees", [str(folder / "a.txt")], {}, engine_options=array_options), folder)


def test_a_stored_array_is_used_as_it_is_and_refused_for_another_layout(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", random_rows(1))
    layout = {"tile": "16x16", "capacity": "20"}
    assert degrees(tmp_path, layout).counts["arrays_reused"] == 0
    for options in ({}, layout, {"tile": "16x16x65536"}, {"budget": "4MiB"}):
        assert degrees(tmp_path, options).counts["arrays_reused"] == 1
    with pytest.raises(InputError, match="was loaded in tiles of 16x16x65536, not 8x16777216x6"):
        degrees(tmp_path, {"tile": "8"})
    with pytest.raises(InputError, match="was loaded with capacity 20, not 21; delete it"):
        degrees(tmp_path, {"capacity": "21"})


def test_versions_with_different_tiles_are_joined(tmp_path: Path) -> None:
    paths = inputs(tmp_path, "join")
    for path, tile in zip(paths, ("8x8", "4"), strict=True):
        options = {"array": str(tmp_path / "kept"), "tile": tile}
        run(trial("degrees", [path], {}, engine_options=options), tmp_path / tile)
    job = trial("join", paths, {"how": "outer"})
    outcome = run(replace(job, engine_options={"array": str(tmp_path / "kept")}), tmp_path)
    assert outcome.counts["arrays_reused"] == 2
    run(job, tmp_path, get_engine("native"))
    texts = [(tmp_path / name / "pairs.tsv").read_bytes() for name in ("native", "array")]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tile": "100"}, "tile is 100, give powers of two for gene 1, gene 2 and cluster"),
        ({"tile": "0"}, "tile is 0, give powers of two"),
        ({"tile": "8x"}, "tile is 8x, give powers of two"),
        ({"tile": "8x8x8x8"}, "tile is 8x8x8x8, give powers of two"),
        ({"tile": "33554432"}, "tile is 33554432, give powers of two"),
        ({"tile": ""}, "tile is , give powers of two"),
        ({"capacity": "0"}, "capacity is 0, give the rows of a data tile, 1 to 10,000,000"),
        ({"capacity": "many"}, "capacity is many, give the rows of a data tile"),
        ({"capacity": "5000000"}, "a query has 16 MiB; give a smaller capacity, or raise --memory"),
        ({"loaders": "0"}, "loaders is 0, give 1 to 64"),
        ({"pages": "cold"}, "pages is cold, give kept or dropped"),
        ({"budget": "1"}, "budget is 1, give 1 MiB to half of --memory, 32 MiB"),
        ({"budget": "33MiB"}, "budget is 33MiB, give 1 MiB to half of --memory, 32 MiB"),
        ({"budget": "much"}, "budget is 'much', give a size"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, str], message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", random_rows(1))
    with pytest.raises(InputError) as raised:
        run(trial("degrees", [path], {}, engine_options=options), tmp_path)
    assert message in str(raised.value)


POWERS = st.tuples(st.integers(0, 24), st.integers(0, 24), st.integers(0, 16))
NUMBERS = st.tuples(st.integers(1, GENE_MAX), st.integers(1, GENE_MAX), st.integers(1, CLUSTER_MAX))


@given(POWERS, st.lists(NUMBERS, min_size=1, max_size=20))
def test_keys_sort_rows_as_they_lie_in_tiles(
    powers: tuple[int, int, int], rows: list[tuple[int, int, int]]
) -> None:
    extents = Extents(*(1 << power for power in powers))
    names = ("gene1", "gene2", "cluster")
    columns = {name: np.array(part, np.uint32) for name, part in
               zip(names, zip(*rows, strict=True), strict=True)}  # fmt: skip

    def place(row: tuple[int, int, int]) -> tuple[tuple[int, ...], tuple[int, int, int]]:
        tile = tuple(
            (coordinate - 1) // extent
            for coordinate, extent in zip(row, extents.lengths, strict=True)
        )
        return tile, row

    order = np.argsort(order_keys(columns, extents), kind="stable")
    assert [rows[index] for index in order] == sorted(rows, key=place)
    assert len(set(order_keys(columns, extents).tolist())) == len(set(rows))
    if extents.keep_order:
        assert (order_keys(columns, extents) == row_keys(columns)).all()
