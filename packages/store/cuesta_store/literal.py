"""Sources and targets of a copy by the rules of fsspec, for names that look like patterns.

fsspec treats `data[1].csv` as a pattern, which matches `data1.csv`. Here an existing name denotes
that file or folder only.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from glob import has_magic
from typing import Any

from fsspec.implementations.local import LocalFileSystem, make_path_posix, trailing_sep
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


@dataclass(frozen=True)
class CopySide:
    """The source or the target of a copy: a file system, with a path or several."""

    files: Any
    path: str | list[str]


def copy_pairs(
    source: CopySide, target: CopySide, recursive: bool, maxdepth: int | None
) -> tuple[list[str], list[str]]:
    """Return the names to copy from and to.

    Guarantee: fsspec's own result where no name has wildcards.
    """
    files, path = source.files, source.path
    to_files, to_path = target.files, target.path
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


class LiteralFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """A file system of fsspec whose methods never treat an existing name as a pattern."""

    def expand_path(
        self,
        path: str | list[str],
        recursive: bool = False,
        maxdepth: int | None = None,
        assume_literal: bool = False,
        **options: Any,
    ) -> list[str]:
        """Return names and, with `recursive`, contents of folders; for patterns, their matches."""
        options |= {"recursive": recursive, "maxdepth": maxdepth}
        if assume_literal:
            names: list[str] = super().expand_path(each(path), assume_literal=True, **options)
            return names
        return expand(self, [self._strip_protocol(name) for name in each(path)], **options)

    def cat(
        self,
        path: str | list[str],
        recursive: bool = False,
        on_error: str = "raise",
        **options: Any,
    ) -> Any:
        """Return the bytes of a file, or those of several by name. Names are literal."""
        for name in each(path):
            if on_error == "raise" and is_pattern(self, self._strip_protocol(name)):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        return super().cat(path, recursive=recursive, on_error=on_error, **options)

    def copy(
        self,
        path1: str | list[str],
        path2: str | list[str],
        recursive: bool = False,
        maxdepth: int | None = None,
        **options: Any,
    ) -> None:
        """Copy within the store; an existing name is never a pattern."""
        pairs = copy_pairs(CopySide(self, path1), CopySide(self, path2), recursive, maxdepth)
        super().copy(*pairs, recursive=recursive, **options)

    def get(
        self,
        rpath: str | list[str],
        lpath: str | list[str],
        recursive: bool = False,
        maxdepth: int | None = None,
        **options: Any,
    ) -> None:
        """Copy out of the store; an existing name is never a pattern."""
        source, target = CopySide(self, rpath), CopySide(LocalFileSystem(), lpath)
        pairs = copy_pairs(source, target, recursive, maxdepth)
        super().get(*pairs, recursive=recursive, **options)

    def put(
        self,
        lpath: str | list[str],
        rpath: str | list[str],
        recursive: bool = False,
        maxdepth: int | None = None,
        **options: Any,
    ) -> None:
        """Copy into the store; an existing name is never a pattern."""
        source, target = CopySide(LocalFileSystem(), lpath), CopySide(self, rpath)
        pairs = copy_pairs(source, target, recursive, maxdepth)
        super().put(*pairs, recursive=recursive, **options)


def each(path: str | list[str]) -> list[str]:
    """Return a path or a list of paths as a list."""
    return [path] if isinstance(path, str | os.PathLike) else list(path)
