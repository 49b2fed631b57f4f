"""Permission bits of files written through a mount: those of the writer, or fewer."""

from __future__ import annotations

import errno
import os
import random
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import mountkit
from adversarykit import needs_root, stranger_words
from mountkit import Mounted

pytestmark = pytest.mark.skipif(bool(mountkit.MISSING), reason=mountkit.MISSING)

MAKE = """
umask, mode = int(sys.argv[2]), int(sys.argv[3])
os.umask(umask)
handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, mode)
os.write(handle, b"x" * int(sys.argv[4]))
print(stat.S_IMODE(os.fstat(handle).st_mode))
os.close(handle)
os.mkdir(str(path) + "-folder", mode | 0o700)
"""
LARGE = 3 << 20
"""Size of a file that the mount does not hold itself."""


@pytest.fixture(params=["through", "back", "memory", "bypass"])
def at(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mounted]:
    with mountkit.mounted(tmp_path, request.param) as mounted:
        yield mounted


def _modes(at: Mounted, name: str) -> set[int]:
    """Return the bits of a name in the mount, and in the folder below after its flush."""
    modes = {stat.S_IMODE((at.place / name).lstat().st_mode)}
    with (at.place / name).open("rb") as file:
        os.fsync(file.fileno())
    modes.add(stat.S_IMODE((at.store.under / name).lstat().st_mode))
    return modes | {stat.S_IMODE((at.place / name).lstat().st_mode)}


def test_a_file_has_the_bits_that_its_writers_umask_leaves(at: Mounted) -> None:
    """A mount showed 0600 where the folder below had 0644, and lost the execute bit.

    Secrets written with umask 077 were readable by all users of that folder. Now both have the
    writer's bits.
    """
    draw = random.Random(35)
    for number in range(25):
        umask, mode = draw.choice((0, 0o002, 0o022, 0o077, 0o777)), draw.randrange(0o1000)
        if os.geteuid() != 0:
            # Otherwise its writer could not open it again.
            umask, mode = umask & 0o077, mode | 0o600
        count = draw.choice((0, 5, LARGE))
        text = f"import stat\n{MAKE}"
        output = mountkit.run(text, at.place / f"f{number}", umask, mode, count)
        expected = mode & ~umask
        assert int(output) == expected, (oct(mode), oct(umask))
        assert _modes(at, f"f{number}") == {expected}, (oct(mode), oct(umask), count)
        folder = f"f{number}-folder"
        for place in (at.place, at.store.under):
            assert stat.S_IMODE((place / folder).stat().st_mode) == (mode | 0o700) & ~umask


def test_programs_keep_the_bits_of_files(at: Mounted, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho it runs\n")
    tool.chmod(0o755)
    commands = {
        "copied": ["cp", "-p", str(tool), str(at.place / "copied")],
        "installed": ["install", "-m", "750", str(tool), str(at.place / "installed")],
        "secret": ["install", "-m", "600", str(tool), str(at.place / "secret")],
    }
    for command in commands.values():
        subprocess.run(command, check=True, timeout=mountkit.SECONDS)
    assert mountkit.system([str(at.place / "copied")]).stdout == "it runs\n"
    assert _modes(at, "copied") == {0o755}
    assert _modes(at, "installed") == {0o750}
    assert _modes(at, "secret") == {0o600}
    mountkit.run("path.chmod(0o640)", at.place / "copied")
    assert _modes(at, "copied") == {0o640}
    # A file that is written again keeps its bits, whatever the umask is.
    mountkit.run("os.umask(0)\npath.write_bytes(b'again')", at.place / "secret")
    assert _modes(at, "secret") == {0o600}
    assert (at.place / "secret").read_bytes() == b"again"
    (at.store.under / "below").write_text("below")
    (at.store.under / "below").chmod(0o751)
    assert _modes(at, "below") == {0o751}


def test_bits_that_are_set_before_a_file_is_closed_hold_from_then_on(at: Mounted) -> None:
    text = """
    handle = os.open(path, os.O_CREAT | os.O_WRONLY, 0o644)
    os.write(handle, b"x" * int(sys.argv[2]))
    os.fchmod(handle, 0o400)
    os.write(handle, b"more")
    os.close(handle)
    """
    for count in (3, LARGE):
        name = f"of-{count}"
        mountkit.run(text.replace("\n    ", "\n"), at.place / name, count)
        assert _modes(at, name) == {0o400}
        assert (at.place / name).stat().st_size == count + 4
    special = mountkit.run("path.chmod(0o4755)", at.place / "of-3", must_succeed=False)
    assert "PermissionError" in special
    assert _modes(at, "of-3") == {0o400}


@needs_root
def test_another_account_does_not_enter_a_mount(at: Mounted, tmp_path: Path) -> None:
    (at.place / "open").write_text("content")
    for folder in (at.place, *tmp_path.parents):
        if folder.is_relative_to("/tmp") and folder != Path("/tmp"):
            folder.chmod(0o755)
    for words in (["ls", str(at.place)], ["cat", str(at.place / "open")]):
        done = mountkit.system(stranger_words(words))
        assert done.returncode != 0, done.stdout
        assert "content" not in done.stdout


@pytest.mark.parametrize("size_bytes", [1 << 50, 1 << 60, (1 << 63) - 1])
def test_a_size_that_no_file_can_have_is_refused(at: Mounted, size_bytes: int) -> None:
    """`truncate -s 1E` looped over 2^38 blocks, and wrote zeros until the disk was full.

    Now each door refuses the size.
    """
    path = at.place / "a"
    path.write_bytes(b"start")
    doors = {
        "truncate": "os.truncate(path, size)",
        "ftruncate": "with path.open('r+b') as file: os.ftruncate(file.fileno(), size)",
        "write": "with path.open('r+b') as file: os.pwrite(file.fileno(), b'end', size - 3)",
        "seek": "with path.open('r+b') as file:\n file.seek(size - 3)\n file.write(b'end')",
        "fallocate": "with path.open('r+b') as file: os.posix_fallocate(file.fileno(), 0, size)",
        "new": "os.truncate(os.open(str(path) + 'new', os.O_CREAT | os.O_RDWR), size)",
    }
    for name, door in doors.items():
        errors = mountkit.run(
            f"size = int(sys.argv[2])\n{door}", path, size_bytes, must_succeed=False
        )
        named = (f"[Errno {errno.EFBIG}]", f"[Errno {errno.ENOSPC}]")
        assert any(word in errors for word in named), (name, errors)
    assert path.read_bytes() == b"start"
    assert (at.place / "anew").stat().st_size == 0
    mountkit.run("os.truncate(path, 300 << 20)", path)
    with path.open("rb") as file:
        os.fsync(file.fileno())
    assert (at.store.under / "a").stat().st_blocks * 512 < 80 << 20
    assert path.stat().st_size == 300 << 20
