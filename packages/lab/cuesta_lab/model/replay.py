"""Discrete-event simulation of tasks on a described cluster.

A leader launches tasks one after the other on free cores. A task reads its input, receives its
exchange, computes and writes, in this order, and holds its core meanwhile. Tasks that use a
resource at the same time share it equally: the disks of a node, the interface of a node, and the
storage of all nodes, whose throughput is min(storage, nodes x interface), as in equation (3) of the
two-level paper. Cost: O(log tasks) for an event, about five events a task.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from cuesta_lab.model.tasks import Stage

FREE = ("launch", "cpu", "disk", "network", "shared")
"""Resources that may be made infinitely fast, and by which core seconds are split."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Identical nodes; rates in bytes per second, infinite without a limit.

    Attributes
    ----------
    disk
        Rate of all disks of a node together.
    shared
        Rate of the storage of all nodes together.
    launch_s
        Seconds that the leader needs to start a task.
    speed
        Speed of a core, relative to the traced one.
    """

    nodes: int
    cores: int
    disk: float = math.inf
    network: float = math.inf
    shared: float = math.inf
    launch_s: float = 0.0
    speed: float = 1.0


@dataclass(frozen=True, kw_only=True)
class ReplayResult:
    """Result of a replay: its time, and core seconds by the resource worked with or waited for."""

    seconds: float
    tasks: int
    stage_ends: tuple[float, ...]
    core_seconds: dict[str, float] = field(default_factory=dict)


def replay(stages: Sequence[Stage], cluster: Cluster) -> ReplayResult:
    """Simulate all stages; the same input gives the same result to the last bit."""
    return _Simulation(stages, cluster).run()


def without_cost(cluster: Cluster, what: str) -> Cluster:
    """Cluster in which the resource `what`, one of `FREE`, takes no time."""
    values = vars(cluster)
    if what == "launch":
        return Cluster(**{**values, "launch_s": 0.0})
    name = {"cpu": "speed"}.get(what, what)
    return Cluster(**{**values, name: math.inf})


@dataclass
class _Pool:
    """Resource that its users share equally: each gets `capacity` / users, at most `each`.

    `done` is the amount served to a user present from the start. A user leaves when `done` has
    grown by the user's amount, so that a change of users needs no update of each of them.
    """

    capacity: float
    each: float
    name: str
    done: float = 0.0
    at: float = 0.0
    version: int = 0
    users: list[tuple[float, int]] = field(default_factory=list)

    def advance(self, now: float) -> None:
        if self.users:
            self.done += self.rate() * (now - self.at)
        else:
            self.done = 0.0
        self.at = now

    def rate(self) -> float:
        return min(self.each, self.capacity / len(self.users))

    def next_end(self) -> float:
        return self.at + max(0.0, self.users[0][0] - self.done) / self.rate()


@dataclass(slots=True)
class _Task:
    stage: int
    index: int
    node: int
    step: int = 0
    since: float = 0.0


class _Simulation:
    """State of a replay; time advances from event to event."""

    def __init__(self, stages: Sequence[Stage], cluster: Cluster) -> None:
        self.stages, self.cluster = stages, cluster
        self.now, self.leader_free = 0.0, 0.0
        self.events: list[tuple[float, int, int, int]] = []
        self.count = 0
        self.tasks: list[_Task] = []
        self.free = deque(node for _ in range(cluster.cores) for node in range(cluster.nodes))
        self.remaining = [stage.count for stage in stages]
        self.waits = [len(set(stage.after)) for stage in stages]
        self.waiting: list[list[int]] = [[] for _ in stages]
        for index, stage in enumerate(stages):
            for before in set(stage.after):
                self.waiting[before].append(index)
        self.pending: deque[tuple[int, int]] = deque()
        self.ends = [0.0] * len(stages)
        self.core_seconds = dict.fromkeys(FREE, 0.0)
        total = min(cluster.shared, cluster.nodes * cluster.network)
        self.shared = _Pool(capacity=total, each=cluster.network, name="shared")
        self.disks = self._pools(cluster.disk, "disk")
        self.networks = self._pools(cluster.network, "network")
        self.pools = [self.shared, *self.disks, *self.networks]
        self.number = {id(pool): index for index, pool in enumerate(self.pools)}

    def _pools(self, rate: float, name: str) -> list[_Pool]:
        return [_Pool(capacity=rate, each=rate, name=name) for _ in range(self.cluster.nodes)]

    def run(self) -> ReplayResult:
        for index, waits in enumerate(self.waits):
            if waits == 0:
                self._release(index)
        self._launch()
        while self.events:
            self.now, _, what, number = heapq.heappop(self.events)
            if what >= 0:
                self._pool_event(self.pools[what], number)
            else:
                self._advance(number)
        return ReplayResult(
            seconds=self.now,
            tasks=sum(stage.count for stage in self.stages),
            stage_ends=tuple(self.ends),
            core_seconds=self.core_seconds,
        )

    def _release(self, stage: int) -> None:
        self.pending.append((stage, 0))

    def _launch(self) -> None:
        """Start tasks while there are free cores; the leader starts one after the other."""
        while self.pending and self.free:
            stage, index = self.pending[0]
            begins = max(self.now, self.leader_free)
            self.leader_free = begins + self.cluster.launch_s
            task = _Task(stage=stage, index=index, node=self.free.popleft(), since=self.now)
            self.tasks.append(task)
            self._at(self.leader_free, -1, len(self.tasks) - 1)
            if index + 1 == self.stages[stage].count:
                self.pending.popleft()
            else:
                self.pending[0] = (stage, index + 1)

    def _advance(self, number: int) -> None:
        """Begin the next step of a task; steps without an amount are skipped."""
        task = self.tasks[number]
        stage = self.stages[task.stage]
        before = ("launch", "", "", "cpu", "")[task.step]
        if before:
            self.core_seconds[before] += self.now - task.since
        while task.step < 4:
            task.step += 1
            task.since = self.now
            amount = _amount(stage, task.step, task.index)
            if amount <= 0:
                continue
            if task.step == 3:
                self._at(self.now + amount / self.cluster.speed, -1, number)
                return
            pool = self._pool(stage, task)
            if math.isinf(pool.capacity) and math.isinf(pool.each):
                continue
            self._join(pool, amount, number)
            return
        self._end(task)

    def _pool(self, stage: Stage, task: _Task) -> _Pool:
        if task.step == 2:
            return self.networks[task.node]
        return self.shared if stage.place == "shared" else self.disks[task.node]

    def _join(self, pool: _Pool, amount: float, number: int) -> None:
        pool.advance(self.now)
        heapq.heappush(pool.users, (pool.done + amount, number))
        self._expect(pool)

    def _pool_event(self, pool: _Pool, version: int) -> None:
        """End the use of a pool's first user, unless the users changed since the event was set."""
        if version != pool.version:
            return
        pool.advance(self.now)
        end, number = heapq.heappop(pool.users)
        pool.done = max(pool.done, end)
        self._expect(pool)
        task = self.tasks[number]
        self.core_seconds[pool.name] += self.now - task.since
        self._advance(number)

    def _expect(self, pool: _Pool) -> None:
        pool.version += 1
        if pool.users:
            self._at(pool.next_end(), self.number[id(pool)], pool.version)

    def _end(self, task: _Task) -> None:
        self.free.append(task.node)
        self.remaining[task.stage] -= 1
        if self.remaining[task.stage] == 0:
            self.ends[task.stage] = self.now
            for index in self.waiting[task.stage]:
                self.waits[index] -= 1
                if self.waits[index] == 0:
                    self._release(index)
        self._launch()

    def _at(self, when: float, what: int, number: int) -> None:
        """Schedule an event of the pool `what`, or of a task if `what` is negative."""
        self.count += 1
        heapq.heappush(self.events, (when, self.count, what, number))


def _amount(stage: Stage, step: int, index: int) -> float:
    """Amount of a task's step: 1 input, 2 exchange, 3 core seconds, 4 output."""
    values = (
        stage.input_bytes, stage.exchange_bytes, stage.cpu_s, stage.output_bytes
    )[step - 1]  # fmt: skip
    return values[index % len(values)]
