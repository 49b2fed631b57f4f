"""Linearizability of recorded histories, by just-in-time linearization.

Source: G. Lowe, "Testing for linearizability", Concurrency and Computation 29(4), 2017, with models
whose steps may lead to several states. An operation takes effect once, at some moment between its
start and its end; one whose outcome is unknown takes effect at some later moment, or never.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

CONFIGURATIONS_MAX = 100_000
"""States that are followed at once; a history that needs more is undecided."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A request, its result, and when they were sent and received (seconds of one clock)."""

    start: float
    end: float
    request: dict[str, Any]
    result: Any = None

    @property
    def is_ambiguous(self) -> bool:
        """Whether it is unknown if the operation took effect."""
        return self.end == math.inf


class Model(Protocol):
    """The states that an operation may lead to, and those that follow without a request."""

    def steps(self, state: Any, operation: Operation) -> Iterable[Hashable]:
        """Return the states after `operation`; none where its result contradicts `state`."""

    def hidden(self, state: Any) -> Iterable[Hashable]:
        """Return the states that may follow `state` without a request, `state` excluded."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A decision on a history; `operation` is the first that no order explains."""

    is_linearizable: bool | None
    operation: Operation | None = None


def check(model: Model, initial: Hashable, operations: Sequence[Operation]) -> Verdict:
    """Return whether some order of `operations` explains all results.

    Cost grows with the number of operations in progress at the same time, ambiguous ones included.
    """
    events = sorted(
        [(operation.start, 0, index) for index, operation in enumerate(operations)]
        + [
            (operation.end, 1, index)
            for index, operation in enumerate(operations)
            if not operation.is_ambiguous
        ]
    )
    pending: list[int] = []
    configurations = {(initial, frozenset[int]())}
    for _, is_end, index in events:
        if not is_end:
            pending.append(index)
            continue
        search = _Search(model, operations, pending, index)
        reached = search.run(configurations)
        if reached is None:
            return Verdict(is_linearizable=None, operation=operations[index])
        if not reached:
            return Verdict(is_linearizable=False, operation=operations[index])
        pending.remove(index)
        ambiguous = frozenset(number for number in pending if operations[number].is_ambiguous)
        configurations = _undominated(
            {(state, done - {index}) for state, done in reached}, ambiguous
        )
    return Verdict(is_linearizable=True)


_Configuration = tuple[Hashable, frozenset[int]]


def _undominated(
    configurations: set[_Configuration], ambiguous: frozenset[int]
) -> set[_Configuration]:
    """Leave out what only takes more of the operations that may never take effect."""
    groups: dict[_Configuration, list[frozenset[int]]] = {}
    for state, done in sorted(configurations, key=lambda one: len(one[1])):
        least = groups.setdefault((state, done - ambiguous), [])
        if not any(other <= done for other in least):
            least.append(done)
    return {(state, done) for (state, _), least in groups.items() for done in least}


@dataclass
class _Search:
    """The configurations in which the operation `target` has taken effect."""

    model: Model
    operations: Sequence[Operation]
    pending: Sequence[int]
    target: int

    def run(self, configurations: set[_Configuration]) -> set[_Configuration] | None:
        visited = set(configurations)
        stack = list(configurations)
        reached = set()
        while stack:
            state, done = stack.pop()
            if self.target in done:
                reached.add((state, done))
                continue
            for successor in self._successors(state, done):
                if successor not in visited:
                    visited.add(successor)
                    stack.append(successor)
            if len(visited) > CONFIGURATIONS_MAX:
                return None
        return reached

    def _successors(self, state: Hashable, done: frozenset[int]) -> Iterable[_Configuration]:
        for following in self.model.hidden(state):
            yield following, done
        for index in self.pending:
            if index not in done:
                for following in self.model.steps(state, self.operations[index]):
                    yield following, done | {index}
