"""Files of an assembly that other programs read: QUAST's rows, headers, MultiQC, copies."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from assemblykit import drawn
from cuesta.cli.app import call
from cuesta.workloads import derived
from cuesta.workloads.assembly.files import Files
from cuesta.workloads.assembly.laboratory import quast_rows
from cuesta.workloads.assembly.summary import COLUMNS, Lengths, summary
from sampleskit import write_isolate

NAMES = ("assembly.fasta", "cuesta_mqc.json", "replicons.tsv", "report.tsv")

# `quast.py --no-html --no-plots --no-icarus --no-snps` 5.2.0 of the contigs of `_contigs`.
QUAST = """\
# contigs (>= 0 bp)	7
# contigs (>= 1000 bp)	4
# contigs (>= 5000 bp)	2
# contigs (>= 10000 bp)	1
# contigs (>= 25000 bp)	0
# contigs (>= 50000 bp)	0
Total length (>= 0 bp)	23295
Total length (>= 1000 bp)	21846
Total length (>= 5000 bp)	18346
Total length (>= 10000 bp)	12345
Total length (>= 25000 bp)	0
Total length (>= 50000 bp)	0
# contigs	5
Largest contig	12345
Total length	22546
GC (%)	49.63
N50	12345
N90	2500
auN	8700.0
L50	1
L90	3
# N's per 100 kbp	164.11
"""

PLATON = re.compile(r">\d+ length=\d+ depth=\d+\.\d\dx( circular=true)?")
"""Header that Platon reads as Unicycler's, as a whole."""


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("laboratory")
    first, second = write_isolate(folder, "reads", 3)
    words = ["-1", str(first), "-2", str(second), "-o", str(folder / "KP-07")]
    assert call(["run", "assemble", *words]) == 0
    return folder / "KP-07"


def _contigs(folder: Path) -> Files:
    lengths = [(12345, 1), (6001, 2), (2500, 3), (1000, 4), (700, 5), (499, 6), (250, 7)]
    with (folder / "contigs.fa").open("w") as file:
        for number, (length, seed) in enumerate(lengths, start=1):
            bases = drawn(length, seed)
            if number == 2:
                bases = bases[:3000] + "N" * 37 + bases[3037:]
            file.write(f">contig_{number} length={length} depth=30.0\n{bases}\n")
    return Files(folder, 0)


def test_the_rows_are_those_of_quast(tmp_path: Path) -> None:
    rows = quast_rows(_contigs(tmp_path))
    assert "".join(f"{name}\t{value}\n" for name, value in rows) == QUAST


def test_short_contigs_alone_have_the_first_rows_of_quast(tmp_path: Path) -> None:
    (tmp_path / "contigs.fa").write_text(f">contig_1 length=499 depth=3.0\n{drawn(499, 1)}\n")
    rows = quast_rows(Files(tmp_path, 0))
    assert len(rows) == 12
    assert rows[0] == ("# contigs (>= 0 bp)", "1")


def test_n50_and_n90_are_of_the_longest_that_reach_the_share() -> None:
    lengths = Lengths.of([10, 40, 30, 20])
    assert (lengths.covering(50), lengths.covering(90)) == ((30, 2), (20, 3))
    assert Lengths.of([]).covering(50) == (0, 0)
    assert lengths.aun == 30.0


def test_the_files_are_part_of_the_answer_by_the_name_of_its_folder(answer: Path) -> None:
    record = json.loads((answer / "run.json").read_text())
    assert {*NAMES} <= {file["name"] for file in record["answer"]["files"]}
    assert record["sample"] == "KP-07"
    assert (answer / "report.tsv").read_text().startswith("Assembly\tKP-07\n# contigs (>= 0 bp)\t2")
    assert call(["verify", str(answer)]) == 0


def test_an_answer_that_was_moved_verifies(answer: Path, tmp_path: Path) -> None:
    moved = answer.rename(tmp_path / "moved")
    try:
        assert call(["verify", str(moved)]) == 0
    finally:
        moved.rename(answer)


def test_headers_are_read_by_bakta_platon_mob_suite_and_prokka(answer: Path) -> None:
    heads = [line for line in (answer / "assembly.fasta").read_text().split("\n") if ">" in line]
    assert heads == [
        ">1 length=5000 depth=1.00x circular=true",
        ">2 length=1500 depth=3.00x circular=true",
    ]
    for head in heads:
        assert PLATON.fullmatch(head)
        assert "circular=true" in head.split()[1:]
        assert "complete" not in head
        assert len(head.split()[0]) - 1 <= 20
    bases = (answer / "assembly.fasta").read_text().split("\n")[1::2]
    assert bases == (answer / "scaffolds.fa").read_text().split("\n")[1::2]


def test_replicons_have_the_numbers_of_their_copies(answer: Path) -> None:
    assert (answer / "replicons.tsv").read_text() == (
        "id\tname\tlength\tdepth\tcopies\n"
        "1\tscaffold_1\t5000\t40.0\t1.00\n"
        "2\tscaffold_2\t1500\t120.0\t3.00\n"
    )


def test_the_section_of_multiqc_has_all_figures_of_the_sample(answer: Path) -> None:
    section = json.loads((answer / "cuesta_mqc.json").read_text())
    assert (section["id"], section["plot_type"]) == ("cuesta_assembly", "table")
    assert section["data"]["KP-07"].keys() == section["headers"].keys()
    assert section["data"]["KP-07"]["copies"] == "1500:3.0x"


def test_a_summary_has_all_columns_in_order(answer: Path) -> None:
    assert tuple(summary(Files(answer, 0))) == COLUMNS


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_differs_from_the_answer_is_a_fault(answer: Path, name: str) -> None:
    assert derived.fault("assemble", answer, "KP-07") == ""
    known = (answer / name).read_bytes()
    for wrong in (known + b"\n", known[:-1], known.replace(b"1", b"7", 1), b""):
        (answer / name).write_bytes(wrong)
        fault = derived.fault("assemble", answer, "KP-07")
        assert fault == f"{name} differs from what the other files of the answer give"
    (answer / name).write_bytes(known)


def test_single_reads_have_no_scaffolds_and_the_same_files(answer: Path, tmp_path: Path) -> None:
    reads = answer.parent / "reads_1.fq"
    assert call(["run", "assemble", str(reads), "-o", str(tmp_path / "s"), "-k", "31"]) == 0
    assert {*NAMES} <= {path.name for path in (tmp_path / "s").iterdir()}
    assert (
        "scaffold_n50"
        not in json.loads((tmp_path / "s" / "cuesta_mqc.json").read_text())["data"]["s"]
    )
    assert call(["verify", str(tmp_path / "s")]) == 0


def test_other_workloads_have_no_derived_files(tmp_path: Path) -> None:
    assert derived.contents("sort", tmp_path, "x") == {}
    derived.write("sort", tmp_path, "x")
    assert not any(tmp_path.iterdir())


def test_damaged_files_are_a_fault_and_no_crash(answer: Path) -> None:
    known = (answer / "stats.json").read_bytes()
    (answer / "stats.json").write_text("{}")
    try:
        assert derived.fault("assemble", answer, "KP-07").startswith(
            "cuesta_mqc.json cannot be made"
        )
    finally:
        (answer / "stats.json").write_bytes(known)
