"""The parts of the array engine compared with their shortest obvious versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("tiledb")

import numpy as np
import tiledb
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cuesta.engines.array import graph, join, store
from cuesta.engines.array.filters import NAN, make_filter
from cuesta.engines.array.join import Slab
from cuesta.engines.array.keys import row_keys, split_keys
from cuesta.engines.array.sizes import Extents
from cuesta.engines.array.store import COUNTS, DIMENSIONS, Batch, Shape
from cuesta.engines.array.table import Lines, write_table
from cuesta.engines.array.writer import Writer

SHAPE = Shape(samples=3, score_count=1)
SCORES = st.one_of(st.integers(-2_000_000_000, 2_000_000_000), st.just(NAN))
EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40).map(
    lambda pairs: [(a, b) for a, b in pairs if a > b]
)


def fixed(micro: int) -> str:
    """Return the text of a score."""
    if micro == NAN:
        return "nan"
    return f"{'-' * (micro < 0)}{abs(micro) // 10**6}.{abs(micro) % 10**6:06}"


@given(st.lists(st.tuples(st.integers(0, 2**40), SCORES, st.booleans()), min_size=1))
def test_lines_are_what_python_prints(rows: list[tuple[int, int, bool]]) -> None:
    numbers, scores, present = (np.array(column) for column in zip(*rows, strict=True))
    lines = Lines(len(rows))
    lines.integers(numbers)
    lines.text(b"\t")
    lines.words((b"no", b"yes"), present.astype(np.int8))
    lines.text(b"\t")
    lines.scores(scores, present)
    lines.text(b"\n")
    expected = [f"{n}\t{'yes' if p else 'no'}\t{fixed(s) if p else ''}\n" for n, s, p in rows]
    assert lines.finish().decode() == "".join(expected)


def test_a_table_is_written_in_chunks(tmp_path: Path) -> None:
    numbers = np.arange(70_000)
    size = write_table(tmp_path / "t.tsv", b"a\tb\n", [numbers, numbers[::-1]])
    lines = (tmp_path / "t.tsv").read_text().splitlines()
    assert (tmp_path / "t.tsv").stat().st_size == size
    assert lines[0] == "a\tb"
    assert lines[1:] == [f"{n}\t{69_999 - n}" for n in range(70_000)]


def test_keys_hold_the_largest_numbers() -> None:
    ends = {"gene1": [1, 1 << 24], "gene2": [1 << 24, 1], "cluster": [1 << 16, 1]}
    columns = {name: np.array(values, np.uint32) for name, values in ends.items()}
    keys = row_keys(columns)
    assert keys[0] < keys[1]
    assert [list(column) for column in split_keys(keys)] == [*ends.values()]


@pytest.mark.parametrize(
    ("parameters", "condition"),
    [
        ({}, None),
        ({"min_abs_score": 0.0, "max_missing": None}, None),
        ({"max_abs_score": 0.5}, "(score0 >= -500000 and score0 <= 500000)"),
        (
            {"min_abs_score": 0.8, "score_index": 2, "max_missing": 0},
            "((score2 >= 800000 and score2 <= 2000000000) or "
            "(score2 >= -2000000000 and score2 <= -800000)) and missing <= 0",
        ),
    ],
)
def test_a_filter_is_a_condition(parameters: dict[str, float], condition: str | None) -> None:
    assert make_filter(parameters).condition() == condition


def version(rows: dict[int, int], cuts: list[int]) -> Iterator[Slab]:
    """Yield sorted rows in slabs with arbitrary ends."""
    keys = sorted(rows)
    bounds = sorted({0, len(keys), *(cut for cut in cuts if cut < len(keys))})
    for first, last in pairwise(bounds):
        part = keys[first:last]
        scores = np.array([rows[key] for key in part], np.int32)
        yield Slab(keys=np.array(part, np.uint64), scores=scores)


ROWS = st.dictionaries(st.integers(0, 30), st.integers(-9, 9), max_size=20)
CUTS = st.lists(st.integers(0, 20), max_size=5)


@given(ROWS, ROWS, CUTS, CUTS)
def test_a_merge_of_slabs_is_a_look_up(
    left: dict[int, int], right: dict[int, int], left_cuts: list[int], right_cuts: list[int]
) -> None:
    for how in ("inner", "left", "outer"):
        merged = []
        for slabs in join.aligned(version(left, left_cuts), version(right, right_cuts)):
            rows = join.merge(*slabs, how)
            columns = (rows.keys, rows.side, rows.left, rows.right)
            merged += list(zip(*(column.tolist() for column in columns), strict=True))
        keys_by_how = {"inner": left.keys() & right.keys(), "left": left.keys()}
        keys = keys_by_how.get(how, left.keys() | right.keys())
        sides = {key: 0 if key in left and key in right else 2 - (key in left) for key in keys}
        assert merged == [
            (key, sides[key], left.get(key, 0), right.get(key, 0)) for key in sorted(keys)
        ]


@given(EDGES, st.integers(1, 7))
def test_components_are_those_of_a_search(edges: list[tuple[int, int]], step: int) -> None:
    labels = np.arange(12)
    for start in range(0, len(edges), step):
        part = edges[start : start + step]
        labels = graph.spread(labels, *(np.array(ends) for ends in zip(*part, strict=True)))
    assert labels.tolist() == searched(12, edges)


def searched(genes: int, edges: list[tuple[int, int]]) -> list[int]:
    """Return components by a depth-first search from each unmarked vertex."""
    labels = [-1] * genes
    for gene in range(genes):
        waiting = [gene] if labels[gene] < 0 else []
        while waiting:
            vertex = waiting.pop()
            labels[vertex] = gene
            neighbours = [b if a == vertex else a for a, b in edges if vertex in (a, b)]
            waiting += [other for other in neighbours if labels[other] < 0]
    return labels


@given(EDGES, st.integers(1, 7))
def test_label_propagation_is_that_of_the_definition(
    edges: list[tuple[int, int]], rounds: int
) -> None:
    ends = np.array(edges, np.uint32).reshape(-1, 2)
    propagated, rounds_done = graph.propagate(ends[:, 0], ends[:, 1], rounds)
    genes = len(propagated)
    labels = list(range(genes))
    for _ in range(rounds):
        votes = [Counter[int]() for _ in range(genes)]
        for a, b in edges:
            votes[a][labels[b]] += 1
            votes[b][labels[a]] += 1
        ranked = [sorted((-many, label) for label, many in vote.items()) for vote in votes]
        labels = [best[0][1] if best else label for best, label in zip(ranked, labels, strict=True)]
    assert propagated.tolist() == [labels.index(label) for label in labels]
    assert rounds_done <= rounds


def columns_of(keys: list[tuple[int, int, int]], first_row: int) -> Batch:
    """Return rows whose first count is the row's number."""
    numbers = np.array(keys, np.uint32).reshape(-1, 3)
    batch: Batch = {name: numbers[:, index].copy() for index, name in enumerate(DIMENSIONS)}
    batch |= {name: np.zeros(len(keys), np.uint32) for name in COUNTS}
    batch["num_clusters"] = np.arange(first_row, first_row + len(keys), dtype=np.uint32)
    batch["score0"] = np.arange(first_row, first_row + len(keys), dtype=np.int32)
    batch["mask"] = np.array([b"%03d" % (n % 1000) for n in batch["score0"]], "S3")
    return batch


