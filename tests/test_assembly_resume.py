"""`cuesta run assemble --resume`: stages that were complete before an end are not repeated."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assemblykit import FILES, assemble, drawn, reads_of, record, write_fastq
from cuesta.cli.app import call


@pytest.fixture(scope="module")
def reads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    genome = drawn(9000, 1)
    return write_fastq(tmp_path_factory.mktemp("reads") / "r.fq", reads_of(genome, 30, 0.004, 5))


def was_killed(words: list[str], checkpoint: Path, output: Path) -> bool:
    """Return whether a new run was killed after its first checkpoint, before its end."""
    for folder in (checkpoint.parent, output):
        shutil.rmtree(folder, ignore_errors=True)
    process = subprocess.Popen([*words, "-o", str(output)])
    while not checkpoint.exists() and process.poll() is None:
        time.sleep(0.001)
    process.kill()
    return process.wait() < 0


@pytest.mark.parametrize(
    ("until", "sizes", "done"),
    [
        ("0.super-k-mers.places", [31], {"partition"}),
        ("0.fragments", [31], {"partition", "compact"}),
        ("0.paths", [31], {"partition", "compact", "simplify"}),
        ("43.trusted", [31, 43, 55, 67, 79], set()),
    ],
)
def test_a_killed_run_continues_after_the_last_complete_stage(
    tmp_path: Path, until: str, sizes: list[int], done: set[str]
) -> None:
    genome = drawn(200_000, 9)
    reads = [
        write_fastq(tmp_path / f"{seed}.fq", reads_of(genome, 15, 0.004, seed)) for seed in (1, 2)
    ]
    options = ["-k", ",".join(map(str, sizes)), "--threads", "1"]
    uninterrupted = assemble(reads, tmp_path / "whole", *options)
    checkpoint = tmp_path / "kept"
    options += ["--resume", str(checkpoint)]
    words = [sys.executable, "-m", "cuesta", "run", "assemble", *map(str, reads), *options]
    killed = tmp_path / "killed"
    # A stage may end before it is observed.
    assert any(was_killed(words, checkpoint / until, killed) for _ in range(5))
    assert not killed.exists()
    went_on = assemble(reads, tmp_path / "again", *options)
    before = [f"before/{k}.fa" for k in sizes[1:]] + [f"before/{k}.unitigs.fa" for k in sizes[:-1]]
    for name in (*FILES, *before):
        assert (went_on / name).read_bytes() == (uninterrupted / name).read_bytes(), name
    assert done.isdisjoint(phase["name"] for phase in record(went_on)["phases"])


def test_checkpoints_of_ranks_serve_this_process(
    reads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["-k", "31", "--resume", str(tmp_path / "kept")]
    ranks = assemble([reads], tmp_path / "ranks", *options, "--engine", "mpi", "--ranks", "2")
    assert "keeps up to" not in capsys.readouterr().err
    native_answer = assemble([reads], tmp_path / "here", *options)
    assert "to go on from" in capsys.readouterr().err
    for name in FILES:
        assert (native_answer / name).read_bytes() == (ranks / name).read_bytes(), name
    assert "compact" not in {phase["name"] for phase in record(native_answer)["phases"]}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reads.fq", "--repeat", "2"], "leave one of them out"),
        (["hdfs://here/reads.fq", "--engine", "spark"], "copy it here first"),
    ],
)
def test_what_cannot_be_gone_on_from_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    write_fastq(tmp_path / "reads.fq", ["ACGT" * 10])
    words = [str(tmp_path / word) if word == "reads.fq" else word for word in words]
    more = ["--resume", str(tmp_path / "kept"), "-o", str(tmp_path / "answer")]
    assert call(["run", "assemble", *words, *more]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_of_another_run_is_not_gone_on_from(
    reads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = tmp_path / "kept"
    assemble([reads], tmp_path / "a", "-k", "31,55", "--resume", str(checkpoint))
    assemble(
        [reads], tmp_path / "b", "-k", "31,55", "--resume", str(checkpoint), "--min-contig", "0"
    )
    words = ["run", "assemble", str(reads), "-k", "31,57", "--resume", str(checkpoint)]
    assert call([*words, "-o", str(tmp_path / "c")]) == 2
    message = "is of other reads or parameters; delete it, or give another --resume"
    assert message in capsys.readouterr().err
    (checkpoint / "state.json").write_text("{")
    assert call([*words, "-o", str(tmp_path / "c")]) == 2
    assert "kept holds no run" in capsys.readouterr().err


@pytest.mark.parametrize("change", [{"format": None}, {"format": 1}, {"cuesta": "0.0.9"}])
def test_a_checkpoint_of_another_version_is_refused(
    reads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object]
) -> None:
    """Contigs of a checkpoint were made by the rules of its version, which may have changed.

    By cause: continuations joined the solid sequences, and the byte of their kind another meaning.
    """
    checkpoint = tmp_path / "kept"
    assemble([reads], tmp_path / "a", "-k", "31,55", "--resume", str(checkpoint))
    state = json.loads((checkpoint / "state.json").read_text())
    state["run"] = {name: value for name, value in (state["run"] | change).items() if value}
    (checkpoint / "state.json").write_text(json.dumps(state))
    words = ["run", "assemble", str(reads), "-k", "31,55", "--resume", str(checkpoint)]
    assert call([*words, "-o", str(tmp_path / "b")]) == 2
    message = "is of another version of Cuesta; delete it, or give another --resume"
    assert message in capsys.readouterr().err


def test_a_checkpoint_with_a_link_is_refused_and_its_target_remains(
    reads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A checkpoint from elsewhere could make any file be emptied, or copied into the answer: its
    lock was opened for writing whatever it was, and its files were read through links. Now links
    are refused.
    """
    notes, checkpoint = tmp_path / "notes", tmp_path / "kept"
    notes.write_text("mine")
    checkpoint.mkdir()
    (checkpoint / "lock").symlink_to(notes)
    words = ["run", "assemble", str(reads), "-k", "31", "--resume", str(checkpoint)]
    assert call([*words, "-o", str(tmp_path / "out")]) == 2
    assert "holds a link, lock" in capsys.readouterr().err
    assert notes.read_text() == "mine"


