"""`sort`: the same answer for any threads, memory and ranks, within the limit; or a single line."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call
from cuesta.engines.mpi import MpiEngine
from cuesta.engines.mpi.launch import launcher
from cuesta.workloads import doubts
from digests import digest
from labkit import ROOT, names, record_of, run_apart

KINDS = ("tera", "random", "skewed", "sorted", "reverse", "equal")
LIMIT_BYTES = 96 << 20
SORTED_FILE = "sorted.dat"
needs_mpi = pytest.mark.skipif(MpiEngine().missing() is not None, reason="MPI is not installed")


def make(path: Path, rows: int, *more: str) -> Path:
    assert call(["data", "make", "tera", "--rows", str(rows), *more, "-o", str(path)]) == 0
    return path


def records(path: Path) -> list[bytes]:
    data = path.read_bytes()
    return [data[at : at + 100] for at in range(0, len(data), 100)]


def expected(*paths: Path) -> bytes:
    """Sort by Python's own sort, which is stable."""
    all_records = [record for path in paths for record in records(path)]
    all_records.sort(key=lambda record: record[:10])
    return b"".join(all_records)


def run(folder: Path, *words: str) -> tuple[bytes, dict[str, Any]]:
    """Return the answer file and its entry in the record; the run must be verified."""
    assert call(["run", "sort", *words, "-o", str(folder)]) == 0
    return (folder / SORTED_FILE).read_bytes(), record_of(folder)["answer"]


@pytest.fixture(scope="module")
def tera(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("tera") / "tera.dat", 1_000_000)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_sorted_as_python_sorts_it(tmp_path: Path, kind: str) -> None:
    path = make(tmp_path / "a.dat", 20_000, "--kind", kind, "--seed", "3")
    content, answer = run(tmp_path / "answer", str(path))
    assert content == expected(path)
    assert answer["counts"]["records"] == 20_000


def test_the_digest_is_that_of_the_spec(tmp_path: Path) -> None:
    path = make(tmp_path / "a.dat", 300, "--kind", "skewed")
    content, answer = run(tmp_path / "answer", str(path))

    def words(place: int) -> list[int]:
        padded = content[100 * place :][:100] + bytes(4)
        return [place, *(int.from_bytes(padded[at : at + 8], "little") for at in range(0, 104, 8))]

    assert answer["digest"] == digest(6, map(words, range(300)))


@pytest.mark.timeout(300)
def test_threads_and_memory_change_nothing(tmp_path: Path, tera: Path) -> None:
    digests, runs = set(), set()
    for threads, memory in [("1", "1GiB"), ("2", "1GiB"), ("4", "1GiB"), ("2", "96MiB")]:
        folder = tmp_path / f"{threads}-{memory}"
        answer = run_apart("sort", folder, str(tera), "--threads", threads, "--memory", memory)[
            "answer"
        ]
        digests.add(answer["digest"])
        runs.add(answer["counts"]["runs"] > 1)
        keys = [record[:10] for record in records(folder / SORTED_FILE)]
        assert len(keys) == 10**6
        assert all(left <= right for left, right in pairwise(keys))
    assert len(digests) == 1
    assert runs == {True, False}


def test_the_system_itself_holds_the_run_to_its_memory_limit(tmp_path: Path, tera: Path) -> None:
    words = [str(tera), "--threads", "2", "--memory", str(LIMIT_BYTES)]
    record = run_apart("sort", tmp_path / "a", *words, limit_bytes=LIMIT_BYTES)
    assert record["answer"]["counts"]["runs"] > 1
    assert record["peak_resident_bytes"] <= LIMIT_BYTES


def test_folders_and_many_files_are_a_single_input_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "teragen"
    folder.mkdir()
    first = make(folder / "part-m-00000", 3_000, "--kind", "equal")
    second = make(folder / "part-m-00001", 2_000, "--kind", "equal", "--first", "5000")
    (folder / "_SUCCESS").touch()
    last = make(tmp_path / "a.dat", 1_000, "--kind", "equal")
    content, _ = run(tmp_path / "answer", str(folder), str(last))
    assert content == expected(first, second, last)


