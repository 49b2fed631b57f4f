"""Load for `store_kills.py`: random operations on a store, and what may be there afterwards."""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuesta_store.client import CachedFile, Connection
from cuesta_store.errors import CuestaError, InputError
from cuesta_store.writer import WrittenFile

NAMES_PER_WRITER = 10
BYTES_MAX = 50_000
PIECE_BYTES = 7_000
MODES = ("memory", "back", "through", "bypass")
REFUSALS = ("the memory has no room", "has ended or hangs")
"""Refusals of a working store to a writer. The second goes to a writer that waited half a second
for a daemon without a processor; a daemon that ended by itself is noticed before its kill."""

Operation = dict[str, Any]


@dataclass
class StoredName:
    """Contents that may be read at a path, by SHA-256; `None` is no file."""

    now: set[str | None] = field(default_factory=lambda: {None})
    disk: set[str | None] = field(default_factory=lambda: {None})
    """Contents that the folder under the store may have; a single one where that was promised."""
    is_dirty: bool = False
    """Whether a flush of all files brings it to the disk."""


class Promises:
    """Acknowledged state of each path, and possible effects of operations in flight."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.names = {path: StoredName() for path in paths}
        self.moving: list[tuple[str, str, set[str | None]]] = []
        """Renames in flight: what moves is at one of both paths, at least."""

    def acknowledge(self, done: Operation) -> None:
        """Record an operation that was answered."""
        name = self.names.get(done.get("path") or "")
        match done["do"]:
            case "put" if name:
                name.now = {done["sha256"]}
                is_early = done["mode"] in ("memory", "back")
                name.disk = name.disk | name.now if is_early else set(name.now)
                name.is_dirty = done["mode"] == "back"
            case "flush":
                dirty = (
                    [name]
                    if name
                    else [stored for stored in self.names.values() if stored.is_dirty]
                )
                for stored in dirty:
                    stored.disk, stored.is_dirty = set(stored.now), False
            case "remove" if name:
                name.now, name.disk, name.is_dirty = {None}, {None}, False
            case "rename" if name:
                to = self.names[done["to"]]
                was_on_disk = name.is_dirty or name.disk == name.now
                to.disk = set(name.now) if was_on_disk else to.disk | name.now
                to.now, to.is_dirty = set(name.now), False
                name.now, name.is_dirty = {None}, False
                name.disk = {None} if was_on_disk else name.disk | {None}

    def leave_open(self, begun: Operation) -> None:
        """Record an operation that was begun and not answered: it may have happened."""
        name = self.names.get(begun.get("path") or "")
        match begun["do"]:
            case "put" if name:
                name.now |= {begun["sha256"]}
                name.disk |= {begun["sha256"]}
            case "flush":
                for stored in [name] if name else self.names.values():
                    stored.disk |= stored.now
            case "remove" if name:
                name.now |= {None}
                name.disk |= {None}
            case "rename" if name:
                self.moving.append((begun["path"], begun["to"], set(name.now)))
                to = self.names[begun["to"]]
                to.now |= name.now
                to.disk |= name.now
                name.disk |= name.now | {None}
                name.now |= {None}

    def observe(self, contents: dict[str, str | None]) -> list[str]:
        """Compare the contents that a store has now with the promises; return the differences."""
        wrong = [
            f"{path} has {contents[path]}, not one of {name.now}"
            for path, name in self.names.items()
            if contents[path] not in name.now
        ]
        for path, to, moved in self.moving:
            if contents[path] not in moved and contents[to] not in moved:
                wrong.append(f"{path} was lost while it was renamed to {to}")
        self.moving.clear()
        for path, name in self.names.items():
            name.is_dirty = name.is_dirty and len(name.now) == 1
            name.now = {contents[path]}
        return wrong

    def lose_node(self, contents: dict[str, str | None]) -> list[str]:
        """Compare the folder's contents after the loss of memory; return the differences."""
        wrong = [
            f"{path} has {contents[path]} on the disk, not one of {name.disk}"
            for path, name in self.names.items()
            if contents[path] not in name.disk
        ]
        for path, name in self.names.items():
            name.now, name.disk, name.is_dirty = {contents[path]}, {contents[path]}, False
        return wrong


