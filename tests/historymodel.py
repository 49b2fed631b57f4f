"""The promise of the stores of a job, as a model for the checker of histories.

A group of paths has, for each path, a version on the under level and versions in the memory of
nodes alone. A node sees the nodes that it is connected with. The promise (ADR 17, 27):

- a read returns the version in memory alone of a node that the reader sees; if there is none, the
  version of the under level; an error is always permitted, a wrong version never;
- a write in mode `through` or `bypass` is on the under level when it is acknowledged, one in mode
  `memory` or `back` in the memory of its node; it replaces what the writer sees;
- a version in mode `back` reaches the under level by itself, if nothing else was written there;
- of two versions in memory alone whose nodes see each other again, one keeps the name, and the
  other gets a conflict name: no acknowledged version is lost;
- of two renames at once of one file to one name, both may succeed;
- a program whose own store has ended reads the under level.

Where the node of a version in memory alone is out of sight, a read may also return the version of
the under level: both directories of the name may be out of sight too. A removal does not reach such
a version, which is there again with its node; a flush is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from historychecker import Operation

NODES = (1, 2, 3)
ABSENT = "absent"
"""The result of a request that was refused because its file does not exist."""

Value = str | None
"""The content of a file; `None` where there is none."""


@dataclass(frozen=True, kw_only=True)
class Alone:
    """A version in the memory of a node alone; `base` is the version of the under level it
    replaces.
    """

    path: int
    node: int
    value: str
    is_back: bool
    base: Value


@dataclass(frozen=True, kw_only=True)
class State:
    """A group of paths on all nodes.

    Attributes
    ----------
    under
        The versions of the under level, by path.
    unseen
        Pairs of nodes of which the first does not see the second.
    down
        Nodes whose store has ended.
    conflicts
        Versions that lost their name, by path.
    """

    under: tuple[Value, ...]
    alone: frozenset[Alone] = frozenset()
    unseen: frozenset[tuple[int, int]] = frozenset()
    down: frozenset[int] = frozenset()
    conflicts: frozenset[tuple[int, str]] = frozenset()

    def sees(self, node: int, peer: int) -> bool:
        """Whether `node` is connected with `peer`."""
        return node == peer or (node, peer) not in self.unseen

    def visible(self, node: int, path: int) -> list[Alone]:
        """Return the versions of a path that are in memory alone and that `node` sees."""
        return [
            version
            for version in self.alone
            if version.path == path and self.sees(node, version.node)
        ]

    def is_hidden(self, node: int, path: int) -> bool:
        """Return whether `node` cannot see a version that is in memory alone."""
        return any(
            version.path == path and not self.sees(node, version.node) for version in self.alone
        )

    def is_alone(self, node: int) -> bool:
        """Return whether `node` sees no other node, so that it may not know of a hidden name."""
        return all(pair in self.unseen for pair in ((node, peer) for peer in NODES if peer != node))

    def with_under(self, path: int, value: Value) -> State:
        """Return the state in which the under level has `value`."""
        under = (*self.under[:path], value, *self.under[path + 1 :])
        return replace(self, under=under)

    def without(self, versions: Iterable[Alone]) -> State:
        """Return the state without these versions that are in memory alone."""
        return replace(self, alone=self.alone - frozenset(versions))


def with_twins(operations: Sequence[Operation]) -> list[Operation]:
    """Mark renames that overlap another rename of the same file to the same name."""
    renames = [
        operation
        for operation in operations
        if operation.request["do"] == "rename" and operation.result is None
    ]

    def has_twin(rename: Operation) -> bool:
        ends = ("path", "target")
        return any(
            twin is not rename
            and all(twin.request[end] == rename.request[end] for end in ends)
            and twin.start < rename.end
            and rename.start < twin.end
            for twin in renames
        )

    twins = {id(rename) for rename in renames if has_twin(rename)}
    return [
        replace(operation, request=operation.request | {"has_twin": True})
        if id(operation) in twins
        else operation
        for operation in operations
    ]


class StorePromise:
    """The model; a request is a dictionary of `do`, `node` and the fields of its kind."""

    def steps(self, state: State, operation: Operation) -> Iterator[State]:
        """Return the states that a request with this result may lead to."""
        request = operation.request
        if operation.result == ABSENT and request["do"] != "read":
            yield from self._read(state, request, None)
            return
        method = getattr(self, f"_{request['do']}")
        yield from method(state, request, operation.result)

    def hidden(self, state: State) -> Iterator[State]:
        """Return the states after a write-back, or after two nodes met with one name."""
        for version in state.alone:
            if version.is_back and version.base == state.under[version.path]:
                written = state.with_under(version.path, version.value)
                yield written.without([version])
            for rival in state.visible(version.node, version.path):
                if rival.node != version.node and state.sees(rival.node, version.node):
                    lost = frozenset({(rival.path, rival.value)})
                    yield replace(state.without([rival]), conflicts=state.conflicts | lost)

    def _read(self, state: State, request: dict[str, Any], result: Value) -> Iterator[State]:
        node, path = request["node"], request["path"]
        if node in state.down and result == state.under[path]:
            yield state
            return
        visible = state.visible(node, path)
        if any(version.value == result for version in visible) or (
            not visible and result == state.under[path]
        ):
            yield state

    def _write(self, state: State, request: dict[str, Any], result: Value) -> Iterator[State]:
        node, path, value, mode = (request[key] for key in ("node", "path", "value", "mode"))
        replaced = state.without(state.visible(node, path))
        if mode in ("through", "bypass"):
            yield replaced.with_under(path, value)
            return
        version = Alone(
            path=path, node=node, value=value, is_back=mode == "back", base=state.under[path]
        )
        yield replace(replaced, alone=replaced.alone | {version})

    def _remove(self, state: State, request: dict[str, Any], result: Value) -> Iterator[State]:
        node, path = request["node"], request["path"]
        visible = state.visible(node, path)
        # A file removed while its node is out of sight reappears with the node.
        if visible or state.under[path] is not None or state.is_hidden(node, path):
            yield state.without(visible).with_under(path, None)

    def _flush(self, state: State, request: dict[str, Any], result: Value) -> Iterator[State]:
        node, path = request["node"], request["path"]
        visible = state.visible(node, path)
        if not visible and (state.is_alone(node) or not state.is_hidden(node, path)):
            yield state
        for version in visible:
            yield state.without([version]).with_under(path, version.value)

    def _rename(self, state: State, request: dict[str, Any], result: Value) -> Iterator[State]:
        node, path, target = (request[key] for key in ("node", "path", "target"))
        if request.get("has_twin"):
            yield state
        cleared = state.without(state.visible(node, target))
        visible = state.visible(node, path)
        for version in visible:
            kind = cleared.without(visible).with_under(path, None)
            yield kind.with_under(target, version.value)
            renamed = replace(version, path=target, base=state.under[target])
            yield replace(kind, alone=kind.alone | {renamed})
        if not visible and state.under[path] is not None:
            yield cleared.with_under(target, state.under[path]).with_under(path, None)

    def _lose_sight(self, state: State, request: dict[str, Any], result: Value) -> Iterator[State]:
        yield replace(state, unseen=state.unseen | {(request["node"], request["peer"])})

    def _regain_sight(
        self, state: State, request: dict[str, Any], result: Value
    ) -> Iterator[State]:
        yield replace(state, unseen=state.unseen - {(request["node"], request["peer"])})

    def _end(self, state: State, request: dict[str, Any], result: Value) -> Iterator[State]:
        yield replace(state, down=state.down | {request["node"]})

    def _begin(self, state: State, request: dict[str, Any], result: Value) -> Iterator[State]:
        yield replace(state, down=state.down - {request["node"]})

    def _conflicts(
        self, state: State, request: dict[str, Any], result: list[list[Any]]
    ) -> Iterator[State]:
        """Accept the versions that have conflict names at the end, if all lost versions are among
        them.
        """
        observed = {(path, value) for path, value in result}
        named = {version.path for version in state.alone}
        if state.conflicts <= observed and len(named) == len(state.alone):
            yield state
