"""`cuesta run assemble --samples`: the bytes of one by one, faults apart, and what is kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cuesta.cli.app import call
from cuesta.errors import InputError
from cuesta.report import write_any
from cuesta.samples import batch
from sampleskit import contents, write_isolate, write_isolates, write_sheet
from waitkit import wait_for

NAMES = ("one", "two", "three")


@pytest.fixture(scope="module")
def reads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reads")
    write_isolates(folder, NAMES)
    return folder


@pytest.fixture(scope="module")
def answers(reads: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("answers") / "all"
    assert run(reads / "sheet.csv", output) == 0
    return output


def run(sheet: Path, output: Path, *more: str) -> int:
    return call(["run", "assemble", "--samples", str(sheet), "-o", str(output), *more])


def rows(folder: Path) -> list[dict[str, str]]:
    lines = [line.split("\t") for line in (folder / "isolates.tsv").read_text().splitlines()]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]


def times(folder: Path) -> dict[str, int]:
    return {path.parent.name: path.stat().st_mtime_ns for path in folder.glob("*/run.json")}


def test_the_table_has_a_row_for_each_sample_in_the_order_of_the_sheet(answers: Path) -> None:
    table = rows(answers)
    assert [row["sample"] for row in table] == list(NAMES)
    for row in table:
        assert (row["status"], row["reason"], len(row["digest"])) == ("verified", "", 32)
        assert (row["contigs"], row["total_length"], row["n50"]) == ("2", "6500", "5000")
        assert (row["circles"], row["copies"], row["depth"]) == ("2", "1500:3.0x", "40.0")
        assert row["next"] == "Nothing more"
        assert row["insert"].startswith(("299", "300", "301"))


def test_samples_have_the_bytes_of_separate_runs(
    reads: Path, answers: Path, tmp_path: Path
) -> None:
    for name in NAMES:
        pair = ["-1", str(reads / f"{name}_1.fq"), "-2", str(reads / f"{name}_2.fq")]
        assert call(["run", "assemble", *pair, "-o", str(tmp_path / name)]) == 0
        assert contents(tmp_path / name) == contents(answers / name)


@pytest.mark.parametrize("limits", [("--threads", "1"), ("--threads", "7", "--memory", "300MB")])
def test_threads_and_memory_change_no_byte(
    reads: Path, answers: Path, tmp_path: Path, limits: tuple[str, ...]
) -> None:
    assert run(reads / "sheet.csv", tmp_path / "all", *limits) == 0
    assert contents(tmp_path / "all") == contents(answers)
    shares = [
        json.loads((tmp_path / "all" / name / "run.json").read_text())["memory_bytes"]
        for name in NAMES
    ]
    assert max(shares) <= 300_000_000 or limits[1] == "1"


def test_the_record_has_the_command_of_the_sample_alone(answers: Path, reads: Path) -> None:
    record = json.loads((answers / "one" / "run.json").read_text())
    pair = ["-1", str(reads / "one_1.fq"), "-2", str(reads / "one_2.fq")]
    assert record["command"][:7] == ["cuesta", "run", "assemble", *pair]
    assert record["sample"] == "one"


def test_an_option_that_is_wrong_is_refused_before_any_sample(
    reads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each sample was run to the message that an even k is wrong."""
    assert run(reads / "sheet.csv", tmp_path / "all", "-k", "32") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert 'cuesta: assemble: -k is "32", give auto or odd numbers' in line
    assert not (tmp_path / "all").exists()


