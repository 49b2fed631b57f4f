"""What a study file says: factors whose levels are crossed, inputs, views and claims."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Table = Mapping[str, Any]
"""A table of the file, as it is written there."""

NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
"""Names in a study: of factors, levels and inputs, and of places where inputs may lie."""

REMOTE = "remote"
"""The place that a URI is for which names none."""

Key = tuple[str, str | None]
"""The name of an input, and the place that the settings of a trial give for it, if they do."""


@dataclass(frozen=True, kw_only=True)
class StudyInput:
    """An input of a study, which its trials call by `name`.

    `kind` is `make` (a kind of `cuesta data make`, with its `options`), `get` (an entry of the
    registry), `path`, or `uri`; `source` is the kind, the entry, the path or the URI. One that is
    `at` a place lies below the URI or folder that is given for it when the study runs; in blocks of
    `block_bytes`, where its file system has such.
    """

    name: str
    kind: str
    source: str
    options: Table = field(default_factory=dict)
    at: str | None = None
    block_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Level:
    """A value of a factor: what it is called, where it lies on an axis, and what it sets."""

    name: str
    title: str
    value: float | None
    settings: Table


@dataclass(frozen=True, kw_only=True)
class Factor:
    """What is varied."""

    name: str
    title: str
    unit: str
    levels: tuple[Level, ...]

    @property
    def row(self) -> dict[str, Any]:
        """As `study.json` has it."""
        levels = [
            {"name": level.name, "title": level.title, "value": level.value}
            for level in self.levels
        ]
        return {"name": self.name, "title": self.title, "unit": self.unit, "levels": levels}


@dataclass(frozen=True, kw_only=True)
class Without:
    """Combinations that are not run, and why."""

    where: Mapping[str, tuple[str, ...]]
    why: str


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study file, checked.

    Attributes
    ----------
    settings
        Of every trial, before those of the levels are laid over them.
    repeats
        How often each combination is run at most.
    tight
        A combination is run no more once half the interval of its median is below this part of
        the median; None to run all repeats.
    minutes
        Time that the trials may take in all.
    seed
        Of the order of the trials.
    local_phases
        Phases that need no communication.
    given
        The file as it was read.
    smoke
        Whether it is run small, to try it.
    """

    name: str
    title: str
    question: str
    paper: str
    settings: Table
    inputs: tuple[StudyInput, ...]
    factors: tuple[Factor, ...]
    without: tuple[Without, ...]
    views: tuple[Table, ...]
    claims: tuple[Table, ...]
    repeats: int
    tight: float | None
    minutes: float
    seed: int
    phases: tuple[str, ...]
    local_phases: tuple[str, ...]
    given: Table
    smoke: bool = False

    def factor(self, name: str) -> Factor:
        """The factor of that name. Errors: `KeyError`."""
        return next(one for one in self.factors if one.name == name)
