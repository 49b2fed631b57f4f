"""Reads, cached assemblies and bars of the bench of isolates."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benches import assembly_quality
from benches.assemble_command import CUESTA
from benches.assembly_bars import COLUMNS, CONTIGS, PEERS, SCAFFOLDS, Judged, isolates, notes
from benches.assembly_circles import circles
from harness import library, results, table
from harness.genomes import LETTERS, SMOKE, Genome, Replicon, write_fasta
from harness.library import ADAPTERS, Library
from harness.measure import measure
from harness.model import Case, Verdict
from harness.reads import ReadPairs
from harness.size import Size
from peers import cached
from peers.cached import Assembler

COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")


@pytest.fixture
def size(tmp_path: Path) -> Size:
    return Size(smoke=True, repeats=1, folder=tmp_path)


def records(path: Path) -> list[tuple[bytes, bytes]]:
    """The bases and qualities of a file."""
    lines = gzip.decompress(path.read_bytes()).split(b"\n")
    return list(zip(lines[1::4], lines[3::4], strict=True))


def test_reads_run_across_origins_and_into_adapters(size: Size) -> None:
    genome = Genome(name="circle", title="circle", origin=(20_000, 2_000))
    reads = library.draw(size, Library(genome=genome, read_bases=100, depth=20))
    first, second = (records(path) for path in reads.files)
    assert len(first) == len(second) == 20 * (20_000 + 15 * 2_000) // 200
    assert {(len(bases), len(qualities)) for bases, qualities in first + second} == {(100, 100)}
    circles = [b"".join(text.split()[1:]) for text in reads.genome.read_bytes().split(b">")[1:]]
    turned = [circle.translate(COMPLEMENT)[::-1] for circle in circles]
    linear = b"N".join([*circles, *turned])
    around = b"N".join(strand + strand[:100] for strand in (*circles, *turned))
    for mate, pairs in enumerate((first, second)):
        exact = [bases for bases, _ in pairs if bases in around]
        assert 0.5 < len(exact) / len(pairs) < 0.95
        assert any(bases not in linear for bases in exact)
        adapter = ADAPTERS[mate][:12].encode()
        ends = [bases for bases, _ in pairs if adapter in bases]
        assert 0.03 < len(ends) / len(pairs) < 0.1


def test_equal_seeds_draw_equal_reads_and_different_seeds_different_ones(
    size: Size, tmp_path: Path
) -> None:
    made = Library(genome=SMOKE[1], read_bases=150, depth=5)
    elsewhere = replace(size, folder=tmp_path / "elsewhere")
    elsewhere.folder.mkdir()
    again = library.draw(elsewhere, made)
    reads = library.draw(size, made)
    assert [path.read_bytes() for path in reads.files] == [
        path.read_bytes() for path in again.files
    ]
    other = library.draw(size, replace(made, seed=1))
    assert reads.first.read_bytes() != other.first.read_bytes()


def test_errors_are_as_frequent_as_their_qualities() -> None:
    chance = np.random.default_rng(3)
    codes = np.zeros((20_000, 101), dtype=np.uint8)
    qualities = np.full((2, 1, 100), 20, dtype=np.uint8)
    reads, drawn = library._sequenced(chance, codes, 0, qualities)
    assert (drawn == 20).all()
    assert np.count_nonzero(reads) / reads.size == pytest.approx(0.01, rel=0.05)


def test_an_assembly_is_made_once_for_the_same_reads_version_and_command(tmp_path: Path) -> None:
    first, second = (tmp_path / name for name in ("1.fq", "2.fq"))
    first.write_text("@a\nACGT\n+\nIIII\n")
    second.write_text("@a\nACGT\n+\nIIII\n")
    reads = ReadPairs(first=first, second=second, genome=first, how="")
    commands = ("cp {first} {folder}/contigs.fa",)
    program = Assembler(name="copies", commands=commands, contigs="contigs.fa")
    made = tmp_path / "made"
    assert not cached.is_made(program, reads, made)
    assembly = cached.assembled(program, reads, made)
    assert (assembly.folder / "contigs.fa").read_bytes() == first.read_bytes()
    assert assembly == cached.assembled(program, reads, made)
    longer = replace(program, commands=(*commands, "true {first}"))
    assert not cached.is_made(longer, reads, made)
    first.write_text("@a\nACGA\n+\nIIII\n")
    assert not cached.is_made(program, reads, made)


def test_an_assembly_that_fails_leaves_nothing(tmp_path: Path) -> None:
    first = tmp_path / "1.fq"
    first.write_text("")
    reads = ReadPairs(first=first, second=first, genome=first, how="")
    program = Assembler(name="none", commands=("cp {folder}/none {first}",), contigs="contigs.fa")
    with pytest.raises(RuntimeError, match="none"):
        cached.assembled(program, reads, tmp_path / "made")
    assert list((tmp_path / "made").iterdir()) == []


def figures(length: float, **other: float) -> dict[str, float]:
    """Figures of an assembly, perfect but for its lengths and for `other`."""
    measures: dict[str, float] = dict.fromkeys(COLUMNS, 0.0) | {
        "auNGA": length,
        "NGA50": length,
        "aligned": 1e6,
    }
    measures |= {"genome fraction, %": 99.0, "sequences of 500 and more": 50.0}
    measures |= {name.replace("_", " "): figure for name, figure in other.items()}
    return {f"{kind} {name}": at for kind in (CONTIGS, SCAFFOLDS) for name, at in measures.items()}


def judged(*ours: float) -> list[Judged]:
    """Sets of reads of which the peers have sequences of length 100."""
    peers: dict[str, Mapping[str, float]] = {who: figures(100.0) for who in PEERS}
    return [
        Judged(name=f"set-{number}", figures=peers | {CUESTA: figures(length)})
        for number, length in enumerate(ours)
    ]


def rows(sets: list[Judged]) -> dict[str, list[str]]:
    """Cells of all bars by their text: figure, spread, verdict."""
    case = Case(name="all", contestants=(), bars=tuple(isolates(sets)), amount=1, unit="sets")
    size = Size(smoke=False, repeats=1, folder=Path("/nowhere"))
    record = {"bench": "b", "smoke": False, "command": "c"}
    record["cases"] = [results.of_case(measure(case, size))]
    cells = [[cell.strip() for cell in line.split("|")] for line in table.bars([record])[2:]]
    return {line[3]: line[4:7] for line in cells}


def test_the_median_and_the_lowest_are_judged_apart() -> None:
    by_text = rows(judged(120.0, 110.0, 80.0))
    assert by_text["contigs, auNGA: at least 1.0 of the best peer's, in the median"] == [
        "1.1", "lowest, set-2, 0.8, highest, set-0, 1.2", "met",
    ]  # fmt: skip
    assert by_text["contigs, auNGA: nowhere below 0.9 of the best peer's"] == [
        "0.8", "", "**missed**",
    ]  # fmt: skip


@pytest.mark.parametrize("missing", PEERS)
def test_no_bar_is_met_or_missed_that_lacks_a_peer(missing: str) -> None:
    sets = judged(120.0, 110.0)
    complete = rows(sets)
    del sets[1].figures[missing]
    partial = rows(sets)
    changed = [text for text in complete if complete[text] != partial[text]]
    assert changed
    for text in changed:
        assert partial[text] == ["not measured", f"missing: {missing} of set-1", ""]
    (note,) = notes(sets)
    assert note.startswith("set-1: not judged, beside the best of ")
    assert "contigs auNGA 1.100" in note


def test_mismatches_are_weighted_by_aligned_bases() -> None:
    sets = judged(100.0, 100.0)
    name = "mismatches_per_100_kb"
    sets[0].figures[CUESTA] = figures(100.0, **{name: 0.1, "aligned": 1e6})
    sets[1].figures[CUESTA] = figures(100.0, **{name: 0.0, "aligned": 3e6})
    by_text = rows(sets)
    (cells,) = [cells for text, cells in by_text.items() if "mismatches" in text]
    assert cells == ["0.025", "most, set-0, 0.1", "met"]


def test_circles_are_equal_but_for_rotation_and_strand_and_all_else_is_wrong(
    size: Size, tmp_path: Path
) -> None:
    genome = Genome(name="circle", title="circle", origin=(30_000, 2_000, 1_500))
    replicons = genome.replicons()
    reference = tmp_path / "genome.fa"
    write_fasta(reference, replicons)
    first, second = (LETTERS[replicon.codes].tobytes() for replicon in replicons[1:])
    turned = (first[700:] + first[:700]).translate(COMPLEMENT)[::-1]
    other = second[:-1] + (b"A" if second[-1:] != b"A" else b"C")
    answer = tmp_path / "answer"
    answer.mkdir()
    heads = (b">1 length=2000 depth=13.50x circular=true", b">2 length=1500 depth=9.00x")
    wrong = b">3 length=1500 depth=9.00x circular=true"
    lines = [heads[0], turned, heads[1], second, wrong, other, b""]
    (answer / "assembly.fasta").write_bytes(b"\n".join(lines))
    result = circles(answer, reference)
    assert (result.small, result.exact, result.wrong) == (2, 1, 1)
    assert result.copies_off == pytest.approx(0.1)
    sets = judged(120.0)
    sets[0].circles = result
    verdicts = [
        cells[2] for text, cells in rows(sets).items() if "plasmid" in text or "no repl" in text
    ]
    assert verdicts == ["**missed**", "**missed**", "met"]


def test_plasmids_that_share_a_repeat_do_not_count(tmp_path: Path) -> None:
    plasmid = np.random.default_rng(1).integers(0, 4, 2000, dtype=np.uint8)
    chromosome = np.random.default_rng(2).integers(0, 4, 30_000, dtype=np.uint8)
    chromosome[5000:5360] = 3 - plasmid[100:460][::-1]
    replicons = [
        Replicon(name=name, codes=codes, copies=1.0)
        for name, codes in (("chromosome", chromosome), ("plasmid", plasmid))
    ]
    write_fasta(tmp_path / "genome.fa", replicons)
    (tmp_path / "assembly.fasta").write_bytes(b"")
    assert circles(tmp_path, tmp_path / "genome.fa").small == 0


def test_unknown_parts_and_peers_are_refused(size: Size) -> None:
    for wrong in (replace(size, only=frozenset({"x"})), replace(size, peers=frozenset({"x"}))):
        with pytest.raises(ValueError, match="no x; there are"):
            next(assembly_quality.cases(wrong))


def test_only_selects_genomes_and_sets_of_reads(size: Size) -> None:
    none = frozenset({"none"})
    for only, titles in (("one", ["60 kb"]), ("two-150", ["40 kb"]), ("batch", ["2 isolates by"])):
        selected = replace(size, only=frozenset({only}), peers=none)
        cases = list(assembly_quality.cases(selected))
        assert [bool(case.contestants) for case in cases] == [True, False, False]
        assert [title for title in titles if cases[0].name.startswith(title)] == titles
        bars = [bar for case in cases[1:] for bar in case.bars]
        whys = [bar.why for bar in bars if isinstance(bar, Verdict)]
        assert len(whys) == len(bars)
        assert all(re.match("missing: ", why) for why in whys)


def test_commands_of_peers_have_the_sizes_that_reads_allow() -> None:
    tuned = {n: cached.programs(n)[0].commands[-1] for n in (100, 150, 250)}
    assert [command.rpartition(" ")[2] for command in tuned.values()] == [
        "21,33,55,77", "21,33,55,77", "21,33,55,77,99,127",
    ]  # fmt: skip
