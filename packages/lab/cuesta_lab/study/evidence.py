"""Evidence for the twelve rules: the result of a study and its run records, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Fields = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Breach:
    """A breach of a rule; `grave` if figures must not be compared, or an answer is in doubt."""

    text: str
    grave: bool = False


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Breaches of a rule; without any, evidence that it is met or the reason it does not apply."""

    breaches: tuple[Breach, ...] = ()
    text: str = ""
    applies: bool = True


def judged(breaches: Iterable[Breach], text: str) -> Judgement:
    """Judge a rule as met with the evidence `text`, unless there are breaches."""
    return Judgement(breaches=tuple(breaches), text=text)


def does_not_apply(why: str) -> Judgement:
    """Judge a rule as not applicable."""
    return Judgement(text=why, applies=False)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A result, and those of its run records that exist, by their places."""

    result: Fields
    records: Mapping[str, Fields]

    @property
    def cells(self) -> Sequence[Fields]:
        """Cells of all combinations."""
        combinations: Sequence[Fields] = self.result.get("cells") or ()
        return combinations

    @property
    def measured(self) -> list[Fields]:
        """Cells with samples."""
        return [cell for cell in self.cells if samples(cell)]

    @property
    def claims(self) -> list[Fields]:
        """Claims on measurements, without the untested ones."""
        return [claim for claim in self.result.get("claims") or () if not claim.get("untested")]

    @property
    def factors(self) -> Mapping[str, Sequence[Fields]]:
        """Levels of each factor."""
        return {
            factor["name"]: factor.get("levels") or ()
            for factor in self.result.get("factors") or ()
        }

    def records_of(self, cell: Fields) -> list[Fields]:
        """Return the existing records of a cell."""
        return [self.records[place] for place in cell.get("runs") or () if place in self.records]

    def matching(self, levels: Fields) -> list[Fields]:
        """Return the cells at these levels; a level may be a list of several."""
        return [
            cell
            for cell in self.cells
            if all(_is_at(cell["levels"].get(name), level) for name, level in levels.items())
        ]


def samples(cell: Fields, measure: str = "work") -> list[float]:
    """Return the samples of a measure."""
    return list((cell.get("measures") or {}).get(measure) or ())


def named(cell: Fields) -> str:
    """Name a combination by its levels."""
    levels = cell.get("levels") or {}
    return ", ".join(f"{name} {level}" for name, level in levels.items()) or "the study"


def some(names: Sequence[str], most: int = 3) -> str:
    """List the first few of several names."""
    more = len(names) - most
    return "; ".join(names[:most]) + (f"; and {more} more" if more > 0 else "")


def _is_at(actual: object, level: object) -> bool:
    return actual in level if isinstance(level, (list, tuple)) else actual == level
