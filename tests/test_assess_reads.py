"""`cuesta assess` without a reference: contigs judged by the k-mers of the reads."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path

import pytest

from assemblykit import drawn, reads_of, turned, write_fastq
from assesskit import assessed
from cuesta.assess import kmers, reads
from cuesta.cli.app import call
from cuesta.report.page import write

GENOME = drawn(20_000, 5)


@pytest.fixture(scope="module")
def assembled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("assembled")
    fastq = write_fastq(folder / "reads.fq", reads_of(GENOME, 40, 0.003, 6))
    answer = folder / "answer"
    assert call(["run", "assemble", str(fastq), "-k", "31", "-o", str(answer)]) == 0
    return answer


def spelled(sequence: str, k: int) -> Counter[str]:
    """Return k-mers as letters, each on its lesser strand."""
    words = (sequence[at : at + k] for at in range(len(sequence) - k + 1))
    return Counter(min(word, turned(word)) for word in words if set(word) <= set("ACGT"))


def in_letters(code: int, k: int) -> str:
    return "".join("ACGT"[code >> 2 * at & 3] for at in reversed(range(k)))


@pytest.mark.parametrize("k", [1, 3, 15, 17, 21, 31])
def test_codes_are_the_kmers_in_letters(k: int) -> None:
    chance = random.Random(k)
    for length in (0, k - 1, k, k + 1, 300):
        sequence = "".join(chance.choices("ACGTN", weights=(9, 9, 9, 9, 1), k=length))
        codes = kmers.codes(sequence.encode(), k)
        assert Counter(in_letters(int(code), k) for code in codes) == spelled(sequence, k)


@pytest.mark.parametrize(("block", "part"), [(1 << 20, 1 << 26), (7, 1 << 26), (64, 97), (1, 10)])
def test_blocks_and_parts_do_not_change_what_is_shared(
    monkeypatch: pytest.MonkeyPatch, block: int, part: int
) -> None:
    monkeypatch.setattr(kmers, "BLOCK_BASES", block)
    monkeypatch.setattr(kmers, "PART_KMERS", part)
    first = [drawn(400, seed) for seed in range(3)]
    second = [turned(first[0][50:250]), first[1][:20], first[1][:100] + first[2][100:] * 2]
    read_kmers = sum((spelled(sequence, 21) for sequence in first), Counter[str]())
    contig_kmers = sum((spelled(sequence, 21) for sequence in second), Counter[str]())
    shared = kmers.shared(
        lambda: [sequence.encode() for sequence in first],
        lambda: (sequence.encode() for sequence in second),
        21,
    )
    assert shared == kmers.SharedKmers(
        solid=len(read_kmers),
        held=len(read_kmers & contig_kmers),
        kmers=contig_kmers.total(),
        strange=sum(many for word, many in contig_kmers.items() if word not in read_kmers),
    )


def test_quality_is_that_of_a_base() -> None:
    wrong = 1 - (1 - 100 / 1_000_000) ** (1 / 21)
    assert reads.quality(100, 1_000_000) == pytest.approx(-10 * math.log10(wrong))
    assert reads.quality(0, 1000) is None
    assert reads.quality(1000, 1000) == 0
    assert reads.quality(0, 0) is None


def test_a_right_assembly_holds_all_and_has_nothing_strange(
    assembled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measures = assessed(assembled)["reads"]
    assert (measures["k"], measures["strange"], measures["qv"]) == (21, 0, None)
    assert measures["solid"] == pytest.approx(20_000, abs=20)
    assert measures["completeness"] > 0.999
    assert measures["qv_above"] == pytest.approx(56, abs=0.5)
    text = capsys.readouterr().out
    assert "QV            above 56 (all 20," in text
    assert "21-mers of the reads" in text
    html = write([assembled], tmp_path / "r.html").read_text()
    assert "<dt>completeness</dt>" in html
    assert "measured as Merqury does" in html


def test_wrong_and_missing_bases_are_detected(assembled: Path) -> None:
    path = assembled / "contigs.fa"
    before = path.read_text()
    head, bases = before.split("\n")[:2]
    edited = list(bases[:15_000])
    for place in range(500, 15_000, 1000):
        edited[place] = "ACGT"["CGTA".index(edited[place])]
    linear = head.replace(" circular=true", "")
    path.write_text(f"{linear}\n{''.join(edited)}\n")
    measures = assessed(assembled)["reads"]
    path.write_text(before)
    assert measures["strange"] == 15 * 21
    assert measures["qv"] == pytest.approx(30, abs=0.1)
    assert measures["completeness"] == pytest.approx((14_980 - 315) / 20_000, abs=2e-3)


def test_reads_that_are_gone_can_be_left_out(
    assembled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = json.loads((assembled / "run.json").read_text())
    gone = tmp_path / "gone"
    gone.mkdir()
    (gone / "contigs.fa").write_bytes((assembled / "contigs.fa").read_bytes())
    for path, message in [("no.fq", "that were assembled are not there"),
                       ("hdfs://a/no.fq", "no files of this machine")]:  # fmt: skip
        record["inputs"][0]["path"] = path
        (gone / "run.json").write_text(json.dumps(record))
        assert call(["assess", str(gone)]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert "--no-reads" in error
    assert call(["assess", str(gone), "--no-reads"]) == 2
    assert "leaves nothing" in capsys.readouterr().err
    assert not (gone / "assessment.json").exists()


def test_without_numpy_the_error_names_what_to_install(
    assembled: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "find_spec", lambda name: None)
    assert call(["assess", str(assembled)]) == 3
    assert "pip install 'cuesta[assess]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "taken", [["--trim", "none"], [], ["--pairs"], ["--depth", "20"], ["--profile", "paper"]]
)
def test_reads_are_taken_as_the_run_took_them(taken: list[str], tmp_path: Path) -> None:
    adapter = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCA"
    fragments = reads_of(drawn(4_000, 7), 30, 0.0, 8)
    # Every other read goes on into an adapter, and its mate does not.
    inputs = [
        write_fastq(tmp_path / "1.fq", [read[:70] + adapter[:30] for read in fragments[::2]]),
        write_fastq(tmp_path / "2.fq", fragments[1::2]),
    ]
    answer = tmp_path / "answer"
    files = [str(path) for path in inputs]
    assert call(["run", "assemble", *files, "-k", "21", *taken, "-o", str(answer)]) == 0
    # At the same size of k-mers and from the same reads, the same k-mers are solid.
    stats = json.loads((answer / "stats.json").read_text())["levels"][0]
    least = stats["min_count"]
    rows = (line.split("\t") for line in (answer / "spectrum.tsv").read_text().splitlines()[1:])
    counts = {int(count): int(kmers) for count, kmers in rows}
    measures = assessed(answer, "--min-contig", "100")["reads"]
    held = [kmers for count, kmers in counts.items() if count >= measures["min_count"]]
    assert measures["solid"] == sum(held)
    assert measures["min_count"] == least or "paper" in taken
