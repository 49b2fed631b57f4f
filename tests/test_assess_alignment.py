"""Alignments are cut, split and chosen by QUAST's rules; nothing here needs minimap2."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from cuesta.assess import chain
from cuesta.assess.alignment import Alignment, Step, steps_of
from cuesta.assess.contigs import judge
from cuesta.assess.joints import Genome, between

GENOME = Genome(lengths={"one": 100_000, "two": 50_000}, circular=True)
LINE = replace(GENOME, circular=False)


def equal(first: int, begin: int, length: int, **changes: Any) -> Alignment:
    """Return an alignment of bases from `first` of a contig, equal to those from `begin` of the
    reference.
    """
    alignment = Alignment(
        sequence="one", begin=begin, end=begin + length, first=first, last=first + length,
        forward=True, steps=(("=", length),),
    )  # fmt: skip
    return replace(alignment, **changes)


def random_steps(chance: random.Random) -> tuple[Step, ...]:
    kinds = [kind for _ in range(20) for kind in ("=", chance.choice("XN+-"))]
    return tuple((kind, chance.randint(1, 9)) for kind in [*kinds, "="])


def bases(steps: tuple[Step, ...], without: str) -> int:
    return sum(length for kind, length in steps if kind != without)


@pytest.mark.parametrize("seed", range(30))
def test_a_cut_alignment_has_places_that_agree_with_its_steps(seed: int) -> None:
    chance = random.Random(seed)
    steps = random_steps(chance)
    alignment = Alignment(
        sequence="one", begin=1000, end=1000 + bases(steps, "+"), first=50,
        last=50 + bases(steps, "-"), forward=seed % 2 == 0, steps=steps,
    )  # fmt: skip
    place = chance.randint(51, alignment.last - 1)
    left, right = alignment.up_to_base(place), alignment.from_base(place)
    for part in (left, right, right.up_to_base((place + alignment.last) // 2)):
        assert part.bases == bases(part.steps, "-")
        assert part.end - part.begin == bases(part.steps, "+")
        if part.steps:
            assert "-" not in (part.steps[0][0], part.steps[-1][0])
    assert (left.first, left.last, right.first, right.last) == (50, place, place, alignment.last)
    assert alignment.begin in (left.begin, right.begin)
    assert alignment.end in (left.end, right.end)


def test_the_tag_of_minimap2_is_read_along_the_contig() -> None:
    assert steps_of(":6*ag*tn+cca-t:3", forward=True) == (
        ("=", 6), ("X", 1), ("N", 1), ("+", 3), ("-", 1), ("=", 3),
    )  # fmt: skip
    assert steps_of(":6*ag*ta-t:3", forward=False) == (("=", 3), ("-", 1), ("X", 2), ("=", 6))


def test_what_is_too_unequal_is_split_where_much_fits_to_nothing() -> None:
    steps = (("=", 100), ("-", 30), ("=", 200), ("X", 2), ("=", 70), ("+", 40), ("=", 20))
    block = equal(0, 0, 1, steps=steps, last=432, end=422)
    parts = list(block.split())
    assert [(part.first, part.last) for part in parts] == [(0, 100), (100, 372), (412, 432)]
    assert [(part.begin, part.end) for part in parts] == [(0, 100), (130, 402), (402, 422)]
    assert [part.last for part in chain.usable([block])] == [372, 100]


@pytest.mark.parametrize(
    ("begin", "changes", "kind"),
    [
        (11_000, {}, "indel"),
        (11_199, {}, "indel"),
        (11_200, {}, "local"),
        (12_000, {}, "local"),
        (12_001, {}, "relocation"),
        (9_999, {}, "relocation"),
        (11_500, {"forward": False}, "inversion"),
        (30_000, {"forward": False}, "relocation"),
        (11_000, {"sequence": "two"}, "translocation"),
    ],
)
def test_joints_are_classified_by_distance_strand_and_sequence(
    begin: int, changes: dict[str, Any], kind: str
) -> None:
    left, right = equal(0, 10_000, 1000), equal(1000, begin, 1000, **changes)
    assert between(left, right, GENOME).kind == kind


@pytest.mark.parametrize("forward", [True, False])
def test_a_circle_continues_where_its_line_ends(forward: bool) -> None:
    left, right = equal(0, 90_000, 10_000), equal(10_000, 100, 5000)
    if not forward:
        left = equal(0, 100, 5000, forward=False)
        right = equal(5000, 90_000, 10_000, forward=False)
    assert between(left, right, GENOME).kind == "indel"
    assert between(left, right, LINE).kind == "relocation"


def test_a_contig_that_is_a_complete_circle_is_a_single_block() -> None:
    parts = [equal(0, 40_000, 30_000), equal(30_000, 75_000, 25_000), equal(55_000, 0, 40_000)]
    contig = judge("x", 95_000, parts, GENOME)
    assert contig.blocks == (95_000,)
    assert len(contig.breaks()) == 1
    assert judge("x", 95_000, parts, LINE).blocks == (30_000, 25_000, 40_000)


def test_a_few_bases_do_not_make_a_misassembly() -> None:
    long, strange = equal(0, 10_000, 9900), equal(9900, 60_000, 100)
    assert chain.best([long, strange], 10_000, GENOME) == [long]
    longer = equal(9900, 60_000, 400)
    assert chain.best([long, longer], 10_300, GENOME) == [long, longer]


def test_bases_of_two_alignments_remain_with_the_longer_alignment() -> None:
    long, short = equal(0, 10_000, 6000), equal(5900, 60_000, 4000)
    blocks = chain.best([short, long], 9900, GENOME)
    assert [(block.first, block.last) for block in blocks] == [(0, 6000), (6000, 9900)]
    assert blocks[1].begin == 60_100


def test_a_repeat_takes_the_copy_that_is_next_to_its_neighbours() -> None:
    copies = [equal(3000, begin, 500) for begin in (70_000, 13_000, 90_000)]
    around = [equal(0, 10_000, 3000), equal(3500, 13_500, 3000)]
    blocks = chain.best([*copies, *around], 6500, GENOME)
    assert [block.begin for block in blocks] == [10_000, 13_000, 13_500]


def test_short_gaps_count_as_mismatches_or_indels_only_of_contigs_that_align() -> None:
    gap = judge("x", 2050, [equal(0, 0, 1000), equal(1050, 1050, 1000)], GENOME)
    assert (gap.unaligned, gap.aligned, gap.joints[0].excess) == (0, 2000, 0)
    nowhere = judge("x", 6000, [equal(0, 0, 1000), equal(1050, 60_000, 1000)], GENOME)
    assert nowhere.breaks() == []
    assert nowhere.unaligned == 4000
    assert nowhere.blocks == (1000, 1000)
    assert judge("x", 400, [], GENOME).unaligned == 400
