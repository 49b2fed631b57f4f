"""Combinations of the levels of a study's factors."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cuesta.errors import InputError
from cuesta_lab.study.commands import CommandContext
from cuesta_lab.study.model import Exclusion, Factor, Key, Study
from cuesta_lab.study.settings import Settings, settings


@dataclass(frozen=True, kw_only=True)
class Combination:
    """A level of each factor, and their settings; `left_out` is a reason not to run it.

    `answer_by` are factors that change the answer of a command.
    """

    levels: Mapping[str, str]
    settings: Settings
    left_out: str | None = None
    answer_by: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the combination and of its folder."""
        return "_".join(self.levels.values()) or "all"

    @property
    def keys(self) -> tuple[Key, ...]:
        """Keys of the inputs, in the order of the workload."""
        return tuple((name, self.settings.place) for name in self.settings.inputs)

    @property
    def answers(self) -> tuple[object, ...]:
        """Settings that determine the answer: if they are equal, so are the answers."""
        if self.settings.command:
            levels = tuple((name, self.levels[name]) for name in self.answer_by)
            return (*self.settings.command.comparison, self.settings.inputs, levels)
        parameters = sorted(
            (key, repr(value)) for key, value in self.settings.workload_parameters.items()
        )
        return (self.settings.workload, tuple(parameters), self.settings.inputs, self.settings.seed)


def combinations(study: Study, most_memory_bytes: int | None = None) -> tuple[Combination, ...]:
    """Return all combinations of levels, in the order of the file.

    Errors: `InputError` with the combination and its wrong setting.
    """
    combined = []
    inputs = {source.name for source in study.inputs}
    for levels in itertools.product(*(factor.levels for factor in study.factors)):
        chosen = {
            factor.name: level.name for factor, level in zip(study.factors, levels, strict=True)
        }
        try:
            arguments = {
                factor.name: level.argument or level.name
                for factor, level in zip(study.factors, levels, strict=True)
            }
            values = settings(
                [study.settings, *(level.settings for level in levels)],
                most_memory_bytes,
                CommandContext(here=study.here.absolute(), levels=arguments),
            )
            unknown = next((name for name in values.inputs if name not in inputs), None)
            if unknown:
                raise InputError(f"there is no input {unknown}; there are {', '.join(inputs)}")
        except InputError as error:
            where = ", ".join(f"{key} {value}" for key, value in chosen.items())
            raise InputError(f"{where}: {error}" if where else str(error)) from None
        left_out = next((rule.why for rule in study.without if matches(rule, chosen)), None)
        combined.append(
            Combination(
                levels=chosen, settings=values, left_out=left_out, answer_by=study.answer_by
            )
        )
    return tuple(combined)


def matches(without: Exclusion, chosen: Mapping[str, str]) -> bool:
    """Whether a rule `without` excludes a combination."""
    return all(chosen.get(factor) in levels for factor, levels in without.where.items())


def only(factors: Sequence[Factor], selections: Iterable[str]) -> tuple[Factor, ...]:
    """Restrict factors to the selected levels, each `FACTOR=LEVEL,..`. Errors: `InputError`."""
    chosen = {factor.name: factor for factor in factors}
    for text in selections:
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
