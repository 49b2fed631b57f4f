"""Names of the user's files in messages about files that are made of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cuesta.errors import CuestaError
from cuesta.trial import Trial


@contextmanager
def named(trial: Trial, folders: Sequence[Path]) -> Iterator[None]:
    """Name the inputs of `trial` in errors about the files made of them in `folders`."""
    try:
        yield
    except CuestaError as error:
        error.args = (_renamed(str(error), trial, folders), *error.args[1:])
        raise


def _renamed(text: str, trial: Trial, folders: Sequence[Path]) -> str:
    within = "|".join(re.escape(str(folder)) for folder in folders)
    made = re.compile(
        rf"(?:line (\d+) of )?(?:{within})/(?:\S*/)?(edges|points|parquet|matrix)-(\d+)"
        r"\.(?:txt|npy|tsv)"
    )
    return made.sub(lambda match: _original(match, trial), text)


def _original(match: re.Match[str], trial: Trial) -> str:
    from cuesta.workloads import points

    line, kind, number = match[1], match[2], int(match[3])
    files = list(trial.inputs) if kind in ("edges", "matrix") else points.files(trial)
    if number >= len(files):
        return match[0]
    # Lines without an edge are not in the file that is made.
    unit = {"edges": "edge", "matrix": "gene"}.get(kind, "line")
    place = int(line or 0) - (kind == "matrix")
    return f"{unit} {place} of {files[number]}" if line else files[number]
