"""Standard input and pipes as inputs: read once, stored for the run, reported by their names."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assemblykit import FILES, assemble, drawn, reads_of, write_fastq
from labkit import input_sizes, names

USAGE = "send reads to it, as `zcat reads.fq.gz | cuesta run assemble - -o DIR` does"


@pytest.fixture(scope="module")
def reads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reads")
    return write_fastq(folder / "r.fq", reads_of(drawn(3000, 1), 30, 0.002, 2))


def command(*words: str, stdin: Any = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a separate process; `stdin` are bytes, or a descriptor."""
    streams = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    line = [sys.executable, "-m", "cuesta", *words]
    return subprocess.run(line, check=False, capture_output=True, timeout=60, **streams)


def refusal(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the last line of a refused command."""
    assert done.returncode == 2, done.stderr
    return done.stderr.decode().splitlines()[-1].removeprefix("cuesta: ")


@pytest.mark.parametrize("gzipped", [False, True])
def test_standard_input_produces_the_bytes_that_its_file_produces(
    reads: Path, tmp_path: Path, gzipped: bool
) -> None:
    content = reads.read_bytes()
    content = gzip.compress(content[:5000]) + gzip.compress(content[5000:]) if gzipped else content
    done = command("run", "assemble", "-", "-k", "31", "-o", str(tmp_path / "a"), stdin=content)
    assert done.returncode == 0, done.stderr
    expected = assemble([reads], tmp_path / "b", "-k", "31")
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (expected / name).read_bytes(), name
    record = json.loads((tmp_path / "a" / "run.json").read_text())
    assert input_sizes(record) == [{"path": "-", "bytes": len(content), "files": 1}]
    assert record["verified"]
    assert names(tmp_path) == {"a", "b"}


def test_pipes_are_files_of_read_pairs_and_scratch_is_empty_afterwards(
    reads: Path, tmp_path: Path
) -> None:
    pipes, scratch = [tmp_path / "one", tmp_path / "two"], tmp_path / "scratch"
    scratch.mkdir()
    second = tmp_path / "mates.fq"
    second.write_bytes(reads.read_bytes().translate(bytes.maketrans(b"ACGT", b"TGCA")))
    threads = [
        _fed(pipe, file.read_bytes()) for pipe, file in zip(pipes, (reads, second), strict=True)
    ]
    paired = ["-k", "31", "--pairs", "--scratch", str(scratch)]
    answer = assemble(pipes, tmp_path / "a", *paired)
    for thread in threads:
        thread.join()
    expected = assemble([reads, second], tmp_path / "b", *paired)
    assert (answer / "graph.gfa").read_bytes() == (expected / "graph.gfa").read_bytes()
    assert names(scratch) == set()
    record = json.loads((answer / "run.json").read_text())
    assert [source["path"] for source in record["inputs"]] == [str(pipe) for pipe in pipes]


def _fed(pipe: Path, content: bytes) -> threading.Thread:
    os.mkfifo(pipe)
    thread = threading.Thread(target=lambda: pipe.write_bytes(content), daemon=True)
    thread.start()
    return thread


def test_empty_closed_and_terminal_are_reported_in_a_single_line(tmp_path: Path) -> None:
    words = ("run", "assemble", "-", "-o", str(tmp_path / "a"))
    assert refusal(command(*words)) == f"standard input is empty; {USAGE}"
    leader, follower = os.openpty()
    try:
        assert refusal(command(*words, stdin=follower)) == f"standard input is a terminal; {USAGE}"
    finally:
        os.close(leader)
        os.close(follower)
    shell = f"exec {sys.executable} -m cuesta {' '.join(words)} <&-"
    closed = subprocess.run(["sh", "-c", shell], check=False, capture_output=True, timeout=60)
    assert refusal(closed) == f"standard input is empty; {USAGE}"
    assert names(tmp_path) == set()


def test_damage_of_standard_input_is_reported(tmp_path: Path) -> None:
    line = refusal(
        command("run", "assemble", "-", "-o", str(tmp_path / "a"), stdin=b"@r\nAC!T\n+\nIIII\n")
    )
    assert "standard input, record 1, base 3: '!' is no nucleotide" in line
    assert str(tmp_path) not in line
    assert names(tmp_path) == set()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("run", "assemble", "-", "-"), "- is given twice, but standard input can be read only"),
        (("run", "sort", "-"), "sort reads files and folders, not standard input; give a file"),
        (("run", "assemble", "-", "--resume", "kept"), "--resume with standard input: it is gone"),
        (
            ("compare", "assemble", "-", "--engines", "native"),
            "standard input: every engine reads its inputs anew; give files",
        ),
    ],
)
def test_what_would_read_it_again_is_refused_before_any_work(
    words: Sequence[str], expected: str, tmp_path: Path
) -> None:
    assert refusal(command(*words, "-o", str(tmp_path / "a"))).startswith(expected)
    assert names(tmp_path) == set()


@pytest.mark.parametrize(
    "words",
    [("correlate", "PIPE"), ("scan", "PIPE"), ("kmeans", "PIPE", "--clusters", "2"),
     ("scan", "rows.txt", "--genes", "PIPE"), ("kmeans", "p.csv", "--centres", "PIPE")],
)  # fmt: skip
def test_a_pipe_that_would_be_waited_for_is_refused(words: Sequence[str], tmp_path: Path) -> None:
    """A named pipe without a writer blocked the kernel as it was opened; no signal ended that."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "rows.txt").write_text("2\t1\t1\t1\t3\t0\t0\t0\t0\t0.9\t111\n")
    (tmp_path / "p.csv").write_text("1,2\n3,4\n")
    paths = {"PIPE": str(pipe), **{name: str(tmp_path / name) for name in ("rows.txt", "p.csv")}}
    line = refusal(
        command("run", *(paths.get(word, word) for word in words), "-o", str(tmp_path / "a"))
    )
    assert f"not the pipe {pipe}; write it to a file first" in line


def test_an_answer_of_standard_input_reports_that_its_reads_are_gone(
    reads: Path, tmp_path: Path
) -> None:
    answer = tmp_path / "a"
    words = ("run", "assemble", "-", "-k", "31", "-o", str(answer))
    assert command(*words, stdin=reads.read_bytes()).returncode == 0
    assert refusal(command("verify", str(answer))).startswith("standard input: it cannot be read")
    assert "leave the reads out with --no-reads" in refusal(command("assess", str(answer)))


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("a.bam", "samtools collate -uO {} | samtools fastq"),
        ("b.CRAM", "samtools collate -uO {} | samtools fastq"),
        ("c.sra", "`fasterq-dump {}`"),
    ],
)
def test_alignments_and_archives_are_refused_with_advice(
    name: str, advice: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    line = refusal(command("run", "assemble", str(path), "-o", str(tmp_path / "a")))
    assert line.startswith(f"{path}: ")
    assert advice.format(path) in line
