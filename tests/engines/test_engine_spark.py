"""The Spark engine writes the files of the native engine, byte for byte, for any splits."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from cuesta.engines import get_engine
from cuesta.engines.spark import SparkEngine
from cuesta.errors import EngineError, InputError
from cuesta.native import native_module
from sparkkit import run, same_as_native, spark, trial

__all__ = ["spark"]

pytestmark = pytest.mark.usefixtures("spark")

WORKLOADS: list[tuple[str, dict[str, Any]]] = [
    ("scan", {"min_abs_score": 0.3}),
    ("scan", {}),
    ("join", {"how": "inner"}),
    ("join", {"how": "left", "min_abs_score": 0.3}),
    ("join", {"how": "outer", "min_abs_score": 0.3}),
    ("degrees", {"genes": 80}),
    ("degrees", {"min_abs_score": 0.5}),
    ("communities", {"min_abs_score": 0.5, "genes": 80}),
    ("communities", {"method": "label-propagation", "min_abs_score": 0.3}),
]


def make(path: Path, **changes: Any) -> str:
    """Write a synthetic text or tree; return its path."""
    request = {"output": str(path), "genes": 60, "samples": 20, "clusters": 2, "seed": 1}
    native_module().data_make("clusters", json.dumps(request | {"threads": 1} | changes))
    return str(path)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two versions of some pairs."""
    folder = tmp_path_factory.mktemp("pair")
    return [make(folder / "a.txt"), make(folder / "b.txt", variant=1)]


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Folder with all parts that a dataset may have, under names that need care."""
    folder = tmp_path_factory.mktemp("mixture") / "of [all] sorts"
    folder.mkdir()
    text = Path(make(folder / "a.txt", clusters=1)).read_bytes()
    (folder / "b 100%25.txt").write_bytes(b"#Restarted\n\n" + text.replace(b"\n", b"\r\n"))
    (folder / "c.txt.gz").write_bytes(gzip.compress(text.replace(b"\n", b"\r\n")))
    (folder / "a").mkdir()
    (folder / "a" / "empty.txt").touch()
    (folder / "a" / "no-line-feed-at-its-end.txt").write_bytes(text.rstrip())
    make(folder / "tree", genes=30, tree=True)
    nan = folder / "tree" / "clusters-sc" / "nan"
    nan.mkdir(exist_ok=True)
    (nan / "unscored.txt").write_text("no gene pair\n")
    return str(folder)


@pytest.mark.parametrize("task_bytes", ["1GiB", "20KB"])
@pytest.mark.parametrize(("workload", "parameters"), WORKLOADS, ids=str)
def test_files_and_counts_are_those_of_the_native_engine(
    workload: str,
    parameters: dict[str, Any],
    task_bytes: str,
    pair: list[str],
    tmp_path: Path,
) -> None:
    inputs = pair if workload == "join" else pair[:1]
    outcome = same_as_native(trial(workload, inputs, parameters, task_bytes=task_bytes), tmp_path)
    assert outcome.versions["spark"]
    assert {phase.name for phase in outcome.phases} - {"start"} >= {"open", "write"}


@pytest.mark.parametrize("uri", ["", "file://"])
@pytest.mark.parametrize("workload", ["scan", "degrees", "communities"])
def test_any_mixture_of_texts_is_read_in_order(
    workload: str, uri: str, mixture: str, tmp_path: Path
) -> None:
    job = trial(workload, [f"{uri}{mixture}"], {"min_abs_score": 0.2}, task_bytes="100KB")
    same_as_native(job, tmp_path, [mixture])


@pytest.mark.parametrize(("workload", "parameters"), WORKLOADS[3:5] + WORKLOADS[8:], ids=str)
def test_files_that_are_named_by_their_uri_give_the_same(
    workload: str, parameters: dict[str, Any], pair: list[str], tmp_path: Path
) -> None:
    inputs = pair if workload == "join" else pair[:1]
    remote = [f"file://{path}" for path in inputs]
    same_as_native(trial(workload, remote, parameters, task_bytes="60KB"), tmp_path, inputs)


@pytest.mark.parametrize("partitions", ["1", "5"])
def test_a_matrix_is_correlated_by_any_number_of_tasks(partitions: str, tmp_path: Path) -> None:
    path = tmp_path / "genes.txt"
    request = {"output": str(path), "genes": 90, "samples": 40, "seed": 1, "threads": 1}
    native_module().data_make("matrix", json.dumps(request))
    job = trial("correlate", [str(path)], {"min_abs_score": 0.3}, partitions=partitions)
    tasks = same_as_native(job, tmp_path).counts["tasks"]
    assert int(partitions) // 2 < tasks <= int(partitions)


@pytest.mark.parametrize(("workload", "parameters"), WORKLOADS[1:4] + WORKLOADS[8:], ids=str)
def test_a_pair_matrix_is_read_too(
    workload: str, parameters: dict[str, Any], pair: list[str], tmp_path: Path
) -> None:
    run(trial("load", pair[:1], {}), tmp_path, "native")
    (matrix,) = tmp_path.rglob("pairs.zarr")
    inputs = [str(matrix), *pair[1:]] if workload == "join" else [str(matrix)]
    same_as_native(trial(workload, inputs, parameters, task_bytes="2KB"), tmp_path)


NOTHING = {"min_cluster_samples": 1000}


@pytest.mark.parametrize(
    ("workload", "parameters"),
    [
        ("scan", {}),
        ("join", {"how": "outer"}),
        ("degrees", {"genes": 5}),
        ("communities", {"genes": 5}),
        ("communities", {"method": "label-propagation"}),
    ],
    ids=str,
)
def test_nothing_that_passes_is_an_answer_too(
    workload: str, parameters: dict[str, Any], pair: list[str], tmp_path: Path
) -> None:
    inputs = pair if workload == "join" else pair[:1]
    same_as_native(trial(workload, inputs, {**parameters, **NOTHING}), tmp_path)


def test_label_propagation_stops_after_its_rounds(pair: list[str], tmp_path: Path) -> None:
    parameters = {"method": "label-propagation", "iterations": 1}
    outcome = same_as_native(trial("communities", pair[:1], parameters), tmp_path)
    assert outcome.counts["rounds"] == 1


DAMAGED: list[tuple[str, dict[str, Any]]] = [
    ("scan", {}),
    ("join", {}),
    ("degrees", {}),
    ("communities", {}),
    ("communities", {"method": "label-propagation"}),
]


@pytest.mark.parametrize(("workload", "parameters"), DAMAGED, ids=str)
def test_a_damaged_line_is_the_error_line_of_the_native_engine(
    workload: str, parameters: dict[str, Any], pair: list[str], tmp_path: Path
) -> None:
    lines = Path(pair[0]).read_text().splitlines()
    lines[1000] = lines[1000].replace("\t", " ", 1)
    damaged = tmp_path / "damaged.txt"
    damaged.write_text("\n".join(lines))
    inputs = [pair[1], str(damaged)] if workload == "join" else [str(damaged)]
    job = trial(workload, inputs, parameters, task_bytes="20KB")
    expected = refusal(job, tmp_path, "native")
    assert "line 1001 of" in expected
    assert refusal(job, tmp_path) == expected
    inputs = [f"file://{path}" for path in inputs]
    job = trial(workload, inputs, parameters)
    assert refusal(job, tmp_path) == expected.replace(str(damaged), f"file://{damaged}")


def test_a_line_far_into_a_file_is_placed_from_where_the_file_starts(
    pair: list[str], tmp_path: Path
) -> None:
    text = Path(pair[0]).read_bytes()
    damaged = tmp_path / "damaged.txt"
    damaged.write_bytes(text + b"7\t3\n")
    expected = refusal(trial("degrees", [str(damaged)], {}), tmp_path, "native")
    job = trial("degrees", [f"file://{damaged}"], {}, task_bytes="20KB")
    assert refusal(job, tmp_path) == expected.replace(str(damaged), f"file://{damaged}")


@pytest.mark.parametrize(
    ("workload", "parameters", "text"),
    [
        ("degrees", {"genes": 10}, "--genes says there are 10"),
        ("communities", {"genes": 10}, "--genes says there are 10"),
        ("communities", {"method": "louvain"}, "goes through the genes one by one; run it with"),
        ("communities", {"method": "leiden"}, "--method leiden goes through the genes one by one"),
    ],
    ids=str,
)
def test_what_the_parameters_do_not_allow_is_refused_in_a_single_line(
    workload: str, parameters: dict[str, Any], text: str, pair: list[str], tmp_path: Path
) -> None:
    message = refusal(trial(workload, pair[:1], parameters), tmp_path)
    assert text in message
    assert "\n" not in message


def test_what_can_be_refused_at_once_is_refused_before_spark_starts(
    pair: list[str], tmp_path: Path
) -> None:
    run(trial("degrees", pair[:1], {}), tmp_path)
    # Another engine cannot start a session while that of the tests runs.
    with pytest.raises(InputError, match="run it with --engine native"):
        SparkEngine().run(trial("communities", pair[:1], {"method": "louvain"}), tmp_path, tmp_path)


@pytest.mark.parametrize("how", ["inner", "left", "outer"])
@pytest.mark.parametrize("twice", [0, 1])
def test_a_duplicate_row_is_refused_even_if_the_join_would_drop_it(
    how: str, twice: int, pair: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    row = "70\t69\t3\t3\t5\t1\t0\t1\t0\t0.5\t" + "1" * 20 + "\n"
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for number, (path, file) in enumerate(zip(pair, files, strict=True)):
        file.write_text(Path(path).read_text() + row * (2 if number == twice else 0))
    job = trial("join", [str(file) for file in files], {"how": how})
    message = refusal(job, tmp_path)
    version = "ab"[twice]
    assert message == refusal(job, tmp_path, "native")
    assert message.startswith(f"join: version {version} has gene pair 70 69 cluster 3 twice")
    assert not capfd.readouterr().err


@pytest.mark.parametrize("uri", ["", "file://"])
def test_a_missing_or_empty_input_is_refused(uri: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("#Done\n")
    assert "holds no gene pair" in refusal(trial("scan", [f"{uri}{empty}"], {}), tmp_path)
    message = refusal(trial("scan", [f"{uri}{tmp_path}/nowhere.txt"], {}), tmp_path)
    assert "nowhere.txt" in message
    assert ("entity not found" if uri else "o such file") in message


def test_an_unknown_kind_of_address_is_refused(tmp_path: Path) -> None:
    message = refusal(trial("scan", ["gopher://example.org/a.txt"], {}), tmp_path)
    assert "no reader of gopher:// is known; copy it to a file" in message


def test_addresses_and_paths_go_together(pair: list[str], tmp_path: Path) -> None:
    mixed = [f"file://{pair[0]}", pair[1]]
    _, files = run(trial("scan", mixed, {}), tmp_path)
    assert files == run(trial("scan", pair, {}), tmp_path, "native")[1]


def test_a_session_is_shared_by_runs(spark: SparkEngine, pair: list[str], tmp_path: Path) -> None:
    run(trial("degrees", pair[:1], {}), tmp_path)
    outcome, _ = run(trial("degrees", pair[:1], {}, task_bytes="1MB"), tmp_path)
    assert "start" not in {phase.name for phase in outcome.phases}
    with pytest.raises(EngineError, match="has a Spark session already"):
        SparkEngine().run(trial("degrees", pair[:1], {}), tmp_path, tmp_path)


def test_progress_is_reported_in_bytes_of_the_input(
    spark: SparkEngine, pair: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cuesta.engines.spark.context.PROGRESS_SECONDS", 0.001)
    reports: list[tuple[int, int]] = []
    engine = spark.with_progress(lambda done, total: reports.append((done, total)))
    scratch, output = tmp_path / "scratch", tmp_path / "answer"
    scratch.mkdir()
    output.mkdir()
    engine.run(trial("degrees", pair[:1], {}, task_bytes="20KB"), output, scratch)
    size_bytes = Path(pair[0]).stat().st_size
    assert {total for _, total in reports} == {size_bytes}
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)


def refusal(job: Any, folder: Path, name: str = "spark") -> str:
    """Return the message with which a run is refused."""
    with pytest.raises(InputError) as caught:
        run(job, folder, name)
    return str(caught.value)


def test_the_engine_is_resolved_by_its_name() -> None:
    assert get_engine("spark").name == "spark"
