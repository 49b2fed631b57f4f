"""Errors of the operating system as lines for users."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from cuesta.errors import death, disk_error, in_words

COMMON = (
    "ENOENT", "EACCES", "EPERM", "EROFS", "ENOSPC", "EDQUOT", "EISDIR", "ENOTDIR", "ENAMETOOLONG",
    "ELOOP", "EMFILE", "ENFILE", "EIO", "ESTALE", "ENOTCONN", "EEXIST", "ECONNREFUSED",
    "EFBIG",
)  # fmt: skip


@pytest.mark.parametrize("name", COMMON)
def test_a_common_error_comes_with_a_remedy(name: str) -> None:
    number = int(getattr(errno, name))
    text, _, remedy = in_words(OSError(number, os.strerror(number), "a")).partition("; ")
    assert text == os.strerror(number).lower()
    assert remedy


def test_an_error_without_a_number_keeps_its_text() -> None:
    assert in_words(OSError("RPC has failed\nat A.java:1")) == "RPC has failed"
    assert in_words(TimeoutError()).startswith("TimeoutError; check that the host runs")
    assert in_words(FileNotFoundError("/a")) == "no such file or directory; check the path"


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV"])
def test_the_death_of_a_process_comes_with_a_remedy(name: str) -> None:
    cause, _, remedy = death(name).partition("; ")
    assert cause.startswith(f"died of {name}")
    assert remedy


def test_a_real_error_names_its_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        (tmp_path / "absent").read_bytes()
    line = str(disk_error(raised.value, "elsewhere"))
    assert line == f"{tmp_path}/absent: no such file or directory; check the path"


def test_a_disk_without_inodes_is_not_called_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tmpfs with its number of files used was `full`, and had space."""
    error = OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "a" / "b"))
    facts = os.statvfs(tmp_path)
    values = list(facts)
    for free, blocks, expected in ((0, 1 << 20, "can hold no more files"), (0, 0, "is full")):
        values[4], values[5:8] = blocks, [1000, free, free]
        monkeypatch.setattr(os, "statvfs", lambda _, row=tuple(values): os.statvfs_result(row))
        assert f"the disk {expected}" in str(disk_error(error, "elsewhere"))