def paths_of(writer: int) -> list[str]:
    """The paths that a writer has to itself, in folders of all."""
    return [f"/d{index % 3}/w{writer}-{index}" for index in range(NAMES_PER_WRITER)]


class Writer:
    """Random operations until the store ends; each is noted in a manifest before and after."""

    def __init__(self, folder: Path, number: int, seed: int, manifest: Path) -> None:
        self._folder = folder
        self._paths = paths_of(number)
        self._random = random.Random(seed)
        self._manifest = manifest
        self._connection: Connection | None = None

    def work(self, promises: Promises) -> None:
        """Run operations until one is not answered."""
        with self._manifest.open("w", buffering=1) as manifest:
            while True:
                operation, content = self._choose(promises)
                note = json.dumps
                manifest.write(note({"begun": operation}) + "\n")
                try:
                    outcome = self._run(operation, content, promises)
                except (CuestaError, OSError) as error:
                    outcome = {"failed": str(error) or repr(error)}
                manifest.write(note(outcome | {"at": time.monotonic()}) + "\n")
                if "done" in outcome:
                    promises.acknowledge(operation)
                elif not is_refusal(outcome):
                    return

    def _choose(self, promises: Promises) -> tuple[Operation, bytes]:
        present = [path for path in self._paths if promises.names[path].now != {None}]
        do = self._random.choice(["put"] * 5 + ["read", "read", "rename", "remove", "flush"])
        if do == "flush" and self._random.random() < 0.3:
            return {"do": "flush", "path": None}, b""
        if do != "put" and present:
            operation = {"do": do, "path": self._random.choice(present)}
            if do == "rename":
                free_paths = [path for path in self._paths if path != operation["path"]]
                operation["to"] = self._random.choice(free_paths)
            return operation, b""
        content = self._random.randbytes(int(BYTES_MAX * self._random.random() ** 3))
        sha256 = hashlib.sha256(content).hexdigest()
        mode = self._random.choice(MODES)
        path = self._random.choice(self._paths)
        is_left = self._random.random() < 0.1
        do = "leave" if is_left else "put"
        return {"do": do, "path": path, "mode": mode, "sha256": sha256}, content

    def _run(self, operation: Operation, content: bytes, promises: Promises) -> dict[str, Any]:
        path = operation["path"]
        match operation["do"]:
            case "put" | "leave":
                with WrittenFile(self._folder, path, operation["mode"]) as file:
                    for start in range(0, len(content), PIECE_BYTES):
                        file.write(content[start : start + PIECE_BYTES])
                    if operation["do"] == "leave":
                        file.discard()
            case "read":
                content_read = read(self._folder, path)
                if content_read not in promises.names[path].now:
                    return {"wrong": f"{path} was read as {content_read}"}
            case do:
                fields = {key: value for key, value in operation.items() if key != "do"}
                if self._connection is None:
                    self._connection = Connection(self._folder)
                self._connection.ask(do, **fields)
        return {"done": True}


def is_refusal(outcome: dict[str, Any]) -> bool:
    """Whether a working store may give this outcome."""
    return any(words in outcome.get("failed", "") for words in REFUSALS)


def read(folder: Path, path: str) -> str | None:
    """The SHA-256 of a file as the store has it; `None` where there is none."""
    try:
        file = CachedFile(folder, path)
    except InputError as error:
        if "No such file" in str(error):
            return None
        raise
    try:
        content = bytearray(file.size_bytes)
        file.read_into(memoryview(content), 0)
    finally:
        file.close()
    return hashlib.sha256(content).hexdigest()


def read_under(under: Path, path: str) -> str | None:
    """The SHA-256 of a file of the folder under the store; `None` where there is none."""
    place = under / path.lstrip("/")
    return hashlib.sha256(place.read_bytes()).hexdigest() if place.exists() else None
