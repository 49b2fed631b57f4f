"""Files abandoned by an exception, through each door and wrapper: none gets its name."""

from __future__ import annotations

import contextlib
import gc
import io
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cuesta_store import control
from cuesta_store.errors import InputError
from cuesta_store.filesystem import CuestaFileSystem
from storekit import BLOCK_BYTES, RunningStore, noise, store
from waitkit import wait_for

__all__ = ["store"]

MODES = ("memory", "back", "through", "bypass")
CONTENT = noise(3, BLOCK_BYTES + 5)
TEXT = "half\n" * 20_000


class Left(Exception):
    """Exception of a writer."""


def files(store: RunningStore, mode: str | None = None) -> CuestaFileSystem:
    return CuestaFileSystem(folder=str(store.folder), write_mode=mode)


def by_open(options: dict[str, Any]) -> None:
    with fsspec.open("cuesta:///f", "wb", **options) as file:
        file.write(CONTENT)
        raise Left


def by_text(options: dict[str, Any]) -> None:
    with fsspec.open("cuesta:///f", "wt", **options) as file:
        file.write(TEXT)
        raise Left


def by_gzip(options: dict[str, Any]) -> None:
    with fsspec.open("cuesta:///f", "wb", compression="gzip", **options) as file:
        file.write(CONTENT)
        raise Left


def by_several(options: dict[str, Any]) -> None:
    with fsspec.open_files(["cuesta:///f"], "wb", **options) as (file,):
        file.write(CONTENT)
        raise Left


def by_text_of_system(options: dict[str, Any]) -> None:
    with fsspec.filesystem("cuesta", **options).open("/f", "w") as file:
        file.write(TEXT)
        raise Left


def by_packed_text_of_system(options: dict[str, Any]) -> None:
    with fsspec.filesystem("cuesta", **options).open("/f", "w", compression="gzip") as file:
        file.write(TEXT)
        raise Left


def by_closing(options: dict[str, Any]) -> None:
    with contextlib.closing(fsspec.open("cuesta:///f", "wb", **options).open()) as file:
        file.write(CONTENT)
        raise Left


def by_stack(options: dict[str, Any]) -> None:
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(fsspec.open("cuesta:///f", "wb", **options))
        stack.callback(lambda: None)
        file.write(CONTENT)
        raise Left


def by_finally(options: dict[str, Any]) -> None:
    opened = fsspec.open("cuesta:///f", "wb", **options)
    file = opened.open()
    try:
        file.write(CONTENT)
        raise Left
    finally:
        opened.close()


def by_handler(options: dict[str, Any]) -> None:
    file = fsspec.open("cuesta:///f", "wb", **options).open()
    try:
        file.write(CONTENT)
        raise Left
    except Left:
        file.close()
        raise


def by_generator(options: dict[str, Any]) -> None:
    def pieces() -> Generator[int, None, None]:
        with fsspec.open("cuesta:///f", "wt", **options) as file:
            while True:
                yield file.write(TEXT)

    writer = pieces()
    next(writer)
    writer.close()
    raise Left


def by_buffer(options: dict[str, Any]) -> None:
    opened = fsspec.open("cuesta:///f", "wb", **options)
    with opened as file, io.BufferedWriter(file) as buffer:
        buffer.write(CONTENT)
        raise Left


def by_handler_of_another(options: dict[str, Any]) -> None:
    try:
        raise ValueError("before")
    except ValueError:
        by_open(options)


class Unprintable:
    """A value that fails in the middle of a table."""

    def __str__(self) -> str:
        raise Left


def by_pandas(options: dict[str, Any]) -> None:
    rows: list[Any] = ["half" * 50] * 3_000
    frame = pd.DataFrame({"a": [*rows, Unprintable()]}, dtype=object)
    frame.to_csv("cuesta:///f", storage_options=options, chunksize=1000)


