"""The hostile surroundings that other tests rely on work as promised."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

from adversarykit import (
    STRANGER_UID,
    call_as_stranger,
    damage,
    fill,
    foreign_tree,
    host_words,
    listing,
    needs_root,
    small_tmpfs,
    stranger_words,
)


def test_a_removed_or_changed_entry_is_damage(tmp_path: Path) -> None:
    for seed in range(50):
        folder = tmp_path / str(seed)
        before = foreign_tree(folder, seed, ["run.json"])
        assert damage(before, listing(folder)) == []
        name = sorted(before)[seed % len(before)]
        path = folder / os.fsdecode(name)
        path.rename(path.with_name("renamed"))
        assert damage(before, listing(folder)) != []


@needs_root
def test_a_stranger_has_another_account_and_cannot_enter_private_folders(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    assert call_as_stranger(os.geteuid) == STRANGER_UID
    assert call_as_stranger(lambda: os.access(private, os.R_OK)) is False
    words = stranger_words(["id", "-u"])
    assert subprocess.run(words, check=True, capture_output=True).stdout == b"65534\n"


@needs_root
def test_a_full_tmpfs_refuses_another_byte(tmp_path: Path) -> None:
    with small_tmpfs(tmp_path / "memory", 1 << 20) as folder:
        fill(folder)
        try:
            (folder / "more").write_bytes(b"x" * 4096)
        except OSError:
            return
    raise AssertionError("the tmpfs took more than its size")


@needs_root
def test_a_host_has_the_name_of_its_settings() -> None:
    done = subprocess.run(host_words("twin", ["hostname"]), check=True, capture_output=True)
    assert done.stdout == b"twin\n"
    assert socket.gethostname() != "twin"
