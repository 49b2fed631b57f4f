"""Names that look like patterns, options or paths of shells: each acts on itself alone."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from fsspec.implementations.local import LocalFileSystem

from adversarykit import damage, foreign_tree, listing
from cuesta_store.errors import InputError
from cuesta_store.filesystem import CuestaFileSystem
from storekit import RunningStore, running_store

TWINS = {
    "data[1].csv": "data1.csv",
    "who?.csv": "whoa.csv",
    "star*.csv": "stars.csv",
    "a[!b]c": "axc",
    "**": "anything",
    "back\\*": "back\\x",
}
"""Names, and a file that each would match as a pattern."""
ODD = ("-rf", "~", "~root", "line\nbreak", " blank ", "a#b", "50%", "a%20b", "{a,b}", "c::d")
ALPHABET = "ab1*?[]!-~\\ \n{}#%'\"$"
TREES = 200
FOREIGN_TREES = 150


@pytest.fixture(scope="module")
def store() -> Iterator[RunningStore]:
    with TemporaryDirectory(dir="/dev/shm") as under, running_store(Path(under)) as running:
        yield running


@pytest.fixture
def folder(store: RunningStore, request: pytest.FixtureRequest) -> Path:
    path = store.under / str(abs(hash(request.node.name)))
    path.mkdir()
    for name in (*TWINS, *TWINS.values(), *ODD):
        (path / name).write_bytes(f"v {name}".encode())
    return path


@pytest.fixture
def files(store: RunningStore) -> CuestaFileSystem:
    return CuestaFileSystem(folder=str(store.folder), skip_instance_cache=True)


def cuesta(store: RunningStore, *words: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "cuesta", "store", *words]
    variables = {"CUESTA_STORE": str(store.folder), "PYTHONPATH": ":".join(sys.path)}
    return subprocess.run(command, capture_output=True, check=False, env=variables)


@pytest.mark.parametrize("recursive", [False, True])
def test_removing_a_name_removes_it_alone(
    files: CuestaFileSystem, folder: Path, recursive: bool
) -> None:
    """`rm("data[1].csv")` removed `data1.csv` and left the named file; `who?.csv` removed
    `whoa.csv` too: the base class of fsspec takes each name for a pattern. Now names are literal.
    """
    for name in (*TWINS, *ODD):
        before = listing(folder)
        files.rm(f"/{folder.name}/{name}", recursive=recursive)
        assert damage(before, listing(folder)) == [f"{name.encode()!r} was removed"]
        with pytest.raises(FileNotFoundError):
            files.rm(f"/{folder.name}/{name}", recursive=recursive)
        assert damage(before, listing(folder)) == [f"{name.encode()!r} was removed"]


def test_random_names_are_removed_and_moved_alone(
    files: CuestaFileSystem, store: RunningStore
) -> None:
    draw = random.Random(5)
    for number in range(TREES):
        folder = store.under / f"random-{number}"
        (folder / "kept").mkdir(parents=True)
        names = {"".join(draw.choices(ALPHABET, k=draw.randint(1, 4))) for _ in range(12)}
        for name in names:
            if draw.random() < 0.3:
                (folder / name).mkdir()
            (folder / name / "x" if (folder / name).is_dir() else folder / name).write_text(name)
        before = listing(folder)
        name = draw.choice(sorted(names))
        path = f"/{folder.name}/{name}"
        if draw.random() < 0.5:
            files.rm(path, recursive=True)
        else:
            files.mv(path, f"/moved-{number}", recursive=True)
        expected = {key for key in before if key.split(b"/")[0] == name.encode()}
        assert set(before) - set(listing(folder)) == expected
        assert len(damage(before, listing(folder))) == len(expected)


def test_of_a_foreign_tree_nothing_but_the_named_entry_is_removed(
    files: CuestaFileSystem, store: RunningStore
) -> None:
    """Names of 255 bytes, of no encoding, with newlines, links out of the tree, pipes, loops."""
    removed = 0
    for seed in range(FOREIGN_TREES):
        folder = store.under / f"foreign-{seed}"
        before = foreign_tree(folder, seed)
        outside = listing(store.under / f"foreign-{seed}-outside")
        name = random.Random(seed).choice(sorted(before))
        try:
            files.rm(f"/{folder.name}/{os.fsdecode(name)}", recursive=True)
        except (OSError, ValueError, InputError):
            # A name that is not UTF-8 is refused, or fails by name.
            assert any(not key.isascii() for key in before) or name in listing(folder)
        else:
            removed += name not in listing(folder)
        remaining = {key for key in before if key != name and not key.startswith(name + b"/")}
        assert [line for line in damage(before, listing(folder)) if _is_of(line, remaining)] == []
        assert listing(store.under / f"foreign-{seed}-outside") == outside
    assert removed > FOREIGN_TREES // 3


def _is_of(line: str, names: set[bytes]) -> bool:
    return any(line.startswith(f"{name!r} was") for name in names)


def test_all_doors_read_the_name_itself(
    files: CuestaFileSystem, folder: Path, tmp_path: Path
) -> None:
    for name in (*TWINS, *ODD):
        path, content = f"/{folder.name}/{name}", f"v {name}".encode()
        assert files.cat(path) == files.cat_file(path) == content
        assert files.cat([path, path]) == {path: content}
        assert files.du(path) == len(content)
        assert files.find(path) == files.expand_path(path) == [path]
        assert files.expand_path([path], recursive=True) == [path]
        files.get(path, str(tmp_path / "got"))
        assert (tmp_path / "got").read_bytes() == content
        files.cp(path, f"/{folder.name}/copies/{name}")
        assert (folder / "copies" / name).read_bytes() == content
        files.put(str(folder / name), f"/{folder.name}/put")
        assert (folder / "put").read_bytes() == content
        files.mv(path, f"/{folder.name}/moved/{name}")
        assert (folder / "moved" / name).read_bytes() == content
        assert not (folder / name).exists()
    assert len(list((folder / "copies").iterdir())) == len(TWINS) + len(ODD)
    assert all((folder / twin).exists() for twin in TWINS.values())


def test_folders_of_such_names_are_copied_alone(
    files: CuestaFileSystem, folder: Path, tmp_path: Path
) -> None:
    for name in ("d[1]", "d1"):
        (folder / name).mkdir()
        (folder / name / "x*").write_bytes(name.encode())
    files.get(f"/{folder.name}/d[1]", str(tmp_path / "got"), recursive=True)
    assert (tmp_path / "got" / "x*").read_bytes() == b"d[1]"
    files.put(str(folder / "d[1]"), f"/{folder.name}/put", recursive=True)
    files.cp(f"/{folder.name}/d[1]", f"/{folder.name}/copy", recursive=True)
    files.mv(f"/{folder.name}/d[1]", f"/{folder.name}/moved", recursive=True)
    for place in ("put", "copy", "moved"):
        assert [path.read_bytes() for path in (folder / place).iterdir()] == [b"d[1]"]
    assert (folder / "d1" / "x*").read_bytes() == b"d1"


def test_a_name_that_is_gone_is_not_replaced_by_what_it_matches(
    files: CuestaFileSystem, folder: Path
) -> None:
    before = listing(folder)
    for name in ("dat[ab].csv", "*.csv", "s*"):
        path = f"/{folder.name}/{name}"
        for act in (files.rm, files.cat, files.info, files.rm_file):
            with pytest.raises(FileNotFoundError):
                act(path)
        with pytest.raises(FileNotFoundError):
            files.mv(path, "/elsewhere")
        with pytest.raises(FileNotFoundError):
            files.rm([path], recursive=True)
    assert listing(folder) == before
    assert set(files.glob(f"/{folder.name}/s*.csv")) == {
        f"/{folder.name}/stars.csv",
        f"/{folder.name}/star*.csv",
    }


def test_moving_keeps_what_came_into_the_folder_meanwhile_and_what_is_moved_onto_itself(
    files: CuestaFileSystem, folder: Path
) -> None:
    """The base class copies and then removes all: `mv("/a", "a")` removed the file. Now new files
    remain.
    """
    path = f"{folder.name}/stars.csv"
    files.mv(f"/{path}", path)
    files.mv(f"/{path}", f"cuesta:///{path}")
    assert (folder / "stars.csv").read_bytes() == b"v stars.csv"
    with pytest.raises(IsADirectoryError):
        files.mv(f"/{folder.name}", "/other")
    with pytest.raises(InputError, match="inside"):
        files.mv(f"/{folder.name}", f"/{folder.name}/d", recursive=True)
    with pytest.raises(ValueError, match="maxdepth"):
        files.mv(f"/{folder.name}", "/other", recursive=True, maxdepth=1)


@pytest.mark.parametrize("path", ["", "/", "//", "cuesta://", "cuesta:///"])
def test_the_root_and_what_leaves_it_are_not_removed(
    files: CuestaFileSystem, folder: Path, path: str
) -> None:
    before = listing(folder)
    with pytest.raises(InputError, match="root"):
        files.rm(path, recursive=True)
    for name in ("..", "stars.csv/../..", "./stars.csv"):
        with pytest.raises(InputError, match="leaves its root"):
            files.rm(f"/{folder.name}/{name}", recursive=True)
    assert listing(folder) == before


def test_commands_take_names_as_they_are(store: RunningStore, folder: Path) -> None:
    for name in ("data[1].csv", "-rf", "line\nbreak"):
        path = f"/{folder.name}/{name}"
        for words in (("cat", path), ("load", path), ("pin", path), ("unpin", path)):
            done = cuesta(store, words[0], "--", *words[1:])
            assert done.returncode == 0, done.stderr
            assert words[0] != "cat" or done.stdout == f"v {name}".encode()
        before = listing(folder)
        assert cuesta(store, "rm", "--", path).returncode == 0
        assert damage(before, listing(folder)) == [f"{name.encode()!r} was removed"]
        gone = cuesta(store, "rm", "--", path)
        assert (gone.returncode, gone.stderr.count(b"\n")) == (2, 1)


def test_local_names_are_literal_too(files: CuestaFileSystem, tmp_path: Path) -> None:
    """`put("data[1].csv")` copied `data1.csv` under that name. Now local names are literal, too."""
    (tmp_path / "data[1].csv").write_bytes(b"itself")
    (tmp_path / "data1.csv").write_bytes(b"another")
    files.put(str(tmp_path / "data[1].csv"), "/from-outside/")
    assert files.find("/from-outside") == ["/from-outside/data[1].csv"]
    files.put([str(tmp_path / "data[1].csv")], "/from-list/")
    assert files.cat("/from-list/data[1].csv") == b"itself"
    assert LocalFileSystem().exists(str(tmp_path / "data1.csv"))
