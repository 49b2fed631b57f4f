"""Files of an answer that are made of its other files, for programs that read neither of those.

A workload has them by a function of its answer folder and the name of the sample. They are part of
the answer: its record lists them, and a verification makes them anew and compares their bytes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

Content = Callable[[], Iterator[bytes]]
"""A function that yields the bytes of a file, a part at a time."""

_DAMAGE = (ValueError, LookupError, TypeError, FileNotFoundError)
"""Errors of reading the files of a damaged answer."""


def contents(workload: str, folder: Path, sample: str) -> Mapping[str, Content]:
    """Return the contents of the derived files of the answer in `folder`, by name.

    Empty for most workloads. The functions raise `OSError`, `ValueError`, `LookupError` and
    `TypeError` for an answer whose files are missing or damaged.
    """
    if workload == "assemble":
        from cuesta.workloads.assembly import laboratory

        return laboratory.contents(folder, sample)
    if workload in ("modules", "threshold"):
        from cuesta.workloads import figures

        return figures.contents(folder)
    return {}


def write(workload: str, folder: Path, sample: str) -> None:
    """Write the derived files into an answer folder that has all other files.

    A file that a damaged answer does not give remains incomplete: the answer is wrong anyway, and
    `fault` says so. Errors: `OSError`.
    """
    with contextlib.suppress(*_DAMAGE):
        for name, content in contents(workload, folder, sample).items():
            with (folder / name).open("wb") as file:
                file.writelines(content())


def names(workload: str, folder: Path) -> list[str]:
    """Return the names of the derived files in `folder`; an earlier version wrote none."""
    return [name for name in contents(workload, folder, "") if (folder / name).is_file()]


def fault(workload: str, folder: Path, sample: str) -> str:
    """Return the fault of the derived files in `folder` in words; empty if they are right."""
    made = contents(workload, folder, sample)
    for name in names(workload, folder):
        try:
            if _equal(folder / name, made[name]()):
                continue
        except _DAMAGE as error:
            return f"{name} cannot be made of the other files of the answer ({error})"
        return f"{name} differs from what the other files of the answer give"
    return ""


def _equal(path: Path, content: Iterator[bytes]) -> bool:
    """Whether a file has this content and nothing else."""
    with path.open("rb") as file:
        return all(file.read(len(part)) == part for part in content) and not file.read(1)
