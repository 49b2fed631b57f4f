"""What the twelve rules look at: the result of a study and its run records, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Fields = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Breach:
    """A sentence; `grave` where figures must not be compared, or an answer is in doubt."""

    text: str
    grave: bool = False


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Breaches of a rule; without any, the evidence that it is met or why it does not apply."""

    breaches: tuple[Breach, ...] = ()
    text: str = ""
    applies: bool = True


def judged(breaches: Iterable[Breach], text: str) -> Judged:
    """Met with this evidence, unless there are breaches."""
    return Judged(breaches=tuple(breaches), text=text)


def does_not_apply(why: str) -> Judged:
    """There is nothing that the rule speaks of."""
    return Judged(text=why, applies=False)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A result, and the run records that it names, by their places, as far as they were kept."""

    result: Fields
    records: Mapping[str, Fields]

    @property
    def cells(self) -> Sequence[Fields]:
        """All combinations."""
        found: Sequence[Fields] = self.result.get("cells") or ()
        return found

    @property
    def measured(self) -> list[Fields]:
        """Combinations with samples."""
        return [cell for cell in self.cells if samples(cell)]

    @property
    def claims(self) -> list[Fields]:
        """Those that say something of measured times."""
        return [one for one in self.result.get("claims") or () if not one.get("untested")]

    @property
    def factors(self) -> Mapping[str, Sequence[Fields]]:
        """Levels by factor."""
        return {one["name"]: one.get("levels") or () for one in self.result.get("factors") or ()}

    def records_of(self, cell: Fields) -> list[Fields]:
        """Records of a combination, as far as they were kept."""
        return [self.records[place] for place in cell.get("runs") or () if place in self.records]

    def matching(self, levels: Fields) -> list[Fields]:
        """Combinations at these levels; a level may be a list of several."""
        return [
            cell
            for cell in self.cells
            if all(_is_at(cell["levels"].get(name), level) for name, level in levels.items())
        ]


def samples(cell: Fields, measure: str = "work") -> list[float]:
    """Samples of a measure."""
    return list((cell.get("measures") or {}).get(measure) or ())


def named(cell: Fields) -> str:
    """A combination in words."""
    levels = cell.get("levels") or {}
    return ", ".join(f"{name} {level}" for name, level in levels.items()) or "the study"


def some(names: Sequence[str], most: int = 3) -> str:
    """The first few of several."""
    more = len(names) - most
    return "; ".join(names[:most]) + (f"; and {more} more" if more > 0 else "")


def _is_at(found: object, level: object) -> bool:
    return found in level if isinstance(level, (list, tuple)) else found == level
