"""Scores of any finite numbers, compared with exact integer arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cuesta

SCALE = 1 << 1074
"""Multiplied by this, any finite double is an integer."""

Row = list[float | None]

Engine = Literal["native", "dask"]

MILLIONTH = Fraction(1, 10**6)


def exact_millionths(row1: Row, row2: Row) -> Fraction | None:
    """Return Pearson's correlation in millionths, to nine more digits; None where undefined."""
    common = [(x, y) for x, y in zip(row1, row2, strict=True) if x is not None and y is not None]
    xs = [int(Fraction(x) * SCALE) for x, _ in common]
    ys = [int(Fraction(y) * SCALE) for _, y in common]
    n = len(common)
    xx = n * sum(x * x for x in xs) - sum(xs) ** 2
    yy = n * sum(y * y for y in ys) - sum(ys) ** 2
    xy = n * sum(x * y for x, y in zip(xs, ys, strict=True)) - sum(xs) * sum(ys)
    if xx == 0 or yy == 0:
        return None
    digits = 10**30
    size = math.isqrt(xy * xy * digits // (xx * yy))
    return Fraction(size if xy >= 0 else -size, 10**9)


def exact(rows: list[Row], min_samples: int) -> dict[tuple[int, int], Fraction]:
    """Return the defined scores in millionths, by the pair's genes."""
    scores = {}
    for gene1, row1 in enumerate(rows):
        for gene2, row2 in enumerate(rows[:gene1]):
            pairs = zip(row1, row2, strict=True)
            if sum(x is not None and y is not None for x, y in pairs) >= min_samples:
                score = exact_millionths(row1, row2)
                if score is not None:
                    scores[gene1 + 1, gene2 + 1] = score
    return scores


def write(path: Path, rows: list[Row]) -> None:
    """Write a matrix with a header."""
    lines = ["\t".join(f"s{sample}" for sample in range(len(rows[0])))]
    for gene, row in enumerate(rows):
        fields = ["NA" if value is None else repr(value) for value in row]
        lines.append("\t".join([f"g{gene}", *fields]))
    path.write_text("\n".join(lines) + "\n")


def check(folder: Path, rows: list[Row], *, engine: Engine = "native", least: float = 0.0) -> None:
    """Compare an answer, which must be verified, with the exact scores."""
    path = folder / "m.tsv"
    write(path, rows)
    answer = cuesta.run(
        "correlate", str(path), engine=engine, min_samples=2, min_abs_score=least,
        output=str(folder / "out"), overwrite=True, progress=False,
    )  # fmt: skip
    assert answer.record["verified"] is True
    scores = {}
    for line in (folder / "out" / "pairs.txt").read_text().splitlines():
        fields = line.split("\t")
        scores[int(fields[0]), int(fields[1])] = Fraction(fields[9]) / MILLIONTH
    expected = exact(rows, 2)
    if least == 0:
        assert scores.keys() == expected.keys()
    for pair, score in expected.items():
        if pair in scores:
            assert abs(scores[pair] - score) <= Fraction(502, 1000), (pair, rows)
        else:
            assert abs(score) < Fraction(least) / MILLIONTH


def adversarial(samples: int) -> list[Row]:
    """Return rows that lose digits unless they are centred and scaled first."""
    wave = [math.sin(7 * i) + 0.3 * math.cos(3 * i * i) for i in range(samples)]
    plain: list[Row] = [
        [0.1] * samples, list(wave), [-value for value in wave], [0.0] * samples,
        [1e15 + round(100 * value) for value in wave],
        [1e9 + 1e-3 * value for value in wave],
        [-1e15 - (i % 3 == 0) * 0.125 for i in range(samples)],
        [1.0 + (i == samples - 1) * 2.0**-52 for i in range(samples)],
        [value * 1e300 for value in wave], [value * 1e-300 for value in wave],
        [value * 4e-320 for value in wave], [5e-324 * (i % 2) for i in range(samples)],
        [1.7e308 * (-1) ** i for i in range(samples)],
        [1e308 if i == 3 else value * 1e-308 for i, value in enumerate(wave)],
        [float(i % 2) for i in range(samples)], [-0.0 if i % 2 else 0.0 for i in range(samples)],
        [2.0 ** (53 * (i % 3)) for i in range(samples)],
    ]  # fmt: skip
    holes: list[Row] = [
        [value if (i + gene) % 4 else None for i, value in enumerate(row)]
        for gene, row in enumerate(plain)
    ]
    outlier: Row = [1e300 if i % 4 == 0 else value * 1e-200 for i, value in enumerate(wave)]
    constant_where_common: Row = [7.7 if i % 4 else value for i, value in enumerate(wave)]
    return [*plain, *holes, outlier, constant_where_common]


@pytest.mark.parametrize(("engine", "least"), [("native", 0.0), ("native", 0.3), ("dask", 0.0)])
def test_adversarial_rows_score_as_exact_arithmetic_does(
    tmp_path: Path, engine: Engine, least: float
) -> None:
    """Right scores of rows with an offset of 1e15 were reported as "the answer is wrong". The
    verifier divided by the largest value, which rounds, before it subtracted the mean, and centred
    pairs with gaps once.
    """
    check(tmp_path, adversarial(40), engine=engine, least=least)


VALUES = st.one_of(
    st.none(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, 1e15, 1e15 + 0.125, 5e-324, 1.7e308, -1.7e308, 0.1]),
    st.integers(-3, 3).map(lambda step: 1e12 + step * 2.0**-13),
)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data(), samples=st.integers(2, 12), least=st.sampled_from([0.0, 0.95]))
def test_random_rows_score_as_exact_arithmetic_does(
    tmp_path: Path, data: st.DataObject, samples: int, least: float
) -> None:
    """Any finite doubles, missing values, few samples."""
    row = st.lists(VALUES, min_size=samples, max_size=samples)
    rows = data.draw(st.lists(row, min_size=2, max_size=6))
    check(tmp_path, rows, least=least)
