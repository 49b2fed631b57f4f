"""`cuesta verify` on an answer folder: changes since the run, and faults of the run itself."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cuesta import _native, machine
from cuesta.cli.app import call
from cuesta.lab.verify import Verification, verify
from cuesta.trial import Trial
from labkit import rewrite_checksums

Place = tuple[str | int, ...]
Refusal = tuple[int, str]
"""Exit code, and a part of the message."""
BLAKE3_OF_ABC = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"
"""From the algorithm's own test vectors."""


@pytest.fixture(scope="module")
def scanned_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with `pairs.txt` and the answer folder `out` of a scan of it."""
    folder = tmp_path_factory.mktemp("made")
    words = "data make clusters --genes 60 --samples 20 --pairs 1500 --seed 3 -o"
    assert call([*words.split(), str(folder / "pairs.txt")]) == 0
    words = "--min-abs-score 0.2 -o"
    scan = ["run", "scan", str(folder / "pairs.txt"), *words.split(), str(folder / "out")]
    assert call(scan) == 0
    return folder


@pytest.fixture
def out(scanned_folder: Path, tmp_path: Path) -> Path:
    """Copy of the answer folder that a test may change."""
    shutil.copytree(scanned_folder / "out", tmp_path / "out")
    return tmp_path / "out"


def change_record(out: Path, change: Callable[[dict[str, Any]], object]) -> None:
    record = json.loads((out / "run.json").read_text())
    change(record)
    (out / "run.json").write_text(json.dumps(record))


def change_file(out: Path) -> None:
    """Change a digit in a row, so that the row has the same form."""
    text = (out / "pairs.txt").read_text()
    at = text.index("1", len(text) // 2)
    (out / "pairs.txt").write_text(text[:at] + "2" + text[at + 1 :])


def refused(out: Path, capsys: pytest.CaptureFixture[str], exit_code: int = 1) -> str:
    capsys.readouterr()
    assert call(["verify", str(out)]) == exit_code
    return capsys.readouterr().err.splitlines()[-1]


def test_an_answer_as_the_run_left_it_passes(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (out / "assessment.json").write_text("{}")
    assert call(["verify", str(out)]) == 0
    assert "verified, 1 file is as the run left them" in capsys.readouterr().out


def test_a_changed_byte_is_detected_and_its_file_named(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change_file(out)
    assert f"{out}/pairs.txt: has changed since the run; its BLAKE3 was" in refused(out, capsys)


def test_a_changed_file_whose_checksum_was_rewritten_is_detected_by_the_other_method(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change_file(out)
    rewrite_checksums(out)
    line = refused(out, capsys)
    assert "has changed since the run" not in line
    assert f"cuesta: {out}: " in line


def test_a_missing_file_and_an_extra_file_are_named(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (out / "notes.txt").write_text("mine")
    assert f"{out}/notes.txt: is not of this answer" in refused(out, capsys)
    (out / "notes.txt").unlink()
    (out / "pairs.txt").unlink()
    assert f"{out}/pairs.txt: is gone" in refused(out, capsys)


def test_a_file_that_no_method_looks_at_makes_the_answer_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records, out = tmp_path / "records", tmp_path / "out"
    assert call(["data", "make", "tera", "--rows", "9", "-o", str(records)]) == 0
    assert call(["run", "sort", str(records), "-o", str(out)]) == 0
    (out / "notes.txt").write_text("mine")
    rewrite_checksums(out)
    assert "notes.txt is no file of it" in refused(out, capsys)


def test_a_record_with_another_count_or_digest_is_wrong(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    original = (out / "run.json").read_text()
    change_record(out, lambda record: record["answer"]["counts"].update(rows=1))
    assert "rows was said to be 1, its files have" in refused(out, capsys)
    (out / "run.json").write_text(original)
    change_record(out, lambda record: record["answer"].update(digest="0" * 32))
    assert f"their record says {'0' * 32}" in refused(out, capsys)


def test_counts_that_no_method_computes_are_named_as_unproven(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A record's `rows_read` could be edited, and its answer was verified without a word on it."""
    change_record(out, lambda record: record["answer"]["counts"].update(rows_read=5))
    assert call(["verify", str(out)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "not proven: the counts" in shown
    assert "rows read" in shown.partition("not proven: the counts")[2].partition("which are")[0]


def test_an_input_of_another_size_is_named(
    scanned_folder: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    longer = tmp_path / "pairs.txt"
    longer.write_text((scanned_folder / "pairs.txt").read_text() * 2)
    change_record(out, lambda record: record["inputs"][0].update(path=str(longer)))
    assert f"{longer}: the input changed; it has" in refused(out, capsys, exit_code=2)


def test_a_record_of_before_checksums_and_levels_is_still_verified(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change_record(out, lambda record: record["answer"]["files"][0].pop("blake3"))
    assert "a file of the answer has no blake3" in refused(out, capsys, exit_code=2)
    change_record(out, lambda record: record["verification"].pop("level"))
    assert call(["verify", str(out)]) == 0
    change_file(out)
    refused(out, capsys)


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        (("answer", "files", 0, "bytes"), 1, (1, "has changed since the run; it had 1 bytes")),
        (("answer", "files", 0, "bytes"), float("inf"), (2, "the bytes of a file")),
        (("answer", "files", 0, "bytes"), "x", (2, "the bytes of a file")),
        (("answer", "files", 0, "blake3"), None, (2, "the blake3 of a file")),
        (("answer", "files", 0, "blake3"), "", (2, "the blake3 of a file")),
        (("answer", "digest"), None, (2, "answer.digest has not 32")),
        (("answer", "digest"), "", (2, "answer.digest has not 32")),
        (("verification", "expected"), "aa", (2, "verification.expected has not 32")),
        (("verification", "expected"), "0" * 32, (1, "its record contradicts itself")),
        (("verification", "level"), "none", (2, "verified does not fit verification.level")),
        (("verification", "level"), "much", (2, "the level of verification is none of full")),
        (("verified",), None, (2, "verified does not fit verification.level")),
        (("verified",), "yes", (2, "verified is neither true, false nor null")),
    ],
)
def test_an_edited_size_checksum_or_digest_of_the_record_is_detected(
    place: Place,
    value: object,
    expected: Refusal,
    out: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Sizes were not compared, and a digest or checksum that was null or empty was skipped, so that
    such a record was called verified.
    """

    def edit(record: Any) -> None:
        for name in place[:-1]:
            record = record[name]
        record[place[-1]] = value

    change_record(out, edit)
    exit_code, message = expected
    assert message in refused(out, capsys, exit_code)


@pytest.mark.parametrize("options", [[], ["--threads", "1", "--memory", "64MiB"]], ids=len)
def test_an_answer_of_another_machine_is_verified_with_the_resources_of_this_machine(
    options: list[str], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record of a node with 64 cores made `verify` start 64 threads and take its memory on a
    laptop, and a run in little memory could not be verified in more. Now `verify` has its own
    options.
    """
    tried: list[tuple[int, int]] = []

    def noted(trial: Trial, *places: Path, **how: Any) -> Verification:
        tried.append((trial.threads, trial.memory_bytes))
        return verify(trial, *places, **how)

    monkeypatch.setattr("cuesta.lab.audit.verify", noted)
    for facts in ({"threads": 64, "memory_bytes": 1 << 40}, {"threads": 1, "memory_bytes": 1}):
        change_record(out, partial(dict.update, **facts))
        assert call(["verify", str(out), *options]) == 0
    resources = (1, 64 << 20) if options else (machine.cores_usable(), machine.memory_bytes() // 2)
    assert tried == [resources, resources]


def test_means_that_are_none_are_named(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in (
        (["--threads", "0"], "--threads is 0"),
        (["--memory", "1"], "--memory is"),
    ):
        assert call(["verify", str(out), *words]) == 2
        assert message in capsys.readouterr().err


def test_a_checksum_is_that_of_the_published_algorithm(tmp_path: Path) -> None:
    (tmp_path / "abc").write_text("abc")
    (tmp_path / "run.json").write_text("{}")
    checksums = json.loads(_native.answer_checksums(tmp_path, ["run.json"], 2))
    assert checksums == [{"name": "abc", "bytes": 3, "blake3": BLAKE3_OF_ABC}]
