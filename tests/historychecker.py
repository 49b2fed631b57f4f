"""Linearizability of recorded histories, by just-in-time linearization.

Source: G. Lowe, "Testing for linearizability", Concurrency and Computation 29(4), 2017, with models
whose steps may lead to several states. An operation takes effect once, at some moment between its
start and its end; one whose outcome is unknown takes effect at some later moment, or never.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

CONFIGURATIONS_MAX = 30_000
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

    def is_read(self, operation: Operation) -> bool:
        """Whether `operation` leaves every state as it is."""

    def values(self, operation: Operation) -> Iterable[Hashable]:
        """Return the values by which the result of `operation` tells states apart."""

    def without_values(self, state: Any, needed: Container[Hashable]) -> Hashable:
        """Return `state` with other names for all values that are not `needed`, equal ones kept
        equal, so that states become one that no later result tells apart."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A decision on a history; `operation` is the first that no order explains."""

    is_linearizable: bool | None
    operation: Operation | None = None


def check(model: Model, initial: Hashable, operations: Sequence[Operation]) -> Verdict:
    """Return whether some order of `operations` explains all results.

    Cost grows with the number of changes in progress at the same time, ambiguous ones included.
    """
    events = sorted(
        [(operation.start, 0, index) for index, operation in enumerate(operations)]
        + [
            (operation.end, 1, index)
            for index, operation in enumerate(operations)
            if not operation.is_ambiguous
        ]
    )
    search = _Search(model, operations)
    configurations = {(search.number(initial), 0)}
    for _, is_end, index in events:
        if not is_end:
            search.pending.append(index)
            continue
        reached = search.run(configurations, index)
        if reached is None:
            return Verdict(is_linearizable=None, operation=operations[index])
        if not reached:
            return Verdict(is_linearizable=False, operation=operations[index])
        search.pending.remove(index)
        configurations = search.ended(reached, index)
    return Verdict(is_linearizable=True)


_Configuration = tuple[int, int]
"""The number of a state, and the operations in progress that have taken effect, as bits."""


class _Search:
    """Configurations reached by the operations in progress; states are known by numbers."""

    def __init__(self, model: Model, operations: Sequence[Operation]) -> None:
        self._model, self._operations = model, operations
        self.pending: list[int] = []
        self._reads = {index for index, each in enumerate(operations) if model.is_read(each)}
        self._ambiguous = sum(
            1 << index for index, each in enumerate(operations) if each.is_ambiguous
        )
        self._uses = Counter(value for each in operations for value in model.values(each))
        self._numbers: dict[Hashable, int] = {}
        self._states: list[Hashable] = []
        self._steps: dict[tuple[int, int], tuple[int, ...]] = {}
        self._hidden: dict[int, tuple[int, ...]] = {}

    def number(self, state: Hashable) -> int:
        """Return the number of a state."""
        state = self._model.without_values(state, self._uses)
        known = self._numbers.setdefault(state, len(self._states))
        if known == len(self._states):
            self._states.append(state)
        return known

    def ended(self, configurations: set[_Configuration], index: int) -> set[_Configuration]:
        """Return the configurations after the end of an operation, of which none knows any more."""
        uses = Counter(self._model.values(self._operations[index]))
        if any(self._uses[value] == count for value, count in uses.items()):
            self._steps.clear()
            self._hidden.clear()
        self._uses = self._uses - uses
        least = _Least(self._ambiguous)
        for state, done in sorted(configurations, key=self._ambiguous_count):
            least.add((self.number(self._states[state]), done & ~(1 << index)))
        return set(least)

    def run(self, configurations: set[_Configuration], target: int) -> set[_Configuration] | None:
        """Return the configurations in which the operation `target` has taken effect."""
        visited = _Least(self._ambiguous)
        # Those first that took fewer of the operations that may never take effect.
        queues: list[list[_Configuration]] = [[]]

        def put(configuration: _Configuration) -> None:
            if visited.add(configuration):
                count = self._ambiguous_count(configuration)
                queues.extend([] for _ in range(count + 1 - len(queues)))
                queues[count].append(configuration)

        for state, done in configurations:
            put(self._with_reads(state, done))
        reached = set()
        for queue in queues:
            while queue:
                state, done = queue.pop()
                if done >> target & 1:
                    reached.add((state, done))
                    continue
                for successor in self._successors(state, done):
                    put(successor)
                if visited.size > CONFIGURATIONS_MAX:
                    return None
        return reached

    def _ambiguous_count(self, configuration: _Configuration) -> int:
        return (configuration[1] & self._ambiguous).bit_count()

    def _successors(self, state: int, done: int) -> Iterator[_Configuration]:
        for following in self._following_hidden(state):
            yield self._with_reads(following, done)
        for index in self.pending:
            if not done >> index & 1:
                for following in self._following(state, index):
                    yield self._with_reads(following, done | 1 << index)

    def _with_reads(self, state: int, done: int) -> _Configuration:
        """Let all reads take effect that the state explains.

        Nothing is lost: what may follow without them may follow with them too.
        """
        for index in self.pending:
            if index in self._reads and not done >> index & 1 and self._following(state, index):
                done |= 1 << index
        return state, done

    def _following(self, state: int, index: int) -> tuple[int, ...]:
        following = self._steps.get((state, index))
        if following is None:
            steps = self._model.steps(self._states[state], self._operations[index])
            following = tuple({self.number(step) for step in steps})
            self._steps[state, index] = following
        return following

    def _following_hidden(self, state: int) -> tuple[int, ...]:
        following = self._hidden.get(state)
        if following is None:
            steps = self._model.hidden(self._states[state])
            following = self._hidden[state] = tuple({self.number(step) for step in steps})
        return following


class _Least:
    """Configurations, without those that only took more of the ambiguous operations."""

    def __init__(self, ambiguous: int) -> None:
        self._ambiguous = ambiguous
        self._groups: dict[_Configuration, list[int]] = {}
        self.size = 0

    def add(self, configuration: _Configuration) -> bool:
        """Add a configuration; False where one is there that took no more."""
        state, done = configuration
        least = self._groups.setdefault((state, done & ~self._ambiguous), [])
        if any(other & ~done == 0 for other in least):
            return False
        least.append(done)
        self.size += 1
        return True

    def __iter__(self) -> Iterator[_Configuration]:
        for (state, _), least in self._groups.items():
            for done in least:
                yield state, done
