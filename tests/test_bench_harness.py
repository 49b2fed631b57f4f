"""The harness of the benches: turns, ratios, verdicts, and answers that differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness import results, table
from harness.answers import digest
from harness.measure import Measured, measure
from harness.model import (
    Answer,
    Case,
    Contestant,
    DifferentAnswer,
    MemoryLimit,
    Quality,
    Ratio,
    Sample,
    Share,
)
from harness.size import Size


@pytest.fixture
def size(tmp_path: Path) -> Size:
    return Size(smoke=True, repeats=3, folder=tmp_path)


def contestant(name: str, seconds: float, answer: bytes = b"row") -> Contestant:
    def work(_: Path) -> Sample:
        return Sample(seconds=seconds, peak_resident_bytes=int(seconds * 1e6))

    return Contestant(name=name, how="", work=work, answer=lambda _: digest([answer]))


def case(*contestants: Contestant, at_least: float = 4.0) -> Case:
    bar = Ratio(ours="ours", peer="theirs", at_least=at_least, text="bar")
    return Case(name="case", contestants=contestants, bars=(bar,), amount=1e9, unit="B")


def recorder(turns: list[str], name: str) -> Callable[[Path], None]:
    def work(_: Path) -> None:
        turns.append(name)

    return work


def test_contestants_take_turns_after_a_round_that_does_not_count(size: Size) -> None:
    turns: list[str] = []
    a, b, slow = (
        Contestant(name=name, how="", work=recorder(turns, name), repeats_max=most)
        for name, most in (("a", None), ("b", None), ("slow", 1))
    )
    b = replace(b, remark=lambda folder: f"b left {folder.name}, turn {len(turns)}")
    measured = measure(
        Case(name="case", contestants=(a, b, slow), bars=(), amount=1, unit="B"), size
    )
    assert turns == ["a", "b", "a", "b", "slow", "a", "b", "a", "b"]
    assert [len(measured.samples[name]) for name in ("a", "b", "slow")] == [3, 3, 1]
    assert measured.remarks == ("b left answers, turn 9",)


def test_a_different_answer_ends_the_bench_and_names_both(size: Size) -> None:
    both = case(contestant("ours", 1.0), contestant("theirs", 4.0, b"other row"))
    with pytest.raises(DifferentAnswer, match="ours and theirs"):
        measure(both, size)


def test_the_order_of_rows_does_not_matter_but_their_number_does() -> None:
    assert digest([b"a", b"b"]) == digest([b"b", b"a"])
    assert digest([b"a", b"a"]).digest != digest([b"a"]).digest
    assert digest([]).rows == 0


@pytest.mark.parametrize(("at_least", "met"), [(4.0, True), (4.1, False)])
def test_a_ratio_is_met_from_the_bar_on(size: Size, at_least: float, met: bool) -> None:
    both = case(contestant("ours", 0.5), contestant("theirs", 2.0), at_least=at_least)
    bar = results.of_case(measure(both, size))["bars"][0]
    assert (bar["figure"], bar["met"]) == (4.0, met)


def test_different_amounts_of_work_are_compared_by_rate(size: Size) -> None:
    ceiling = Contestant(name="theirs", how="", work=lambda _: Sample(seconds=1.0), amount=4e9)
    bar = results.of_case(measure(case(contestant("ours", 0.5), ceiling), size))["bars"][0]
    assert bar["figure"] == 0.5


def test_a_missing_peer_leaves_its_row(size: Size) -> None:
    alone = case(contestant("ours", 1.0))
    alone = Case(**{**vars(alone), "absent": {"theirs": "no Java here"}})
    record = results.head("scan", "bench/run.py scan", size)
    record["cases"] = [results.of_case(measure(alone, size))]
    assert "not measured | theirs: no Java here" in table.generated([record])


def test_the_largest_peak_decides_a_memory_limit() -> None:
    bar = MemoryLimit(ours="ours", below_bytes=300, text="under 300 bytes")
    only = Case(name="case", contestants=(contestant("ours", 1),), bars=(bar,), amount=1, unit="B")
    samples = [Sample(seconds=1, peak_resident_bytes=peak) for peak in (100, 200, 300)]
    measured = Measured(case=only, samples={"ours": samples}, answers={}, remarks=(), seconds_all=1)
    assert results.of_case(measured)["bars"][0]["met"] is False


def test_only_what_stands_between_the_marks_is_written_anew(tmp_path: Path, size: Size) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    record = results.head("scan", "bench/run.py scan", size)
    both = case(contestant("ours", 0.5), contestant("theirs", 2.0))
    record["cases"] = [results.of_case(measure(both, size))]
    table.rewrite(readme, [record])
    text = readme.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "| scan | case | bar | 4x | 4 to 4 (75%) |" in text
    readme.write_text("no marks")
    with pytest.raises(ValueError, match="lacks the lines"):
        table.rewrite(readme, [record])


def test_a_pipe_in_a_cell_does_not_break_the_table(size: Size) -> None:
    piped = Case(**{**vars(case(contestant("ours", 1.0))), "name": "|score|", "bars": ()})
    record = results.head("scan", "bench/run.py scan", size)
    record["cases"] = [results.of_case(measure(piped, size))]
    assert r"\|score\|" in table.generated([record])


def test_the_comparison_of_answers_names_the_difference() -> None:
    from harness.model import same_digest

    first, second = Answer(digest="a", rows=1), Answer(digest="b", rows=2)
    assert same_digest(first, first) is None
    assert "1 rows with digest a, 2 rows with b" in str(same_digest(first, second))


def test_assemblies_that_differ_in_a_byte_are_distinguished_by_file(tmp_path: Path) -> None:
    from benches.assemble_command import FILES, files, same_files

    answers = []
    for name, links in (("one", "L"), ("other", "L+")):
        folder = tmp_path / name
        folder.mkdir()
        for file in FILES:
            (folder / file).write_text(links if file == "graph.gfa" else "same")
        answers.append(files(folder))
    first, second = answers
    assert first.digest != second.digest
    assert same_files(first, first) is None
    assert same_files(first, second) == "other bytes in graph.gfa"


def test_shuffled_reads_are_the_same_reads_in_another_order(tmp_path: Path) -> None:
    from harness.reads import read_pairs, shuffled

    reads = read_pairs(tmp_path, smoke=True)
    first = [path.read_bytes().split(b"\n")[:-1] for path in reads.files]
    rounds = [lines[at : at + 4] for lines in first for at in range(0, len(lines), 4)]
    lines = shuffled(reads).read_bytes().split(b"\n")[:-1]
    mixed = [lines[at : at + 4] for at in range(0, len(lines), 4)]
    assert mixed != rounds
    assert sorted(mixed) == sorted(rounds)
    assert reads.bases == 100 * len(rounds)


def test_a_part_is_counted_over_all_repeats_and_has_an_interval(size: Size) -> None:
    counts = {"found": (19, 20), "false": (0, 20)}
    gate = Contestant(name="gate", how="", work=lambda _: Sample(seconds=1, counts=counts))
    bars = (
        Share(ours="gate", name="found", at_least=0.95, text="found"),
        Share(ours="gate", name="false", at_most=0.05, text="false"),
        Share(ours="gate", name="found", at_least=0.96, text="more"),
    )
    case = Case(name="c", contestants=(gate,), bars=bars, amount=1, unit="")
    case_record = results.of_case(measure(case, size))
    assert [bar["met"] for bar in case_record["bars"]] == [True, True, False]
    first_bar = case_record["bars"][0]
    assert (first_bar["counted"], first_bar["times"]) == (57, 60)
    # Wilson's interval of 57 in 60, as published tables have it.
    assert (first_bar["low"], first_bar["high"]) == (0.8630, 0.9829)
    record = {"bench": "b", "command": "run", "smoke": False, "cases": [case_record]}
    assert "| 57 of 60 | 86.3% to 98.3% (95%) | met |" in table.bars([record])[2]


def judged(name: str, length: float | None) -> Contestant:
    figures = {} if length is None else {"length": length}
    work = lambda _: Sample(seconds=1.0, figures=figures)  # noqa: E731
    return Contestant(name=name, how="", work=work)


@pytest.mark.parametrize(
    ("peers", "row", "cells"),
    [
        (
            {"a": 1000.0, "b": 900.0},
            {"figure": 950.0, "beside": {"a": 1000.0, "b": 900.0}, "met": True},
            ["950", "a 1,000, b 900", "met"],
        ),
        ({"a": 1001.0, "b": 1.0}, {"met": False}, ["950", "a 1,001, b 1", "**missed**"]),
        (
            {"a": 1.0, "b": None},
            {"figure": None, "met": None},
            ["not measured", "b: not judged", ""],
        ),
        ({"a": 1.0}, {"figure": None, "met": None}, ["not measured", "b: not here", ""]),
    ],
    ids=str,
)
def test_a_quality_is_judged_against_the_peers(
    size: Size, peers: dict[str, float | None], row: dict[str, object], cells: list[str]
) -> None:
    bar = Quality(
        ours="ours",
        peers=("a", "b"),
        name="length",
        text="0.95 of the longest",
        holds=lambda ours, peer_figures: ours >= 0.95 * max(peer_figures),
    )
    contestants = (judged("ours", 950.0), *(judged(*peer) for peer in peers.items()))
    quality_case = Case(
        name="case",
        contestants=contestants,
        bars=(bar,),
        amount=1,
        unit="B",
        absent={} if "b" in peers else {"b": "not here"},
    )
    recorded = results.of_case(measure(quality_case, size))
    (bar_record,) = recorded["bars"]
    assert row.items() <= bar_record.items()
    record = {"bench": "x", "smoke": False, "command": "c", "cases": [recorded]}
    assert f"| {' | '.join(cells)} |" in table.bars([record])[-1]