@pytest.mark.parametrize("foreign", ["spectrum.tsv", "43.trusted", "notes.txt"])
def test_a_folder_with_foreign_files_is_refused_and_remains(
    reads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], foreign: str
) -> None:
    """`--resume` took over any folder, and replaced files of the names of its own.

    Neither the folder nor its files needed a mark of Cuesta. Now a folder is new, empty, or has the
    state of a run.
    """
    checkpoint = tmp_path / "kept"
    checkpoint.mkdir()
    (checkpoint / foreign).write_text("mine")
    words = ["run", "assemble", str(reads), "-k", "31", "--resume", str(checkpoint)]
    assert call([*words, "-o", str(tmp_path / "out")]) == 2
    assert f"kept holds {foreign}, but no run that can go on" in capsys.readouterr().err
    assert {file.name: file.read_text() for file in checkpoint.iterdir()} == {foreign: "mine"}


def test_a_damaged_checkpoint_is_named_where_the_answer_is_wrong(
    reads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line named a file of the answer alone, and each new try went on from the same damage."""
    checkpoint = tmp_path / "kept"
    assemble([reads], tmp_path / "a", "-k", "31,55", "--resume", str(checkpoint))
    os.truncate(checkpoint / "spectrum.tsv", 100)
    words = ["run", "assemble", str(reads), "-k", "31,55", "--resume", str(checkpoint)]
    assert call([*words, "-o", str(tmp_path / "b")]) == 1
    error = capsys.readouterr().err
    assert "is wrong" in error
    assert f"{checkpoint} holds, that may be damaged: run again with another folder" in error


def test_the_folder_of_the_answer_is_refused_before_any_work(
    reads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run made its checkpoints in the folder of the answer, and failed at its end."""
    words = [
        "run",
        "assemble",
        str(reads),
        "-k",
        "31",
        "--resume",
        str(tmp_path / "x" / ".." / "c"),
    ]
    for more in ([], ["--overwrite"]):
        assert call([*words, "-o", str(tmp_path / "c"), *more]) == 2
        line = capsys.readouterr().err.splitlines()[-1]
        assert "c is the folder of -o too, which the answer replaces; give another --res" in line
    assert list(tmp_path.iterdir()) == []


def test_an_input_and_an_answer_are_no_folders_to_resume_from(
    reads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "assemble", str(reads), "-k", "31", "--resume"]
    assert call([*words, str(reads.parent), "-o", str(tmp_path / "out")]) == 2
    assert f"--resume {reads.parent} contains the input {reads}" in capsys.readouterr().err
    answer = tmp_path / "answer"
    assemble([reads], answer, "-k", "31")
    assert call([*words, str(answer), "-o", str(tmp_path / "out")]) == 2
    assert f"--resume {answer}: is an answer; give another folder" in capsys.readouterr().err
    assert call(["verify", str(answer)]) == 0
