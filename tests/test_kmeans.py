"""`kmeans`: all forms of points, engines and limits give the answer of NumPy."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuesta.cli.app import call
from cuesta.engines.mpi import MpiEngine
from cuesta.workloads import get_workload
from labkit import run_apart
from waitkit import HANG_SECONDS

needs_mpi = pytest.mark.skipif(MpiEngine().missing() is not None, reason="MPI is not installed")

FILES = ("centres.tsv", "assignments.npy", "iterations.tsv")
OPTIONS = ["--clusters", "6", "--iterations", "8"]


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More points than fit in the least memory."""
    path = tmp_path_factory.mktemp("points") / "x.npy"
    words = ["data", "make", "points", "--rows", "400000", "--dimensions", "9", "--clusters", "6"]
    assert call([*words, "--seed", "5", "-o", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def answer(points: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The answer that later answers are compared with."""
    return run(points, tmp_path_factory.mktemp("answer"))


def run(points: Path, folder: Path, *more: str) -> Path:
    output = folder / "answer"
    words = ["run", "kmeans", str(points), *OPTIONS, *more, "-o", str(output), "--overwrite"]
    assert call(words) == 0
    return output


def record(answer: Path) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads((answer / "run.json").read_text())
    return fields


def same(first: Path, second: Path) -> None:
    for name in FILES:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    assert record(first)["answer"]["digest"] == record(second)["answer"]["digest"]
    assert record(first)["verified"]


def by_numpy(points: Any, clusters: int, iterations: int) -> tuple[Any, Any]:
    """Return centres and clusters by Lloyd's textbook iterations from the first points."""
    x = points.astype(np.float64)
    centres = x[:clusters].copy()
    for _ in range(iterations):
        labels = nearest(x, centres)
        for cluster in np.unique(labels):
            centres[cluster] = x[labels == cluster].mean(axis=0)
    return centres, nearest(x, centres)


def nearest(x: Any, centres: Any) -> Any:
    return ((x[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)


def test_the_answer_is_that_of_numpy(points: Path, answer: Path) -> None:
    centres, clusters = by_numpy(np.load(points), 6, 8)
    table = np.loadtxt(answer / "centres.tsv", skiprows=1)
    assert np.array_equal(np.load(answer / "assignments.npy"), clusters)
    assert np.allclose(table[:, 3:], centres, rtol=1e-9, atol=1e-9)
    assert np.array_equal(table[:, 1], np.bincount(clusters, minlength=6))
    inertia = ((np.load(points).astype(float) - centres[clusters]) ** 2).sum()
    assert table[:, 2].sum() == pytest.approx(inertia, rel=1e-9)


def test_scikit_learn_finds_the_same_centres(points: Path, answer: Path) -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    x = np.load(points).astype(np.float64)
    model = cluster.KMeans(
        6, init=x[:6].copy(), n_init=1, max_iter=8, tol=0, algorithm="lloyd"
    ).fit(x)
    table = np.loadtxt(answer / "centres.tsv", skiprows=1)
    assert np.allclose(table[:, 3:], model.cluster_centers_, rtol=1e-6)


@pytest.mark.parametrize("threads", ["1", "2", "4"])
@pytest.mark.parametrize("memory", ["16MiB", "1GiB"])
def test_threads_and_memory_do_not_change_a_byte(
    points: Path, answer: Path, tmp_path: Path, threads: str, memory: str
) -> None:
    limited = run(points, tmp_path, "--threads", threads, "--memory", memory)
    same(limited, answer)
    streamed = any(phase["name"].startswith("streamed") for phase in record(limited)["phases"])
    assert streamed == (memory == "16MiB")


def test_text_numbers_and_parquet_give_the_same_answer(
    points: Path, answer: Path, tmp_path: Path
) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    x = np.load(points)
    (tmp_path / "many").mkdir()
    for part, rows in enumerate(np.array_split(x, 3)):
        np.save(tmp_path / "many" / f"{part}.npy", rows)
    np.savetxt(tmp_path / "x.csv", x, fmt="%.9g", delimiter=",")
    columns = pa.table({f"c{index}": x[:, index] for index in range(x.shape[1])})
    parquet.write_table(columns, tmp_path / "x.parquet")
    list_column = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), x.shape[1])
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "_SUCCESS").touch()
    parquet.write_table(pa.table({"point": list_column}), tmp_path / "lists" / "part-0.parquet")
    for name in ("many", "x.csv", "x.parquet", "lists"):
        more = ["--dtype", "float32"] if name == "x.csv" else []
        same(run(tmp_path / name, tmp_path, *more), answer)


def test_first_centres_may_come_from_any_form_of_file(points: Path, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    centres = np.load(points)[100:106].astype(np.float64)
    np.save(tmp_path / "c.npy", centres)
    np.savetxt(tmp_path / "c.txt", centres, fmt="%.17g")
    parquet.write_table(
        pa.table({f"c{index}": centres[:, index] for index in range(9)}), tmp_path / "c.parquet"
    )
    answers = []
    for name in ("c.npy", "c.txt", "c.parquet"):
        (tmp_path / f"from-{name}").mkdir()
        more = ["--centres", str(tmp_path / name)]
        answers.append(run(points, tmp_path / f"from-{name}", *more))
    same(answers[0], answers[1])
    same(answers[0], answers[2])


@needs_mpi
def test_the_system_itself_holds_the_run_to_its_memory_limit(tmp_path: Path) -> None:
    path = tmp_path / "many.npy"
    make_words = ["data", "make", "points", "--rows", "2000000", "--clusters", "4"]
    assert call([*make_words, "-o", str(path)]) == 0
    limit_bytes = path.stat().st_size // 2
    words = [str(path), "--clusters", "4", "--iterations", "2", "--memory", str(limit_bytes)]
    run_record = run_apart(
        "kmeans", tmp_path / "a", *words, "--threads", "2", limit_bytes=limit_bytes
    )
    assert "streamed iteration 1" in {phase["name"] for phase in run_record["phases"]}
    assert run_record["peak_resident_bytes"] <= limit_bytes


@pytest.mark.parametrize(("ranks", "memory"), [("1", "1GiB"), ("3", "1GiB"), ("2", "112MiB")])
def test_ranks_give_the_same_bytes(
    points: Path, answer: Path, tmp_path: Path, ranks: str, memory: str
) -> None:
    same(run(points, tmp_path, "--engine", "mpi", "--ranks", ranks, "--memory", memory), answer)


@needs_mpi
def test_more_ranks_than_points_and_a_bad_point_on_a_rank(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "few.txt"
    path.write_text("1 2\n3 4\n9 9\n")
    words = ["run", "kmeans", str(path), "--clusters", "2", "--engine", "mpi", "--ranks", "4"]
    assert call([*words, "-o", str(tmp_path / "a")]) == 0
    path.write_text("1 2\n3 4\n9 nan\n")
    assert call([*words, "-o", str(tmp_path / "b")]) == 2
    assert "coordinate 2 of point 3 of" in capsys.readouterr().err.splitlines()[-1]


def test_bad_input_is_reported_in_a_single_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def saved(name: str, values: Any) -> str:
        np.save(tmp_path / name, values)
        return str(tmp_path / name)

    def written(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    good = saved("good.npy", np.arange(40.0).reshape(20, 2))
    cases: list[tuple[list[str], str]] = [
        ([saved("nan.npy", np.full((20, 2), np.nan))], "coordinate 1 of point 1 of"),
        ([saved("whole.npy", np.ones((20, 2), int))], "save it as little-endian float32"),
        ([saved("flat.npy", np.ones(20))], "give points x dimensions"),
        ([saved("order.npy", np.asfortranarray(np.ones((20, 2))))], "Fortran order"),
        ([saved("none.npy", np.ones((0, 2)))], "holds no point"),
        ([good, saved("wide.npy", np.ones((20, 3)))], "give points of equal dimensions"),
        ([written("ragged.csv", "1,2\n3\n")], "line 2 of"),
        ([written("word.csv", "1,2\n3,x\n")], 'has "x", which is no number'),
        ([written("empty.txt", "")], "holds no point"),
        ([good, "--clusters", "21"], "there are only 20 points"),
        ([good, "--clusters", "0"], "--clusters is 0"),
        ([good, "--centres", good], "expected 10 clusters x 2"),
        ([written("german.csv", "1.234,5;2\n3.000,1;3\n")], "and give --decimal comma"),
        ([str(tmp_path / "nowhere.npy")], "no such file"),
        ([], "Missing argument 'POINTS'"),
    ]
    for words, message in cases:
        assert call(["run", "kmeans", *words, "-o", str(tmp_path / "a")]) == 2, words
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith("cuesta: "), last
        assert message in last, last
        assert not (tmp_path / "a").exists()


def test_a_folder_of_files_of_several_kinds_is_read_and_verified_again(
    points: Path, answer: Path, tmp_path: Path
) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "points"
    folder.mkdir()
    for number, part in enumerate(np.array_split(np.load(points), 4)):
        name = f"part-{number}"
        if number % 2:
            table = pa.table({f"c{index}": part[:, index] for index in range(part.shape[1])})
            parquet.write_table(table, folder / f"{name}.parquet")
        else:
            np.save(folder / f"{name}.npy", part)
    made = run(folder, tmp_path)
    same(answer, made)
    (fingerprint,) = [row["fingerprint"] for row in record(made)["inputs"]]
    assert (fingerprint["kind"], fingerprint["files"]) == ("converted", 4)
    assert call(["verify", str(made)]) == 0
    np.save(folder / "part-2.npy", np.load(folder / "part-2.npy")[::-1])
    assert call(["verify", str(made)]) != 0


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_that_name_coordinates_differently_are_refused(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Columns in another order were joined by their position."""
    frames = pytest.importorskip("pandas")
    files = [tmp_path / f"{number}.{suffix}" for number in range(2)]
    for file, names in zip(files, (["a", "x", "y"], ["a", "y", "x"]), strict=True):
        frame = frames.DataFrame([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], columns=names)
        if suffix == "csv":
            frame.to_csv(file, index=False)
        else:
            frame.to_parquet(file, index=False)
    words = ["run", "kmeans", *map(str, files), "--clusters", "2", "-o", str(tmp_path / "a")]
    assert call(words) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "name coordinate 2 differently" in last
    assert last.endswith("give all files the same columns in the same order")


def test_centres_that_name_coordinates_differently_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Columns of `--centres` in another order were taken by their position."""
    (tmp_path / "points.csv").write_text("x,y\n1.5,2.5\n3.5,4.5\n9.5,9.5\n")
    for names, code in (("y,x", 2), ("x,y", 0)):
        (tmp_path / "centres.csv").write_text(f"{names}\n1.5,2.5\n9.5,9.5\n")
        words = ["run", "kmeans", str(tmp_path / "points.csv"), "--clusters", "2"]
        words += ["--centres", str(tmp_path / "centres.csv"), "-o", str(tmp_path / "a")]
        assert call(words) == code
        text = capsys.readouterr().err
        assert ("name coordinate 1 differently" in text) == bool(code)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("z,x", "give --columns x,z"),
        ("4,2", "give --columns 2,4"),
        ("x,x,y", "has column x twice; give each column once"),
        ("2-3,y", "has column y twice"),
        ("2-,z", "has column z twice"),
        ("x,z", ""),
        ("2,4-", ""),
    ],
)
def test_columns_in_another_order_or_twice_are_refused(
    suffix: str, columns: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--columns z,x` read x,z, so that z was read where `centres.tsv` had x."""
    frames = pytest.importorskip("pandas")
    path = tmp_path / f"c.{suffix}"
    frame = frames.DataFrame({"id": [1, 2], "x": [1.5, 2.5], "y": [3.5, 4.0], "z": [5.5, 9.0]})
    if suffix == "parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)
    words = ["run", "kmeans", str(path), "--clusters", "2", "--columns", columns]
    assert call([*words, "-o", str(tmp_path / "a")]) == (2 if message else 0)
    text = capsys.readouterr().err
    assert message in text.splitlines()[-1]


def test_columns_of_an_array_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--columns` had no effect on `.npy`."""
    np.save(tmp_path / "c.npy", np.arange(40.0).reshape(20, 2))
    words = ["run", "kmeans", str(tmp_path / "c.npy"), "--columns", "1", "--clusters", "2"]
    assert call([*words, "-o", str(tmp_path / "a")]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "c.npy is .npy, --columns is 1, which is for text and Parquet; leave it out" in last


def test_bad_parquet_is_reported_in_a_single_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "bad.parquet"
    for columns, message in [
        ({"a": [1.0, 2.0], "b": ["x", "y"]}, "column b is string"),
        ({"a": [1.0, None]}, "column a has empty cells"),
        ({"a": [[1.0, 2.0], [3.0]]}, "lists of different lengths"),
        ({"a": [[1.0], [3.0]], "b": [1.0, 2.0]}, "column b (double) is beside a, whose"),
        ({"a": [1.0, float("nan")]}, "coordinate 1 of point 2 of"),
    ]:
        parquet.write_table(pa.table(columns), path)
        words = ["run", "kmeans", str(path), "--clusters", "1", "-o", str(tmp_path / "a")]
        assert call(words) == 2
        assert message in capsys.readouterr().err.splitlines()[-1]
    path.write_bytes(b"PAR1 and no more")
    assert call(words) == 2
    assert str(path) in capsys.readouterr().err.splitlines()[-1]


def test_columns_of_parquet_that_number_or_group_points_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An `id` or `label` of Parquet became a coordinate without a word.

    Text refuses both, with the columns that leave them out; so does Parquet now.
    """
    frames = pytest.importorskip("pandas")
    x, y = np.random.default_rng(3).normal(size=(2, 9))
    path, answer = tmp_path / "c.parquet", str(tmp_path / "a")
    words = ["run", "kmeans", str(path), "--clusters", "2", "-o"]
    for columns, rest in [
        ({"id": np.arange(9), "x": x, "y": y}, "2-3"),
        ({"index": 1000 - 7 * np.arange(9), "x": x, "y": y}, "2-3"),
        ({"time": np.arange(1, 10), "x": x, "y": y}, "2-3"),
        ({"x": x, "y": y, "label": np.arange(9) % 2}, "1-2"),
    ]:
        frames.DataFrame(columns).to_parquet(path, index=False)
        assert call([*words, answer]) == 2
        assert f"give --columns {rest} to leave" in capsys.readouterr().err.splitlines()[-1]
        assert call([*words, f"{answer}-{next(iter(columns))}-{rest}", "--columns", rest]) == 0
    frames.DataFrame({"x": x, "y": np.arange(9)}).to_parquet(path, index=False)
    assert call([*words, f"{answer}-plane"]) == 0


def test_a_stream_of_arrow_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    polars = pytest.importorskip("polars")
    path = tmp_path / "p.arrows"
    polars.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]}).write_ipc_stream(path)
    assert call(["run", "kmeans", str(path), "--clusters", "1", "-o", str(tmp_path / "a")]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "p.arrows is a stream of Arrow (IPC); write it as Parquet, such as with polars" in last


def test_ctrl_c_stops_it_and_leaves_nothing(points: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "cuesta", "run", "kmeans", str(points), "--clusters", "5000"]
    process = subprocess.Popen(
        [*words, "--iterations", "1000", "-o", str(tmp_path / "a")],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert any("running" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    # A thousand iterations would take half an hour.
    _, errors = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 130, errors
    assert list(tmp_path.iterdir()) == []


def test_the_ceiling_of_an_iteration_is_what_bounds_it() -> None:
    ceiling = get_workload("kmeans").ceiling
    few = {"name": "iteration 3", "flops": 500, "bytes": 100}
    assert ceiling(few) == "memory_read_bytes_per_s"
    assert ceiling(few | {"flops": 5000}) == "fma_f32_flops_per_s"
    assert ceiling(few | {"name": "streamed iteration 12"}) == "file_read_warm_bytes_per_s"
    assert ceiling(few | {"name": "seed"}) is None
