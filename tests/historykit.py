"""Histories of a job of stores under faults: kills, partitions, and clocks that step.

Clients on three hosts write, read, rename, remove and flush files of a few groups, while a nemesis
kills stores, cuts hosts off and sets their clocks. `historymodel` has the promise, and
`historychecker` searches for an order of all operations that explains all results.
"""

from __future__ import annotations

import errno
import math
import random
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adversarykit import clock_environment, remove_clocks, set_clock
from cuesta_store import control
from cuesta_store.errors import CuestaError
from cuesta_store.filesystem import CuestaFileSystem
from historychecker import Operation, Verdict
from historycontent import content, content_value
from historymodel import ABSENT, UNKNOWN, verdict
from historystate import NODES
from hostkit import HostJob, HostStore, connected, host_job
from waitkit import wait_for

PATHS = ("a", "b")
"""The paths of a group; renames stay in the group."""
GROUPS: dict[str, tuple[str, ...]] = {
    "disk": ("through", "bypass"),
    "memory": ("memory",),
    "back": ("back",),
    "mixed": ("through", "memory", "back"),
}
"""Groups of paths, by the write modes of their files."""
OPERATIONS = ("write",) * 4 + ("read",) * 6 + ("remove", "rename", "flush")
PAUSE_SECONDS = 0.03
"""Pause between two operations of a client: a history has some hundred operations."""
AMBIGUOUS_MAX = 3
"""Limit of unanswered operations in a group: each doubles the work of the checker."""
CALM_SECONDS = 0.5
"""Time of work after the last fault."""
SETTLE_SECONDS = 30.0
CLOCK_STEPS_S = (-86_400.0, -3600.0, -1.0, 1.0, 3600.0, 86_400.0)
CONFLICT = ".conflict-"
NEVER_SENT = "no store runs"
"""Texts of errors that occur before a request is sent."""


@dataclass
class Counts:
    """Counters of the runs so far."""

    runs: int = 0
    disturbed: int = 0
    """Runs that are not judged: a store took another for dead that no fault had hit, as on a busy
    machine."""
    operations: int = 0
    refused: int = 0
    ambiguous: int = 0
    kills: int = 0
    partitions: int = 0
    clock_steps: int = 0
    histories: int = 0
    undecided: int = 0


@dataclass
class History:
    """The operations of a group of paths; clients and nemesis add to it."""

    group: str
    operations: list[Operation] = field(default_factory=list)
    ambiguous: int = 0

    def add(self, start: float, request: dict[str, Any], result: Any = None) -> None:
        """Record an operation that ends now."""
        end = time.monotonic()
        self.operations.append(Operation(start=start, end=end, request=request, result=result))

    def add_ambiguous(self, start: float, request: dict[str, Any]) -> None:
        """Record an operation that may or may not have taken effect."""
        self.ambiguous += 1
        operation = Operation(start=start, end=math.inf, request=request, result=UNKNOWN)
        self.operations.append(operation)

    def verdict(self) -> Verdict:
        """Check this history against the promise."""
        return verdict(self.operations, len(PATHS))


class Client(threading.Thread):
    """A program on a host: operations in sequence until it is stopped."""

    def __init__(self, run: Run, store: HostStore, seed: int) -> None:
        super().__init__(daemon=True)
        self._run, self._store = run, store
        self._draw = random.Random(seed)
        self._files = CuestaFileSystem(str(store.folder), skip_instance_cache=True)
        self.refused = 0
        self.defect: BaseException | None = None

    def run(self) -> None:
        """Work until the run ends; store an exception that is not one of the store's."""
        try:
            while not self._run.is_over.is_set():
                self._operate(self._draw.choice(list(self._run.histories.values())))
                time.sleep(self._draw.uniform(0, 2 * PAUSE_SECONDS))
        except BaseException as error:
            self.defect = error

    def _operate(self, history: History) -> None:
        do = self._draw.choice(OPERATIONS)
        if history.ambiguous >= AMBIGUOUS_MAX:
            do = "read"
        path = self._draw.randrange(len(PATHS))
        request: dict[str, Any] = {"do": do, "node": self._store.number, "path": path}
        if do == "write":
            request["value"] = f"{self._draw.getrandbits(48):012x}"
            request["mode"] = self._draw.choice(GROUPS[history.group])
        if do == "rename":
            request["target"] = 1 - path
        start = time.monotonic()
        try:
            history.add(start, request, self.perform(history.group, request))
        except (CuestaError, OSError) as error:
            if getattr(error, "errno", None) == errno.ENOENT:
                history.add(start, request, ABSENT)
                return
            self.refused += 1
            if do != "read" and NEVER_SENT not in str(error):
                history.add_ambiguous(start, request | {"error": str(error)})

    def perform(self, group: str, request: dict[str, Any]) -> str | None:
        """Carry out the request; return the content of a file that is read, else None."""
        name = self._run.name(group, request["path"])
        match request["do"]:
            case "read":
                try:
                    return content_value(self._files.cat_file(name))
                except FileNotFoundError:
                    return None
            case "write":
                with self._files.open(name, "wb", write_mode=request["mode"]) as file:
                    file.write(content(request["value"]))
            case "rename":
                target = self._run.name(group, request["target"])
                control.ask("rename", self._store.folder, path=name, to=target)
            case do:
                self._ask(do, name)
        return None

    def _ask(self, do: str, name: str) -> None:
        control.ask(do, self._store.folder, path=name)


