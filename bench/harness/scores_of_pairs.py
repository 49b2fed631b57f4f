"""Answers of correlation: scores of pairs of genes, in millionths, and whether they are equal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.answers import lines_of
from harness.model import Answer

Pairs = dict[tuple[int, int], int]
"""Score by the numbers of both genes."""


def answer(pairs: Pairs) -> Answer:
    """The answer with these scores."""
    return Answer(digest=f"{len(pairs)} pairs", rows=len(pairs), values=pairs)


def of_text(folder: Path) -> Answer:
    """The answer in `pairs.txt`, KINC's text."""
    pairs: Pairs = {}
    for line in lines_of(folder / "pairs.txt"):
        fields = line.split(b"\t", 10)
        pairs[int(fields[0]), int(fields[1])] = round(float(fields[9]) * 1e6)
    return answer(pairs)


def same(min_abs_score: float, tolerance_micro: int) -> Callable[[Answer, Answer], str | None]:
    """Compares scores to the tolerance; a pair that near the bound may be in one only."""
    bound = min_abs_score * 1e6 + tolerance_micro

    def different(answer: Answer, other: Answer) -> str | None:
        for pair in answer.values.keys() | other.values.keys():
            first, second = answer.values.get(pair), other.values.get(pair)
            if first is None or second is None:
                if abs(first or second or 0) > bound:
                    return f"pair {pair} has scores {first} and {second}"
            elif abs(first - second) > tolerance_micro:
                return f"pair {pair} has scores {first} and {second}"
        return None

    return different
