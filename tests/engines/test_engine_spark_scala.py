"""The Scala workloads write the files of the native engine, byte for byte."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspark")

from cuesta.engines.spark import scala_jar
from cuesta.engines.spark_scala import SparkScalaEngine
from cuesta.errors import EngineError, InputError
from cuesta.native import native_module
from labkit import vector_files
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
    """Write a synthetic text or tree; return its path."""
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
    job = trial(workload, inputs_of(workload, pair), parameters)
    outcome = same_as_native(job, tmp_path, name=NAME)
    assert outcome.versions["scala"].startswith("2.13.")
    if workload == "dataflow":
        names = [phase.name for phase in outcome.phases if phase.name != "start"]
        stages = ["generate", "shift", "average"] if "keep" in parameters else ["pipeline"]
        assert names == [*stages, "reduce", "write"]


@pytest.mark.parametrize("more", [{}, {"stages": "separate", "keep": "memory"}], ids=str)
def test_vectors_of_files_give_the_table_of_the_native_engine(
    more: dict[str, Any], tmp_path: Path
) -> None:
    files = vector_files(tmp_path)
    job = trial("dataflow", files, {"block_vectors": 50} | more)
    outcome = same_as_native(job, tmp_path, name=NAME)
    assert (outcome.counts["vectors"], outcome.counts["blocks"]) == (238, 5)
    vectors = np.load(files[2])
    vectors[100, 1] = np.nan
    np.save(files[2], vectors)
    assert "coordinate 2 of point 101 of" in refusal(job, tmp_path)
    np.save(files[2], vectors[:, :2])
    assert "has 2 dimensions; dataflow takes arrays of n x 3" in refusal(job, tmp_path)


@pytest.mark.parametrize("workload", ["scan", "degrees", "communities"])
def test_any_mixture_of_texts_is_read_in_order(workload: str, tmp_path: Path) -> None:
    folder = tmp_path / "of [all] sorts"
    folder.mkdir()
    text = Path(make(folder / "a.txt", clusters=1)).read_bytes()
    (folder / "b 100%25.txt").write_bytes(b"#Restarted\n\n" + text.replace(b"\n", b"\r\n"))
    (folder / "c.txt.gz").write_bytes(gzip.compress(text.replace(b"\n", b"\r\n")))
    (folder / ".hidden").write_text("no gene pair\n")
    make(folder / "tree", genes=30, tree=True)
    # Each of the many iterations of communities starts a task for each piece.
    for pieces in ["3"] if workload == "communities" else ["1", "40"]:
        job = trial(workload, [str(folder)], {"min_abs_score": 0.2}, partitions=pieces)
        same_as_native(job, tmp_path, name=NAME)


def test_a_text_of_version_3_is_read(tmp_path: Path) -> None:
    lines = ["6\t2\t0\t2\t5\t0.871,0.1\t11910711", "8\t1\t1\t2\t5\tnan,-0.5\t11110766"]
    file = tmp_path / "v3.txt"
    file.write_text("\n".join(lines))
    for index in (0, 1):
        job = trial("scan", [str(file)], {"score_index": index, "min_abs_score": 0.1})
        same_as_native(job, tmp_path, name=NAME)
    job = trial("scan", [str(file)], {"score_index": 2})
    assert refusal(job, tmp_path) == refusal(job, tmp_path, "native")


@pytest.mark.parametrize("kind", ["tera", "random", "skewed", "sorted", "equal"])
@pytest.mark.parametrize("partitions", ["1", "5"])
def test_records_are_sorted_as_the_native_engine_does(
    kind: str, partitions: str, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, rows in [("a", 1000), ("b", 0), ("c", 300)]:
        request = {"output": str(folder / name), "rows": rows, "first": 0, "kind": kind, "seed": 1}
        native_module().data_make("tera", json.dumps(request | {"threads": 1}))
    (folder / "_SUCCESS").touch()
    job = trial("sort", [str(folder)], {}, partitions=partitions)
    _, expected = run(trial("sort", [str(folder)], {}), tmp_path, "native")
    outcome, files = run(job, tmp_path, NAME)
    assert files == expected
    assert outcome.counts["records"] == 1300


def test_records_that_cannot_be_sorted_are_refused_as_natively(tmp_path: Path) -> None:
    short = tmp_path / "short.dat"
    short.write_bytes(b"x" * 250)
    empty = tmp_path / "empty"
    empty.mkdir()
    for path in (short, empty, tmp_path / "nowhere"):
        job = trial("sort", [str(path)], {})
        expected = refusal(job, tmp_path, "native").replace(" (os error 2)", "")
        assert refusal(job, tmp_path) == expected


def points(folder: Path, kind: str) -> str:
    """Write the same points in one of the formats, to a file whose name is also a pattern."""
    import numpy as np

    x = np.random.default_rng(1).normal(size=(500, 3)).round(3)
    x[:250] += 5
    path = folder / f"points, [1]{{a}}*.{kind}"
    if kind == "npy":
        np.save(path, x)
    elif kind == "f4.npy":
        np.save(path, x.astype(np.float32))
    elif kind == "txt":
        path.write_text("# three numbers\n" + "\n".join(f"{a}, {b};{c}" for a, b, c in x) + "\n")
    else:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet

        columns = {name: x[:, index] for index, name in enumerate("abc")}
        pyarrow.parquet.write_table(pa.table(columns), path)
    return str(path)


@pytest.mark.parametrize("kind", ["npy", "f4.npy", "txt", "parquet"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"clusters": 4, "iterations": 6},
        {"clusters": 3, "init": "kmeans++", "tolerance": 0.01},
        {"clusters": 2, "dtype": "float32"},
    ],
    ids=str,
)
def test_points_are_grouped_as_the_native_engine_does(
    kind: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    path = points(tmp_path, kind)
    expected, native = run(
        trial("kmeans", [points(tmp_path, "npy")], parameters), tmp_path, "native"
    )
    if kind == "f4.npy":
        expected, native = run(trial("kmeans", [path], parameters), tmp_path, "native")
    outcome, files = run(trial("kmeans", [path], parameters, partitions="3"), tmp_path, NAME)
    assert files["assignments.npy"] == native["assignments.npy"]
    for name in ("centres.tsv", "iterations.tsv"):
        rows, native_rows = (text[name].decode().splitlines() for text in (files, native))
        assert rows[0] == native_rows[0]
        numbers = [
            [list(map(float, row.split("\t"))) for row in all_[1:]] for all_ in (rows, native_rows)
        ]
        # The same doubles; Java writes some of them differently.
        assert numbers[0] == numbers[1]
    assert {key: outcome.counts[key] for key in expected.counts} == expected.counts


def test_points_that_cannot_be_grouped_are_refused(tmp_path: Path) -> None:
    for text, message in [
        ("1 2\n3\n", "1 and 2 numbers"),
        ("1 x\n", 'has "x", expected a number'),
        ("1 2\nnan 1\n", 'has "nan", expected a number'),
        ("1 2\n1 1e200\n", "coordinate 2 of point 2 is 1.0E200"),
        ("1 2\n1 1d\n", 'has "1d", expected a number'),
        ("1 2\n", "there are only 1 points"),
    ]:
        file = tmp_path / "points.txt"
        file.write_text(text)
        assert message in refusal(trial("kmeans", [str(file)], {"clusters": 2}), tmp_path)


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
def test_a_damaged_line_is_the_error_line_of_the_native_engine(
    line: str, pair: list[str], tmp_path: Path
) -> None:
    lines = Path(pair[0]).read_text().splitlines()
    lines[1000] = line
    damaged = tmp_path / "damaged.txt"
    damaged.write_text("\n".join(lines))
    for workload in ("scan", "join"):
        inputs = [pair[1], str(damaged)] if workload == "join" else [str(damaged)]
        job = trial(workload, inputs, {}, partitions="9")
        expected = refusal(job, tmp_path, "native")
        assert "line 1001 of" in expected
        assert refusal(job, tmp_path) == expected


@pytest.mark.parametrize("twice", [0, 1])
def test_a_duplicate_row_is_refused_even_if_the_join_would_drop_it(
    twice: int, pair: list[str], tmp_path: Path
) -> None:
    row = "70\t69\t3\t3\t5\t1\t0\t1\t0\t0.5\t" + "1" * 20 + "\n"
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for number, (path, file) in enumerate(zip(pair, files, strict=True)):
        file.write_text(Path(path).read_text() + row * (2 if number == twice else 0))
    job = trial("join", [str(file) for file in files], {"how": "inner"})
    assert refusal(job, tmp_path) == refusal(job, tmp_path, "native")


@pytest.mark.parametrize(
    ("workload", "parameters", "text"),
    [
        ("degrees", {"genes": 10}, "--genes says there are 10"),
        ("communities", {"genes": 10}, "--genes says there are 10"),
        ("communities", {"method": "louvain"}, "engine spark-scala has no --method louvain"),
        ("communities", {"method": "leiden"}, "engine spark-scala has no --method leiden"),
        ("dataflow", {"shift": "1,2"}, "--shift is"),
    ],
    ids=str,
)
def test_what_the_parameters_do_not_allow_is_refused_in_a_single_line(
    workload: str, parameters: dict[str, Any], text: str, pair: list[str], tmp_path: Path
) -> None:
    message = refusal(trial(workload, inputs_of(workload, pair), parameters), tmp_path)
    assert text in message
    assert "\n" not in message


def test_a_missing_or_empty_input_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("#Done\n")
    assert "holds no gene pair" in refusal(trial("scan", [str(empty)], {}), tmp_path)
    assert "nowhere.txt" in refusal(trial("scan", [f"{tmp_path}/nowhere.txt"], {}), tmp_path)
    zarr = tmp_path / "pairs.zarr"
    zarr.mkdir()
    (zarr / "zarr.json").touch()
    assert "is a pair matrix" in refusal(trial("scan", [str(zarr)], {}), tmp_path)


def refusal(job: Any, folder: Path, name: str = NAME) -> str:
    """Return the message with which a run is refused."""
    with pytest.raises(InputError) as caught:
        run(job, folder, name)
    return str(caught.value)


def test_without_its_jar_and_its_sources_the_engine_explains_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scala_jar, "JAR", tmp_path / "none.jar")
    monkeypatch.setattr(scala_jar, "_COMPILER", tmp_path / "none.py")
    assert "install cuesta's wheel again" in (SparkScalaEngine().missing() or "")


def test_the_jar_of_a_wheel_is_taken_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    jar = tmp_path / "jobs.jar"
    jar.write_text("ready made")
    monkeypatch.setattr(scala_jar, "JAR", jar)
    monkeypatch.setattr(scala_jar, "_COMPILER", tmp_path / "none.py")
    assert scala_jar.missing() is None
    SparkScalaEngine().prepare(pytest.fail)
    assert jar.read_text() == "ready made"


COMPILER = """
import sys
from pathlib import Path
from cuesta.engines.spark import scala_jar
scala_jar._COMPILER = Path(__file__)
jar, sources = Path(sys.argv[2]), Path(__file__).parent / "src"
jar.unlink(missing_ok=True)
scala_jar.write_origin(jar, scala_jar.origin(sources))
"""
"""Fake compiler that makes jars without classes."""


def test_a_checkout_compiles_the_jar_anew_for_other_sources_and_another_pyspark(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    jar, sources, compiler = tmp_path / "jobs.jar", tmp_path / "src", tmp_path / "compiler.py"
    sources.mkdir()
    source = sources / "Job.scala"
    source.write_text("object Job")
    compiler.write_text(COMPILER)
    jar.write_text("of an older Cuesta")
    for name, path in (("JAR", jar), ("_COMPILER", compiler), ("_SOURCES", sources)):
        monkeypatch.setattr(scala_jar, name, path)
    reports: list[str] = []

    def times_compiled() -> int:
        for _ in range(2):
            SparkScalaEngine().prepare(reports.append)
        return len(reports)

    assert times_compiled() == 1
    os.utime(source, (jar.stat().st_mtime + 1, jar.stat().st_mtime + 1))
    assert times_compiled() == 1
    source.write_text("object Work")
    assert times_compiled() == 2
    with monkeypatch.context() as upgraded:
        upgraded.setattr(scala_jar, "version", lambda _package: "99.0")
        SparkScalaEngine().prepare(reports.append)
        assert len(reports) == 3
    compiler.write_text("import sys; sys.exit('Job.scala:1: error: no such thing')")
    with pytest.raises(EngineError, match=r"do not compile: Job\.scala:1: error: no such thing"):
        SparkScalaEngine().prepare(reports.append)
