"""Advice on next steps: each rule fires on reads made for it, and not on the rest."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path

import pytest

from assemblykit import assemble, drawn, reads_of, record, write_fastq
from cuesta.cli.app import call
from cuesta.workloads.assembly import next_steps
from cuesta.workloads.assembly.files import Files, Graph

FINE = ["Nothing more"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("steps")


@cache
def reads_file(place: Path, words: str) -> Path:
    """Return reads of a genome of 200,000 bases by `data make reads`, made once for each option."""
    file = place / f"reads-{words.replace(' ', '')}.fq"
    command = f"data make reads --bases 200000 {words} -o {file}".split()
    assert call(command) == 0
    return file


def steps(inputs: list[Path], output: Path, *more: str) -> dict[str, str]:
    """Return the advice of a run to its reader, each with its reason."""
    answer = assemble(inputs, output, "--verify", "none", *more)
    files = Files(answer, 8)
    parameters = record_of(answer)
    (view,) = next_steps.views(files, parameters)
    return dict(view["items"])  # type: ignore[call-overload, no-any-return]


def record_of(answer: Path) -> dict[str, object]:
    from cuesta.lab import record as records

    parameters: dict[str, object] = records.read(answer)["parameters"]
    return parameters


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ("--seed 1 --coverage 40", FINE),
        ("--seed 2 --coverage 26", FINE),
        ("--seed 3 --coverage 18", ["Read deeper"]),
        ("--seed 4 --coverage 8", ["Read deeper"]),
        ("--seed 5 --coverage 3", ["Look at the reads"]),
        ("--seed 6 --coverage 60 --errors 0.02", ["Trim or correct the reads"]),
        ("--seed 7 --coverage 40 --errors 0.008", FINE),
        ("--seed 8 --coverage 40 --errors 0", FINE),
        ("--seed 9 --coverage 40 --repeats 0.2", ["Read longer"]),
        ("--seed 10 --coverage 40 --repeats 0.01", FINE),
    ],
)
def test_each_rule_fires_where_it_should(
    place: Path, tmp_path: Path, reads: str, expected: list[str]
) -> None:
    assert list(steps([reads_file(place, reads)], tmp_path / "a")) == expected


def test_a_genome_of_a_thousand_bases_has_too_few_kmers_for_a_peak(tmp_path: Path) -> None:
    reads = write_fastq(tmp_path / "r.fq", reads_of(drawn(600, 3), 60, 0.0, 4))
    advice = steps([reads], tmp_path / "a")["Look at the reads"]
    assert "has less than about 1,000 bases" in advice


def test_reads_of_low_depth_are_answered_with_how_many_more_are_needed(
    place: Path, tmp_path: Path
) -> None:
    advice = steps([reads_file(place, "--seed 4 --coverage 8")], tmp_path / "a")["Read deeper"]
    assert "31-mers were seen 4." in advice
    assert "4.1 times as many reads would make it 20." in advice


def test_reads_with_a_single_size_of_kmers_are_answered_with_more_sizes(
    place: Path, tmp_path: Path
) -> None:
    reads = reads_file(place, "--seed 9 --coverage 40 --repeats 0.2")
    advice = steps([reads], tmp_path / "a", "-k", "31")
    assert list(advice) == ["Use longer k-mers"]


def test_pairs_are_advised_to_be_further_apart(place: Path, tmp_path: Path) -> None:
    reads = reads_file(place, "--seed 9 --coverage 40 --repeats 0.2 --fragment 300")
    advice = steps([reads], tmp_path / "a", "--interleaved")["Read longer"]
    assert "or pairs that are further apart" in advice
    assert "The longest of these has 1," in advice


def test_pairs_that_are_none_are_to_be_checked(place: Path, tmp_path: Path) -> None:
    files = [reads_file(place, f"--seed {seed} --coverage 20") for seed in (31, 32)]
    # Two genomes: each read has a mate in the other genome.
    assert "Check the pairs" in steps(files, tmp_path / "a", "--pairs")
    pairs = reads_file(place, "--seed 11 --coverage 40 --fragment 300")
    assert list(steps([pairs], tmp_path / "b", "--interleaved")) == FINE


@pytest.mark.parametrize(
    ("by_size", "libraries", "expected"),
    [
        ([None, {"insert": 350.0}], [(350.0, 50.0)], []),
        ([None, None], [(350.0, 50.0)], []),
        ([None, {"insert": 350.0}], [(350.0, 50.0), (250.0, 120.0)], []),
        ([None, None], [(5_354.0, 6_876.0)], ["lie 5,354 bases apart, give or take 6,876"]),
        ([None, None], [(350.0, 50.0), (1_000.0, 680.0)], ["lie 1,000 bases apart"]),
        ([None, None], [], ["fewer than 1,000 of them lie on one contig"]),
    ],
)
def test_pairs_are_to_be_checked_by_their_libraries(
    by_size: list[object], libraries: list[tuple[float, float]], expected: list[str]
) -> None:
    known = [{"insert": insert, "deviation": deviation} for insert, deviation in libraries]
    stats = {
        "levels": [{"mates": facts} for facts in by_size],
        "scaffolds": {"libraries": known} if known else None,
    }
    advice = list(next_steps._pairs(stats))
    assert [title for title, _ in advice] == ["Check the pairs"] * len(expected)
    assert all(part in why for part, (_, why) in zip(expected, advice, strict=True))


def test_another_genome_that_is_thinner_looks_like_contamination(
    place: Path, tmp_path: Path
) -> None:
    other = place / "other.fq"
    assert call(f"data make reads --bases 40000 --coverage 9 --seed 12 -o {other}".split()) == 0
    most = reads_file(place, "--seed 1 --coverage 40")
    advice = steps([most, other], tmp_path / "a")["Look for contamination"]
    assert "where most were read 40 times" in advice
    assert "GC" not in advice
    small = place / "small.fq"
    assert call(f"data make reads --bases 4000 --coverage 9 --seed 13 -o {small}".split()) == 0
    assert list(steps([most, small], tmp_path / "b")) == FINE


def test_a_thin_genome_alone_is_no_contamination(place: Path, tmp_path: Path) -> None:
    for coverage in (6, 10, 14):
        reads = reads_file(place, f"--seed 14 --coverage {coverage}")
        assert "Look for contamination" not in steps([reads], tmp_path / str(coverage))


def composed(length: int, gc: float, seed: int) -> str:
    weights = [1 - gc, gc, gc, 1 - gc]
    return "".join(random.Random(seed).choices("ACGT", weights, k=length))


def test_a_deeper_genome_of_other_gc_is_suspected_and_a_circle_is_not(tmp_path: Path) -> None:
    most, other = reads_of(drawn(100_000, 1), 30, 0.003, 2), composed(12_000, 0.34, 3)
    linear = write_fastq(tmp_path / "linear.fq", most + reads_of_line(other, 90))
    advice = steps([linear], tmp_path / "a")["Look for contamination"]
    assert "of 34\xa0% GC where most have 50\xa0%" in advice
    circle = write_fastq(tmp_path / "circle.fq", most + reads_of(other, 90, 0.003, 4))
    assert list(steps([circle], tmp_path / "b")) == FINE


def graph(*contigs: tuple[int, float, float], circular: int | None = None) -> Graph:
    """Return contigs of these lengths, depths and GC, without links."""
    contig_graph = Graph()
    for index, (length, depth, gc) in enumerate(contigs):
        contig_graph.lengths.append(length)
        contig_graph.depths.append(depth)
        contig_graph.gc.append(gc)
        if index == circular:
            contig_graph.circular.add(index)
    return contig_graph


MAIN = (200_000, 40.0, 0.5)


@pytest.mark.parametrize(
    ("contigs", "expected"),
    [
        ([(15_000, 10.0, 0.5)], True),
        ([(15_000, 39.0, 0.34)], False),
        ([(15_000, 90.0, 0.5)], False),
        ([(15_000, 90.0, 0.34)], True),
        ([(10_500, 10.0, 0.5)], False),
        ([(10_500, 10.0, 0.4)], True),
        ([(9_500, 10.0, 0.4)], False),
        ([(15_000, 10.0, 0.5), (4_000, 26.0, 0.5)], False),
    ],
)
def test_a_cluster_needs_bases_a_gap_and_for_few_or_deep_ones_another_gc(
    contigs: list[tuple[int, float, float]], expected: bool
) -> None:
    step = next_steps.strange(graph(MAIN, *contigs), 200)
    assert (step is not None) is expected


def test_circles_and_what_is_linked_to_the_largest_component_are_no_contamination() -> None:
    strange = (15_000, 10.0, 0.4)
    assert next_steps.strange(graph(MAIN, strange), 200)
    assert not next_steps.strange(graph(MAIN, strange, circular=1), 200)
    linked = graph(MAIN, strange)
    linked.links.append((1, 2))
    assert not next_steps.strange(linked, 200)


def test_a_deep_circle_is_not_called_the_longest_repeat(place: Path, tmp_path: Path) -> None:
    circle = write_fastq(tmp_path / "circle.fq", reads_of(drawn(5000, 40), 120, 0.003, 41))
    reads = reads_file(place, "--seed 9 --coverage 40 --repeats 0.2")
    advice = steps([reads, circle], tmp_path / "a")["Read longer"]
    assert "The longest of these has 1,0" in advice


def test_scaffolds_that_are_long_ask_for_nothing(place: Path, tmp_path: Path) -> None:
    pairs = reads_file(place, "--seed 9 --coverage 40 --repeats 0.2 --fragment 300")
    answer = assemble([pairs], tmp_path / "a", "--interleaved", "--verify", "none")
    stats = Files(answer, 8).stats
    stats["scaffolds"]["n50"] = 150_000
    (answer / "stats.json").write_text(json.dumps(stats))
    (view,) = next_steps.views(Files(answer, 8), record_of(answer))
    assert view["items"][0][0] == "Nothing more"  # type: ignore[index]


def test_ends_at_gaps_ask_for_an_even_depth(tmp_path: Path) -> None:
    """Contigs end without a following read although nearly all is deep: gaps were cut into the
    depth.
    """
    genome = drawn(60_000, 20)
    places = range(4000, 60_000, 8000)
    parts = [genome[begin : begin + 8000] for begin in (0, *places)]
    reads = [read for part in parts for read in reads_of_line(part, 40)]
    advice = steps([write_fastq(tmp_path / "r.fq", reads)], tmp_path / "a")
    assert list(advice) == ["Even out the depth"]
    assert "14 of 14 ends of contigs" in advice["Even out the depth"]


def reads_of_line(genome: str, depth: int) -> list[str]:
    """Return reads of 100 bases without errors, none over an end."""
    chance = random.Random(len(genome))
    count = depth * len(genome) // 100
    starts = [chance.randrange(len(genome) - 99) for _ in range(count)]
    return [genome[start : start + 100] for start in starts]


@pytest.mark.parametrize("profile", ["none", "paper"])
def test_nothing_is_advised_where_errors_were_left_in(
    place: Path, tmp_path: Path, profile: str
) -> None:
    reads = reads_file(place, "--seed 4 --coverage 8")
    words = ("-k", "31", "--profile", profile, "--verify", "none")
    answer = assemble([reads], tmp_path / "a", *words)
    assert next_steps.views(Files(answer, 8), record_of(answer)) == []


def test_the_record_has_the_advice_with_its_pictures_and_the_command_prints_it(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reads = reads_file(place, "--seed 3 --coverage 18")
    preview = record(assemble([reads], tmp_path / "a"))["preview"]
    (step_list,) = [view for view in preview if view["kind"] == "list"]
    assert step_list["title"] == "What to do next"
    assert "  next      Read deeper\n" in capsys.readouterr().out
