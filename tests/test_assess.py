"""`cuesta assess`: an assembly compared with a reference, by minimap2 where it is installed."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

import reportkit
from assemblykit import drawn, turned
from assesskit import assessed, write_answer, write_fasta
from cuesta.assess import mapping
from cuesta.cli.app import call
from cuesta.report.page import write

needs_mappy = pytest.mark.skipif(find_spec("mappy") is None, reason="mappy is not installed")
QUAST = shutil.which("quast.py")

GENOME = drawn(60_000, 1)
OTHER = drawn(20_000, 2)


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    return write_fasta(tmp_path / "reference.fa", {"one": GENOME, "two": OTHER})


def scrambled() -> list[str]:
    """Return contigs with a misassembly of each kind, and a contig of no genome."""
    return [
        GENOME[:8000] + GENOME[9500:14_000],
        GENOME[14_000:17_000] + turned(GENOME[17_000:20_000]),
        GENOME[20_000:24_000] + OTHER[5000:9000],
        GENOME[24_000:27_000] + GENOME[27_400:30_000],
        GENOME[30_000:31_000] + "A" + GENOME[31_001:33_000] + GENOME[33_003:40_000],
        drawn(900, 3),
        OTHER[:499],
    ]


@needs_mappy
def test_each_kind_of_misassembly_is_detected_in_its_place(tmp_path: Path, reference: Path) -> None:
    assessment = assessed(
        write_answer(tmp_path / "a", *scrambled()), "--reference", str(reference), "--no-reads"
    )
    measures = assessment["measures"]
    kinds = [
        (misassembly["contig"], misassembly["kind"]) for misassembly in assessment["misassemblies"]
    ]
    assert kinds == [
        ("contig_1", "relocation"), ("contig_2", "inversion"), ("contig_3", "translocation"),
    ]  # fmt: skip
    places = [
        (misassembly["left_place"], misassembly["right_place"])
        for misassembly in assessment["misassemblies"]
    ]
    for place, expected in zip(
        places, [(8000, 9501), (17_000, 20_000), (24_000, 5001)], strict=True
    ):
        assert place == pytest.approx(expected, abs=10)
    assert (measures["misassemblies"], measures["local_misassemblies"]) == (3, 1)
    assert (measures["unaligned_contigs"], measures["unaligned_bases"]) == (1, 900)
    assert measures["contigs"] == 6
    assert measures["indels"] == 1
    assert measures["mismatches"] in (0, 1)
    assert measures["genome_fraction"] == pytest.approx(42_097 / 80_000, abs=2e-4)
    assert measures["largest_alignment"] == pytest.approx(9997, abs=10)
    assert assessment["reference"]["sequences"] == 2


@needs_mappy
def test_a_contig_may_run_over_the_end_of_a_circle_and_of_no_line(
    tmp_path: Path, reference: Path
) -> None:
    answer = write_answer(tmp_path / "a", GENOME[30_000:] + GENOME[:30_000], OTHER)
    circle = assessed(answer, "-r", str(reference), "--no-reads")["measures"]
    assert (circle["misassemblies"], circle["genome_fraction"]) == (0, 1)
    assert (circle["nga50"], circle["ng50"]) == (60_000, 60_000)
    line = assessed(answer, "-r", str(reference), "--no-reads", "--linear")["measures"]
    assert (line["relocations"], line["nga50"], line["ng50"]) == (1, 30_000, 60_000)


@needs_mappy
def test_less_than_half_of_a_reference_has_no_ng50(tmp_path: Path, reference: Path) -> None:
    packed_reference = tmp_path / "reference.fa.gz"
    packed_reference.write_bytes(
        gzip.compress(reference.read_bytes().lower().replace(b">two", b">two N"))
    )
    answer = write_answer(tmp_path / "a", GENOME[:9000], GENOME[20_000:30_000], OTHER[:600])
    assessment = assessed(answer, "-r", str(packed_reference), "--no-reads", "--min-contig", "601")
    assert (assessment["measures"]["ng50"], assessment["measures"]["nga50"]) == (None, None)
    assert assessment["measures"]["genome_fraction"] == 19_000 / 80_000
    html = write([answer], tmp_path / "r.html").read_text()
    assert "there is no NGA50" in html
    assert "<dt>NG50</dt><dd>\u2013</dd>" in html


@needs_mappy
def test_contigs_that_align_nowhere_are_an_assessment_too(tmp_path: Path, reference: Path) -> None:
    assessment = assessed(
        write_answer(tmp_path / "a", drawn(3000, 9)), "-r", str(reference), "--no-reads"
    )
    assert assessment["measures"]["duplication_ratio"] is None
    assert assessment["measures"]["genome_fraction"] == 0
    assert assessment["preview"] == []


@needs_mappy
def test_the_same_folder_is_assessed_anew_and_shown(
    tmp_path: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = write_answer(tmp_path / "a", *scrambled())
    first = assessed(answer, "-r", str(reference), "--no-reads")
    assert assessed(answer, "-r", str(reference), "--no-reads") == first
    assert "misassemblies        3 (1\u00a0relocation, 1\u00a0" in capsys.readouterr().out
    assert sorted(path.name for path in answer.iterdir()) == [
        "assessment.json", "contigs.fa", "run.json",
    ]  # fmt: skip
    html = write([answer], tmp_path / "r.html").read_text()
    assert "How good it is" in html
    assert "Aligned blocks, the longest first" in html
    assert "contig_1, relocation" in html
    assert "one 24,000" in html


def refusal(capsys: pytest.CaptureFixture[str], code: int, *words: object) -> str:
    assert call(["assess", *map(str, words)]) == code
    (line,) = capsys.readouterr().err.strip().replace("aligning\n", "").splitlines()
    return line


def test_without_mappy_the_error_names_what_to_install(
    tmp_path: Path, reference: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(mapping, "find_spec", lambda name: None)
    answer = write_answer(tmp_path / "a", GENOME)
    line = refusal(capsys, 3, answer, "-r", reference)
    assert "pip install 'cuesta[assess]'" in line
    assert not (answer / "assessment.json").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "bad.fa is empty"),
        (b"@r\nACGT\n+\nIIII\n", "does not begin with '>'"),
        (b">a\nMELVIS\n", "'E' is no nucleotide"),
        (b">a\nACGT\n>a\nACGT\n", "two sequences are called 'a'"),
        (b">a\n>b\n", "has no bases"),
        (b">a\nNNNN\n", "no bases but N"),
        (gzip.compress(b">a\nACGT\n", mtime=0)[:-6], "damaged"),
        (None, "no such file"),
    ],
)
def test_a_bad_reference_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    content: bytes | None, message: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(mapping, "find_spec", lambda name: True)
    path = tmp_path / "bad.fa"
    if content is not None:
        path.write_bytes(content)
    answer = write_answer(tmp_path / "a", GENOME)
    assert message in refusal(capsys, 2, answer, "-r", path)


def test_a_folder_that_is_no_assembly_is_named(
    tmp_path: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no run record" in refusal(capsys, 2, tmp_path, "-r", reference)
    scan = reportkit.write_run(tmp_path / "scan", reportkit.native())
    assert "an answer of scan, not an assembly" in refusal(capsys, 2, scan, "-r", reference)
    empty = write_answer(tmp_path / "empty")
    assert "no contig has 500 bases" in refusal(capsys, 2, empty, "-r", reference)
    (empty / "contigs.fa").unlink()
    assert "no such file" in refusal(capsys, 2, empty, "-r", reference)


def test_an_assessment_of_another_answer_or_damaged_is_not_shown(tmp_path: Path) -> None:
    answer = write_answer(tmp_path / "a", GENOME)
    digest = reportkit.OTHER_DIGEST
    good = {"schema": "cuesta.assessment/1", "digest": digest, "measures": {"nga50": 17}}
    for content, is_shown in [
        (json.dumps(good), True),
        (json.dumps(good | {"digest": "0"}), False),
        (json.dumps(good | {"measures": {"nga50": "x"}}), True),
        (json.dumps(good | {"measures": [], "preview": 7}), False),
        ("{", False),
    ]:
        (answer / "assessment.json").write_text(content)
        html = write([answer], tmp_path / "r.html").read_text()
        assert ("How good it is" in html) == is_shown, content


@needs_mappy
@pytest.mark.skipif(QUAST is None, reason="QUAST is not installed")
def test_measures_are_those_of_quast(tmp_path: Path, reference: Path) -> None:
    answer = write_answer(tmp_path / "a", *scrambled())
    our_measures = assessed(answer, "-r", str(reference), "--no-reads")["measures"]
    command = [str(QUAST), "--fast", "-t", "1", "-r", str(reference), "--min-contig", "500"]
    subprocess.run(
        [*command, str(answer / "contigs.fa"), "-o", str(tmp_path / "q")],
        check=True, capture_output=True,
    )  # fmt: skip
    with (tmp_path / "q" / "report.tsv").open() as file:
        quast = dict(csv.reader(file, delimiter="\t"))
    for name, key in [
        ("# misassemblies", "misassemblies"), ("# local misassemblies", "local_misassemblies"),
        ("# misassembled contigs", "misassembled_contigs"), ("Unaligned length", "unaligned_bases"),
        ("NG50", "ng50"), ("NGA50", "nga50"), ("Largest alignment", "largest_alignment"),
    ]:  # fmt: skip
        assert float(quast[name]) == pytest.approx(our_measures[key], abs=10), name
    fraction = 100 * our_measures["genome_fraction"]
    assert float(quast["Genome fraction (%)"]) == pytest.approx(fraction, abs=0.02)
