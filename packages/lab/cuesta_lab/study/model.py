"""Content of a study file: factors whose levels are crossed, inputs, views and claims."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Table = Mapping[str, Any]
"""A table of the file, as written."""

NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
"""Names of factors, levels, inputs and places of inputs in a study."""

REMOTE = "remote"
"""Place of a URI without a name."""

Key = tuple[str, str | None]
"""Name of an input, and its place by the settings of a trial, if they set one."""


@dataclass(frozen=True, kw_only=True)
class StudyInput:
    """An input of a study, with the `name` that its trials use.

    `kind` is `make` (a kind of `cuesta data make`, with its `options`), `get` (an entry of the
    registry), `path`, `uri`, or `command`, which writes it; `source` is the kind, the entry, the
    path, the URI or the command's text. An input with
    a place (`at`) is copied below the URI or folder of that place when the study runs, in blocks of
    `block_bytes` if its file system has blocks.
    """

    name: str
    kind: str
    source: str
    options: Table = field(default_factory=dict)
    at: str | None = None
    block_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Level:
    """A level of a factor: its title, its `value` on an axis, and its settings.

    `argument` stands for the factor in the words of a command.
    """

    name: str
    title: str
    value: float | None
    settings: Table
    argument: str = ""


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A factor that a study varies."""

    name: str
    title: str
    unit: str
    levels: tuple[Level, ...]

    @property
    def row(self) -> dict[str, Any]:
        """Row of the factor in `study.json`."""
        levels = [
            {"name": level.name, "title": level.title, "value": level.value}
            for level in self.levels
        ]
        return {"name": self.name, "title": self.title, "unit": self.unit, "levels": levels}


@dataclass(frozen=True, kw_only=True)
class Exclusion:
    """Combinations that are not run, with the reason."""

    where: Mapping[str, tuple[str, ...]]
    why: str


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study file, checked.

    Attributes
    ----------
    settings
        Settings of all trials, which those of the levels override.
    repeats
        Largest number of runs of each combination.
    tight
        Part of the median below which half its interval must be to end the runs of a combination;
        None to run all repeats.
    minutes
        Time budget of all trials.
    seed
        Seed of the order of the trials.
    local_phases
        Phases that need no communication.
    file_table
        Content of the file as read.
    smoke
        Whether the study is run at its small size, to try it.
    answer_by
        Factors that change the answer of a command; at all levels of the others it is the same.
    here
        Folder of the file, from which commands resolve relative words.
    is_bundled
        Whether the study comes with Cuesta.
    """

    name: str
    title: str
    question: str
    paper: str
    settings: Table
    inputs: tuple[StudyInput, ...]
    factors: tuple[Factor, ...]
    without: tuple[Exclusion, ...]
    views: tuple[Table, ...]
    claims: tuple[Table, ...]
    repeats: int
    tight: float | None
    minutes: float
    seed: int
    phases: tuple[str, ...]
    local_phases: tuple[str, ...]
    file_table: Table
    smoke: bool = False
    answer_by: tuple[str, ...] = ()
    here: Path = Path()
    is_bundled: bool = False

    def factor(self, name: str) -> Factor:
        """Return the factor of that name. Errors: `KeyError`."""
        return next(factor for factor in self.factors if factor.name == name)