def test_a_failed_sample_is_named_and_the_rest_go_on(
    reads: Path, answers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in NAMES[:2]:
        for side in (1, 2):
            (tmp_path / f"{name}_{side}.fq").symlink_to(reads / f"{name}_{side}.fq")
    write_isolate(tmp_path, "cut", 9)
    whole = (tmp_path / "cut_2.fq").read_bytes()
    (tmp_path / "cut_2.fq").write_bytes(whole[:-700])
    sheet = write_sheet(tmp_path, ["one", "cut", "two"])
    assert run(sheet, tmp_path / "all") == 2
    printed = capsys.readouterr()
    assert "cuesta: 1 of 3 samples failed: cut; cut: " in printed.err
    one, cut, two = rows(tmp_path / "all")
    assert (one["status"], cut["status"], two["status"]) == ("verified", "failed", "verified")
    assert "cut_2.fq" in cut["reason"]
    assert cut["contigs"] == ""
    assert not (tmp_path / "all" / "cut").exists()
    assert call(["verify", str(tmp_path / "all")]) == 2
    assert "1 of 3 samples have no answer: cut" in capsys.readouterr().err

    made = times(tmp_path / "all")
    (tmp_path / "cut_2.fq").write_bytes(whole)
    assert run(sheet, tmp_path / "all") == 0
    assert {**times(tmp_path / "all"), **made} == times(tmp_path / "all")
    assert call(["verify", str(tmp_path / "all")]) == 0
    assert contents(tmp_path / "all" / "one") == contents(answers / "one")


def test_an_answer_of_other_options_is_replaced_only_if_wanted(
    reads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = write_sheet(reads, NAMES[:2], "two.csv")
    assert run(sheet, tmp_path / "all") == 0
    made = times(tmp_path / "all")
    assert run(sheet, tmp_path / "all", "--min-contig", "2000") == 2
    text = "one is not the answer of this command: min_contig was 200, it is 2000; give --overwri"
    assert text in capsys.readouterr().err
    assert times(tmp_path / "all") == made
    assert run(sheet, tmp_path / "all", "--min-contig", "2000", "--overwrite") == 0
    assert [row["contigs"] for row in rows(tmp_path / "all")] == ["1", "1"]


def test_changed_reads_and_damaged_answers_are_not_reused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = write_isolates(tmp_path, ["a"])
    assert run(sheet, tmp_path / "all") == 0
    made = times(tmp_path / "all")
    os.utime(tmp_path / "a_1.fq")
    assert run(sheet, tmp_path / "all") == 0
    assert times(tmp_path / "all") == made

    known = (tmp_path / "a_1.fq").read_bytes()
    (tmp_path / "a_1.fq").write_bytes(known.replace(b"ACGT", b"ACGA", 1))
    os.utime(tmp_path / "a_1.fq", (time.time() + 60, time.time() + 60))
    assert run(sheet, tmp_path / "all") == 2
    assert "a_1.fq has changed since; give --overwrite" in capsys.readouterr().err

    (tmp_path / "a_1.fq").write_bytes(known)
    report = tmp_path / "all" / "a" / "report.tsv"
    report.write_text(report.read_text().replace("6500", "6501"))
    assert run(sheet, tmp_path / "all") == 2
    printed = capsys.readouterr().err
    assert "report.tsv: has changed since the run" in printed
    assert f"move {report.parent} away" in printed
    report.parent.rename(tmp_path / "away")
    assert run(sheet, tmp_path / "all") == 0
    assert call(["verify", str(tmp_path / "all")]) == 0


def test_a_row_that_its_answer_does_not_give_is_wrong(
    reads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = write_sheet(reads, NAMES[:1], "single.csv")
    assert run(sheet, tmp_path / "all") == 0
    table = tmp_path / "all" / "isolates.tsv"
    table.write_text(table.read_text().replace("1500:3.0x", "1500:4.0x"))
    assert call(["verify", str(tmp_path / "all")]) == 1
    assert "copies of one is '1500:4.0x', its answer gives '1500:3.0x'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        (["reads.fq"], "reads with --samples: the sheet names the reads"),
        (["-1", "x"], "-1 with --samples"),
        (["--interleaved"], "--interleaved with --samples"),
        (["--resume", "x"], "--resume with --samples"),
        (["--repeat", "2"], "--samples with --repeat or --cold"),
        (["--engine", "spark"], "--samples with --engine spark: samples run side by side on"),
        (["--min-contig", "-1"], "--min-contig is -1"),
        (["--threads", "0"], "--threads is 0"),
    ],
)
def test_options_without_meaning_are_refused_before_anything_runs(
    reads: Path, tmp_path: Path, more: list[str], fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(reads / "sheet.csv", tmp_path / "all", *more) == 2
    assert fault in capsys.readouterr().err
    assert not (tmp_path / "all").exists()


def test_a_folder_of_something_else_is_refused(
    reads: Path, answers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert run(reads / "sheet.csv", tmp_path) == 2
    assert "is there and has no isolates.tsv of samples; give another -o" in capsys.readouterr().err
    assert run(reads / "sheet.csv", answers / "one") == 2
    assert run(reads / "sheet.csv", reads) == 2


def test_a_folder_in_use_is_refused(answers: Path) -> None:
    with (
        batch.held(answers),
        pytest.raises(InputError, match="is of another command, which has not ended"),
        batch.held(answers),
    ):
        pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_command_leaves_nothing_and_can_continue(
    reads: Path, answers: Path, tmp_path: Path, number: signal.Signals
) -> None:
    output = tmp_path / "all"
    words = ["run", "assemble", "--samples", str(reads / "sheet.csv"), "-o", str(output)]
    program = "import sys; from cuesta.cli.app import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words, "--threads", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: (output / "one").exists() or any(output.glob("*.partial-*")))
    process.send_signal(number)
    _, printed = process.communicate()
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    wait_for(lambda: not any(output.glob("*.partial-*")))
    made = times(output)
    assert len(made) < len(NAMES), printed
    assert run(reads / "sheet.csv", output) == 0
    assert contents(output) == contents(answers)
    assert {**times(output), **made} == times(output)


def test_the_page_compares_all_samples(answers: Path, tmp_path: Path) -> None:
    page = write_any([answers], tmp_path / "page.html").read_text("utf-8")
    assert page == write_any([answers], tmp_path / "page.html").read_text("utf-8")
    for text in ("How do these samples compare?", "all verified by another method", *NAMES):
        assert text in page
    assert page.count("1500:3.0x") == len(NAMES)