def fragments(place: Path) -> int:
    return len(tiledb.FragmentInfoList(str(place)))


def written(place: Path, pieces: list[list[tuple[int, int, int]]], batch_bytes: int) -> Batch:
    """Write pieces of rows, read them back in the order of the coordinates."""
    store.create(place, SHAPE, Extents(), 10_000)
    writer = Writer(place=place, batch_bytes=batch_bytes, extents=Extents())
    first = 0
    for keys in pieces:
        writer.add(columns_of(keys, first))
        first += len(keys)
    writer.close()
    return read(place)


def read(place: Path) -> Batch:
    columns = (*DIMENSIONS, *SHAPE.attributes)
    batches = list(store.batches(place, columns, None, store.GLOBAL))
    return {name: np.concatenate([batch[name] for batch in batches]) for name in columns}


def check_rows(batch: Batch, pieces: list[list[tuple[int, int, int]]]) -> None:
    keys = [key for piece in pieces for key in piece]
    coordinates: list[NDArray[np.uint32]] = [batch[name] for name in DIMENSIONS]
    rows = list(zip(*(column.tolist() for column in coordinates), strict=True))
    assert rows == sorted(keys)
    assert [keys[row] for row in batch["score0"]] == rows
    assert sorted(batch["score0"]) == list(range(len(keys)))
    assert batch["num_clusters"].tolist() == batch["score0"].tolist()
    assert batch["mask"].tolist() == [b"%03d" % (n % 1000) for n in batch["score0"]]


def test_rows_in_order_become_a_single_fragment(tmp_path: Path) -> None:
    pieces = [[(g, 1, 1), (g, 2, 1)] for g in range(3, 60)] + [[(59, 2, 1)]]
    with store.session(1, {}):
        batch = written(tmp_path / "a", pieces, batch_bytes=10)
        assert fragments(tmp_path / "a") == 1
        assert store.overlapping(tmp_path / "a") == 1
    check_rows(batch, pieces)


def test_rows_out_of_order_become_sorted_fragments_that_merge(tmp_path: Path) -> None:
    pieces = [[(g, 2, 1), (g, 1, 1)] for g in (9, 5, 30, 4, 31, 3, 32, 33, 2 + 32, 8, 9)]
    place = tmp_path / "a"
    with store.session(1, {}):
        batch = written(place, pieces, batch_bytes=200)
        check_rows(batch, pieces)
        assert fragments(place) > 2
        assert store.overlapping(place) > 1
        store.consolidate(place, 2)
        assert fragments(place) == 1
        check_rows(read(place), pieces)
