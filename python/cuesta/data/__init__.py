"""Datasets by name, and seeded synthetic inputs.

`get` is `cuesta data get`. `registry.toml` lists the datasets, `cuesta.data.obtain.obtain`
downloads and checks them, and `cuesta.data.make` makes synthetic inputs of any size.

A dataset is an entry of `registry.toml` with its licence and checksum. What breaks: a generator
that changes gives other inputs for the same seed, and kept results no longer apply.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["get"]


def get(name: str, output: str | os.PathLike[str] | None = None) -> tuple[Path, ...]:
    """Obtain a dataset of the registry, check it, and return the paths of its files.

    It remains in the cache (`$CUESTA_DATA`, else `~/.cache/cuesta/data`) for later calls.

    Parameters
    ----------
    name
        A name that `cuesta data list` shows, such as `nci60` or `ecoli`.
    output
        A folder to copy the files to; the paths are those of the cache when None.

    Errors: `InputError` for an unknown name, `EngineError` if the origin cannot be reached or sends
    other bytes than the registry has.
    """
    from cuesta.data.obtain import cache_folder, copy_out, obtain
    from cuesta.data.registry import dataset

    paths = obtain(dataset(name), cache_folder(), lambda _done, _total: None)
    return tuple(copy_out(path, Path(output)) if output is not None else path for path in paths)
