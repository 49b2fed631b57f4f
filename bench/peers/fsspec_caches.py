"""fsspec's own caches, `blockcache` and `filecache`, over the local file system."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fsspec.implementations.cached import CachingFileSystem, WholeFileCacheFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractBufferedFile


class _RangesFile(AbstractBufferedFile):  # type: ignore[misc]
    """A file that is fetched by ranges, as those of remote file systems are."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        with Path(self.path).open("rb", buffering=0) as file:
            return os.pread(file.fileno(), end - start, start)


class RangesFileSystem(LocalFileSystem):  # type: ignore[misc]
    """Local files fetched by ranges: past `LocalFileOpener` no block would reach `blockcache`."""

    protocol = "ranges"

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:  # noqa: ARG002
        return _RangesFile(self, path, mode, block_size=BLOCK_BYTES, cache_type="none")


BLOCK_BYTES = 4 << 20


def blockcache(folder: Path) -> Any:
    """Blocks of 4 MiB in a sparse file that is mapped."""
    return CachingFileSystem(fs=RangesFileSystem(), cache_storage=str(folder))


def filecache(folder: Path) -> Any:
    """Whole files, copied when they are opened first."""
    return WholeFileCacheFileSystem(fs=LocalFileSystem(), cache_storage=str(folder))
