"""The array engine gives the answers of the native engine, for any text and limits."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tiledb")

from arraykit import TINY, Row, both, random_rows, run, trial, write
from cuesta.engines import array, get_engine
from cuesta.engines.array import work
from cuesta.errors import EngineError, InputError
from cuesta.lab.plan import Plan
from cuesta.lab.run import run_trial
from cuesta.native import native_module

FILTERS: list[dict[str, Any]] = [
    {},
    {"min_abs_score": 0.8},
    {"min_abs_score": 0.2, "max_abs_score": 0.8},
    {"max_abs_score": 0.0},
    {"min_cluster_samples": 3, "max_missing": 1},
    {"min_abs_score": 1.0, "max_missing": 0, "min_cluster_samples": 8},
]
WORKLOADS: list[tuple[str, dict[str, Any]]] = [
    ("scan", {}),
    ("join", {"how": "inner"}),
    ("join", {"how": "left"}),
    ("join", {"how": "outer"}),
    ("degrees", {}),
    ("degrees", {"genes": 50}),
    ("communities", {}),
    ("communities", {"method": "label-propagation", "iterations": 3, "genes": 50}),
]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers of a few rows."""
    monkeypatch.setattr(work, "sizes", lambda _memory_bytes, _threads: TINY)


def versions(folder: Path, workload: str) -> list[str]:
    """Write a single text, or two versions of it for `join`."""
    rows = random_rows(1)
    other = [replace(row, score="0.25") for row in random_rows(1)[:200]] + random_rows(2)[:50]
    unique = {(row.gene1, row.gene2, row.cluster): row for row in other}
    paths = [write(folder / "a.txt", rows), write(folder / "b.txt", [*unique.values()])]
    return paths if workload == "join" else paths[:1]


@pytest.mark.parametrize("options", FILTERS, ids=str)
@pytest.mark.parametrize(("workload", "parameters"), WORKLOADS, ids=str)
def test_answers_equal_those_of_the_native_engine(
    workload: str, parameters: dict[str, Any], options: dict[str, Any], tmp_path: Path
) -> None:
    both(workload, versions(tmp_path, workload), {**options, **parameters}, tmp_path)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(("workload", "parameters"), WORKLOADS, ids=str)
