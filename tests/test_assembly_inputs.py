"""`assemble` reads input of any origin and packing, or names its fault."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import threading
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest

from assemblykit import assemble, contigs, drawn, reads_of, record, turned, write_fastq
from cuesta.cli.app import call
from packkit import MARK, bgzip

K = ("-k", "31")


@pytest.fixture(scope="module")
def reads() -> list[str]:
    return reads_of(drawn(3000, 1), 40, 0.0, 2)


@pytest.fixture(scope="module")
def plain(reads: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_fastq(tmp_path_factory.mktemp("reads") / "plain.fq", reads)


@pytest.fixture(scope="module")
def expected(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    answer = assemble([plain], tmp_path_factory.mktemp("plain") / "answer", *K)
    record(answer)
    return (answer / "contigs.fa").read_bytes()


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert call(["run", "assemble", *words]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    (line,) = [line for line in lines if line.startswith("cuesta: ")]
    return line


WRAPPERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip, zeros": lambda text: gzip.compress(text) + bytes(512),
    "gzip, members": lambda text: gzip.compress(text[:999]) + gzip.compress(text[999:]),
    "bgzip": lambda text: bgzip(text) + MARK,
    "bzip2": bz2.compress,
    "bzip2, streams": lambda text: bz2.compress(text[:999]) + bz2.compress(text[999:]),
    "xz": lzma.compress,
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "gzip, byte order mark": lambda text: gzip.compress(b"\xef\xbb\xbf" + text),
    "blank lines before": lambda text: b"\n\r\n" + text,
    "blank lines after": lambda text: text + b"\n" * 7,
    "FASTA, blank lines after": lambda text: (
        re.sub(rb"@(.*)\n(.*)\n\+\n.*\n", rb">\1\n\2\n", text) + b"\r\n" * 5
    ),
    "CR LF": lambda text: text.replace(b"\n", b"\r\n"),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_whatever_packs_reads_they_give_the_same_contigs(
    plain: Path, expected: bytes, tmp_path: Path, wrapper: str
) -> None:
    """The format is detected by content: names of files are no evidence of their packing."""
    path = tmp_path / "reads.fq.gz"
    path.write_bytes(WRAPPERS[wrapper](plain.read_bytes()))
    answer = assemble([path], tmp_path / "a", *K)
    assert (answer / "contigs.fa").read_bytes() == expected
    record(answer)


def test_wrapped_records_and_blank_lines_are_read(
    reads: list[str], expected: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "wrapped.fq"
    path.write_text(
        "\n".join(f"@r\n{read[:60]}\n{read[60:]}\n+\n{'@' * 60}\n{'I' * 40}\n" for read in reads)
    )
    answer = assemble([path], tmp_path / "a", *K)
    assert (answer / "contigs.fa").read_bytes() == expected
    record(answer)


def test_a_cut_is_refused_wherever_it_is(
    plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = plain.read_bytes()
    path = tmp_path / "cut.fq"
    for pack in (gzip.compress, bz2.compress, lzma.compress, lambda text: bgzip(text) + MARK):
        packed_text = pack(text)
        for part in (0.001, 0.1, 0.4, 0.7, 0.9999):
            path.write_bytes(packed_text[: max(20, int(part * len(packed_text)))])
            line = refusal(capsys, str(path), *K, "-o", str(tmp_path / "a"))
            assert str(path) in line
            assert "cut short" in line or "obtain it again" in line, line


def test_a_file_of_bgzip_that_is_cut_between_blocks_is_reported(
    reads: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "".join(f">r\n{read}\n" for read in reads).encode()
    path = tmp_path / "cut.fa.gz"
    path.write_bytes(bgzip(text[:60_001], 20_000))
    assert "is cut short" in refusal(capsys, str(path), *K, "-o", str(tmp_path / "a"))
    path.write_bytes(bgzip(text))
    assemble([path], tmp_path / "a", *K)
    assert f"{path} has no end mark of bgzip: it may be cut short" in capsys.readouterr().out


def test_what_is_not_read_is_named(
    plain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = plain.read_bytes()
    path = tmp_path / "reads.fq"
    for content, words in {
        text.replace(b"\n", b"\r"): "carriage returns alone; give what `tr",
        text.decode().encode("utf-16"): "UTF-16 text; convert it with `iconv",
        gzip.compress(text) + b"more": f"other bytes from byte {len(gzip.compress(text))} on",
        text + b"\n" + text: "a record begins with neither @ nor >; blank lines",
        text + b"@r\nACGT\n+\nIII \n": "the byte 0x20 in its last line is no quality",
        text + b"@r\nACGT\n+\nII\xffI\n": "the byte 0xff in its last line is no quality",
        text + b"@r\nACGT \n+\nIIII\n": "a blank follows the bases: take out blanks at the ends",
        b"@r\nT0123\n+\nIIII\n": "SOLiD's colour space",
        b">r\nT0123.2\n" * 9: "SOLiD's colour space",
        bz2.compress(text) + b"more": f"other bytes from byte {len(bz2.compress(text))} on",
        lzma.compress(text) + b"more": f"other bytes from byte {len(lzma.compress(text))} on",
        text + b"@r\nAC\nGT\n+\nIIII\n": "join them with `seqtk seq -l 0 FILE`",
    }.items():
        path.write_bytes(content)
        line = refusal(capsys, str(path), *K, "-o", str(tmp_path / "a"))
        assert words in line, line


def test_an_empty_file_is_skipped_among_other_files(
    plain: Path, expected: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = [tmp_path / name for name in ("zero.fq", "zero.fq.gz", "zero.fq.bz2")]
    for path, content in zip(empty, (b"", gzip.compress(b""), bz2.compress(b"")), strict=True):
        path.write_bytes(content)
    answer = assemble([plain, *empty], tmp_path / "a", *K)
    assert (answer / "contigs.fa").read_bytes() == expected
    record(answer)
    output = capsys.readouterr().out
    assert f"{empty[0]} is empty, and was passed over" in output
    assert f"{empty[1]} holds nothing, and was passed over" in output
    line = refusal(capsys, *map(str, empty[:2]), "-o", str(tmp_path / "b"))
    assert f"{empty[0]} is empty, like all other files" in line


@pytest.fixture
def mate_files(tmp_path: Path) -> tuple[Path, Path]:
    genome = drawn(4000, 8)
    double = genome * 2
    starts = range(0, 4000, 3)
    ones = [double[start : start + 100] for start in starts]
    twos = [turned(double[start + 200 : start + 300]) for start in starts]
    return write_fastq(tmp_path / "1.fq", ones), write_fastq(tmp_path / "2.fq", twos)


def test_the_same_file_twice_is_refused(
    mate_files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = mate_files
    link, copy = tmp_path / "link.fq", tmp_path / "copy.fq"
    link.symlink_to(first)
    copy.write_bytes(first.read_bytes())
    for words in (
        ["-1", str(first), "-2", str(first)], ["-1", str(first), "-2", str(link)],
        ["-1", str(copy), "-2", str(first)], [str(first), str(second), f"{tmp_path}/./1.fq"],
    ):  # fmt: skip
        line = refusal(capsys, *words, *K, "-o", str(tmp_path / "a"))
        assert "given twice; give each file of reads once" in line


def test_pairs_out_of_step_are_refused_at_the_first(
    mate_files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = mate_files
    lines = first.read_text().split("\n")
    first.write_text("\n".join(lines[:400] + lines[404:]))
    second.write_text("\n".join(second.read_text().split("\n")[:-5]) + "\n")
    words = ["-1", str(first), "-2", str(second), *K, "-o", str(tmp_path / "a")]
    line = refusal(capsys, *words)
    differs = f'its name differs from that of its mate in {second} ("r101", "r100")'
    assert f"{first}, record 101: {differs}" in line
    assert call(["run", "assemble", *words, "--unchecked-mates"]) == 0


def test_an_orphan_among_interleaved_reads_is_refused_with_a_way_to_pair_them(
    mate_files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line advised options that refused the same file again. It names a program that pairs
    reads, and the options that take what it writes.
    """
    both = zip(*(path.read_text().splitlines() for path in mate_files), strict=True)
    lines = [list(pair) for pair in both]
    records = [
        "\n".join(line[side] for line in lines[start : start + 4]) + "\n"
        for start in range(0, len(lines), 4)
        for side in (0, 1)
    ]
    path, singles = tmp_path / "both.fq", tmp_path / "singles.fq"
    path.write_text("".join(records[:5] + records[6:]))
    line = refusal(capsys, str(path), "--interleaved", *K, "-o", str(tmp_path / "a"))
    assert "records 5 and 6" in line
    assert "repair.sh in=FILE out=pairs.fq outs=singles.fq" in line
    path.write_text("".join(records[:4] + records[6:]))
    singles.write_text(records[4])
    words = [str(path), "--interleaved", "-s", str(singles), *K, "-o", str(tmp_path / "a")]
    assert call(["run", "assemble", *words]) == 0


