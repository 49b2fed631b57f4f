"""`run`, `verify` and `compare` with the native engine on real files, from words to exit codes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cuesta.cli.app import call
from digests import communities_digest, degrees_digest, join_digest, pairs_digest
from labkit import SCHEMA, names, small_disk

__all__ = ["small_disk"]

DIGESTS = {
    "scan": pairs_digest,
    "join": join_digest,
    "degrees": degrees_digest,
    "communities": communities_digest,
}
LINE = "3\t1\t1\t1\t4\t0\t0\t0\t0\t0.900000\t1111"


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with two versions, `a.txt` and `b.txt`, of 40,000 gene pairs."""
    folder = tmp_path_factory.mktemp("pairs")
    for name, variant in (("a.txt", "0"), ("b.txt", "1")):
        words = "data make clusters --genes 400 --samples 40 --pairs 40000 --clusters 2 --seed 3"
        assert call([*words.split(), "--variant", variant, "-o", str(folder / name)]) == 0
    return folder


def run(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    """Run a command that must succeed; return its JSON output."""
    capsys.readouterr()
    assert call([*map(str, words), "--json"]) == 0
    record: dict[str, Any] = json.loads(capsys.readouterr().out)
    return record


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Run a command that must be refused; return its single line of error."""
    capsys.readouterr()
    assert call([str(word) for word in words]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("cuesta: ")
    assert not any("Traceback" in line for line in lines)
    return lines[-1]


@pytest.mark.parametrize("workload", list(DIGESTS))
def test_the_digest_is_that_of_the_specification(
    workload: str, pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = [pairs / "a.txt", pairs / "b.txt"] if workload == "join" else [pairs / "a.txt"]
    out = tmp_path / "out"
    record = run(capsys, "run", workload, *inputs, "--min-abs-score", "0.3", "-o", out)
    jsonschema.validate(record, SCHEMA)
    assert json.loads((out / "run.json").read_text()) == record
    assert record["answer"]["digest"] == DIGESTS[workload](out)
    assert record["verified"]
    assert record["preview"]


def test_the_digest_of_the_example_in_the_specification(tmp_path: Path) -> None:
    row = "7\t3\t1\tboth\t0.871000\t0.902000\t0.031000\n"
    (tmp_path / "pairs.tsv").write_text("gene1\tgene2\tcluster\tside\ta\tb\td\n" + row)
    text = (Path(__file__).parent.parent / "spec/workloads/README.md").read_text()
    assert f"`{join_digest(tmp_path)}`" in text


def test_a_scan_keeps_what_the_filter_selects(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = run(capsys, "run", "scan", pairs / "a.txt", "--min-abs-score", "0.5",
                 "--min-cluster-samples", "10", "-o", tmp_path / "out")  # fmt: skip
    expected = [
        line
        for line in (pairs / "a.txt").read_text().splitlines()
        if abs(float(line.split("\t")[9].split(",")[0])) >= 0.5 and int(line.split("\t")[4]) >= 10
    ]
    rows = (tmp_path / "out" / "pairs.txt").read_text().splitlines()
    assert rows == expected
    assert record["answer"]["counts"]["rows_kept"] == len(expected) > 100


def test_a_loaded_pair_matrix_has_the_digest_of_its_text_and_is_scanned_as_the_text_is(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = run(capsys, "run", "load", pairs / "a.txt", "-o", tmp_path / "loaded")
    (tmp_path / "text").mkdir()
    shutil.copy(pairs / "a.txt", tmp_path / "text" / "pairs.txt")
    assert loaded["answer"]["digest"] == pairs_digest(tmp_path / "text")
    scans = [
        run(capsys, "run", "scan", path, "--min-abs-score", "0.4", "-o", tmp_path / name)
        for name, path in (
            ("text-scan", pairs / "a.txt"),
            ("matrix-scan", tmp_path / "loaded" / "pairs.zarr"),
        )
    ]
    assert scans[0]["answer"]["digest"] == scans[1]["answer"]["digest"]


def test_threads_memory_repeats_and_a_cold_cache_do_not_change_the_answer(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    digests = set()
    for index, words in enumerate(
        ("", "--threads 1", "--threads 3 --memory 16MiB", "--cold --repeat 3", "--seed 9")
    ):
        out = tmp_path / str(index)
        record = run(capsys, "run", "join", pairs / "a.txt", pairs / "b.txt", "--how", "outer",
                     *words.split(), "-o", out)  # fmt: skip
        digests.add(record["answer"]["digest"])
    assert len(digests) == 1


def test_words_go_to_stdout_and_how_far_it_is_to_stderr(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert call(["run", "scan", str(pairs / "a.txt"), "-o", str(tmp_path / "out")]) == 0
    output = capsys.readouterr()
    assert "scan on native: verified, digest" in output.out
    assert "to read: " in output.err
    assert "\x1b" not in output.out + output.err


def test_a_comparison_of_a_single_engine_prints_its_table(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    out = tmp_path / "out"
    words = ["compare", "degrees", str(pairs / "a.txt"), "--engines", "native", "-o", str(out)]
    assert call(words) == 0
    output = capsys.readouterr().out
    for column in ("time", "phases", "throughput", "of ceiling", "peak memory", "digest"):
        assert column in output
    assert {"native", "compare.json"} <= names(out)
    assert json.loads((out / "compare.json").read_text())["equal"] is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3\t1\t1\n", "line 1"),
        (f"{LINE}\n4\t1\t1\t1\t4\t0\t0\t0\t0\t0.9\t11x1\n", "line 2"),
        (f"{LINE}\n4\t1\t1\t1\t4\t0\t0\t0\t0\t0.9\t11\n", "line 2"),
        ("1\t3\t1\t1\t4\t0\t0\t0\t0\t0.9\t1111\n", "line 1"),
        ("0\t0\t1\t1\t4\t0\t0\t0\t0\t0.9\t1111\n", "line 1"),
        ("\xff\xfe3\t1\n", "is UTF-16 text"),
    ],
)
def test_bad_input_is_refused_with_file_and_line(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text(text, encoding="latin-1")
    for workload in ("scan", "degrees", "communities"):
        line = refused(capsys, "run", workload, bad, "-o", tmp_path / "out")
        assert "bad.txt" in line
        assert message in line
    assert names(tmp_path) == {"bad.txt"}


@pytest.mark.parametrize("text", ["", "#Done\n"])
def test_a_file_without_a_gene_pair_is_refused_alone_and_skipped_among_other_files(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "pairs"
    folder.mkdir()
    (folder / "empty.txt").write_text(text)
    line = refused(capsys, "run", "scan", folder / "empty.txt", "-o", tmp_path / "out")
    assert "empty.txt holds no gene pair" in line
    (folder / "full.txt").write_text(f"{LINE}\n")
    record = run(capsys, "run", "scan", folder, "-o", tmp_path / "out")
    assert record["answer"]["counts"]["rows_kept"] == 1


def test_remarks_and_windows_lines_are_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "odd.txt").write_text(f"#Restarted\n{LINE}\r\n#Done\r\n")
    for workload in ("scan", "degrees", "communities"):
        record = run(capsys, "run", workload, tmp_path / "odd.txt", "-o", tmp_path / workload)
        assert record["answer"]["counts"]["rows_read"] == 1
        assert record["answer"]["digest"] == DIGESTS[workload](tmp_path / workload)


def test_a_truncated_gz_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import gzip

    compressed = gzip.compress(f"{LINE}\n".encode() * 5000)
    (tmp_path / "cut.txt.gz").write_bytes(compressed[: len(compressed) // 2])
    line = refused(capsys, "run", "scan", tmp_path / "cut.txt.gz", "-o", tmp_path / "out")
    assert "cut.txt.gz" in line
    assert names(tmp_path) == {"cut.txt.gz"}


def test_an_output_under_a_file_is_refused(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, "run", "scan", pairs / "a.txt", "-o", pairs / "a.txt" / "out")
    assert "not a directory" in line


@pytest.mark.parametrize("workload", ["scan", "join"])
def test_a_disk_that_fills_up_is_reported_in_a_single_line_and_leaves_nothing(
    workload: str, pairs: Path, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    big = small_disk.parent / "big"
    big.mkdir()
    shutil.copy(pairs / "a.txt", big)
    inputs = [big / "a.txt", pairs / "b.txt"] if workload == "join" else [big, pairs / "b.txt"]
    options_of_join = ["--how", "outer"] if workload == "join" else []
    (small_disk / "filler").write_bytes(bytes(800 << 10))
    line = refused(capsys, "run", workload, *inputs, *options_of_join, "-o", small_disk / "out")
    assert "full" in line or "space" in line
    assert names(small_disk) == {"filler"}


def test_a_full_disk_is_refused_before_any_work(
    pairs: Path, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (small_disk / "filler").write_bytes(bytes(1600 << 10))
    line = refused(capsys, "run", "scan", pairs / "a.txt", "-o", small_disk / "out")
    assert "the disk is full" in line


def test_an_output_where_the_system_keeps_no_files_is_refused_as_no_place_to_write_to(
    pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place in ("/proc/out", "/sys/out"):
        line = refused(capsys, "run", "scan", pairs / "a.txt", "-o", place)
        assert f"{place}: not a place to write to" in line
        assert "full" not in line


def test_a_read_only_output_is_refused(
    pairs: Path, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    line = refused(capsys, "run", "scan", pairs / "a.txt", "-o", small_disk / "out")
    assert "read-only" in line


@pytest.mark.parametrize(
    ("threads", "expected"), [("0", "at least 1"), ("100000", "at most 1,024")]
)
def test_numbers_of_threads_that_cannot_be_are_refused(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], threads: str, expected: str
) -> None:
    """`--threads 100000` ended in a panic: threads could not be spawned."""
    words = ["run", "scan", str(pairs / "a.txt"), "--threads", threads]
    assert call([*words, "-o", str(tmp_path / "out")]) == 2
    assert expected in capsys.readouterr().err


def test_a_folder_of_ceilings_that_cannot_be_entered_stops_no_run(
    pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home of another account stopped every run: whether it has ceilings could not be asked.

    A name that is too long makes the same call fail, also for root.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", f"/{'x' * 300}")
    assert call(["run", "scan", str(pairs / "a.txt"), "-o", str(tmp_path / "out")]) == 0
