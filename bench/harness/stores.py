"""Stores that benches start, files that no cache holds, and the program that reads in Rust."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuesta_store import control
from cuesta_store.control import StoreSettings
from cuesta_store.errors import EngineMissing
from harness.data import tera_records
from harness.model import Answer, Sample
from harness.size import Size

ROOT = Path(__file__).resolve().parent.parent.parent
RECORDS_REAL = 21_474_838
"""Records of the file: 2 GiB and a little, too large for any processor cache."""
RECORDS_SMOKE = 100_000
DROP = Path("/proc/sys/vm/drop_caches")
FORGET_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class RunningStore:
    """A store over the folder of the data."""

    folder: Path
    under: Path

    def path(self, file: Path) -> str:
        """Name of a file of the under level in the store."""
        return f"/{file.relative_to(self.under)}"

    def status(self) -> dict[str, Any]:
        """The status of the store."""
        return control.status(self.folder)

    def wait_for_memory(self) -> None:
        """Wait until a store that preallocates has all of its memory.

        Errors: `TimeoutError` where that takes a minute.
        """
        limit = time.monotonic() + 60
        while time.monotonic() < limit:
            status = self.status()
            taken_bytes = status["used_bytes"] + status["prepared_bytes"]
            if taken_bytes + 4 * status["block_bytes"] > status["limit_bytes"]:
                return
            time.sleep(0.05)
        raise TimeoutError(f"the store in {self.folder} does not get its memory")

    def load(self, file: Path) -> None:
        """Bring a file into memory."""
        control.ask("load", self.folder, path=self.path(file))

    def free(self, file: Path) -> None:
        """Take a file out of memory."""
        control.ask("free", self.folder, path=self.path(file))


def block_bytes(size: Size) -> int:
    """Block size of the stores: the default, or a small one for small files."""
    return size.pick(1 << 20, control.BLOCK_BYTES)


def settings(size: Size, memory_bytes: int, preallocate: bool = False) -> StoreSettings:
    """Settings of a store over the folder of the data."""
    return StoreSettings(
        under=size.folder,
        memory_bytes=memory_bytes,
        block_bytes=block_bytes(size),
        preallocate=preallocate,
    )


def new_folder(name: str = "store") -> Path:
    """Make a folder for a store, in the system's memory."""
    return control.MEMORY_ROOT / f"cuesta-bench-{os.getpid()}-{name}"


@contextmanager
def running(
    size: Size, memory_bytes: int, name: str = "store", preallocate: bool = False
) -> Iterator[RunningStore]:
    """A store over the folder of the data, while the benches of a case run."""
    folder = new_folder(name)
    control.start(settings(size, memory_bytes, preallocate), folder)
    try:
        yield RunningStore(folder=folder, under=size.folder)
    finally:
        with suppress(EngineMissing):
            control.stop(folder, discards_memory=True)
        shutil.rmtree(folder, ignore_errors=True)


def records(size: Size) -> Path:
    """The file that is read: 2 GiB of records."""
    return tera_records(size.folder, size.pick(RECORDS_SMOKE, RECORDS_REAL))


def forget(path: Path, size: Size) -> None:
    """Evict a file from the page cache: by advice, and at the real size all files, where allowed.

    The file is read first, so that each contestant finds as much recently freed memory: the host of
    a virtual machine reclaims memory that is free for seconds, and returns it at the speed of a
    disk. Pages in read-ahead remain at first. Errors: `RuntimeError` where the system keeps them.
    """
    until = time.monotonic() + FORGET_SECONDS
    piece = memoryview(bytearray(1 << 20))
    descriptor = os.open(path, os.O_RDONLY)
    try:
        while os.readv(descriptor, [piece]):
            pass
        while True:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            if not size.smoke and os.access(DROP, os.W_OK):
                DROP.write_text("1")
            if size.smoke or not _is_cached(descriptor):
                return
            if time.monotonic() > until:
                raise RuntimeError(f"{path} stays in the page cache")
            time.sleep(0.1)
    finally:
        os.close(descriptor)


def forgotten_how() -> str:
    """Method of `forget` on this machine, for a note."""
    both = " and drop_caches" if os.access(DROP, os.W_OK) else ""
    return f"the page cache is emptied before each sample by POSIX_FADV_DONTNEED{both}"


def _is_cached(descriptor: int) -> bool:
    """Whether any of sixteen pages of a file is in the page cache."""
    size_bytes = os.fstat(descriptor).st_size
    for place in range(16):
        with suppress(BlockingIOError):
            os.preadv(descriptor, [bytearray(1)], size_bytes * place // 16, os.RWF_NOWAIT)
            return True
    return False


class Reader:
    """A process that reads a file through a store or directly, and measures the time itself.

    It answers requests of a line each: `crates/store/examples/speed.rs` or
    `bench/peers/store_reader.py`.
    """

    def __init__(
        self, words: list[str], store: RunningStore, file: Path, more: Sequence[str] = ()
    ) -> None:
        self._words = [*words, str(store.folder), store.path(file), str(file), *more]
        self._process: subprocess.Popen[str] | None = None

    def pid(self) -> int:
        """The id of the process, which is started where needed."""
        return self._started().pid

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        return self._process

    def ask(self, kind: str, folder: Path) -> Sample:
        """Make a measurement; its sum is written to `folder`. Errors: `RuntimeError`."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{kind}\n")
        process.stdin.flush()
        answer = process.stdout.readline().split()
        if len(answer) != 2:
            raise RuntimeError(f"{self._words[0]} ended when it was asked to measure {kind}")
        (folder / "sum").write_text(answer[1])
        return Sample(seconds=float(answer[0]))

    def ask_new(self, kind: str, folder: Path) -> Sample:
        """Make a measurement by a new process."""
        self.close()
        try:
            return self.ask(kind, folder)
        finally:
            self.close()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


def summed(folder: Path) -> Answer:
    """Answer of a reader."""
    return Answer(digest=(folder / "sum").read_text(), rows=1)


def rust_reader() -> Path | str:
    """The reader in Rust, compiled where needed; or why it cannot be."""
    cargo = shutil.which("cargo")
    if cargo is None:
        return "the program is compiled by cargo, which is not installed"
    # With the features that `cargo test` has it with, which has compiled it already.
    words = [cargo, "build", "--release", "--quiet", "--workspace", "--example", "speed"]
    done = subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        return f"cargo: {(done.stderr.strip().splitlines() or ['it failed'])[0]}"
    target = Path(os.environ.get("CARGO_TARGET_DIR") or "target")
    return ROOT / target / "release" / "examples" / "speed"