def test_answers_stay_the_same_with_buffers_of_a_few_rows(
    workload: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    both(workload, versions(tmp_path, workload), parameters, tmp_path)


def test_a_large_text_passes_through_little_memory(tmp_path: Path) -> None:
    request = {"output": str(tmp_path / "a.txt"), "genes": 200, "samples": 300, "clusters": 2}
    native_module().data_make("clusters", json.dumps(request))
    lines = (tmp_path / "a.txt").read_bytes().splitlines(keepends=True)
    shuffled = tmp_path / "b.txt"
    shuffled.write_bytes(b"".join(b"".join(lines[offset::7]) for offset in range(7)))
    for workload, path in (("scan", tmp_path / "a.txt"), ("scan", shuffled), ("degrees", shuffled)):
        job = trial(workload, [str(path)], {"min_abs_score": 0.2}, memory_bytes=16 << 20)
        run(job, tmp_path / f"{workload}-{path.stem}")


def test_a_duplicate_row_counts_twice(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", [Row(gene1=3, gene2=1), Row(gene1=2, gene2=1)] * 2)
    for workload in ("scan", "degrees", "communities"):
        both(workload, [path], {}, tmp_path / workload)


@pytest.mark.parametrize("gap", [0, 40])
def test_a_join_refuses_a_duplicate_row(gap: int, tmp_path: Path, tiny: None) -> None:
    between = [Row(gene1=9 + number, gene2=1) for number in range(gap)]
    rows = [Row(gene1=3, gene2=2), *between, Row(gene1=3, gene2=2)]
    paths = [write(tmp_path / "a.txt", rows[:1]), write(tmp_path / "b.txt", rows)]
    with pytest.raises(InputError, match="version b has gene pair 3 2 cluster 1 twice"):
        run(trial("join", paths, {}), tmp_path)


def test_rows_without_a_score_and_further_scores_are_read(tmp_path: Path) -> None:
    scores = ["0.9,nan", "nan,0.9", "-0.5,12.25", "1e-3,-2", "0.1,0.0000004", "1999.5,0"]
    rows = [Row(gene1=9 - n, gene2=1, score=score) for n, score in enumerate(scores)]
    path = write(tmp_path / "a.txt", rows)
    for index in (0, 1):
        both("scan", [path], {"score_index": index}, tmp_path / f"scan-{index}")
        options = {"score_index": index, "min_abs_score": 0.5}
        both("degrees", [path], options, tmp_path / f"degrees-{index}")


def test_the_largest_numbers_fit(tmp_path: Path) -> None:
    top = (1 << 24) - 1
    rows = [
        Row(gene1=top, gene2=top - 1, cluster=1 << 16, cluster_samples=999_999_999),
        Row(gene1=top, gene2=1, score="-2000"),
    ]
    path = write(tmp_path / "a.txt", rows)
    both("scan", [path], {}, tmp_path / "scan")
    both("join", [path, path], {}, tmp_path / "join")


def test_all_forms_of_text_are_read(tmp_path: Path, tiny: None) -> None:
    rows = random_rows(3)
    plain = write(tmp_path / "a.txt", rows)
    lines = Path(plain).read_text()
    commented = tmp_path / "commented.txt"
    commented.write_text(f"#Restarted\n\n{lines}#Done\n".rstrip("\n"))
    crlf = write(tmp_path / "crlf.txt", rows, end="\r\n")
    packed_file = tmp_path / "a.txt.gz"
    half = len(lines) // 2
    packed_file.write_bytes(
        gzip.compress(lines[:half].encode()) + gzip.compress(lines[half:].encode())
    )
    for path in (str(commented), crlf, str(packed_file)):
        both("scan", [path], {"min_abs_score": 0.3}, tmp_path / f"scan-{Path(path).stem}")


def test_version_3_text_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("6\t2\t0\t2\t5\t0.871\t11910711\n4\t0\t1\t2\t5\t-0.5\t11910711\n")
    both("scan", [str(path)], {}, tmp_path)


def test_a_tree_of_values_is_read_completely(tmp_path: Path, tiny: None) -> None:
    request = {"output": str(tmp_path / "tree"), "genes": 30, "samples": 9, "tree": True}
    native_module().data_make("clusters", json.dumps(request))
    inputs = [str(tmp_path / "tree")]
    both("degrees", inputs, {"min_abs_score": 0.4}, tmp_path / "degrees")
    both("scan", inputs, {"min_abs_score": 0.4}, tmp_path / "scan")


def test_an_answer_without_rows_is_an_answer(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", [Row(gene1=3, gene2=1, score="nan")])
    for workload, parameters in WORKLOADS:
        inputs = [path, path] if workload == "join" else [path]
        name = f"{workload}-{len(parameters)}-{parameters.get('how')}-{parameters.get('method')}"
        both(workload, inputs, parameters, tmp_path / name)


def test_phases_and_counts_describe_the_work(tmp_path: Path) -> None:
    rows = random_rows(4)
    path = write(tmp_path / "a.txt", rows)
    reports: list[tuple[int, int]] = []
    engine = array.ArrayEngine().with_progress(lambda done, total: reports.append((done, total)))
    outcome = run(trial("degrees", [path], {"min_abs_score": 0.5}), tmp_path, engine)
    size = Path(path).stat().st_size
    assert [phase.name for phase in outcome.phases] == ["load", "count", "write"]
    load = outcome.phases[0]
    assert (load.bytes, load.rows) == (size, len(rows))
    scored = sum(row.score != "nan" for row in rows)
    assert outcome.counts["rows_read"] == len(rows)
    assert outcome.counts["rows_loaded"] == scored == outcome.phases[1].rows
    assert outcome.counts["array_bytes"] > (outcome.phases[1].bytes or 0) > 0
    assert reports[-1] == (size, size)
    assert set(outcome.versions) == {"tiledb", "tiledb-py"}


def test_a_trial_in_the_lab_is_verified_and_recorded(tmp_path: Path) -> None:
    job = trial("scan", [write(tmp_path / "a.txt", random_rows(5))], {"min_abs_score": 0.5})
    record = run_trial(get_engine("array"), job, Plan(output=tmp_path / "answer", repeats=2))
    assert record["verified"]
    assert (tmp_path / "answer" / "pairs.txt").is_file()


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("communities", {"method": "louvain"}, "does not offer --method louvain"),
    ("communities", {"method": "leiden"}, "does not offer --method leiden"),
    ("scan", {"min_abs_score": 0.8, "max_abs_score": 0.5}, "--max-abs-score is 0.5"),
    ("scan", {"score_index": 3}, "has 1 scores, --score-index 3 asks for another"),
    ("degrees", {"genes": 5}, "has gene 7, but --genes says there are 5"),
    ("communities", {"genes": 5}, "has gene 7, but --genes says there are 5"),
]


@pytest.mark.parametrize(("workload", "parameters", "message"), REFUSED)
def test_bad_arguments_are_reported_in_a_single_line(
    workload: str, parameters: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.txt", [Row(gene1=7, gene2=1)])
    with pytest.raises(InputError) as caught:
        run(trial(workload, [path], parameters), tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_damaged_line_is_named_in_plain_and_gzipped_text(tmp_path: Path, tiny: None) -> None:
    rows = [Row(gene1=9 + number, gene2=1) for number in range(300)]
    text = "".join(f"{row}\n" for row in rows[:211]) + "7\t3\n"
    plain, packed_file = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    plain.write_text(text)
    packed_file.write_bytes(gzip.compress(text.encode()))
    for path in (plain, packed_file):
        with pytest.raises(InputError, match=rf"line 212 of {path} has 2 fields, expected 11"):
            run(trial("scan", [str(path)], {}), tmp_path / path.stem)


def test_damage_behind_a_bad_line_is_reported_before_the_line(tmp_path: Path, tiny: None) -> None:
    text = "".join(f"{Row(gene1=9 + number, gene2=1)}\n" for number in range(300))
    packed = bytearray(gzip.compress(text.replace("108\t1", "108").encode()))
    packed[-8] ^= 1
    path = tmp_path / "a.txt.gz"
    path.write_bytes(packed)
    with pytest.raises(InputError, match=r"is damaged: what gzip packed is broken at byte"):
        run(trial("scan", [str(path)], {}), tmp_path)


@pytest.mark.parametrize("fraction", [0.1, 0.9])
def test_a_gzipped_file_that_is_cut_short_is_refused(fraction: float, tmp_path: Path) -> None:
    compressed = gzip.compress("".join(f"{row}\n" for row in random_rows(6)).encode())
    path = tmp_path / "a.txt.gz"
    path.write_bytes(compressed[: int(len(compressed) * fraction)])
    with pytest.raises(InputError, match=r"cut short: .*; obtain it again"):
        run(trial("scan", [str(path)], {}), tmp_path)


def test_rows_with_other_numbers_of_scores_are_refused(tmp_path: Path, tiny: None) -> None:
    rows = [Row(gene1=9 + number, gene2=1) for number in range(200)]
    path = write(tmp_path / "a.txt", [*rows, Row(gene1=900, gene2=1, score="0.5,0.5")])
    with pytest.raises(InputError, match="scores"):
        run(trial("scan", [path], {}), tmp_path)


def test_a_pair_matrix_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pairs.zarr").mkdir()
    with pytest.raises(InputError, match="is a pair matrix"):
        run(trial("scan", [str(tmp_path / "pairs.zarr")], {}), tmp_path)


def test_a_graph_beyond_the_memory_limit_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", random_rows(7))
    job = trial("communities", [path], {"method": "label-propagation"}, memory_bytes=10_000)
    with pytest.raises(InputError, match=r"the graph needs .* raise --memory"):
        run(job, tmp_path)


def test_errors_of_tiledb_become_a_single_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tiledb

    from cuesta.engines.array import store

    path = write(tmp_path / "a.txt", random_rows(8))
    kinds = (("[IO] Cannot write\nNo space left on device", InputError), ("odd", EngineError))
    for text, kind in kinds:

        def fail(*_: object, text: str = text) -> None:
            raise tiledb.TileDBError(text)

        monkeypatch.setattr(store, "create", fail)
        with pytest.raises(kind) as caught:
            run(trial("scan", [path], {}), tmp_path / kind.__name__)
        assert "\n" not in str(caught.value)
        assert not any((tmp_path / kind.__name__ / "scratch").iterdir())


def test_a_missing_package_is_reported_in_a_single_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert get_engine("array").missing() is None
    monkeypatch.setattr(array, "find_spec", lambda name: None if name == "tiledb" else object())
    assert "pip install 'cuesta[array]'" in str(get_engine("array").missing())


def test_the_engine_is_listed_without_its_packages() -> None:
    code = (
        "import sys; from cuesta.engines import get_engine; get_engine('array').missing(); "
        "assert not {'tiledb', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
