"""Inputs at URIs, `hdfs://` and whatever else fsspec knows: their sizes, entries and bytes.

The native module reads URIs through this module, in the process of the task, and only the bytes
that the task needs. URIs of the store, `cuesta://`, it reads itself; this module queries it for
them.
"""

from __future__ import annotations

import os
import posixpath
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from cuesta.errors import EngineMissing, InputError, in_words
from cuesta.native import native_module
from cuesta.plugins import remedy
from cuesta.trial import is_stored

_HDFS = "hdfs_native.fsspec.HdfsFileSystem"
_HDFS_PREFIX = "hdfs://"
READERS_MAX = 64
"""Most files of HDFS that a process has open."""
_COPY_BYTES = 4 << 20
CONNECT_SECONDS = 10.0
"""Longest time that the host of a URI may take to answer."""

_readers: dict[tuple[int, str], Any] = {}
"""Readers by process and URI."""


def missing(uri: str) -> str | None:
    """Return the remedy where a URI cannot be read here: a package to install, a store to start."""
    if is_stored(uri):
        return _missing_store()
    if find_spec("fsspec") is None:
        return f"{uri} is read by fsspec; {remedy('remote')}"
    if uri.startswith(_HDFS_PREFIX) and find_spec("hdfs_native") is None:
        return f"{uri} is read by hdfs-native; {remedy('remote')}"
    from fsspec.registry import known_implementations

    scheme = uri.partition("://")[0]
    if scheme not in known_implementations and scheme != "hdfs":
        return f"{uri}: no reader of {scheme}:// is known; copy it to a file"
    return None


def _missing_store() -> str | None:
    try:
        native_module().input_facts("cuesta:///")
    except OSError as error:
        from cuesta.store import absence

        return absence() or in_words(error)
    return None


def facts(uri: str) -> tuple[int, bool]:
    """Return the size of the file or folder at a URI, and whether it is a folder. Errors:
    `OSError`.
    """
    if is_stored(uri):
        size_bytes, is_folder = native_module().input_facts(uri)
        return size_bytes, is_folder
    system, path = _system(uri)
    _readers.pop((os.getpid(), uri), None)
    info = system.info(path)
    return int(info["size"] or 0), info["type"] == "directory"


def entries(uri: str) -> list[str]:
    """Return the direct entries of a folder, as URIs. Errors: `OSError`."""
    if is_stored(uri):
        return list(native_module().input_list(uri))
    system, path = _system(uri)
    names = (posixpath.basename(name.rstrip("/")) for name in system.ls(path, detail=False))
    return [f"{uri.rstrip('/')}/{name}" for name in names]


def read(uri: str, offset: int, size_bytes: int) -> bytes:
    """Return bytes of a file. Errors: `OSError`."""
    content: bytes
    if uri.startswith(_HDFS_PREFIX):
        content = _reader(uri).read_range(offset, size_bytes)
    else:
        system, path = _system(uri)
        content = system.cat_file(path, start=offset, end=offset + size_bytes)
    return content


def _reader(uri: str) -> Any:
    """Return a file of HDFS that remains open, so that reads do not query the namenode anew."""
    key = os.getpid(), uri
    if key not in _readers:
        if len(_readers) >= READERS_MAX:
            _readers.clear()
        system, path = _system(uri)
        _readers[key] = system.client.read(path)
    return _readers[key]


def opened(uri: str) -> IO[bytes]:
    """A file to read anywhere. Errors: `EngineMissing` without fsspec; `OSError`."""
    if find_spec("fsspec") is None:
        raise EngineMissing(f"{uri} is opened by fsspec; {remedy('remote')}")
    system, path = _system(uri)
    file: IO[bytes] = system.open(path, "rb")
    return file


def copy(path: Path, uri: str, block_bytes: int | None = None) -> None:
    """Copy a file, or a folder with all in it, to a URI or path; in HDFS in blocks of that size.

    Each copy is read again. Errors: `EngineMissing`; `InputError`, also where a copy has become
    another file.
    """
    if block_bytes and not uri.startswith(_HDFS_PREFIX):
        raise InputError(f"{uri} has no blocks whose size could be chosen; give one of hdfs://")
    blocks = {"block_size": block_bytes} if block_bytes else {}
    if "://" not in uri:
        uri = f"local://{Path(uri).absolute()}"
    if find_spec("fsspec") is None:
        raise EngineMissing(f"{uri} is written by fsspec; {remedy('remote')}")
    from shutil import copyfileobj

    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    try:
        for file in files:
            inner = f"/{file.relative_to(path).as_posix()}" if path.is_dir() else ""
            system, target = _system(f"{uri.rstrip('/')}{inner}")
            system.makedirs(posixpath.dirname(target), exist_ok=True)
            with file.open("rb") as source, system.open(target, "wb", **blocks) as sink:
                copyfileobj(source, sink, _COPY_BYTES)
            with file.open("rb") as source, system.open(target, "rb") as copied:
                _check_copy(source, copied, f"{uri}{inner}")
    except OSError as error:
        raise InputError(f"{uri}: {in_words(error)}") from None


def _check_copy(source: IO[bytes], copied: IO[bytes], uri: str) -> None:
    """Compare a copy with its source. Errors: `InputError` where they differ."""
    offset, expected = 0, b"-"
    while expected:
        expected = source.read(_COPY_BYTES)
        # At the end of the source one byte more, which a copy does not have.
        if copied.read(len(expected) or 1) != expected:
            raise InputError(
                f"{uri} was written, but differs from its source behind byte {offset:,}; its file "
                "system loses or changes data, so copy to another"
            )
        offset += len(expected)


def sizes(uri: str) -> list[int]:
    """Bytes of every file at or under a URI. Errors: `InputError` when there is nothing."""
    try:
        size_bytes, is_folder = facts(uri)
        if not is_folder:
            return [size_bytes]
        return [size for inner in entries(uri) if _counts(inner) for size in sizes(inner)]
    except OSError as error:
        raise InputError(f"{uri}: {in_words(error)}") from None


def _counts(uri: str) -> bool:
    return not posixpath.basename(uri).startswith((".", "_"))


def _system(uri: str) -> tuple[Any, str]:
    """The file system of a URI and the path there. Errors: `EngineMissing`, `OSError`."""
    address = urlsplit(uri)
    system = _opened(os.getpid(), address.scheme, address.netloc)
    return system, system._strip_protocol(uri)


@cache
def _opened(_process: int, scheme: str, authority: str) -> Any:
    """Return a file system, opened once in each process.

    fsspec would keep it too, and would drop it in a forked child, which then waits for threads that
    it does not have.

    Errors: `EngineMissing`, `OSError`.
    """
    uri = f"{scheme}://{authority}/"
    lacking = missing(uri)
    if lacking:
        raise EngineMissing(lacking)
    from fsspec import register_implementation
    from fsspec.core import url_to_fs

    if scheme == "hdfs":
        _reach(authority)
        register_implementation(scheme, _HDFS, clobber=True)
    try:
        system, _ = url_to_fs(uri, skip_instance_cache=True)
    except ImportError as error:
        raise EngineMissing(
            f"{uri} is read by fsspec, which lacks a package: {error}; install it"
        ) from None
    return system


def _reach(authority: str) -> None:
    """Report at once a host that does not answer, which hdfs-native tries for minutes.

    Errors: `OSError`.
    """
    host, _, port = authority.rpartition("@")[2].rpartition(":")
    # Without a port it may be a name service of the configuration.
    if not host or not port.isdecimal():
        return
    import socket

    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        raise ConnectionError(in_words(error)) from None