def by_pandas_gzip(options: dict[str, Any]) -> None:
    frame = pd.DataFrame({"a": ["half" * 50] * 5_000 + [Unprintable()]}, dtype=object)
    frame.to_csv("cuesta:///f", storage_options=options, chunksize=100, compression="gzip")


def by_parquet(options: dict[str, Any]) -> None:
    table = pa.table({"a": list(range(50_000))})
    system = fsspec.filesystem("cuesta", **options)
    with pq.ParquetWriter("/f", table.schema, filesystem=system) as writer:
        writer.write_table(table)
        raise Left


DOORS: tuple[Callable[[dict[str, Any]], None], ...] = (
    by_open,
    by_text,
    by_gzip,
    by_several,
    by_text_of_system,
    by_packed_text_of_system,
    by_closing,
    by_stack,
    by_finally,
    by_handler,
    by_generator,
    by_buffer,
    by_handler_of_another,
    by_pandas,
    by_pandas_gzip,
    by_parquet,
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_no_wrapper_names_a_file_that_an_exception_left(
    store: RunningStore, door: Callable[[dict[str, Any]], None], mode: str
) -> None:
    """`with fsspec.open("cuesta:///f", "wb") as f: ...; raise` named the half-written file.
    `OpenFile` of fsspec, text files, compressors and pandas close what they wrap without passing
    the exception on, and a close was taken for the end of the writing.
    """
    before = b"before"
    files(store, "through").pipe_file("/f", before)
    with pytest.raises(Left):
        door({"write_mode": mode})
    assert files(store).cat_file("/f") == before
    wait_for(lambda: [path.name for path in store.under.iterdir()] == ["f"])
    assert (store.under / "f").read_bytes() == before
    wait_for(lambda: store.status()["used_bytes"] <= len(before))


def leave_text(kind: type[BaseException]) -> None:
    with fsspec.open("cuesta:///f", "wt") as file:
        file.write(TEXT)
        raise kind


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError])
def test_an_interrupt_is_an_exception_too(store: RunningStore, kind: type[BaseException]) -> None:
    with pytest.raises(kind):
        leave_text(kind)
    assert not files(store).exists("/f")


def test_files_that_are_closed_well_have_their_names(store: RunningStore) -> None:
    system = files(store, "through")
    with fsspec.open("cuesta:///wb", "wb") as file:
        file.write(CONTENT)
    with fsspec.open("cuesta:///wt", "wt") as file:
        file.write(TEXT)
    with system.open("/w.gz", "wb", compression="infer") as file:
        file.write(CONTENT)
    with system.open("/wt.gz", "w", compression="gzip", newline="\r\n") as file:
        file.write("a\n")
    try:
        raise Left
    except Left:
        # A file that is opened meanwhile is not affected.
        with fsspec.open("cuesta:///handler", "wb") as file:
            try:
                raise ValueError
            except ValueError:
                file.write(CONTENT)
    with contextlib.suppress(Left):
        raise Left
    file = fsspec.open("cuesta:///late", "wt").open()
    try:
        raise Left
    except Left:
        file.write(TEXT)
    file.close()
    pd.DataFrame({"a": [1]}).to_csv("cuesta:///t.csv.gz", index=False)
    pd.DataFrame({"a": [1]}).to_parquet("cuesta:///t.parquet")
    assert system.cat("/wb") == system.cat("/handler") == CONTENT
    assert system.cat("/wt") == system.cat("/late") == TEXT.encode()
    with system.open("/w.gz", "rb", compression="gzip") as packed_file:
        assert packed_file.read() == CONTENT
    with system.open("/wt.gz", "r", compression="gzip", newline="") as packed_file:
        assert packed_file.read() == "a\r\n"
    assert pd.read_csv("cuesta:///t.csv.gz").a.tolist() == [1]
    assert pd.read_parquet("cuesta:///t.parquet").a.tolist() == [1]
    assert control.ask("audit", store.folder, reads_bytes=True)["lost"] == []


