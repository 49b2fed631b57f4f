"""Questions and numbers as a person would write them."""

from __future__ import annotations

import pytest

from cuesta import numerals
from cuesta.report import scales
from cuesta.workloads.question import question, short_name


@pytest.mark.parametrize(
    ("workload", "parameters", "expected"),
    [
        ("scan", {}, "Which gene pairs of a.txt are there?"),
        (
            "scan",
            {"min_abs_score": 0.5, "max_abs_score": 0.9, "max_missing": 0},
            "Which gene pairs of a.txt have an absolute score from 0.5 to 0.9 and at most 0 "
            "missing samples?",
        ),
        (
            "join",
            {"how": "inner"},
            "How do the scores of the gene pairs that a.txt and b share differ?",
        ),
        ("load", {}, "How long does it take to turn a.txt into a binary pair matrix?"),
        (
            "correlate",
            {"method": "pearson", "min_samples": 30, "min_abs_score": 0.7},
            "Which genes of a.txt are correlated (Pearson) over at least 30 common samples, with "
            "an absolute score of at least 0.7?",
        ),
        (
            "correlate",
            {"method": "bicor", "top": 5000, "min_abs_score": 0.0},
            "Which 5,000 pairs of genes of a.txt are correlated most (Bicor)?",
        ),
        ("sort", {}, "How long does it take to sort the records of a.txt?"),
        ("kmeans", {"clusters": 10}, "Which points of a.txt belong together, in 10 clusters?"),
        (
            "images",
            {"objects": "dark", "min_pixels": 20},
            "How many dark objects of at least 20 pixels do the images of a.txt show?",
        ),
        (
            "dataflow",
            {"blocks": 96, "block_vectors": 1024, "stages": "separate", "keep": "memory"},
            "What does it cost to read, shift and average the vectors of a.txt in blocks of "
            "1,024, stage by stage, kept in memory?",
        ),
        ("assemble", {}, "Which genome do the reads of a.txt come from?"),
        ("ioread", {}, "How fast is a.txt read?"),
        ("modules", {}, "Which genes of a.txt form modules, and what is the profile of each?"),
        ("threshold", {}, "Which threshold or power suits the gene network of a.txt?"),
        ("weave", {}, "What does weave say about a.txt and b?"),
    ],
)
def test_the_question_is_a_plain_sentence(
    workload: str, parameters: dict[str, object], expected: str
) -> None:
    assert question(workload, parameters, ["data/a.txt", "cuesta://x/b/"]) == expected


def test_inputs_of_the_same_name_are_distinguished_by_their_folders() -> None:
    inputs = ["/d/before/pairs.txt", "hdfs://h/after/pairs.txt"]
    expected = "the gene pairs that before/pairs.txt and after/pairs.txt share differ?"
    assert question("join", {"how": "inner"}, inputs).endswith(expected)
    assert "pairs that pairs.txt and pairs.txt" in question(
        "join", {"how": "inner"}, inputs[:1] * 2
    )


def test_vectors_that_are_generated_have_no_file() -> None:
    parameters = {"blocks": 96, "block_vectors": 1024, "stages": "fused", "keep": "none"}
    expected = "What does it cost to generate, shift and average 96 blocks of 1,024 vectors, as one"
    assert question("dataflow", parameters, []) == f"{expected} loop?"


def test_a_long_file_name_is_cut_in_its_middle() -> None:
    name = short_name("/x/" + "a" * 100 + ".txt")
    assert len(name) <= 60
    assert name.endswith("a.txt")


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 s"),
        (8.4e-7, "0.840 µs"),
        (0.00084, "840 µs"),
        (0.0009996, "1.00 ms"),
        (0.99951, "1.00 s"),
        (1.244, "1.24 s"),
        (119.96, "2 min 00 s"),
        (125.2, "2 min 05 s"),
        (7200, "2 h 00 min"),
        (93_784, "26 h 03 min"),
        (-1.5, "\u22121.50 s"),
    ],
)
def test_a_duration_has_the_unit_that_suits_it(seconds: float, expected: str) -> None:
    assert numerals.duration(seconds).replace(numerals.NBSP, " ") == expected


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1,023 bytes"),
        (1024, "1.00 KiB"),
        (1_048_500, "1.00 MiB"),
        (999 << 20, "999 MiB"),
        (1 << 60, "1,024 PiB"),
    ],
)
def test_a_size_has_an_iec_unit(size_bytes: int, expected: str) -> None:
    assert numerals.size(size_bytes).replace(numerals.NBSP, " ") == expected


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0, "0 %"), (1, "100 %"), (0.99999, "99.9 %"), (0.00001, "under 0.01 %"), (0.0042, "0.42 %"),
     (0.834, "83 %"), (11.02, "1,102 %")],
)  # fmt: skip
def test_a_share_is_never_rounded_to_all_or_nothing(share: float, expected: str) -> None:
    assert numerals.percent(share).replace(numerals.NBSP, " ") == expected


def test_a_fraction_just_below_1_does_not_become_1() -> None:
    assert numerals.fraction(0.9999) == "0.99"
    assert numerals.fraction(1.0) == "1.00"
    assert numerals.fraction(0.0062) == "0.0062"


def test_rates_and_counts_keep_their_unit_apart() -> None:
    assert numerals.rate(11_900_000, "rows").replace(numerals.NBSP, " ") == "11.9 M rows/s"
    assert numerals.rate(212e9, "flops").replace(numerals.NBSP, " ") == "212 Gflop/s"
    assert numerals.rate(12, "rows").replace(numerals.NBSP, " ") == "12.0 rows/s"
    assert numerals.about(2_059_315).replace(numerals.NBSP, " ") == "2.06 million"
    assert numerals.plural(1, "community", "communities").replace(numerals.NBSP, " ") == (
        "1 community"
    )


@pytest.mark.parametrize("high", [1e-9, 0.003, 0.999, 1, 7, 9.99, 10, 23.5, 99, 101, 1e6, 3e12])
def test_an_axis_holds_its_values_with_a_handful_of_round_ticks(high: float) -> None:
    for low in (0.0, -high):
        axis = scales.linear(high, numerals.terse, low)
        assert axis.low <= low + 1e-12
        assert axis.high >= high * (1 - 1e-9)
        assert 2 <= len(axis.ticks) <= scales.TICKS_MAX + 1
        assert all(0 <= axis.place(tick.value) <= 100 for tick in axis.ticks)
    for ratio in (1, 5, 1e3, 1e9, 1e14):
        axis = scales.logarithmic(high / ratio, high, numerals.terse)
        assert axis.low <= high / ratio * (1 + 1e-6)
        assert axis.high >= high * (1 - 1e-6)
        assert 2 <= len(axis.ticks) <= scales.TICKS_MAX + 1