class Run:
    """Files, clients, nemesis and histories of a run."""

    def __init__(
        self, job: HostJob, number: int, seed: int, groups: Sequence[str] = tuple(GROUPS)
    ) -> None:
        self.job, self.number = job, number
        self.histories = {group: History(group) for group in groups}
        self.is_over = threading.Event()
        self._draw = random.Random(seed)
        self.counts = Counts(runs=1)

    def name(self, group: str, path: int) -> str:
        """Return the path of a file in the store."""
        return f"/r{self.number}/{group}/{PATHS[path]}"

    def play(self, faults: int) -> None:
        """Let clients work during this number of faults; then heal all and read from each host."""
        stores = list(self.job.stores.values())
        clients = [Client(self, store, self._draw.getrandbits(64)) for store in stores]
        for client in clients:
            client.start()
        nemesis = Nemesis(self, self._draw.getrandbits(64))
        for _ in range(faults):
            time.sleep(self._draw.uniform(0.05, 0.3))
            nemesis.strike()
        nemesis.heal()
        time.sleep(CALM_SECONDS)
        self.is_over.set()
        for client in clients:
            client.join(SETTLE_SECONDS)
            assert not client.is_alive(), "a client hangs"
            if client.defect is not None:
                raise client.defect
        self._read_all(clients)
        if nemesis.is_disturbed():
            self.counts = Counts(disturbed=1)
            self.histories = {}
            return
        for client in clients:
            self.counts.refused += client.refused
        for history in self.histories.values():
            self.counts.operations += len(history.operations)
            self.counts.ambiguous += history.ambiguous

    def _is_settled(self, clients: Sequence[Client]) -> bool:
        """Whether all hosts read the same: of two files of a name one has a conflict name."""
        for group in self.histories:
            for path in range(len(PATHS)):
                request = {"do": "read", "path": path}
                with suppress(CuestaError, OSError):
                    if len({client.perform(group, request) for client in clients}) == 1:
                        continue
                return False
        return True

    def _read_all(self, clients: Sequence[Client]) -> None:
        with suppress(AssertionError):
            wait_for(partial(self._is_settled, clients), SETTLE_SECONDS)
        for history in self.histories.values():
            for client in clients:
                for path in range(len(PATHS)):
                    node = client._store.number
                    request = {"do": "read", "node": node, "path": path, "is_last": True}
                    self._read_last(client, history, request)
            start = time.monotonic()
            conflicts = self._conflicts(history.group, clients[0])
            history.add(start, {"do": "conflicts"}, conflicts)

    def _read_last(self, client: Client, history: History, request: dict[str, Any]) -> None:
        """Read a file after healing: existing files are served again, sooner or later."""
        limit = time.monotonic() + SETTLE_SECONDS
        while True:
            start = time.monotonic()
            try:
                history.add(start, request, client.perform(history.group, request))
                return
            except (CuestaError, OSError) as error:
                if start > limit:
                    history.add(start, request, f"unreadable: {error}")
                    return
            time.sleep(PAUSE_SECONDS)

    def _conflicts(self, group: str, client: Client) -> list[list[Any]]:
        """Return the versions under conflict names, each with its original path."""
        folder = f"/r{self.number}/{group}"
        with suppress(FileNotFoundError):
            names = [path.rpartition("/")[2] for path in client._files.ls(folder, detail=False)]
            return [
                [PATHS.index(name.partition(CONFLICT)[0]), self._value(client, f"{folder}/{name}")]
                for name in names
                if CONFLICT in name
            ]
        return []

    def _value(self, client: Client, name: str) -> str:
        return content_value(client._files.cat_file(name))

    def violations(self) -> Iterator[tuple[History, Verdict]]:
        """Check all histories; return those that violate the promise."""
        for history in self.histories.values():
            verdict = history.verdict()
            self.counts.histories += 1
            if verdict.is_linearizable is None:
                self.counts.undecided += 1
            elif not verdict.is_linearizable:
                yield history, verdict


