"""Trials that `cuesta study run` makes, and the places of their records."""

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
    """A trial to run.

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
class StudyRuns:
    """Results of trials.

    Attributes
    ----------
    places
        By name of a trial, the folders of its records.
    absent
        By name, why a trial was not run.
    """

    places: Mapping[str, tuple[Path, ...]]
    absent: Mapping[str, str]

    def records(self, name: str) -> list[Json]:
        """The run records of a trial, one a repeat."""
        return [json.loads((place / "run.json").read_text()) for place in self.places[name]]


def run(folder: Path, question: str, trials: Sequence[Trial], repeats: int) -> StudyRuns:
    """Run the trials in a drawn order, verified, into `folder`, which is made anew.

    Errors: `RuntimeError` with the command's output, where an answer is wrong or a trial fails.
    """
    _study("run", folder, text(question, trials, repeats))
    result = json.loads((folder / "study.json").read_text())
    cells = {cell["levels"][FACTOR]: cell for cell in result["cells"]}
    return StudyRuns(
        places={
            name: tuple(folder / place for place in cell["runs"])
            for name, cell in cells.items()
            if not cell["left_out"]
        },
        absent={name: cell["left_out"] for name, cell in cells.items() if cell["left_out"]},
    )


def tuned(folder: Path, question: str, trials: Sequence[Trial], default: str, minutes: int) -> Json:
    """The `tuned.json` of `study tune` on the trials, one of which is the default.

    `folder` is made anew. Errors: as `run`.
    """
    words = ["--default", f"{FACTOR}={default}", "--minutes", str(minutes)]
    _study("tune", folder, text(question, trials, repeats=1), *words)
    tuned_fields: Json = json.loads((folder / "tuned.json").read_text())
    return tuned_fields


def _study(verb: str, folder: Path, study_text: str, *options: str) -> None:
    """Write a study and do something with it, as its user would."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # A study is continued only in a folder of its own.
    file = folder.with_name(f"{folder.name}.toml")
    file.write_text(study_text)
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
