"""The store as a file system. Steps that could block run in a separate process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cuesta_store import control, mount
from cuesta_store.control import StoreSettings
from cuesta_store.errors import InputError
from mountkit import MISSING, SECONDS, mounted, names, read, run, script, system
from storekit import BLOCK_BYTES, noise
from waitkit import wait_for

HERE = Path(__file__).parent

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)


@pytest.mark.parametrize("write", ["through", "memory", "back", "bypass"])
def test_a_mount_behaves_like_a_folder(tmp_path: Path, write: str) -> None:
    # Files of up to 1.5 MB, and room for 2 MiB: some bypass the memory.
    plain = tmp_path / "plain"
    plain.mkdir()
    with mounted(tmp_path, write) as at:
        seed = ["through", "memory", "back", "bypass"].index(write)
        words = [HERE.parent / "mountmodel.py", plain, at.place, seed, 300]
        # A folder with files in memory alone is not renamed.
        words += ["stay"] * (write == "memory")
        done = system([sys.executable, *map(str, words)])
        assert done.returncode == 0, done.stderr
        # The store has what was written.
        for path in (entry for entry in plain.rglob("*") if entry.is_file()):
            name = path.relative_to(plain)
            assert read(at.place / name) == path.read_bytes(), name
        assert not control.ask("audit", at.store.folder, reads_bytes=True)["lost"]


def test_files_of_the_folder_are_read_and_are_a_single_version(tmp_path: Path) -> None:
    content = noise(1, 5 * BLOCK_BYTES + 7)
    with mounted(tmp_path) as at:
        at.store.write("a/b", content)
        assert read(at.place / "a/b") == content
        output = run("print(path.stat().st_size, os.listdir(path.parent))", at.place / "a/b")
        assert output == f"{len(content)} ['b']\n"
        assert at.store.status()["misses"] > 0
        # Replaced by another process: an open file has the old content, a new open the new content.
        text = (
            "old = path.open('rb')\nfirst = old.read(10)\nprint(flush=True)\ninput()\n"
            "new = path.read_bytes()\nrest = old.read()\n"
            "print(first + rest == Path(sys.argv[2]).read_bytes(), new == b'new')"
        )
        (tmp_path / "copy").write_bytes(content)
        with subprocess.Popen(
            script(text, at.place / "a/b", tmp_path / "copy"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as reader:
            assert reader.stdout is not None
            reader.stdout.readline()
            (at.store.under / "a/new").write_bytes(b"new")
            (at.store.under / "a/new").rename(at.store.under / "a/b")
            output, _ = reader.communicate("\n", timeout=SECONDS)
        # The old content may be an error, where it was not in memory, but no other bytes.
        assert output == "True True\n" or reader.returncode != 0


def test_who_has_a_removed_file_open_has_it_still(tmp_path: Path) -> None:
    text = (
        "file = path.open('r+b')\npath.unlink()\n"
        "assert not path.exists() and os.listdir(path.parent) == []\n"
        "content = file.read()\nfile.seek(0)\nfile.write(b'more')\nfile.seek(0)\n"
        "assert file.read() == b'more' + content[4:]\n"
        "new = path.open('w+b')\nnew.write(b'x' * 3_000_000)\npath.unlink()\nnew.seek(0)\n"
        "assert new.read() == b'x' * 3_000_000\nos.rmdir(path.parent)\n"
        "new.seek(0)\nassert new.read() == b'x' * 3_000_000\n"
        "os.write(1, content)\n"
    )
    content = noise(2, 3 * BLOCK_BYTES)
    with mounted(tmp_path) as at:
        at.store.write("a/b", content)
        command = script(text, at.place / "a/b")
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
        assert done.stdout == content, done.stderr
        wait_for(lambda: at.store.status()["used_bytes"] == 0)
        assert list(at.store.under.rglob("*")) == []


def test_what_needs_more_than_the_memory_is_written_to_the_folder_and_is_freed(
    tmp_path: Path,
) -> None:
    content = noise(3, 100 * BLOCK_BYTES)
    text = (
        "content = Path(sys.argv[2]).read_bytes()\n"
        "with path.open('w+b') as file:\n"
        "    file.write(content)\n    file.seek(0)\n    assert file.read() == content\n"
        "assert path.read_bytes() == content\n"
        "path.with_name('small').write_bytes(content[:1000])\n"
    )
    (tmp_path / "content").write_bytes(content)
    with mounted(tmp_path, "memory") as at:
        run(text, at.place / "spill", tmp_path / "content")
        assert (at.store.under / "spill").stat().st_size == len(content)
        assert not (at.store.under / "small").exists()
        assert at.store.status()["memory_only_bytes"] == 1000
        run("path.unlink()\npath.with_name('small').unlink()", at.place / "spill")
        assert names(at.store.under) == []
        assert at.store.status()["used_bytes"] == 0


def test_errors_are_those_of_a_file_system(tmp_path: Path) -> None:
    text = (
        "def number(work):\n"
        "    try:\n        work()\n"
        "    except OSError as error:\n        return errno.errorcode[error.errno]\n"
        "(path / 'f').write_bytes(b'')\n(path / 'd/e').mkdir(parents=True)\n"
        "print(*map(number, [\n"
        "    lambda: os.link(path / 'f', path / 'g'),\n"
        "    lambda: os.symlink('f', path / 'g'),\n"
        "    lambda: os.mkfifo(path / 'g'),\n"
        "    lambda: os.rmdir(path / 'd'),\n"
        "    lambda: os.open(path / 'd', os.O_WRONLY),\n"
        "    lambda: os.open(path / 'f/g', os.O_RDONLY),\n"
        "    lambda: os.open(path / 'g', os.O_RDONLY),\n"
        "    lambda: os.open(path / 'f', os.O_CREAT | os.O_EXCL),\n"
        "    lambda: os.mkdir(path / ('x' * 256)),\n"
        "    lambda: os.rename(path / 'd', path / 'd/e/f'),\n"
        "]))"
    )
    expected = "EPERM EPERM EPERM ENOTEMPTY EISDIR ENOTDIR ENOENT EEXIST ENAMETOOLONG EINVAL"
    with mounted(tmp_path) as at:
        assert run(text, at.place).split() == expected.split()
        free = int(run("import shutil\nprint(shutil.disk_usage(path).free)", at.place))
        assert abs(free - shutil.disk_usage(at.store.under).free) < 1 << 30


@pytest.mark.parametrize("write", ["through", "back"])
def test_programs_work_in_a_mount(tmp_path: Path, write: str) -> None:
    with mounted(tmp_path, write, blocks=256) as at:
        text = (
            "import sqlite3\nbase = sqlite3.connect(path / 'base.db')\n"
            "base.execute('create table numbers (a integer, b text)')\n"
            "for first in range(0, 20_000, 5_000):\n"
            "    rows = [(n, 'x' * 80) for n in range(first, first + 5_000)]\n"
            "    base.executemany('insert into numbers values (?, ?)', rows)\n    base.commit()\n"
            "base.execute('delete from numbers where a % 2')\nbase.commit()\n"
            "print(base.execute('select count(*), sum(a) from numbers').fetchone())\n"
        )
        assert run(text, at.place) == "(10000, 99990000)\n"
        control.ask("flush", at.store.folder, path="base.db")
        with sqlite3.connect(at.store.under / "base.db") as base:
            assert base.execute("pragma integrity_check").fetchone() == ("ok",)
        # From here on by system programs.
        source = tmp_path / "source"
        (source / "deep/er").mkdir(parents=True)
        for number in range(50):
            (source / "deep" / f"{number}").write_bytes(noise(number, number * 300))
        words = f"cd {at.place} && tar cf a.tar -C {source} . && mkdir out && tar xf a.tar -C out"
        words += f" && diff -r {source} out && for n in 1 2 3; do echo $n >> log; done && cat log"
        done = system(["sh", "-c", words])
        assert (done.stdout, done.stderr) == ("1\n2\n3\n", "")


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_git_clones_into_a_mount(tmp_path: Path) -> None:
    with mounted(tmp_path, "memory", blocks=512) as at:
        words = (
            "git init -q $1 && cd $1 && git config user.email a@example.org && "
            "git config user.name a && for n in 1 2 3 4 5; do echo $n > f$n; git add f$n && "
            "git commit -qm $n; done && git clone -q . $2 && cd $2 && git fsck && "
            "git status --porcelain && git log --oneline | wc -l"
        )
        done = system(["sh", "-c", words, "sh", f"{tmp_path}/origin", f"{at.place}/clone"])
        assert done.stdout.strip() == "5", done.stderr


def test_a_killed_store_is_an_error_or_the_right_bytes_and_the_next_store_is_used(
    tmp_path: Path,
) -> None:
    content = noise(4, 20 * BLOCK_BYTES)
    text = (
        "file = path.open('rb', buffering=0)\nos.write(1, file.read(1000))\n"
        "sys.stdout.flush()\nsys.stdin.readline()\n"
        "try:\n    os.write(1, path.parent.joinpath('b').read_bytes())\n"
        "except OSError as error:\n    assert error.errno == errno.EIO\n"
        "while piece := file.read(1 << 17):\n    os.write(1, piece)\n"
    )
    with mounted(tmp_path, "memory", blocks=64) as at:
        at.store.write("a", content)
        run("path.write_bytes(b'alone')", at.place / "b")
        with subprocess.Popen(
            script(text, at.place / "a"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as reader:
            assert reader.stdout is not None
            first = reader.stdout.read(1000)
            os.kill(at.store.status()["pid"], signal.SIGKILL)
            output, error = reader.communicate(b"\n", timeout=SECONDS)
        assert first + output.removeprefix(b"alone") == content, error
        settings = StoreSettings(
            under=at.store.under,
            memory_bytes=64 * BLOCK_BYTES,
            block_bytes=BLOCK_BYTES,
            write="memory",
        )
        control.start(settings, at.store.folder)
        text = (
            "print(path.read_bytes())\npath.with_name('c').write_bytes(b'new')\n"
            "print(os.listdir(path.parent))"
        )
        assert run(text, at.place / "b") == "b'alone'\n['a', 'b', 'c']\n"
        control.stop(at.store.folder, discards_memory=True)
        # The kernel caches the attributes of a file for a moment.
        wait_for(lambda: "Errno 5" in run("path.stat()", at.place / "a", must_succeed=False))


def test_a_killed_mount_leaves_no_part_of_a_file(tmp_path: Path) -> None:
    text = (
        "path.with_name('whole').write_bytes(b'whole')\nfile = path.open('wb')\n"
        "for number in range(50):\n    file.write(b'x' * 100_000)\n    file.flush()\n"
        "print(flush=True)\ntime.sleep(60)\n"
    )
    with mounted(tmp_path, "through", blocks=16) as at:
        command = script(text, at.place / "part")
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            assert any(at.store.under.glob(".*.cuesta-part"))
            os.kill(at.process, signal.SIGKILL)
            wait_for(lambda: not any(at.store.under.glob(".*")))
            assert names(at.store.under) == ["whole"]
            writer.kill()
        with pytest.raises(InputError, match="whose process has ended"):
            mount.mount(at.place, folder=at.store.folder)
        mount.unmount(at.place)
        mount.mount(at.place, folder=at.store.folder)
        assert run("print(os.listdir(path))", at.place) == "['whole']\n"


def test_a_signal_commits_what_is_open_and_unmounts(tmp_path: Path) -> None:
    text = "file = path.open('wb')\nfile.write(b'so far')\nfile.flush()\nprint(flush=True)\ninput()"
    with (
        mounted(tmp_path) as at,
        subprocess.Popen(
            script(text, at.place / "a"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as writer,
    ):
        assert writer.stdout is not None
        writer.stdout.readline()
        with pytest.raises(InputError, match="end the programs that use it"):
            mount.unmount(at.place)
        os.kill(at.process, signal.SIGTERM)
        wait_for(lambda: not mount.serving(at.place))
        assert not at.place.is_mount()
        assert (at.store.under / "a").read_bytes() == b"so far"
        writer.communicate(b"\n", timeout=SECONDS)


def test_an_invalid_mount_point_is_reported_in_a_line(tmp_path: Path) -> None:
    with mounted(tmp_path) as at:
        for place, words in [
            (at.place, "is mounted already"),
            (tmp_path / "none", "is no folder"),
            (tmp_path, "is not empty"),
        ]:
            with pytest.raises(InputError, match=words):
                mount.mount(place, folder=at.store.folder)
        inside = at.store.under / "inside"
        inside.mkdir()
        with pytest.raises(InputError, match="mount it elsewhere"):
            mount.mount(inside, folder=at.store.folder)
        with pytest.raises(InputError, match="not of a store"):
            mount.unmount(Path("/proc"))
        with pytest.raises(InputError, match="nothing is mounted"):
            mount.unmount(inside)
        mount.unmount(at.place)
        assert not at.place.is_mount()
        assert mount.serving(at.place) == []


def test_without_fuse_a_folder_is_memory_of_a_size(tmp_path: Path) -> None:
    place = tmp_path / "memory"
    place.mkdir()
    message = mount.take_memory(place, 1 << 20)
    try:
        assert "the store has nothing of it" in message
        (place / "a").write_bytes(b"x" * 1000)
        if place.is_mount():
            with pytest.raises(OSError, match="No space left"):
                (place / "b").write_bytes(b"x" * (2 << 20))
    finally:
        mount.unmount(place)
    assert names(place) == []
    assert not place.is_symlink()


def test_a_sort_spills_to_a_mount(tmp_path: Path) -> None:
    with mounted(tmp_path, "memory") as at:
        source, answer = tmp_path / "in.bin", tmp_path / "answer"
        words = ["data", "make", "tera", "--rows", "1000000", "--seed", "1", "-o", str(source)]
        command = [sys.executable, "-m", "cuesta"]
        assert system([*command, *words]).returncode == 0
        words = ["run", "sort", str(source), "--memory", "64MiB", "--json", "-o", str(answer)]
        words += ["--scratch", str(at.place)]
        done = system([*command, *words])
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["verified"]
        assert at.store.status()["used_bytes"] == 0


def test_a_link_to_a_folder_is_a_link_and_is_removed_as_a_link(tmp_path: Path) -> None:
    with mounted(tmp_path) as at:
        at.store.write("archive/v3/kept", b"kept")
        at.store.write("run/sub/file", b"file")
        link = at.store.under / "run" / "latest"
        link.symlink_to("../archive/v3")
        (at.store.under / "now").symlink_to("run")
        output = run(
            "print(os.readlink(path / 'latest'), os.readlink(path.parent / 'now'))\n"
            "print(sorted(entry.name for entry in os.scandir(path) if entry.is_symlink()))\n"
            "print((path.parent / 'now/latest/kept').read_text())",
            at.place / "run",
        )
        assert output == "../archive/v3 run\n['latest']\nkept\n"
        run("import shutil\nshutil.rmtree(path)", at.place / "run")
        assert not link.parent.exists()
        assert (at.store.under / "archive" / "v3" / "kept").read_bytes() == b"kept"


def test_a_link_that_leads_elsewhere_now_is_followed(tmp_path: Path) -> None:
    with mounted(tmp_path) as at:
        for name in ("one", "two"):
            at.store.write(f"{name}/file", name.encode())
        link = at.store.under / "link"
        for name in ("one", "two", "one"):
            link.unlink(missing_ok=True)
            link.symlink_to(name)
            time.sleep(1.1)
            assert read(at.place / "link" / "file") == name.encode()
