"""Trials that are made by `cuesta study run`, and where their records are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MINUTES = 60
"""Budget of a study: the trials are few, and all of them are wanted."""
FACTOR = "trial"

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Something to run.

    Attributes
    ----------
    name
        Small letters, digits, dots and hyphens; unique among those of a study.
    settings
        As in `spec/formats/study.md`, but for `inputs`.
    inputs
        Files, in the order of the workload.
    """

    name: str
    settings: Mapping[str, Any]
    inputs: tuple[Path, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What came of trials.

    Attributes
    ----------
    places
        By name of a trial, the folders of its records.
    absent
        By name, why others were not run.
    """

    places: Mapping[str, tuple[Path, ...]]
    absent: Mapping[str, str]

    def records(self, name: str) -> list[Json]:
        """The run records of a trial, one a repeat."""
        return [json.loads((one / "run.json").read_text()) for one in self.places[name]]


def run(folder: Path, question: str, trials: Sequence[Trial], repeats: int) -> Ran:
    """Run the trials in a drawn order, verified, into `folder`, which is made anew.

    Errors: `RuntimeError` with what the command said, where an answer is wrong or a trial fails.
    """
    _study("run", folder, text(question, trials, repeats))
    found = json.loads((folder / "study.json").read_text())
    cells = {cell["levels"][FACTOR]: cell for cell in found["cells"]}
    return Ran(
        places={
            name: tuple(folder / place for place in one["runs"])
            for name, one in cells.items()
            if not one["left_out"]
        },
        absent={name: one["left_out"] for name, one in cells.items() if one["left_out"]},
    )


def tuned(folder: Path, question: str, trials: Sequence[Trial], default: str, minutes: int) -> Json:
    """What `study tune` says of the trials, one of which is the default: its `tuned.json`.

    `folder` is made anew. Errors: as `run`.
    """
    words = ["--default", f"{FACTOR}={default}", "--minutes", str(minutes)]
    _study("tune", folder, text(question, trials, repeats=1), *words)
    found: Json = json.loads((folder / "tuned.json").read_text())
    return found


def _study(verb: str, folder: Path, given: str, *options: str) -> None:
    """Write a study and do something with it, as its user would."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # A study goes on only in a folder that is its own.
    file = folder.with_name(f"{folder.name}.toml")
    file.write_text(given)
    words = [sys.executable, "-m", "cuesta", "study", verb, str(file), "-o", str(folder), *options]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env=os.environ | {"NO_COLOR": "1"}
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: code {done.returncode}: {done.stderr.strip()}")


def text(question: str, trials: Sequence[Trial], repeats: int) -> str:
    """The file of the study: one factor, with a level for each trial."""
    paths = {path: f"i{number}" for number, path in enumerate(_inputs(trials))}
    lines = [f"question = {_value(question)}", f"repeats = {repeats}", f"minutes = {MINUTES}"]
    for path, name in paths.items():
        lines += ["", "[[input]]", f"name = {_value(name)}", f"path = {_value(str(path))}"]
    lines += ["", "[[factor]]", f"name = {_value(FACTOR)}", "levels = ["]
    for trial in trials:
        names = [paths[path] for path in trial.inputs]
        level = {"name": trial.name, **trial.settings, **({"inputs": names} if names else {})}
        lines.append(f"    {_value(level)},")
    return "\n".join([*lines, "]", ""])


def _inputs(trials: Sequence[Trial]) -> list[Path]:
    return list(dict.fromkeys(path for trial in trials for path in trial.inputs))


def _value(value: Any) -> str:
    """A value of TOML; texts of ours are the same in JSON, names with dots too."""
    if isinstance(value, Mapping):
        pairs = (f"{json.dumps(key)} = {_value(one)}" for key, one in value.items())
        return "{ " + ", ".join(pairs) + " }"
    return json.dumps(value)
