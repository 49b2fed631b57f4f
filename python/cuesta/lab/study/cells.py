"""Crosses the levels of a study's factors."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cuesta.errors import InputError
from cuesta.lab.study.model import Factor, Key, Study, Without
from cuesta.lab.study.settings import Settings, settings


@dataclass(frozen=True, kw_only=True)
class Combination:
    """A level of every factor, and what they set; `left_out` is why it is not run, if so."""

    levels: Mapping[str, str]
    settings: Settings
    left_out: str | None = None

    @property
    def name(self) -> str:
        """Of its folder."""
        return "_".join(self.levels.values()) or "all"

    @property
    def keys(self) -> tuple[Key, ...]:
        """Of its inputs, in the order of the workload."""
        return tuple((name, self.settings.place) for name in self.settings.inputs)

    @property
    def answers(self) -> tuple[object, ...]:
        """Combinations with equal ones of these have equal answers."""
        asked = sorted((key, repr(value)) for key, value in self.settings.asked.items())
        return (self.settings.workload, tuple(asked), self.settings.inputs, self.settings.seed)


def combinations(study: Study, most_memory_bytes: int | None = None) -> tuple[Combination, ...]:
    """Every combination of levels, in the order of the file.

    Errors: `InputError` naming a combination and the setting that is wrong in it.
    """
    found = []
    inputs = {one.name for one in study.inputs}
    for levels in itertools.product(*(factor.levels for factor in study.factors)):
        chosen = {
            factor.name: level.name for factor, level in zip(study.factors, levels, strict=True)
        }
        try:
            own = settings([study.settings, *(one.settings for one in levels)], most_memory_bytes)
            unknown = next((name for name in own.inputs if name not in inputs), None)
            if unknown:
                raise InputError(f"there is no input {unknown}; there are {', '.join(inputs)}")
        except InputError as error:
            where = ", ".join(f"{key} {value}" for key, value in chosen.items())
            raise InputError(f"{where}: {error}" if where else str(error)) from None
        left_out = next((one.why for one in study.without if matches(one, chosen)), None)
        found.append(Combination(levels=chosen, settings=own, left_out=left_out))
    return tuple(found)


def matches(without: Without, chosen: Mapping[str, str]) -> bool:
    """Whether a combination is one of those that are not run."""
    return all(chosen.get(factor) in levels for factor, levels in without.where.items())


def only(factors: Sequence[Factor], asked: Iterable[str]) -> tuple[Factor, ...]:
    """The factors with only the levels asked for, each `FACTOR=LEVEL,..`. Errors: `InputError`."""
    chosen = {one.name: one for one in factors}
    for text in asked:
        name, _, words = text.partition("=")
        if name not in chosen:
            raise InputError(f"--only {text}: {name} is no factor; there are {', '.join(chosen)}")
        known = {level.name: level for level in chosen[name].levels}
        wrong = next((word for word in words.split(",") if word not in known), None)
        if wrong is not None:
            raise InputError(f"--only {text}: {name} has no {wrong}; it has {', '.join(known)}")
        levels = tuple(level for word, level in known.items() if word in words.split(","))
        chosen[name] = replace(chosen[name], levels=levels)
    return tuple(chosen.values())
