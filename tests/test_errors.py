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