def test_single_reads_and_lists_go_with_pairs(
    mate_files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = mate_files
    more = [write_fastq(tmp_path / f"{name},x.fq", reads_of(drawn(2000, 9), 30, 0.0, seed))
            for name, seed in (("s", 3), ("t", 4))]  # fmt: skip
    typed = ["-1", str(first), "-2", str(second)]
    answer = assemble([], tmp_path / "a", *typed, "-s", str(more[0]), "-s", str(more[1]), *K)
    assert record(answer)["parameters"]["singles"] == 2
    assert sorted(map(len, contigs(answer)))[-2:] == [2000, 4000]
    files = [first, second, *more]
    other = assemble(files, tmp_path / "b", "--pairs", "--singles", "2", *K)
    assert (other / "contigs.fa").read_bytes() == (answer / "contigs.fa").read_bytes()
    halves = []
    for path in (first, second):
        lines = path.read_text().splitlines(keepends=True)
        cut_line = len(lines) // 8 * 4
        names = [path.with_name(f"{half}{path.name}") for half in "ab"]
        names[0].write_text("".join(lines[:cut_line]))
        names[1].write_text("".join(lines[cut_line:]))
        halves.append(",".join(map(str, names)))
    from_lists = assemble([], tmp_path / "c", "-1", halves[0], "-2", halves[1], *K)
    direct = assemble([], tmp_path / "d", *typed, *K)
    assert (from_lists / "contigs.fa").read_bytes() == (direct / "contigs.fa").read_bytes()
    out = ["-o", str(tmp_path / "e")]
    assert "-s before one of single reads" in refusal(capsys, *typed, str(more[0]), *out)
    assert "-s takes single reads beside pairs" in refusal(capsys, "-s", str(more[0]), *out)


def test_two_pipes_may_be_filled_by_the_same_program(
    mate_files: tuple[Path, Path], tmp_path: Path
) -> None:
    from_files = assemble(
        [], tmp_path / "whole", "-1", str(mate_files[0]), "-2", str(mate_files[1]), *K
    )
    pipes = [tmp_path / "p1", tmp_path / "p2"]
    for pipe in pipes:
        os.mkfifo(pipe)
    records = [path.read_text().splitlines(keepends=True) for path in mate_files]

    def fill() -> None:
        with pipes[0].open("w") as first, pipes[1].open("w") as second:
            for start in range(0, len(records[0]), 4):
                first.writelines(records[0][start : start + 4])
                second.writelines(records[1][start : start + 4])

    writer = threading.Thread(target=fill, daemon=True)
    writer.start()
    answer = assemble([], tmp_path / "a", "-1", str(pipes[0]), "-2", str(pipes[1]), *K)
    writer.join(60)
    assert (answer / "contigs.fa").read_bytes() == (from_files / "contigs.fa").read_bytes()


def test_an_empty_answer_explains_why_on_the_last_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    genome = tmp_path / "genome.fa"
    genome.write_text(f">g\n{drawn(20_000, 6)}\n")
    thin = tmp_path / "thin.fa"
    thin.write_text("".join(f">r\n{drawn(60, 6)}\n" for _ in range(3)))
    for words, reason in (
        ([str(genome)], "every 31-mer occurs once; are these assembled sequences?"),
        ([str(thin), *K], "the longest has 60; graph.gfa has all"),
        ([str(thin), *K, "--min-count", "9"], "no 31-mer occurs 9 times"),
    ):
        answer = assemble([], tmp_path / "a", *words)
        last = capsys.readouterr().out.strip().splitlines()
        assert reason in " ".join(chain.from_iterable(line.split() for line in last[-2:])), last
        page = tmp_path / "page.html"
        assert call(["report", str(answer), "-o", str(page)]) == 0
        capsys.readouterr()
        assert reason.split(";")[0] in page.read_text()


def test_pairs_whose_names_only_count_the_reads_have_a_remark(
    mate_files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names of interleaved reads that show no pairs have a remark, which they had not.

    Names that end in /1 and /2 had it too, and so had a0-R1, a0-R2, which two files may not have.
    """
    records = [path.read_text().split("\n") for path in mate_files]
    for index, (style, has_remark) in enumerate(
        (
            ("X.{number}", True),
            ("X.{pair}", False),
            ("r{pair}/{mate}", False),
            ("SRR1.{pair}.{mate}", False),
            ("r{pair}_{mate}", False),
            ("a{pair}-R{mate}", False),
        )
    ):
        lines = []
        for pair in range(200):
            for mate in range(2):
                name = style.format(number=2 * pair + mate + 1, pair=pair, mate=mate + 1)
                lines += [f"@{name} x", *records[mate][4 * pair + 1 : 4 * pair + 4]]
        path = tmp_path / "turn.fq"
        path.write_text("\n".join(lines) + "\n")
        capsys.readouterr()
        assemble([path], tmp_path / f"turn{index}", "--interleaved", *K)
        text = " ".join(capsys.readouterr().out.split())
        assert ("names only count the reads" in text) == has_remark, style
        assert ("names only count the reads (X.3, X.4)" in text) == has_remark, style
        if has_remark:
            continue
        files = [tmp_path / name for name in ("1.fq", "2.fq")]
        for mate, file in enumerate(files):
            chosen = [lines[8 * pair + 4 * mate :][:4] for pair in range(200)]
            file.write_text("".join(f"{line}\n" for record in chosen for line in record))
        in_turn = (tmp_path / f"turn{index}" / "contigs.fa").read_bytes()
        typed = ["-1", str(files[0]), "-2", str(files[1])]
        answer = assemble([], tmp_path / f"two{index}", *typed, *K)
        assert (answer / "contigs.fa").read_bytes() == in_turn, style


def test_pairs_named_as_single_reads_have_a_remark(
    mate_files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files of pairs without -1 and -2 were assembled as single reads without a word."""
    records = [path.read_text().split("\n") for path in mate_files]
    styles = (
        (("{pair}/1", "{pair}/2"), True),
        (("A:{pair} 1:N:0:AC", "A:{pair} 2:N:0:AC"), True),
        (("S.{pair}.1", "S.{pair}.2"), True),
        (("S.{pair}", "S.{pair}"), True),
        (("a{pair} 1:N:0:AC", "b{pair} 2:N:0:AC"), False),
        (("a{pair}", "b{pair}"), False),
    )
    for number, (style, is_paired) in enumerate(styles):
        named: list[list[str]] = []
        for mate in range(2):
            named.append([])
            for pair in range(200):
                lines = [f"@{style[mate].format(pair=pair)}", *records[mate][4 * pair + 1 :][:3]]
                named[mate].append("".join(f"{line}\n" for line in lines))
        folder = tmp_path / str(number)
        folder.mkdir()
        files = [folder / name for name in ("s_1.fq", "s_2.fq", "turn.fq.gz")]
        files[0].write_text("".join(named[0]))
        files[1].write_text("".join(named[1]))
        in_turn = "".join(record for pair in zip(*named, strict=True) for record in pair)
        files[2].write_bytes(gzip.compress(in_turn.encode()))
        for paths, options, remedy in (
            (files[:2], (), f"give -1 {files[0]} -2 {files[1]}, and"),
            (files[1::-1], (), f"give -1 {files[0]} -2 {files[1]}, and"),
            (files[2:], (), "give --interleaved"),
            (files[:2], ("--pairs", "--unchecked-mates"), ""),
            (files[2:], ("--interleaved", "--unchecked-mates"), ""),
        ):
            capsys.readouterr()
            answer = assemble(paths, tmp_path / "answer", *options, *K)
            text = " ".join(capsys.readouterr().out.split())
            shown = is_paired and bool(remedy)
            assert ("assembled as single reads" in text) == shown, (style, paths, options)
            if shown:
                assert " ".join(remedy.split()) in text
                assert "assembled as single reads" in (answer / "run.json").read_text()


def test_a_size_that_no_read_has_is_refused_whichever_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`-k 31,127` of reads of 36 bases gave an answer without a contig."""
    short = write_fastq(tmp_path / "short.fq", [drawn(36, seed) for seed in range(30)])
    out = ["-o", str(tmp_path / "a")]
    for sizes, beyond in (("31,127", "127"), ("127", "127"), ("37,41", "37,41")):
        line = refusal(capsys, str(short), "-k", sizes, *out)
        assert f"k is {beyond}, but reads have 36 bases" in line
    assert not (tmp_path / "a").exists()
