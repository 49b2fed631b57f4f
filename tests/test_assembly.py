"""`assemble`: contigs spell the genome, the same for any threads, memory and order of reads."""

from __future__ import annotations

import gzip
import json
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assemblykit import (
    FILES,
    assemble,
    contigs,
    drawn,
    read_pairs_of,
    reads_of,
    record,
    turned,
    write_fastq,
)
from cuesta.cli.app import call
from cuesta.engines.mpi import MpiEngine
from labkit import small_disk
from waitkit import HANG_SECONDS

__all__ = ["small_disk"]


@pytest.fixture(scope="module")
def genome() -> str:
    """Genome with a repeat of 60 bases, which 31-mers do not bridge and 79-mers do."""
    repeat = drawn(60, 7)
    return drawn(9000, 1) + repeat + drawn(6000, 2) + repeat + drawn(5000, 3)


@pytest.fixture(scope="module")
def reads(genome: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_fastq(tmp_path_factory.mktemp("reads") / "r.fq", reads_of(genome, 60, 0.004, 5))


def test_a_circular_genome_comes_back_as_a_single_circle(
    genome: str, reads: Path, tmp_path: Path
) -> None:
    answer = assemble([reads], tmp_path / "a", "-k", "31,55,79")
    (contig,) = contigs(answer)
    assert "circular=true" in (answer / "contigs.fa").read_text()
    assert len(contig) == len(genome)
    double = genome + genome
    assert contig in double or turned(contig) in double
    assert record(answer)["answer"]["counts"]["contigs"] == 1


def test_a_repeat_longer_than_k_makes_a_branch(genome: str, reads: Path, tmp_path: Path) -> None:
    answer = assemble([reads], tmp_path / "a", "-k", "31", "--min-contig", "0")
    double = genome + genome
    assert all(contig in double or turned(contig) in double for contig in contigs(answer))
    graph = [line.split("\t") for line in (answer / "graph.gfa").read_text().splitlines()]
    assert sum(line[0] == "S" for line in graph) == 3
    assert sum(line[0] == "L" for line in graph) == 4
    assert {line[5] for line in graph if line[0] == "L"} == {"30M"}
    record(answer)


@pytest.mark.parametrize("sizes", ["31", "21,41,63,79"])
def test_threads_memory_and_order_change_no_byte(reads: Path, tmp_path: Path, sizes: str) -> None:
    lines = reads.read_text().split("\n")
    records = ["\n".join(lines[at : at + 4]) + "\n" for at in range(0, len(lines) - 1, 4)]
    random.Random(3).shuffle(records)
    half = len(records) // 2
    first_file, second_file = tmp_path / "one.fq", tmp_path / "two.fq.gz"
    first_file.write_text("".join(records[:half]))
    members = [records[half : half + 900], records[half + 900 :]]
    second_file.write_bytes(b"".join(gzip.compress("".join(part).encode()) for part in members))
    first = assemble([reads], tmp_path / "first", "-k", sizes, "--threads", "1")
    for index, (inputs, more) in enumerate(
        [
            ([reads], ["--threads", "4"]),
            ([reads], ["--memory", "100MB", "--threads", "2"]),
            ([second_file, first_file], []),
        ]
    ):
        other = assemble(inputs, tmp_path / f"o{index}", "-k", sizes, *more)
        for name in FILES:
            assert (first / name).read_bytes() == (other / name).read_bytes(), (index, name)
        assert record(first)["answer"]["digest"] == record(other)["answer"]["digest"]


@pytest.mark.skipif(MpiEngine().missing() is not None, reason="MPI is not installed")
@pytest.mark.parametrize(
    ("ranks", "memory", "more"),
    [
        ("1", "1GiB", ["-k", "31"]),
        ("3", "1GiB", ["-k", "31,55,79"]),
        ("2", "128MiB", ["-k", "21,41"]),
        ("2", "1GiB", ["-k", "31", "--min-count", "4", "--profile", "paper"]),
        ("3", "1GiB", ["-k", "31,55", "--chains", "ranking"]),
    ],
)
def test_ranks_write_the_same_bytes(
    reads: Path, tmp_path: Path, ranks: str, memory: str, more: list[str]
) -> None:
    packed_file = tmp_path / "packed.fq.gz"
    packed_file.write_bytes(gzip.compress(reads.read_bytes()[:200_000].rpartition(b"@")[0]))
    inputs = [reads, packed_file]
    native = assemble(inputs, tmp_path / "native", *more)
    options = ["--engine", "mpi", "--ranks", ranks, "--memory", memory]
    answer = assemble(inputs, tmp_path / "mpi", *more, *options)
    for name in FILES:
        assert (answer / name).read_bytes() == (native / name).read_bytes(), name
    assert record(answer)["answer"]["counts"]["ranks"] == int(ranks)


def without_depth(answer: Path) -> str:
    """Return the graph without the depth of its paths."""
    return re.sub(r"\tDP:f:[\d.]+", "", (answer / "graph.gfa").read_text())


def test_lower_case_carriage_returns_fasta_and_ambiguous_letters_are_read(
    genome: str, reads: Path, tmp_path: Path
) -> None:
    sequences = reads.read_text().split("\n")[1::4]
    path = tmp_path / "r.fa"
    path.write_text(
        "".join(f">x\r\n{sequence[:50].lower()}\r\n{sequence[50:]}\r\n" for sequence in sequences)
    )
    first = assemble([reads], tmp_path / "first", "-k", "31")
    other = assemble([path], tmp_path / "other", "-k", "31")
    assert (first / "graph.gfa").read_bytes() == (other / "graph.gfa").read_bytes()
    path.write_text("".join(f">x\n{sequence}NNRY{sequence[:20]}\n" for sequence in sequences))
    contigs_cut = assemble([path], tmp_path / "cut", "-k", "31")
    # The short stretches have no k-mers, but are bases of the reads, as the depth shows.
    assert without_depth(first) == without_depth(contigs_cut)
    mixed = [
        f">x\n{sequence}{'' if index % 4 else 'N'}\n" for index, sequence in enumerate(sequences)
    ]
    path.write_text("".join(mixed))
    without_n = assemble([path], tmp_path / "left", "-k", "31", "--drop-reads-with-n")
    assert record(without_n)["answer"]["counts"]["bases"] <= len(genome) + 200
    spectrum = (without_n / "spectrum.tsv").read_text()
    assert spectrum != (first / "spectrum.tsv").read_text()


def test_profiles_take_out_more_or_less(reads: Path, tmp_path: Path) -> None:
    counts = {}
    for profile in ("none", "paper", "default"):
        answer = assemble([reads], tmp_path / profile, "-k", "31", "--profile", profile,
                          "--min-count", "2", "--min-contig", "0")  # fmt: skip
        counts[profile] = record(answer)["answer"]["counts"]["contigs"]
        lengths = [len(contig) for contig in contigs(answer)]
        assert lengths == sorted(lengths, reverse=True)
        (level,) = json.loads((answer / "stats.json").read_text())["levels"]
        programs = {"edges", "chains", "tips", "bubbles"} if profile == "paper" else set()
        assert level.get("traffic", {}).keys() == programs
    assert counts["none"] > counts["paper"] >= counts["default"] == 3
    unitigs = [(tmp_path / profile / "unitigs.fa").read_bytes() for profile in counts]
    assert unitigs[0] == unitigs[1] == unitigs[2]


def test_read_pairs_bridge_what_reads_do_not(tmp_path: Path) -> None:
    repeat = drawn(120, 11)
    genome = drawn(12000, 12) + repeat + drawn(9000, 13) + repeat + drawn(7000, 14)
    ones, twos = read_pairs_of(genome, 60, 300, 15)
    files = [write_fastq(tmp_path / "1.fq", ones), write_fastq(tmp_path / "2.fq", twos)]
    alone = assemble(files, tmp_path / "alone")
    assert len(contigs(alone)) == 2
    answer = assemble(files, tmp_path / "a", "--pairs")
    (contig,) = contigs(answer)
    stats = json.loads((answer / "stats.json").read_text())
    assert stats["levels"][-1]["mates"]["insert"] == pytest.approx(300, abs=5)
    k = stats["levels"][-1]["k"]
    assert len(contig) == len(genome)
    double = genome + genome
    assert contig in double or turned(contig) in double
    other = assemble(files, tmp_path / "b", "--pairs", "--threads", "1", "--memory", "100MB")
    for name in (*FILES, f"before/{k}.fa"):
        assert (answer / name).read_bytes() == (other / name).read_bytes(), name
    assert record(answer)["answer"]["digest"] == record(other)["answer"]["digest"]
    record(assemble(files, tmp_path / "short", "--pairs", "-k", "21"))
    both = [read for pair in zip(ones, twos, strict=True) for read in pair]
    in_turn = write_fastq(tmp_path / "both.fq", both)
    interleaved = assemble([in_turn], tmp_path / "one-file", "--interleaved")
    assert (interleaved / "graph.gfa").read_bytes() == (answer / "graph.gfa").read_bytes()
    record(interleaved)
    bridges = (answer / "before" / f"{k}.fa").read_text().split("\n")
    place = next(index for index, line in enumerate(bridges) if line.endswith(" bridge"))
    bridges[place + 1] = bridges[place + 1][:100] + "ACGT" * 20 + bridges[place + 1][100:]
    (answer / "before" / f"{k}.fa").write_text("\n".join(bridges))
    assert call(["verify", str(answer)]) == 1


@pytest.mark.skipif(MpiEngine().missing() is not None, reason="MPI is not installed")
def test_ranks_place_pairs_as_a_single_process_does(tmp_path: Path) -> None:
    repeat = drawn(120, 11)
    genome = drawn(9000, 12) + repeat + drawn(7000, 13) + repeat + drawn(5000, 14)
    ones, twos = read_pairs_of(genome, 50, 300, 15)
    files = [write_fastq(tmp_path / "1.fq", ones), write_fastq(tmp_path / "2.fq", twos)]
    native = assemble(files, tmp_path / "native", "--pairs")
    options = ["--pairs", "--engine", "mpi", "--ranks", "3", "--memory", "1GiB"]
    answer = assemble(files, tmp_path / "mpi", *options)
    for name in (*FILES, "scaffolds.fa"):
        assert (answer / name).read_bytes() == (native / name).read_bytes(), name
    record(answer)


def test_options_1_and_2_name_pairs_of_files(tmp_path: Path) -> None:
    genome = drawn(9000, 21)
    files = []
    for number in (1, 2):
        ends = read_pairs_of(genome, 20, 300, number)
        files += [
            write_fastq(tmp_path / f"{number}_{end}.fq", reads) for end, reads in enumerate(ends)
        ]
    plain = assemble(files, tmp_path / "plain", "--pairs")
    first_1, first_2, second_1, second_2 = map(str, files)
    words = ["-1", first_1, "-1", second_1, "-2", first_2, "-2", second_2]
    for named in (words, [*words, "--pairs"]):
        answer = assemble([], tmp_path / "named", *named)
        for name in FILES:
            assert (answer / name).read_bytes() == (plain / name).read_bytes(), name
        first, second = record(plain), record(answer)
        for part in ("inputs", "parameters"):
            assert first[part] == second[part]
        assert first["answer"]["digest"] == second["answer"]["digest"]


def test_files_of_read_pairs_without_their_counterpart_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["-o", str(tmp_path / "answer")]
    for words, message in [
        ("-1 a.fq", "-1 has 1 file and -2 no files; give both files of every pair"),
        ("-2 a.fq", "-1 has no files and -2 1 file; give both files of every pair"),
        ("-1 a -2 b -2 c", "-1 has 1 file and -2 2 files; give both files of every pair"),
        ("-1 a -2 b c", "c is neither -1 nor -2; write one of them before every file"),
        ("-1 a -2 b --interleaved", "-1 and -2 take read pairs in two files, --interleaved in one"),
        ("", "assemble takes at least 1 input"),
        ("", "got 0; give it, as in `cuesta run assemble READS -o DIR`"),
    ]:
        assert message in refusal(capsys, *words.split(), *out)
    assert call(["compare", "assemble", "-1", "a", "--engines", "native,mpi", *out]) == 2
    assert "give both files of every pair" in capsys.readouterr().err
    assert call(["run", "scan", "-1", "a", "-2", "b", *out]) == 2
    assert "No such option: -1" in capsys.readouterr().err


def test_a_circle_without_read_pairs_remains_a_circle(tmp_path: Path) -> None:
    """The last size of k-mers uses no reads, which would extend over the end of a circle."""
    genome = drawn(9000, 16)
    ones, twos = read_pairs_of(genome, 60, 300, 17)
    files = [write_fastq(tmp_path / "1.fq", ones), write_fastq(tmp_path / "2.fq", twos)]
    answer = assemble(files, tmp_path / "a", "--pairs")
    k = json.loads((answer / "stats.json").read_text())["levels"][-1]["k"]
    assert k > 100
    assert "circular=true" in (answer / "contigs.fa").read_text()
    (contig,) = contigs(answer)
    assert len(contig) == len(genome)
    record(answer)


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert call(["run", "assemble", *words]) == 2
    return capsys.readouterr().err.strip().splitlines()[-1]


def test_bad_input_is_named(
    reads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["-o", str(tmp_path / "answer")]
    bad = tmp_path / "bad.fq"

    def complaint(content: bytes, *more: str) -> str:
        bad.write_bytes(content)
        return refusal(capsys, str(bad), *more, *out)

    assert "bad.fq is empty" in complaint(b"")
    assert "neither FASTQ nor FASTA" in complaint(b"hello\n")
    assert "record 2" in complaint(b"@a\nACGT\n+\nIIII\n@b\nACGT\n+\nIII\n")
    read = "ACGTTGCATGCCGATATTAACCGGTTGACTGAAA"
    protein = f">a\n{read}\n>b\n{read}ELVISL\n".encode()
    assert f"record 2, base {len(read) + 1}: 'E' stands for an amino acid" in complaint(protein)
    compressed = gzip.compress(reads.read_bytes())
    cut_message = complaint(compressed[: len(compressed) // 2])
    assert "bad.fq" in cut_message
    assert "obtain it again" in cut_message
    assert "reads have 34 bases" in complaint(protein[: protein.index(b">b")], "-k", "55")
    for sizes in ("30", "129", "31,31"):
        assert "odd numbers from 15 to 127" in refusal(capsys, str(reads), "-k", sizes, *out)
    assert "--min-count is 0" in refusal(capsys, str(reads), "--min-count", "0", *out)
    other = tmp_path / "other.fq"
    other.write_text("".join(reads.read_text().splitlines(keepends=True)[:400]))
    pairs = [str(reads), str(other), "--pairs", *out]
    assert "one ends after 100; obtain it again" in refusal(capsys, *pairs)
    assert "has no mate" in refusal(capsys, str(reads), "--pairs", *out)
    other.write_text("".join(other.read_text().splitlines(keepends=True)[:-4]))
    odd = refusal(capsys, str(other), "--interleaved", *out)
    assert "other.fq has an odd number of reads: the last, after 49 pairs, has no mate" in odd
    assert "give one" in refusal(capsys, str(other), "--interleaved", "--pairs", *out)
    assert not (tmp_path / "answer").exists()


def test_a_scratch_that_fills_up_is_reported_in_a_single_line_and_leaves_nothing(
    small_disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    genome = drawn(1_000_000, 3)
    reads = [genome[start : start + 1000] for start in range(0, 999_000, 50)]
    path = write_fastq(tmp_path / "r.fq", reads)
    words = [str(path), "-k", "31", "--min-count", "2", "--memory", "16MiB"]
    error = refusal(capsys, *words, "--scratch", str(small_disk), "-o", str(tmp_path / "a"))
    assert "writing temporary files in " in error
    assert "free space there or choose another place" in error
    assert not any(small_disk.iterdir())
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("engine", ["native", "mpi"])
def test_an_interrupted_run_leaves_nothing(engine: str, tmp_path: Path) -> None:
    if engine == "mpi" and MpiEngine().missing() is not None:
        pytest.skip("MPI is not installed")
    path = write_fastq(tmp_path / "r.fq", reads_of(drawn(400_000, 3), 15, 0, 3))
    words = [sys.executable, "-m", "cuesta", "run", "assemble", str(path), "--engine", engine]
    process = subprocess.Popen(
        [*words, "-o", str(tmp_path / "a")], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    assert any("running" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "cuesta: interrupted"
    assert [path.name for path in tmp_path.iterdir()] == ["r.fq"]


def test_reads_without_solid_kmers_give_an_empty_answer(tmp_path: Path) -> None:
    path = write_fastq(tmp_path / "r.fq", [drawn(100, seed) for seed in range(50)])
    answer = assemble([path], tmp_path / "a", "-k", "31", "--min-count", "3")
    assert (answer / "contigs.fa").read_text() == ""
    assert record(answer)["answer"]["counts"]["contigs"] == 0


def test_generated_pairs_give_their_genome_back(tmp_path: Path) -> None:
    reference, reads = tmp_path / "genome.fa", tmp_path / "reads.fq"
    words = ["data", "make", "reads", "--bases", "30000", "--fragment", "300", "--seed", "4"]
    assert call([*words, "--reference", str(reference), "-o", str(reads)]) == 0
    output = tmp_path / "o"
    assert call(["run", "assemble", str(reads), "--interleaved", "-o", str(output)]) == 0
    genome = "".join(reference.read_text().splitlines()[1:])
    (contig,) = contigs(output)
    assert len(contig) > 29_900
    assert contig in genome or contig in turned(genome)
