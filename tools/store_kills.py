"""Kill a store under load, again and again, and see whether it keeps what it promised.

    python3 tools/store_kills.py [--kills N] [--seconds S] [--seed SEED] [--state FILE]

Two processes write files of random sizes in all modes, read, rename, remove and flush them, and
note each operation outside of the store before it begins and when it was answered. The daemon is
killed (SIGKILL) at random times, also while it starts, and started again over the same folder: each
path must have what was acknowledged, or what an operation in flight may have made of it. Every so
often all is flushed, the store is killed, and its memory removed, as when a node is lost: what was
promised on the disk must be there byte for byte, and be read through an empty store.

Counts are added to those of the state file, until it says N kills or S seconds are over. Nothing is
killed but daemons that this program started. Exit code 1 where something is lost.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cuesta_store import control
from cuesta_store.errors import InputError
from store_load import Promises, Writer, is_refusal, paths_of, read, read_under

ROOT = Path(__file__).resolve().parent.parent
STATE = ROOT / "build" / "store-kills.json"
WRITERS = 2
MEMORY_BYTES = 100_000
BLOCK_BYTES = 8192
GRACE_SECONDS = 5.0
LOAD_SECONDS = (0.002, 0.08)
START_SECONDS = 0.012
"""Seconds after the start within which a daemon is killed while it starts."""
READY_SECONDS = 30.0
LOST_NODE_EVERY = 12
AUDIT_EVERY = 3
HISTORY = 20_000
"""Operations that are printed where something is lost."""


@dataclass
class KillCounts:
    """Counts of the work so far."""

    kills: int = 0
    kills_at_start: int = 0
    nodes_lost: int = 0
    operations: int = 0
    in_flight: int = 0
    refused: int = 0
    files_checked: int = 0
    audits: int = 0
    seconds: float = 0.0


class PromiseBroken(Exception):
    """A promised content is missing."""


def main(arguments: Sequence[str]) -> int:
    """Kill until the state file has so many kills; 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--state", type=Path, default=STATE)
    options = parser.parse_args(arguments)
    counts = KillCounts()
    if options.state.exists():
        counts = KillCounts(**json.loads(options.state.read_text()))
    seed = counts.kills if options.seed is None else options.seed
    begun, before = time.monotonic(), counts.seconds
    with TemporaryDirectory(prefix="ck-", dir="/dev/shm") as place:
        killer = StoreKiller(Path(place), seed, counts)
        try:
            while counts.kills < options.kills and time.monotonic() - begun < options.seconds:
                killer.round()
                counts.seconds = round(before + time.monotonic() - begun, 1)
                save(options.state, counts)
        except PromiseBroken as broken:
            saved = options.state.with_suffix(f".{seed}.{counts.kills}")
            killer.explain(saved)
            print(f"store_kills: seed {seed}, kill {counts.kills}: {broken}; see {saved}")
            return 1
        finally:
            killer.end()
    print(f"store_kills: {json.dumps(asdict(counts))}; every promise was kept")
    return 0


def save(state: Path, counts: KillCounts) -> None:
    """Write the state file in one step."""
    state.parent.mkdir(parents=True, exist_ok=True)
    unfinished = state.with_suffix(".part")
    unfinished.write_text(json.dumps(asdict(counts), indent=2) + "\n")
    unfinished.replace(state)


