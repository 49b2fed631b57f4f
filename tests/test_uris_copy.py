"""A copy of an input is read again.

Cause: a GlusterFS of one node with shards lost or doubled blocks of some files that a study copied.
Symptom: a run sorted what it had been given, with "verified", and other places had other answers.
Fix: a copy that differs from its source is refused by the place of the first difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cuesta import uris
from cuesta.errors import InputError
from storekit import noise

pytest.importorskip("fsspec")

BLOCK = 4 << 20
SIZES = (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 7)


class LossyFile:
    """A file whose write of one block goes wrong."""

    def __init__(self, file: Any, change: str) -> None:
        self._file, self._change, self._blocks = file, change, 0

    def __enter__(self) -> LossyFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, block: bytes) -> int:
        self._blocks += 1
        if self._blocks == 2:
            other = {
                "lost": b"", "zeros": bytes(len(block)), "twice": block + block[-1:],
                "flipped": bytes([block[0] ^ 1]) + block[1:],
            }  # fmt: skip
            self._file.write(other[self._change])
        else:
            self._file.write(block)
        return len(block)


@pytest.mark.parametrize("size", SIZES)
def test_a_copy_equals_its_source(size: int, tmp_path: Path) -> None:
    (tmp_path / "from").write_bytes(noise(1, size))
    uris.copy(tmp_path / "from", str(tmp_path / "place" / "to"))
    assert (tmp_path / "place" / "to").read_bytes() == noise(1, size)


@pytest.mark.parametrize(
    ("change", "behind"),
    [("lost", BLOCK), ("zeros", BLOCK), ("twice", 2 * BLOCK), ("flipped", BLOCK)],
)
def test_a_copy_that_a_file_system_changes_is_refused(
    change: str, behind: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fsspec.implementations.local import LocalFileSystem

    system, opened = LocalFileSystem(skip_instance_cache=True), LocalFileSystem.open

    def lossy(path: str, mode: str = "rb", **options: Any) -> Any:
        file = opened(system, path, mode, **options)
        return LossyFile(file, change) if mode == "wb" else file

    monkeypatch.setattr(system, "open", lossy)
    monkeypatch.setattr(uris, "_system", lambda uri: (system, uri.removeprefix("local://")))
    (tmp_path / "from").write_bytes(noise(1, 2 * BLOCK + 7))
    with pytest.raises(InputError, match=rf"behind byte {behind:,}; .* copy to another"):
        uris.copy(tmp_path / "from", str(tmp_path / "to"))
