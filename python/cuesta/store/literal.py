"""Sources and targets of a copy by the rules of fsspec, for names that look like patterns.

fsspec takes `data[1].csv` for a pattern, which matches `data1.csv`. Here a name that exists is that
file or folder alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from glob import has_magic
from typing import Any

from fsspec.implementations.local import make_path_posix, trailing_sep
from fsspec.spec import AbstractFileSystem
from fsspec.utils import check_contained, other_paths


def is_pattern(files: Any, path: str) -> bool:
    """Whether `path` has wildcards and is not the name of a file or folder of `files`."""
    return has_magic(path) and not files.lexists(path)


def expand(files: Any, paths: Sequence[str], **options: Any) -> list[str]:
    """Return the names of `paths`, and the matches of those that are patterns.

    `options` are those of fsspec's `expand_path`. Errors: `FileNotFoundError` for no match.
    """
    results: set[str] = set()
    for path in paths:
        options["assume_literal"] = not is_pattern(files, path)
        results.update(AbstractFileSystem.expand_path(files, [path], **options))
    if not results:
        raise FileNotFoundError(list(paths))
    return sorted(results)


def copy_pairs(
    source: tuple[Any, str | list[str]],
    target: tuple[Any, str | list[str]],
    recursive: bool,
    maxdepth: int | None,
) -> tuple[list[str], list[str]]:
    """Return the names to copy from and to, of two file systems with a path or paths of each.

    Guarantee: fsspec's own result where no name has wildcards.
    """
    files, path = source
    to_files, to_path = target
    if isinstance(path, list) and isinstance(to_path, list):
        return path, to_path
    is_single = isinstance(path, str)
    paths = [path] if isinstance(path, str) else list(path)
    options = {"recursive": recursive, "maxdepth": maxdepth}
    sources = expand(files, paths, **options)
    if is_single and (not recursive or maxdepth is not None):
        sources = [name for name in sources if not (trailing_sep(name) or files.isdir(name))]
        if not sources:
            return [], []
    is_folder = isinstance(to_path, str) and (trailing_sep(to_path) or to_files.isdir(to_path))
    if isinstance(path, str) and is_pattern(files, path):
        is_inside = len(sources) == 1
    else:
        is_inside = isinstance(path, str) and is_folder and not trailing_sep(path)
    if isinstance(to_path, str) and "file" in to_files.protocol:
        to_path = make_path_posix(to_path)
    else:
        to_path = to_files._strip_protocol(to_path)
    targets = other_paths(sources, to_path, exists=is_inside, flatten=not is_single)
    if isinstance(to_path, str):
        check_contained(to_path, targets)
    return sources, targets