def test_an_empty_file_has_an_empty_answer(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    folder = tmp_path / "answer"
    assert run(folder, str(tmp_path / "empty"))[0] == b""
    assert doubts.shown(record_of(folder)["preview"]) == ["0 records: the input is empty"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cut.dat"], "cut.dat has 1234 bytes, 34 more than a whole number of records"),
        (["absent.dat"], "absent.dat: no such file or folder"),
        (["nothing"], "nothing has no files of records in it"),
        (["packed.dat"], "packed.dat is packed by gzip, records are read as they are; unpack it"),
        (["good.dat", "--memory", "8MiB"], "--memory"),
        (["good.dat", "--engine", "array"], "engine array does not run sort"),
        (["cut.dat", "--engine", "mpi"], "cut.dat has 1234 bytes"),
    ],
)
def test_bad_input_is_reported_in_a_single_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    (tmp_path / "cut.dat").write_bytes(bytes(1234))
    (tmp_path / "packed.dat").write_bytes(b"\x1f\x8b\x08\0" + bytes(96))
    (tmp_path / "nothing").mkdir()
    make(tmp_path / "good.dat", 10_000)
    capsys.readouterr()
    before = names(tmp_path)
    code = call(["run", "sort", str(tmp_path / words[0]), *words[1:], "-o", str(tmp_path / "a")])
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("cuesta:")]
    assert code == (3 if MpiEngine().missing() and "mpi" in words else 2)
    assert len(lines) == 1
    assert message in lines[0] or code == 3
    assert names(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rows", "10", "--first", str(2**63)], "together at most"),
        (["--rows", "10", "--kind", "silly"], "unknown variant `silly`"),
    ],
)
def test_records_that_cannot_be_made_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert call(["data", "make", "tera", *words, "-o", str(tmp_path / "a")]) == 2
    assert message in capsys.readouterr().err


@needs_mpi
@pytest.mark.parametrize(("ranks", "rows"), [(1, 5_000), (3, 5_000), (4, 2), (2, 0)])
def test_ranks_give_the_same_file(tmp_path: Path, ranks: int, rows: int) -> None:
    for kind in ("tera", "skewed", "equal"):
        paths = [make(tmp_path / f"{kind}-{part}", rows, "--kind", kind) for part in "ab"]
        words = [*map(str, paths), "--engine", "mpi", "--ranks", str(ranks)]
        assert run(tmp_path / f"answer-{kind}", *words)[0] == expected(*paths)


@needs_mpi
def test_the_command_itself_may_be_the_ranks(tmp_path: Path) -> None:
    path = make(tmp_path / "a.dat", 5_000, "--kind", "skewed")
    words = [str(launcher()), "-n", "2", sys.executable, "-m", "cuesta", "run", "sort", str(path)]
    words += ["--engine", "mpi", "-o", str(tmp_path / "a")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a" / SORTED_FILE).read_bytes() == expected(path)


@needs_mpi
def test_ranks_that_cannot_hold_the_records_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "sort", str(make(tmp_path / "a.dat", 400_000)), "-o", str(tmp_path / "a")]
    assert call([*words, "--engine", "mpi", "--ranks", "4", "--memory", "256MiB"]) == 2
    assert "use --engine native" in capsys.readouterr().err


def test_engines_compare_equal(tmp_path: Path) -> None:
    path = make(tmp_path / "a.dat", 30_000, "--kind", "skewed")
    engines = "native" if MpiEngine().missing() else "native,mpi"
    words = ["compare", "sort", str(path), "--engines", engines, "-o", str(tmp_path / "a")]
    assert call(words) == 0


def test_the_golden_records_are_made_again(tmp_path: Path) -> None:
    for golden in (ROOT / "spec/workloads/sort/cases").glob("teragen-*.dat"):
        first = golden.stem.removeprefix("teragen-")
        assert make(tmp_path / first, 12, "--first", first).read_bytes() == golden.read_bytes()