class StoreKiller:
    """A store, its writers, and the promises made to them."""

    def __init__(self, place: Path, seed: int, counts: KillCounts) -> None:
        self._folder, self._under, self._place = place / "store", place / "under", place
        self._under.mkdir()
        self._random = random.Random(seed)
        self._counts = counts
        self._promises = [Promises(paths_of(number)) for number in range(WRITERS)]
        self._daemon: int | None = None
        self._rounds = 0
        self._history: deque[str] = deque(maxlen=HISTORY)

    def explain(self, folder: Path) -> None:
        """Copy the folder and the last operations into a folder."""
        ignored = shutil.ignore_patterns("socket")
        shutil.copytree(self._place, folder, dirs_exist_ok=True, ignore=ignored)
        (folder / "history").write_text("".join(f"{line}\n" for line in self._history))

    def round(self) -> None:
        """Start the store, check it, load it, kill it."""
        self._rounds += 1
        while self._random.random() < 0.3:
            self._start(waits=False)
            time.sleep(self._random.uniform(0, START_SECONDS))
            self._kill()
            self._counts.kills_at_start += 1
        self._start()
        self._check()
        writers = [self._write(number) for number in range(WRITERS)]
        time.sleep(self._random.uniform(*LOAD_SECONDS))
        killed = self._kill()
        for number, writer in enumerate(writers):
            self._wait(writer)
            self._replay(number, killed)
        if self._rounds % LOST_NODE_EVERY == 0:
            self._lose_node()

    def _start(self, waits: bool = True) -> None:
        from cuesta_store import _native

        settings = control.StoreSettings(
            under=self._under,
            memory_bytes=MEMORY_BYTES,
            block_bytes=BLOCK_BYTES,
            grace_seconds=GRACE_SECONDS,
        )
        request = control.to_request(settings, self._folder)
        receiving, sending = os.pipe()

        def serve() -> int:
            os.close(receiving)
            os.dup2(sending, 1)
            os.close(sending)
            try:
                _native.serve(request, lambda: os.write(1, b"ready\n") and None)
            except Exception as error:
                os.write(1, f"{error}\n".encode())
                return 2
            return 0

        self._daemon = forked(serve)
        os.close(sending)
        with open(receiving, encoding="utf-8") as messages:  # noqa: PTH123
            line = messages.readline().strip() if waits else "ready"
        if line != "ready":
            raise PromiseBroken(f"the store does not start again: {line}")

    def _kill(self) -> float:
        """Kill the daemon; return the time just before that."""
        assert self._daemon is not None
        daemon, self._daemon = self._daemon, None
        before = time.monotonic()
        if os.waitpid(daemon, os.WNOHANG)[0] == daemon:
            raise PromiseBroken("the store has ended by itself")
        os.kill(daemon, signal.SIGKILL)
        os.waitpid(daemon, 0)
        self._counts.kills += 1
        return before

    def _write(self, number: int) -> int:
        seed = self._random.getrandbits(64)
        writer = Writer(self._folder, number, seed, self._manifest(number))
        promises = self._promises[number]

        def work() -> int:
            writer.work(promises)
            return 0

        return forked(work)

    def _manifest(self, number: int) -> Path:
        return self._place / f"manifest-{number}"

    def _wait(self, writer: int) -> None:
        until = time.monotonic() + READY_SECONDS
        while True:
            ended, code = os.waitpid(writer, os.WNOHANG)
            if ended:
                break
            if time.monotonic() > until:
                os.kill(writer, signal.SIGKILL)
                os.waitpid(writer, 0)
                raise PromiseBroken("a writer does not notice that the store has ended")
            time.sleep(0.001)
        if code:
            raise PromiseBroken(f"a writer ended with {code}")

    def _replay(self, number: int, killed: float) -> None:
        """Replay the promises made to a writer."""
        lines = map(json.loads, self._manifest(number).read_text().splitlines())
        promises = self._promises[number]
        for begun, outcome in zip(lines, lines, strict=True):
            operation = begun["begun"]
            self._history.append(f"round {self._rounds}: {json.dumps([operation, outcome])}")
            if "done" in outcome:
                promises.acknowledge(operation)
                self._counts.operations += 1
            elif is_refusal(outcome):
                self._counts.refused += 1
            elif "wrong" in outcome or outcome["at"] < killed:
                raise PromiseBroken(f"{operation} gave {outcome}")
            else:
                promises.leave_open(operation)
                self._counts.in_flight += 1

    def _check(self) -> None:
        """Check that each path has its promised content."""
        wrong = []
        for promises in self._promises:
            reads = {path: partial(read, self._folder, path) for path in promises.names}
            contents = {path: self._answer_of(read_path) for path, read_path in reads.items()}
            wrong += promises.observe(contents)
            self._counts.files_checked += len(contents)
        if self._rounds % AUDIT_EVERY == 0:
            wrong += self._audit()
        if wrong:
            raise PromiseBroken("; ".join(wrong))

    def _audit(self) -> list[str]:
        self._counts.audits += 1
        report = self._answer_of(lambda: control.ask("audit", self._folder, reads_bytes=True))
        return [f"{file['path']}: {file['reason']}" for file in report["lost"] + report["changed"]]

    def _answer_of(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except InputError as error:
            raise PromiseBroken(f"the store says: {error}") from None

    def _lose_node(self) -> None:
        """Flush all, lose the node, and check the folder's content against the promises."""
        self._start()
        self._check()
        self._answer_of(lambda: control.ask("flush", self._folder, path=None))
        hidden = [str(path) for path in self._under.rglob(".*.cuesta-part")]
        wrong = [f"{path} was left" for path in hidden] + self._audit()
        self._kill()
        shutil.rmtree(self._folder)
        self._counts.nodes_lost += 1
        for promises in self._promises:
            promises.acknowledge({"do": "flush", "path": None})
            contents = {path: read_under(self._under, path) for path in promises.names}
            wrong += promises.lose_node(contents)
            self._counts.files_checked += len(contents)
        if wrong:
            raise PromiseBroken("; ".join(wrong))

    def end(self) -> None:
        """Kill what still runs."""
        if self._daemon is not None:
            os.kill(self._daemon, signal.SIGKILL)
            os.waitpid(self._daemon, 0)
            self._daemon = None


def forked(work: Callable[[], int]) -> int:
    """Run `work` in another process; return its number."""
    process = os.fork()
    if process:
        return process
    code = 70
    try:
        code = work()
    except BaseException as error:  # Nothing of the parent's may run in here.
        sys.stderr.write(f"store_kills: {error!r}\n")
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