def test_a_file_closed_in_a_handler_is_not_lost_in_silence(store: RunningStore) -> None:
    file = files(store).open("/f", "wb")
    file.write(CONTENT)
    with pytest.raises(Left) as raised:
        close_in_handler(file)
    assert not files(store).exists("/f")
    assert "cuesta:///f was not written" in raised.value.__notes__[0]
    # `with` passes the exception, and so does a block that ignores it.
    with files(store).open("/g", "wb") as file:
        file.write(CONTENT)
        with contextlib.suppress(Left):
            raise Left
    assert files(store).cat("/g") == CONTENT


@pytest.mark.parametrize("mode", ["wb", "wt"])
@pytest.mark.parametrize("compression", [None, "gzip"])
def test_what_the_collector_or_the_end_of_the_process_closes_has_no_name(
    store: RunningStore, mode: str, compression: str | None
) -> None:
    """Python's text files close what they wrap when their last reference is dropped."""
    content: Any = CONTENT if mode == "wb" else TEXT
    files(store, "through").pipe_file("/f", b"before")
    opened = fsspec.open("cuesta:///f", mode, compression=compression)
    opened.open().write(content)
    del opened
    direct = files(store).open("/f", mode, compression=compression)
    direct.write(content)
    del direct
    gc.collect()
    script = f"""if True:
        import fsspec
        opened = fsspec.open("cuesta:///f", {mode!r}, compression={compression!r})
        opened.open().write({"b'half' * 100000" if mode == "wb" else "'half' * 100000"})
        direct = fsspec.filesystem("cuesta").open("/f", {mode!r}, compression={compression!r})
        direct.write({"b'half' * 100000" if mode == "wb" else "'half' * 100000"})
    """
    subprocess.run([sys.executable, "-c", script], check=True)
    assert files(store).cat_file("/f") == b"before"
    wait_for(lambda: [path.name for path in store.under.iterdir()] == ["f"])


def leave_transaction(system: CuestaFileSystem) -> None:
    with system.transaction:
        system.pipe_file("/a", b"half")
        system.pipe_file("/d", b"half")
        raise Left


def close_in_handler(file: Any) -> None:
    try:
        raise Left
    except Left:
        file.close()


def test_a_transaction_names_all_of_its_files_or_none(store: RunningStore) -> None:
    """Files of a transaction had their names at once, and its end failed. Now all get their names,
    or none.
    """
    system = files(store, "through")
    with system.transaction:
        with system.open("/a", "wb") as file:
            file.write(CONTENT)
        system.pipe_file("/b", CONTENT)
        with system.open("/c.gz", "wb", compression="gzip") as file:
            file.write(CONTENT)
        with contextlib.suppress(Left), system.open("/left", "wb") as file:
            raise Left
        assert system.find("/") == []
    assert system.find("/") == ["/a", "/b", "/c.gz"]
    with pytest.raises(Left):
        leave_transaction(system)
    assert system.find("/") == ["/a", "/b", "/c.gz"]
    assert system.cat("/a") == CONTENT
    with pytest.raises(InputError, match="was not closed"), system.transaction:
        system.open("/e", "wb").write(CONTENT)
    assert system.find("/") == ["/a", "/b", "/c.gz"]


def test_a_copy_whose_source_fails_has_no_name(store: RunningStore, tmp_path: Path) -> None:
    class Failing:
        def __len__(self) -> int:
            raise Left

    (tmp_path / "source").write_bytes(CONTENT)
    system = files(store, "through")
    callback = fsspec.callbacks.Callback(hooks={"end": lambda size, value: 1 / (value - size)})
    with pytest.raises(ZeroDivisionError):
        system.put_file(str(tmp_path / "source"), "/f", callback=callback)
    with pytest.raises((TypeError, Left)):
        system.pipe_file("/f", Failing())
    with pytest.raises(ValueError, match="rb, wb or xb"):
        fsspec.open("cuesta:///f", "ab").open()
    assert system.find("/") == []
