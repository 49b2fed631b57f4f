"""Circles of an answer beside the replicons that its reads are of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benches.assemble_command import CUESTA
from harness.genomes import SMALL_PLASMID_BASES_MAX, replicon_copies
from harness.library import SPAN_MEAN
from harness.model import Verdict

COPIES_OFF_MAX = 0.2
_COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
_HEAD = re.compile(rb"depth=([\d.]+)x(?P<circular> circular=true)?")


@dataclass(frozen=True, kw_only=True)
class Circles:
    """Circles of an answer.

    Attributes
    ----------
    small, exact
        Plasmids below 10 kb that share no repeat longer than the insert with another replicon, and
        how many of them are one circle, but for rotation and strand.
    wrong
        Circles that are exactly no replicon.
    copies_off
        Largest difference of the copies of an exact one from those of the reads, as a part of them.
    """

    small: int
    exact: int
    wrong: int
    copies_off: float


def circles(answer: Path, genome: Path) -> Circles:
    """The circles of an answer folder beside a genome."""
    replicons = [bases for _, bases in _records(genome)]
    longest = max(map(len, replicons))
    named = []
    for head, bases in _records(answer / "assembly.fasta"):
        match = _HEAD.search(head)
        if match and match["circular"]:
            named.append((bases, float(match[1])))
    small = [
        bases
        for bases in replicons
        if len(bases) < SMALL_PLASMID_BASES_MAX
        and not any(_shares(bases, other) for other in replicons if other is not bases)
    ]
    depths = {
        index: depth
        for index, replicon in enumerate(small)
        for bases, depth in named
        if is_same_circle(bases, replicon)
    }
    off = [
        abs(depth / replicon_copies(len(small[index]), longest) - 1)
        for index, depth in depths.items()
    ]
    return Circles(
        small=len(small),
        exact=len(depths),
        wrong=sum(
            not any(is_same_circle(bases, replicon) for replicon in replicons) for bases, _ in named
        ),
        copies_off=max(off, default=0.0),
    )


def is_same_circle(bases: bytes, other: bytes) -> bool:
    """Whether two circles are equal but for rotation and strand."""
    turned = bases.translate(_COMPLEMENT)[::-1]
    return len(bases) == len(other) and (bases in other * 2 or turned in other * 2)


def _shares(bases: bytes, other: bytes) -> bool:
    """Whether two circles share a repeat that is longer than the insert, on either strand."""
    size = SPAN_MEAN + 1
    pieces = set(_pieces(bases, size)) | set(_pieces(bases.translate(_COMPLEMENT)[::-1], size))
    return any(piece in pieces for piece in _pieces(other, size))


def _pieces(circle: bytes, size: int) -> Iterator[bytes]:
    around = circle + circle[: size - 1]
    return (around[at : at + size] for at in range(len(circle)))


def _records(fasta: Path) -> Iterator[tuple[bytes, bytes]]:
    for record in fasta.read_bytes().split(b">")[1:]:
        head, _, lines = record.partition(b"\n")
        yield head, b"".join(lines.split())


def bars(sets: Sequence[tuple[str, Circles | None]]) -> Iterator[Verdict]:
    """Bars on the circles of several sets of reads."""
    absent = [name for name, result in sets if result is None]
    why = f"missing: {CUESTA} of {', '.join(absent)}" if absent else ""
    results = [result for _, result in sets if result]
    small = sum(result.small for result in results)
    exact = float(sum(result.exact for result in results))
    wrong = float(sum(result.wrong for result in results))
    off = max((result.copies_off for result in results), default=0.0)
    for text, figure, met in (
        ("plasmids below 10 kb without a shared repeat that are one exact circle: all",
         exact, exact == small),
        ("circles that are no replicon: none", wrong, wrong == 0),
        ("copies of these plasmids, part by which one is off: at most 0.2",
         off, exact > 0 and off <= COPIES_OFF_MAX),
    ):  # fmt: skip
        figures = {"plasmids": float(small)} if text.startswith("plasmids") else {}
        verdict = Verdict(ours=CUESTA, text=text, figure=figure, met=met, figures=figures)
        yield verdict if not why else Verdict(ours=CUESTA, text=text, figure=None, why=why)
