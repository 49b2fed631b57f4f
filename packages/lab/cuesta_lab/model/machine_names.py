"""Machines by name, pattern or file, as users give them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from cuesta.errors import InputError
from cuesta_lab.model.instances import PREFIX, instances
from cuesta_lab.model.machines import FOLDER, NOT_MACHINES, Hardware, known, read


def chosen(names: Iterable[str]) -> list[Hardware]:
    """Read machines by key, by file path, or as instances by a pattern such as `ec2/c7i.*`.

    All files that come with Cuesta, without the instances, if there is no name. Errors:
    `InputError` for a name that is none of these.
    """
    words = list(names)
    if not words:
        return list(known().values())
    machines = {machine.key: machine for word in words for machine in _named(word)}
    return list(machines.values())


def _named(word: str) -> Iterator[Hardware]:
    path = FOLDER / f"{word}.toml"
    if Path(word).is_file():
        yield read(Path(word))
    elif word.startswith(PREFIX):
        matching = [key for key in instances() if fnmatchcase(key, word)]
        if not matching:
            raise InputError(
                f"--machines {word}: no such instance; `cuesta model machines '{PREFIX}*'` lists"
                f" those of {len(instances())} that are known"
            )
        yield from (instances()[key] for key in matching)
    elif "/" not in word and word not in NOT_MACHINES and path.is_file():
        yield read(path)
    else:
        keys = ", ".join(known())
        raise InputError(
            f"--machines {word}: no such file, and no machine; give one of {keys}, or an instance"
            f" such as {PREFIX}c6i.8xlarge"
        )
