"""The Scala workloads write the files of the native engine, byte for byte."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from cuesta.engines.spark_scala import SparkScalaEngine
from cuesta.errors import InputError
from cuesta.lab.request import native_module
from sparkkit import run, same_as_native, scala, trial

__all__ = ["scala"]

pytestmark = pytest.mark.usefixtures("scala")

NAME = "spark-scala"
WORKLOADS: list[tuple[str, dict[str, Any]]] = [
    ("scan", {"min_abs_score": 0.3}),
    ("scan", {"min_cluster_samples": 1000}),
    ("join", {"how": "inner"}),
    ("join", {"how": "left", "min_abs_score": 0.3}),
    ("join", {"how": "outer", "min_abs_score": 0.3}),
    ("degrees", {"genes": 80}),
    ("degrees", {"min_abs_score": 0.5, "max_missing": 1}),
    ("degrees", {"min_cluster_samples": 1000}),
    ("communities", {"min_abs_score": 0.5, "genes": 80}),
    ("communities", {"method": "label-propagation", "min_abs_score": 0.3}),
    ("communities", {"method": "label-propagation", "iterations": 1}),
    ("communities", {"min_cluster_samples": 1000, "genes": 5}),
    ("dataflow", {"blocks": 3, "block_vectors": 1000, "shift": "1.5,-999.99,0"}),
    ("dataflow", {"blocks": 5, "block_vectors": 100, "stages": "separate"}),
    ("dataflow", {"blocks": 5, "block_vectors": 100, "stages": "separate", "keep": "memory"}),
    ("dataflow", {"blocks": 5, "block_vectors": 100, "stages": "separate", "keep": "disk"}),
]


def make(path: Path, **changes: Any) -> str:
    """A synthetic text or tree; its path."""
    request = {"output": str(path), "genes": 60, "samples": 20, "clusters": 2, "seed": 1}
    native_module().data_make("clusters", json.dumps(request | {"threads": 1} | changes))
    return str(path)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("pair")
    return [make(folder / "a.txt"), make(folder / "b.txt", variant=1)]


def inputs_of(workload: str, pair: list[str]) -> list[str]:
    return {"join": pair, "dataflow": []}.get(workload, pair[:1])


@pytest.mark.parametrize(("workload", "parameters"), WORKLOADS, ids=str)
def test_files_and_counts_are_those_of_the_native_engine(
    workload: str, parameters: dict[str, Any], pair: list[str], tmp_path: Path
) -> None:
    wanted = trial(workload, inputs_of(workload, pair), parameters)
    outcome = same_as_native(wanted, tmp_path, name=NAME)
    assert outcome.versions["scala"].startswith("2.13.")


@pytest.mark.parametrize("workload", ["scan", "degrees", "communities"])
def test_any_mixture_of_texts_is_read_in_order(workload: str, tmp_path: Path) -> None:
    folder = tmp_path / "of [all] sorts"
    folder.mkdir()
    text = Path(make(folder / "a.txt", clusters=1)).read_bytes()
    (folder / "b 100%25.txt").write_bytes(b"#Restarted\n\n" + text.replace(b"\n", b"\r\n"))
    (folder / "c.txt.gz").write_bytes(gzip.compress(text.replace(b"\n", b"\r\n")))
    (folder / ".hidden").write_text("no gene pair\n")
    make(folder / "tree", genes=30, tree=True)
    for pieces in ["1", "40"]:
        wanted = trial(workload, [str(folder)], {"min_abs_score": 0.2}, partitions=pieces)
        same_as_native(wanted, tmp_path, name=NAME)


def test_a_text_of_version_3_is_read(tmp_path: Path) -> None:
    lines = ["6\t2\t0\t2\t5\t0.871,0.1\t11910711", "8\t1\t1\t2\t5\tnan,-0.5\t11110766"]
    file = tmp_path / "v3.txt"
    file.write_text("\n".join(lines))
    for index in (0, 1):
        wanted = trial("scan", [str(file)], {"score_index": index, "min_abs_score": 0.1})
        same_as_native(wanted, tmp_path, name=NAME)
    wanted = trial("scan", [str(file)], {"score_index": 2})
    assert refusal(wanted, tmp_path) == refusal(wanted, tmp_path, "native")


@pytest.mark.parametrize(
    "line",
    [
        "7\t3",
        "3\t7\t1\t2\t5\t1\t0\t1\t0\t0.5\t" + "1" * 20,
        "7\t0\t1\t2\t5\t1\t0\t1\t0\t0.5\t" + "1" * 20,
        "7\t3\t1\t2\tx\t1\t0\t1\t0\t0.5\t" + "1" * 20,
        "7\t3\t1\t2\t5\t1\t0\t1\t0\t0,5x\t" + "1" * 20,
        "7\t3\t1\t2\t5\t1\t0\t1\t0\t0.5\t" + "1" * 19,
        "7\t3\t1\t2\t5\t1\t0\t1\t0\t0.5\t" + "1" * 19 + "2",
    ],
)
def test_a_damaged_line_is_the_one_line_of_the_native_engine(
    line: str, pair: list[str], tmp_path: Path
) -> None:
    lines = Path(pair[0]).read_text().splitlines()
    lines[1000] = line
    damaged = tmp_path / "damaged.txt"
    damaged.write_text("\n".join(lines))
    for workload in ("scan", "join"):
        inputs = [pair[1], str(damaged)] if workload == "join" else [str(damaged)]
        wanted = trial(workload, inputs, {}, partitions="9")
        expected = refusal(wanted, tmp_path, "native")
        assert "line 1001 of" in expected
        assert refusal(wanted, tmp_path) == expected


@pytest.mark.parametrize("twice", [0, 1])
def test_a_row_given_twice_is_refused_even_if_the_join_would_drop_it(
    twice: int, pair: list[str], tmp_path: Path
) -> None:
    row = "70\t69\t3\t3\t5\t1\t0\t1\t0\t0.5\t" + "1" * 20 + "\n"
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for number, (path, file) in enumerate(zip(pair, files, strict=True)):
        file.write_text(Path(path).read_text() + row * (2 if number == twice else 0))
    wanted = trial("join", [str(file) for file in files], {"how": "inner"})
    assert refusal(wanted, tmp_path) == refusal(wanted, tmp_path, "native")


@pytest.mark.parametrize(
    ("workload", "parameters", "text"),
    [
        ("degrees", {"genes": 10}, "--genes says there are 10"),
        ("communities", {"genes": 10}, "--genes says there are 10"),
        ("communities", {"method": "louvain"}, "engine spark-scala has no --method louvain"),
        ("dataflow", {"shift": "1,2"}, "--shift is"),
    ],
    ids=str,
)
def test_what_the_parameters_do_not_allow_is_refused_in_one_line(
    workload: str, parameters: dict[str, Any], text: str, pair: list[str], tmp_path: Path
) -> None:
    found = refusal(trial(workload, inputs_of(workload, pair), parameters), tmp_path)
    assert text in found
    assert "\n" not in found


def test_what_is_not_there_or_has_no_pair_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("#Done\n")
    assert "holds no gene pair" in refusal(trial("scan", [str(empty)], {}), tmp_path)
    assert "nowhere.txt" in refusal(trial("scan", [f"{tmp_path}/nowhere.txt"], {}), tmp_path)
    zarr = tmp_path / "pairs.zarr"
    zarr.mkdir()
    (zarr / "zarr.json").touch()
    assert "is a pair matrix" in refusal(trial("scan", [str(zarr)], {}), tmp_path)


def refusal(wanted: Any, folder: Path, name: str = NAME) -> str:
    """The message with which a run is refused."""
    with pytest.raises(InputError) as caught:
        run(wanted, folder, name)
    return str(caught.value)


def test_without_its_jar_the_engine_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("cuesta.engines.spark_scala.JAR", tmp_path / "none.jar")
    assert "apt-get install" in (SparkScalaEngine().missing() or "")
