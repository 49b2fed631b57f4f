"""Options of a run that cannot change the answer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuesta.lab import inputs
from cuesta.lab.verify import FULL, Verifier, verify

REPEATS_MAX = 1000


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Options of a run that cannot change the answer.

    Attributes
    ----------
    output
        The answer folder to make.
    sample
        Name of the answer in files for other programs; that of the output folder where empty.
    overwrite
        Whether an existing answer may be replaced.
    repeats
        Number of runs, 1 to `REPEATS_MAX`; the files of the last run are the answer.
    warm_runs
        Number of runs before these in the same session of the engine, which are not measured.
    cache
        State of the page cache before each run, a `CACHE_` constant of `cuesta.lab.inputs`.
    scratch
        Folder for temporary files; next to the output when None.
    ceilings
        Measured ceilings of the machine by name, or None.
    command
        Words of the command line, for the record.
    verifier
        Function that verifies the answer.
    verify
        Level of the verification, one of `cuesta.lab.verify.LEVELS`.
    now
        Current time in seconds since 1970.
    startup_seconds
        Time of the command so far, e.g. to start Python.
    settings
        Settings in effect from files and the environment, for the record.
    engine_settings
        By engine, options that a comparison gives it besides those of the trial.
    """

    output: Path
    sample: str = ""
    overwrite: bool = False
    repeats: int = 1
    warm_runs: int = 0
    cache: str = inputs.CACHE_AS_IS
    scratch: Path | None = None
    ceilings: Mapping[str, float] | None = None
    command: tuple[str, ...] = ()
    verifier: Verifier = field(default=verify)
    verify: str = FULL
    now: float = field(default_factory=time.time)
    startup_seconds: float = 0.0
    settings: tuple[Mapping[str, Any], ...] = ()
    engine_settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def sample_name(self) -> str:
        """Name of the answer in files for other programs."""
        return self.sample or self.output.resolve().name
