"""The promise of the stores of a job, as a model for the checker of histories.

A group of paths has, for each path, a version on the under level and versions in the memory of
nodes alone. A node sees the nodes that it is connected with. The promise (ADR 17, 27):

- a read returns the version in memory alone of a node that the reader sees; if there is none, the
  version of the under level; an error is always permitted, a wrong version never;
- a write in mode `through` or `bypass` is on the under level when it is acknowledged, one in mode
  `memory` or `back` in the memory of its node; it replaces what the writer sees;
- a version in mode `back` reaches the under level by itself, if nothing else was written there;
- of two versions of a name in memory alone, each written without knowledge of the other, because
  their nodes did not see each other or because the changes overlapped, a read may return either
  until the next change of that name; that or the stores themselves leave one with the name, and the
  other gets a conflict name: no acknowledged version is lost;
- a version whose writer did not know what the under level has goes there under a conflict name,
  before a change of its name or by itself, and where it is removed, what is there has the name;
- of two renames at once of one file to one name, or of two names to each other, both may succeed
  where one has no effect; one that fails may have left a file of the under level under both names;
- of a rename and a removal of its old name at once, both may succeed where the removal has no
  effect: a rename over another file gives the new name first, and ends the old one then;
- a rename may flush its files before, also one that fails then;
- a version that is replaced when its node cannot be told any more is read there, and where it is
  seen, until the nodes have met; then it is gone, or has a conflict name;
- a program whose own store has ended reads the under level;
- a version in mode `back` that has just reached the under level is in the memory of its node for a
  moment more: what a node that does not see that one changes on the under level then, it does not
  reach; where its store is killed in that moment, the version is there again with its node.

Where the node of a version in memory alone is out of sight, a read may also return the version of
the under level: both directories of the name may be out of sight too. A removal does not reach
such a version, which is there again with its node; a flush is refused, unless the version was
written while its node saw no other, or its name was changed since by a node that does not see it.
A node that does not see all others may remove a name that exists no more.

The nodes learn of a change one after the other. Until it is acknowledged, each of them reads what
was there before or what is there then; once it is, all read the new state.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from historychecker import Operation, Verdict, check
from historystate import NODES, Alone, State, Value

CHANGES = ("write", "rename", "remove", "flush")
"""Requests that change what has a name."""
ABSENT = "absent"
"""The result of a request that was refused because its file does not exist."""

UNKNOWN = "unknown"
"""The result of a request that was not answered."""


def with_overlaps(operations: Sequence[Operation]) -> list[Operation]:
    """Mark changes of a name that overlap others, and reads that overlap changes.

    The promise says less of them. A read may come as early as the change that it overlaps;
    `has_twin` is a rename that overlaps another one of the same two names, or a removal that
    overlaps a rename of its name; `has_rival` is a change that gives a name to a version while
    another request changes that name.
    """

    def marks(operation: Operation) -> dict[str, Any]:
        request = operation.request
        named = {"write": "path", "rename": "target", "remove": "path"}.get(request["do"])
        if named is None or operation.result == ABSENT:
            return {}
        overlapping = [
            other.request
            for other in operations
            if other is not operation
            and other.request["do"] in CHANGES
            and other.result != ABSENT
            and other.start < operation.end
            and operation.start < other.end
        ]
        renames = [other for other in overlapping if other["do"] == "rename"]
        if request["do"] == "remove":
            return {"has_twin": any(other["path"] == request["path"] for other in renames)}
        has_twin = request["do"] == "rename" and any(
            {other["path"], other["target"]} == {request["path"], request["target"]}
            for other in renames
        )
        has_rival = any(
            request[named] in (other["path"], other.get("target")) for other in overlapping
        )
        return {"has_twin": has_twin, "has_rival": has_rival}

    def from_change(operation: Operation) -> Operation:
        """Return a read that may see what was there before the changes that it overlaps."""
        request = operation.request
        if not has_memory or (request["do"] != "read" and operation.result != ABSENT):
            return operation
        starts = [
            change.start
            for change in operations
            if change.request["do"] in CHANGES
            and change.result != ABSENT
            and change.start < operation.start < change.end
            and request.get("path") in (change.request["path"], change.request.get("target"))
        ]
        return replace(operation, start=min([operation.start, *starts]))

    has_memory = any(
        operation.request.get("mode") in ("memory", "back") for operation in operations
    )
    flushes = [
        replace(rename, request={"do": "early_flush", "node": rename.request["node"], "path": path})
        for rename in operations
        if rename.request["do"] == "rename" and rename.result != ABSENT
        for path in (rename.request["path"], rename.request["target"])
    ]
    marked = [
        from_change(replace(operation, request=operation.request | marks(operation)))
        for operation in operations
    ]
    return marked + flushes


@dataclass(frozen=True, kw_only=True)
class StorePromise:
    """The model; requests are dictionaries with `do`, `node` and the fields that it needs.

    Attributes
    ----------
    conflicts
        Versions that have conflict names in the end, with the path that they lost: no other
        version loses its name to a rival.
    """

    conflicts: frozenset[tuple[int, str]]

    def steps(self, state: State, operation: Operation) -> Iterator[State]:
        """Return the states that a request with this result may lead to."""
        request = operation.request
        if operation.result == ABSENT and request["do"] != "read":
            yield from self._read(state, request, None)
            return
        method = getattr(self, f"_{request['do']}")
        yield from method(state, request, operation.result)
        if request["do"] in CHANGES:
            node = request["node"]
            unseen = [peer for peer in NODES if not state.sees(node, peer)]
            for named in chain.from_iterable(self._named(state, peer) for peer in unseen):
                yield from method(named, request, operation.result)

    def is_read(self, operation: Operation) -> bool:
        """Whether a request leaves every state as it is: a read, or one whose file is absent."""
        return operation.request["do"] == "read" or bool(operation.result == ABSENT)

    def values(self, operation: Operation) -> Iterable[str]:
        """Return the contents that a read returned, or those of files with conflict names."""
        if operation.request["do"] == "conflicts":
            return [value for _, value in operation.result]
        is_content = operation.request["do"] == "read" and operation.result is not None
        return [operation.result] if is_content else []

    def without_values(self, state: State, needed: Container[Hashable]) -> State:
        """Return the state with numbers for the contents that nobody reads any more."""
        numbers: dict[str, str] = {}

        def named(value: str) -> str:
            return value if value in needed else numbers.setdefault(value, f"#{len(numbers)}")

        def named_below(value: Value) -> Value:
            return None if value is None else named(value)

        under = tuple(map(named_below, state.under))
        alone = sorted(state.alone, key=lambda each: (each.path, each.node, each.is_back))
        renamed = [
            replace(each, value=named(each.value), base=named_below(each.base)) for each in alone
        ]
        return replace(state, under=under, alone=frozenset(renamed))

    def hidden(self, state: State) -> Iterator[State]:
        """Return the states after a write-back, or after two versions met with one name."""
        for version in state.alone:
            if version.is_named:
                yield state.without([version])
            elif version.is_back:
                yield from self._flushed(state, version)
            below = state.under[version.path]
            is_unknown_below = below is not None and below != version.base
            has_rival = is_unknown_below or state.has_rival(version)
            if has_rival and (version.is_replaced or self._has_conflict(version)):
                yield state.without([version])

    def _named(self, state: State, node: int) -> Iterator[State]:
        """Return the states in which a version of a node is on the under level, too."""
        for version in state.alone:
            is_waiting = version.node == node and version.is_back and not version.is_named
            if is_waiting and state.under[version.path] in (version.base, None):
                named = replace(version, base=version.value, is_named=True)
                below = state.without([version]).with_under(version.path, version.value)
                yield replace(below, alone=below.alone | {named})

    def _has_conflict(self, version: Alone) -> bool:
        return (version.path, version.value) in self.conflicts

    def _flushed(self, state: State, version: Alone) -> Iterator[State]:
        """Return the state in which a version is on the under level.

        Where its writer did not know what is there, it is there under a conflict name.
        """
        if state.under[version.path] in (version.base, None):
            yield state.without([version]).with_under(version.path, version.value)
        elif self._has_conflict(version):
            yield state.without([version])

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
        # A version that replaces one of its node inherits what is known of the level below.
        bases = [version.base for version in state.visible(node, path) if version.node == node]
        base = bases[0] if bases else state.under[path]
        for taken in state.replaced(node, path, request.get("has_rival", False)):
            replaced = taken.forgotten(node, path)
            if mode in ("through", "bypass"):
                yield replaced.with_under(path, value)
                continue
            is_published = not state.is_alone(node)
            is_back = mode == "back"
            version = Alone(
                path=path,
                node=node,
                value=value,
                is_back=is_back,
                base=base,
                is_published=is_published,
            )
            yield replace(replaced, alone=replaced.alone | {version})

    def _remove(self, state: State, request: dict[str, Any], result: Value) -> Iterator[State]:
        node, path = request["node"], request["path"]
        visible = state.visible(node, path)
        # A file that is removed while its node is out of sight is there again with the node, or
        # has another name there by now.
        if visible or state.under[path] is not None or not state.sees_all(node):
            for taken in state.taken(node, path):
                removed = taken.forgotten(node, path)
                yield removed.with_under(path, None)
                if any(version.base != state.under[path] for version in visible):
                    # What its writer did not know on the under level stays there.
                    yield removed
        elif request.get("has_twin"):
            yield state

    def _flush(self, state: State, request: dict[str, Any], result: Value) -> Iterator[State]:
        node, path = request["node"], request["path"]
        visible = state.visible(node, path)
        if not visible and (state.is_alone(node) or not state.is_hidden(node, path)):
            yield state
        for version in visible:
            yield from self._flushed(state, version)

    def _early_flush(self, state: State, request: dict[str, Any], result: Value) -> Iterator[State]:
        yield state
        for version in state.visible(request["node"], request["path"]):
            yield from self._flushed(state, version)

    def _rename(self, state: State, request: dict[str, Any], result: Value) -> Iterator[State]:
        node, path, target = (request[key] for key in ("node", "path", "target"))
        if request.get("has_twin"):
            yield state
        visible = state.visible(node, path)
        if len(visible) > 1:
            return
        for taken in state.replaced(node, target, request.get("has_rival", False)):
            cleared = taken.forgotten(node, target)
            for version in visible:
                below = state.under[path]
                if version.base != below and below is not None:
                    if self._has_conflict(version):
                        moved = cleared.without(visible).with_under(path, None)
                        yield moved.with_under(target, below)
                    continue
                moved = cleared.without(visible).with_under(path, None)
                yield moved.with_under(target, version.value)
                is_published = not state.is_alone(version.node)
                renamed = replace(
                    version, path=target, base=state.under[target], is_published=is_published
                )
                yield replace(moved, alone=moved.alone | {renamed})
            if not visible and state.under[path] is not None:
                renamed_below = cleared.with_under(target, state.under[path])
                yield renamed_below.with_under(path, None)
                if result == UNKNOWN:
                    # Its store was killed between the new name and the end of the old one.
                    yield renamed_below

    def _lose_sight(self, state: State, request: dict[str, Any], result: Value) -> Iterator[State]:
        yield replace(state, unseen=state.unseen | {(request["node"], request["peer"])})

    def _regain_sight(
        self, state: State, request: dict[str, Any], result: Value
    ) -> Iterator[State]:
        published = frozenset(
            replace(version, is_published=True) if version.node == request["node"] else version
            for version in state.alone
        )
        unseen = state.unseen - {(request["node"], request["peer"])}
        yield replace(state, unseen=unseen, alone=published)

    def _end(self, state: State, request: dict[str, Any], result: Value) -> Iterator[State]:
        forgotten = frozenset(
            replace(version, is_named=False) if version.node == request["node"] else version
            for version in state.alone
        )
        down = state.down | {request["node"]}
        yield replace(state, down=down, alone=forgotten)
        for named in self._named(state, request["node"]):
            yield from self._end(named, request, result)

    def _begin(self, state: State, request: dict[str, Any], result: Value) -> Iterator[State]:
        node = request["node"]
        unseen = state.unseen | {(node, peer) for peer in NODES if peer != node}
        yield replace(state, down=state.down - {node}, unseen=unseen)

    def _conflicts(
        self, state: State, request: dict[str, Any], result: list[list[Any]]
    ) -> Iterator[State]:
        """Accept the end, in which no two versions have one name."""
        named = {version.path for version in state.alone}
        if len(named) == len(state.alone):
            yield state


def verdict(operations: Sequence[Operation], paths: int) -> Verdict:
    """Check a history of so many paths against the promise."""
    conflicts = frozenset(
        (path, value)
        for operation in operations
        if operation.request["do"] == "conflicts"
        for path, value in operation.result
    )
    initial = State(under=(None,) * paths)
    return check(StorePromise(conflicts=conflicts), initial, with_overlaps(operations))