def _sees(store: HostStore, expected: set[int]) -> bool:
    return store.live() == expected


class Nemesis:
    """Faults of hosts, one at a time, and their effect on which hosts see each other."""

    def __init__(self, run: Run, seed: int) -> None:
        self._run = run
        self._draw = random.Random(seed)
        self._stores = run.job.stores
        self._cut: int | None = None
        self._dead: int | None = None
        self._returns = {number: store.returns() for number, store in self._stores.items()}

    def is_disturbed(self) -> bool:
        """Whether a store took another for dead beside what was done here."""
        return any(
            self._returns[number] != store.returns() for number, store in self._stores.items()
        )

    def strike(self) -> None:
        """Inject a fault, or heal the last one."""
        choices = [self._step_clock]
        choices.append(self._mend if self._cut else self._cut_off)
        choices.append(self._restart if self._dead else self._kill)
        self._draw.choice(choices)()

    def heal(self) -> None:
        """Heal all faults and restart all stores."""
        if self._cut:
            self._mend()
        if self._dead:
            self._restart()

    def _sight(self) -> set[tuple[int, int]]:
        """Return the pairs of hosts that should see each other now."""
        alive = [host for host in self._stores if host not in (self._cut, self._dead)]
        return {(host, peer) for host in alive for peer in alive if host != peer}

    def _settle(self, start: float, before: set[tuple[int, int]]) -> None:
        """Wait until each store sees exactly the hosts it can reach, and record the changes."""
        after = self._sight()
        for number, store in self._stores.items():
            expected = {peer for host, peer in after if host == number}
            if number != self._dead:
                wait_for(partial(_sees, store, expected), SETTLE_SECONDS)
        self._record(start, "lose_sight", before - after)
        self._record(start, "regain_sight", after - before)
        for number, peer in after - before:
            self._returns[number][peer] += 1

    def _record(self, start: float, kind: str, pairs: set[tuple[int, int]]) -> None:
        # A host whose store has ended sees nothing, and from its next start on one after the other.
        for node, peer in sorted(pair for pair in pairs if pair[0] != self._dead):
            for history in self._run.histories.values():
                history.add(start, {"do": kind, "node": node, "peer": peer})

    def _cut_off(self) -> None:
        start, before = time.monotonic(), self._sight()
        self._cut = self._draw.choice(list(self._stores))
        connected(self._cut, False)
        self._run.counts.partitions += 1
        self._settle(start, before)

    def _mend(self) -> None:
        assert self._cut is not None
        start, before = time.monotonic(), self._sight()
        connected(self._cut, True)
        self._cut = None
        self._settle(start, before)

    def _kill(self) -> None:
        start, before = time.monotonic(), self._sight()
        self._dead = self._draw.choice(list(self._stores))
        self._stores[self._dead].signal(signal.SIGKILL)
        self._run.counts.kills += 1
        for history in self._run.histories.values():
            history.add(start, {"do": "end", "node": self._dead})
        self._settle(start, before)

    def _restart(self) -> None:
        assert self._dead is not None
        start, before = time.monotonic(), self._sight()
        restarted, self._dead = self._dead, None
        self._stores[restarted].start()
        self._returns[restarted] = dict.fromkeys(set(self._stores) - {restarted}, 0)
        for history in self._run.histories.values():
            history.add(start, {"do": "begin", "node": restarted})
        self._settle(start, before)

    def _step_clock(self) -> None:
        number = self._draw.choice(list(self._stores))
        file = clock_file(self._run.job.place, number)
        set_clock(file, self._draw.choice(CLOCK_STEPS_S))
        self._run.counts.clock_steps += 1


def clock_file(place: Path, number: int) -> Path:
    """Return the file with the clock offset of a host."""
    return place / f"clock-{number}"


@contextmanager
def clocked_job(under: Path) -> Iterator[HostJob]:
    """Stores on the three hosts, whose clocks can be stepped."""
    # Socket paths must be short.
    with TemporaryDirectory(prefix="cuesta-test-") as name:
        place = Path(name)

        def environment(number: int) -> dict[str, str]:
            set_clock(clock_file(place, number), 0.0)
            return clock_environment(clock_file(place, number))

        job = None
        try:
            with host_job(place, under, len(NODES), environment) as job:
                yield job
        finally:
            for number in NODES:
                connected(number, True)
            for store in job.stores.values() if job else ():
                remove_clocks(store.pids)
