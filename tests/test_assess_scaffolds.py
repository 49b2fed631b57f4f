"""`cuesta assess` of scaffolds: the measures of contigs, and gaps that may have a wrong size."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from assemblykit import drawn, reads_of, turned, write_fastq
from assesskit import assessed, write_answer, write_fasta
from cuesta.assess import sequences
from cuesta.cli.app import call
from cuesta.report.page import write

needs_mappy = pytest.mark.skipif(find_spec("mappy") is None, reason="mappy is not installed")

GENOME = drawn(60_000, 1)
A, B, C = GENOME[:9000], GENOME[9400:20_000], GENOME[20_000:28_000]


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    return write_fasta(tmp_path / "reference.fa", {"one": GENOME})


def write_scaffolds(folder: Path, *scaffolds: str) -> Path:
    """Write an answer of contigs A, B and C, and these scaffolds."""
    write_answer(folder, A, B, C)
    with (folder / "scaffolds.fa").open("w") as out:
        for number, bases in enumerate(scaffolds, start=1):
            out.write(f">scaffold_{number} length={len(bases)} depth=20.0 gaps=1\n{bases}\n")
    return folder


def measured(folder: Path, reference: Path, scaffold: str) -> dict[str, Any]:
    """Return the assessment of a scaffold against the reference."""
    answer = write_scaffolds(folder, scaffold)
    scaffolds: dict[str, Any] = assessed(answer, "-r", str(reference), "--no-reads")["scaffolds"]
    return scaffolds


@pytest.mark.parametrize(
    ("bases", "expected"),
    [(b"", []), (b"ANNNNNNNNNA", []), (b"N" * 10, [(0, 10)]),
     (b"AC" + b"N" * 12 + b"G" + b"N" * 10, [(2, 14), (15, 25)])],
)  # fmt: skip
def test_gaps_are_runs_of_ten_or_more(bases: bytes, expected: list[tuple[int, int]]) -> None:
    assert sequences.gaps(bases) == expected


def _turned(scaffold: str) -> str:
    return "N".join(turned(part) for part in reversed(scaffold.split("N")))


@needs_mappy
@pytest.mark.parametrize("scaffold", [A + "N" * 400 + B, _turned(A + "N" * 400 + B)])
def test_a_gap_of_the_right_size_joins_two_contigs_into_a_single_block(
    tmp_path: Path, reference: Path, scaffold: str
) -> None:
    scaffolds = measured(tmp_path / "a", reference, scaffold)
    measures = scaffolds["measures"]
    assert (scaffolds["gaps"], scaffolds["n_bases"], scaffolds["n50"]) == (1, 400, 20_000)
    assert (measures["misassemblies"], measures["local_misassemblies"]) == (0, 0)
    assert (measures["mismatches"], measures["indels"], measures["unaligned_bases"]) == (0, 0, 0)
    assert measures["largest_alignment"] == len(A) + len(B)
    assert (measures["gap_errors"], measures["gap_off_median"]) == (0, 0)


@needs_mappy
@pytest.mark.parametrize(
    ("gap", "errors", "misassemblies"),
    [(450, 0, 0), (10, 0, 0), (1399, 0, 0), (1500, 1, 0), (10_300, 1, 0), (11_000, 0, 1)],
)
def test_a_gap_of_a_wrong_size_is_no_misassembly_until_it_is_far_off(
    tmp_path: Path, reference: Path, gap: int, errors: int, misassemblies: int
) -> None:
    measures = measured(tmp_path / "a", reference, A + "N" * gap + B)["measures"]
    assert (measures["gap_errors"], measures["misassemblies"]) == (errors, misassemblies)
    assert measures["local_misassemblies"] == 0
    assert measures["unaligned_bases"] == 0
    if not misassemblies:
        assert measures["gap_off_median"] == abs(gap - 400)
        assert measures["largest_alignment"] == len(A) + len(B)


@needs_mappy
@pytest.mark.parametrize(
    ("scaffold", "kind"),
    [
        (A + "N" * 400 + _turned(B), "inversions"),
        (A + "N" * 50 + GENOME[40_000:50_000], "relocations"),
        (C + "N" * 50 + A, "relocations"),
    ],
)
def test_contigs_joined_wrongly_across_a_gap_are_misassemblies(
    tmp_path: Path, reference: Path, scaffold: str, kind: str
) -> None:
    scaffolds = measured(tmp_path / "a", reference, scaffold)
    assert (scaffolds["measures"]["misassemblies"], scaffolds["measures"][kind]) == (1, 1)
    assert [misassembly["contig"] for misassembly in scaffolds["misassemblies"]] == ["scaffold_1"]


@needs_mappy
def test_page_and_command_show_scaffolds_next_to_contigs(
    tmp_path: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = write_scaffolds(tmp_path / "a", C + "N" * 50 + A, B)
    assessed(answer, "-r", str(reference), "--no-reads")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["contigs", "scaffolds"] in lines
    assert ["misassemblies", "0", "1", "(1\xa0relocation)"] in lines or [
        "misassemblies", "0", "1", "(1", "relocation)"
    ] in lines  # fmt: skip
    assert ["gaps", "1"] in lines
    html = write([answer], tmp_path / "r.html").read_text()
    assert html.count(">scaffolds</th>") == 1
    assert "Misassemblies of scaffolds" in html
    assert "<dt>gaps</dt><dd>1</dd>" in html
    assert "Contigs and scaffolds of at least 500 bases." in html


def test_kmers_of_scaffolds_are_those_next_to_their_gaps(tmp_path: Path) -> None:
    genome = GENOME[:20_000]
    fastq = write_fastq(tmp_path / "r.fq", reads_of(genome, 40, 0.002, 6))
    answer = tmp_path / "a"
    assert call(["run", "assemble", str(fastq), "-k", "31", "-o", str(answer)]) == 0
    scaffold = genome[:8000] + "N" * 300 + genome[8300:16_000] + drawn(1000, 9)
    (answer / "scaffolds.fa").write_text(f">scaffold_1 gaps=1\n{scaffold}\n")
    assessment = assessed(answer)
    contigs, scaffolds = assessment["reads"], assessment["scaffolds"]["reads"]
    assert contigs["strange"] == 0
    assert scaffolds["solid"] == contigs["solid"]
    assert scaffolds["kmers"] == 8000 - 20 + 8700 - 20
    assert scaffolds["strange"] == 1000
    assert scaffolds["completeness"] == pytest.approx((7980 + 7680) / 20_000, abs=1e-3)


@needs_mappy
@pytest.mark.parametrize("scaffolds", [(), ("ACGT" * 50,)])
def test_scaffolds_that_are_too_short_or_none_are_zeros(
    tmp_path: Path, reference: Path, scaffolds: tuple[str, ...]
) -> None:
    answer = write_scaffolds(tmp_path / "a", *scaffolds)
    scaffold_measures = assessed(answer, "-r", str(reference), "--no-reads")["scaffolds"]
    assert (
        scaffold_measures["scaffolds"],
        scaffold_measures["bases"],
        scaffold_measures["n50"],
    ) == (0, 0, None)
    assert scaffold_measures["measures"]["genome_fraction"] == 0
    assert write([answer], tmp_path / "r.html").exists()
