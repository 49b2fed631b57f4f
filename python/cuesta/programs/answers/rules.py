"""Rules by which two answers are equal: keys, tolerances, the order of rows."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cuesta.errors import InputError
from cuesta.programs.answers.cells import Cell, is_equal

_TOLERANCE = re.compile(r"([^+]*?(?:e[+-]?\d+)?)(?:\+(.*))?", re.IGNORECASE)
ANY, IN_ORDER = ORDERS = ("any", "in-order")


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """Largest difference of two numbers: a part of the larger one, plus an absolute amount."""

    relative: float
    absolute: float = 0.0

    def allows(self, first: Cell, second: Cell) -> bool:
        """Whether two cells are equal; all but finite numbers must be equal exactly."""
        numbers = _finite(first), _finite(second)
        if numbers[0] is None or numbers[1] is None:
            return is_equal(first, second)
        largest = max(abs(numbers[0]), abs(numbers[1]))
        return abs(numbers[0] - numbers[1]) <= self.relative * largest + self.absolute

    def __str__(self) -> str:
        parts = [f"{self.relative:g}"] * bool(self.relative or not self.absolute)
        return " of the value plus ".join([*parts, *[f"{self.absolute:g}"] * bool(self.absolute)])


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Rules of a comparison.

    Attributes
    ----------
    key
        Columns that identify a row; empty where all exact columns do.
    tolerances
        Tolerances by column.
    order
        `any`, `in-order`, or empty for what the format means.
    """

    key: tuple[str, ...] = ()
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict)
    order: str = ""


def parse_tolerances(texts: Sequence[str]) -> dict[str, Tolerance]:
    """Read `COLUMN=RELATIVE` or `COLUMN=RELATIVE+ABSOLUTE`. Errors: `InputError`."""
    tolerances: dict[str, Tolerance] = {}
    for text in texts:
        column, equals, amount = text.rpartition("=")
        match = _TOLERANCE.fullmatch(amount.strip())
        if not column or not equals or match is None:
            raise InputError(f"--tolerance is {text!r}, give COLUMN=1e-9 or COLUMN=1e-9+1e-12")
        if column in tolerances:
            raise InputError(f"--tolerance: column {column!r} has two; give one")
        relative, absolute = match[1], match[2]
        tolerances[column] = Tolerance(
            relative=_amount(relative, text),
            absolute=0.0 if absolute is None else _amount(absolute, text),
        )
    return tolerances


def parse_key(text: str) -> tuple[str, ...]:
    """Read names of columns, separated by commas. Errors: `InputError`."""
    names = tuple(name.strip() for name in text.split(",")) if text else ()
    if "" in names or len(set(names)) < len(names):
        raise InputError(f"--key is {text!r}, give different columns, such as gene,sample")
    return names


def _amount(text: str, argument: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise InputError(f"--tolerance is {argument!r}, give a number of at least 0, such as 1e-9")
    return value


def _finite(cell: Cell) -> int | float | None:
    """The value of a finite number, and None for all else."""
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return None
    return cell if isinstance(cell, int) or math.isfinite(cell) else None
