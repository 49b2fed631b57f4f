"""The store behind fsspec: fsspec's own tests of file systems, and random operations."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from fsspec.tests.abstract import (
    AbstractCopyTests,
    AbstractFixtures,
    AbstractGetTests,
    AbstractOpenTests,
    AbstractPipeTests,
    AbstractPutTests,
)

from cuesta_store import control
from cuesta_store.control import StoreSettings
from cuesta_store.filesystem import CuestaFileSystem
from storekit import RunningStore, running_store

OPERATIONS = 300
BLOCK_BYTES = 4096


class StoreFixtures(AbstractFixtures):  # type: ignore[misc]
    """A running store, for the tests of fsspec."""

    @pytest.fixture(scope="class")
    @classmethod
    def store(cls) -> Iterator[RunningStore]:
        # In memory: hundreds of small files would be flushed to the disk, each by itself.
        with TemporaryDirectory(dir="/dev/shm") as under, running_store(Path(under)) as running:
            yield running

    @pytest.fixture
    def fs(self, store: RunningStore) -> CuestaFileSystem:
        return CuestaFileSystem(folder=str(store.folder))

    @pytest.fixture
    def fs_path(self, fs: CuestaFileSystem) -> Iterator[str]:
        fs.makedirs("/tests", exist_ok=True)
        yield "/tests"
        fs.rm("/tests", recursive=True)


class TestCopy(StoreFixtures, AbstractCopyTests):  # type: ignore[misc]
    pass


class TestGet(StoreFixtures, AbstractGetTests):  # type: ignore[misc]
    pass


class TestPut(StoreFixtures, AbstractPutTests):  # type: ignore[misc]
    pass


class TestOpen(StoreFixtures, AbstractOpenTests):  # type: ignore[misc]
    pass


class TestPipe(StoreFixtures, AbstractPipeTests):  # type: ignore[misc]
    pass


def names_of(place: Path) -> dict[str, bytes | None]:
    """Return files by name and content, and folders."""
    inner = sorted(place.rglob("*"))
    return {
        str(path.relative_to(place)): path.read_bytes() if path.is_file() else None
        for path in inner
    }


class Model:
    """Equal operations on a store and on a plain folder."""

    def __init__(self, files: CuestaFileSystem, plain: Path, seed: int) -> None:
        self._files, self._plain, self._random = files, plain, random.Random(seed)

    def step(self) -> None:
        kinds = ["write"] * 6 + ["read"] * 3 + ["move", "move", "copy", "remove", "folder", "tree"]
        kind = self._random.choice(kinds)
        path, other = self._path(), self._path()
        real, to = self._plain / path, self._plain / other
        if kind == "write":
            self._write(path, real)
        elif kind == "folder":
            self._files.makedirs(f"/{path[:1]}", exist_ok=True)
            (self._plain / path[:1]).mkdir(exist_ok=True)
        elif kind == "tree" and (self._plain / path[:1]).exists() and self._random.random() < 0.3:
            self._files.rm(f"/{path[:1]}", recursive=True)
            shutil.rmtree(self._plain / path[:1])
        elif kind != "tree":
            self._act(kind, (path, other), (real, to))

    def _path(self) -> str:
        return f"{self._random.choice('ab')}/{self._random.choice('stuvw')}"

    def _write(self, path: str, real: Path) -> None:
        content = self._random.randbytes(self._random.choice([0, 10, 4096, 9000, 30_000]))
        mode = self._random.choice(["memory", "back", "through", "bypass"])
        with self._files.open(f"/{path}", "wb", write_mode=mode) as file:
            file.write(content)
        real.parent.mkdir(exist_ok=True)
        real.write_bytes(content)

    def _act(self, kind: str, paths: tuple[str, str], reals: tuple[Path, Path]) -> None:
        """Run an operation that needs an existing file."""
        path, other = paths
        real, to = reals
        if not real.exists():
            with pytest.raises(FileNotFoundError):
                self._done(kind, path, other)
            return
        if kind in ("move", "copy") and path == other:
            return
        content = self._done(kind, path, other)
        if kind == "read":
            assert content == real.read_bytes()
            return
        if kind != "remove":
            to.parent.mkdir(exist_ok=True)
            to.write_bytes(real.read_bytes())
        if kind != "copy":
            real.unlink()

    def _done(self, kind: str, path: str, other: str) -> Any:
        if kind == "read":
            return self._files.cat_file(f"/{path}")
        if kind == "remove":
            return self._files.rm_file(f"/{path}")
        do = self._files.mv_file if kind == "move" else self._files.cp_file
        return do(f"/{path}", f"/{other}")

    def check(self) -> None:
        expected = {path: text for path, text in names_of(self._plain).items() if text is not None}
        paths = self._files.find("/")
        assert sorted(paths) == sorted(f"/{path}" for path in expected)
        assert {path: self._files.cat_file(f"/{path}") for path in expected} == expected
        assert {path: self._files.size(f"/{path}") for path in expected} == {
            path: len(text) for path, text in expected.items()
        }


@pytest.mark.parametrize("seed", [1, 2])
def test_random_operations_are_those_of_a_plain_folder(tmp_path: Path, seed: int) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    memory_bytes = 200 * BLOCK_BYTES
    with (
        TemporaryDirectory(dir="/dev/shm") as place,
        running_store(Path(place), memory_bytes=memory_bytes, block_bytes=BLOCK_BYTES) as store,
    ):
        under = Path(place)
        settings = StoreSettings(under=under, memory_bytes=memory_bytes, block_bytes=BLOCK_BYTES)
        files = CuestaFileSystem(folder=str(store.folder), skip_instance_cache=True)
        model = Model(files, plain, seed)
        for number in range(OPERATIONS):
            model.step()
            if number == OPERATIONS // 2:
                os.kill(store.status()["pid"], signal.SIGKILL)
                control.start(settings, store.folder)
            if number % 25 == 0:
                model.check()
        model.check()
        for path in files.find("/"):
            control.ask("flush", store.folder, path=path)
        audit = control.ask("audit", store.folder, reads_bytes=True)
        assert (audit["lost"], audit["changed"]) == ([], [])
        on_disk = {path: text for path, text in names_of(under).items() if text is not None}
        expected = {path: text for path, text in names_of(plain).items() if text is not None}
        assert on_disk == expected


@pytest.mark.parametrize("target", ["../archive", "../archive/v3"])
def test_the_target_of_a_link_remains_when_all_around_it_is_removed(
    tmp_path: Path, target: str
) -> None:
    with running_store(tmp_path) as store:
        store.write("archive/v3/kept", b"kept")
        store.write("run/sub/file", b"file")
        (tmp_path / "run" / "latest").symlink_to(target)
        files = CuestaFileSystem(folder=str(store.folder))
        assert files.info("/run/latest")["islink"]
        assert not files.info("/run/sub")["islink"]
        assert files.isdir("/run/latest")
        files.rm("/run", recursive=True)
        assert not (tmp_path / "run").exists()
        assert files.cat_file("/archive/v3/kept") == b"kept"
