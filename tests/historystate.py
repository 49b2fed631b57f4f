"""The state of a group of paths on the nodes of a job, for the model of the promise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

NODES = (1, 2, 3)

Value = str | None
"""The content of a file; `None` where there is none."""


@dataclass(frozen=True, kw_only=True)
class Alone:
    """A version in the memory of a node alone.

    `base` is the version of the under level that it replaces; `is_published`, whether its node has
    seen another node since it was written, and no node that does not see it has changed its name;
    `is_replaced`, whether it was replaced by a writer that knew it and could not tell its node;
    `is_named`, whether the under level has it too, of which its node has not taken note yet.
    """

    path: int
    node: int
    value: str
    is_back: bool
    base: Value
    is_published: bool
    is_replaced: bool = False
    is_named: bool = False


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
    """

    under: tuple[Value, ...]
    alone: frozenset[Alone] = frozenset()
    unseen: frozenset[tuple[int, int]] = frozenset()
    down: frozenset[int] = frozenset()

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
        """Whether a version in memory alone is out of the sight of `node`, which may know it."""
        return any(
            version.path == path and version.is_published and not self.sees(node, version.node)
            for version in self.alone
        )

    def sees_all(self, node: int) -> bool:
        """Whether `node` sees all other nodes."""
        return all(self.sees(node, peer) for peer in NODES)

    def is_alone(self, node: int) -> bool:
        """Return whether `node` sees no other node, so that it may not know of a hidden name."""
        return all(pair in self.unseen for pair in ((node, peer) for peer in NODES if peer != node))

    def has_rival(self, version: Alone) -> bool:
        """Whether a node sees `version` and another version of its path."""
        rivals = [
            rival for rival in self.alone if rival.path == version.path and rival is not version
        ]
        return any(
            self.sees(node, version.node) and self.sees(node, rival.node)
            for node in NODES
            for rival in rivals
        )

    def taken(self, node: int, path: int, has_rival: bool = False) -> Iterator[State]:
        """Return the states without the version that a change by `node` takes.

        It takes one at most: of two the other has a conflict name before. A change that overlaps
        another one may take none.
        """
        visible = self.visible(node, path)
        if len(visible) < 2:
            yield self.without(visible)
        if visible and has_rival:
            yield self
            for version in visible:
                yield self.without([version])

    def replaced(self, node: int, path: int, has_rival: bool) -> Iterator[State]:
        """Return the states without the version that a new one by `node` replaces.

        It is still there on a node that ends, or stops seeing `node`, at that moment.
        """
        yield from self.taken(node, path, has_rival)
        visible = self.visible(node, path)
        if any(each.node in self.down or not self.sees(each.node, node) for each in visible):
            alone = {replace(each, is_replaced=True) for each in visible}
            yield replace(self, alone=self.alone - frozenset(visible) | alone)

    def forgotten(self, node: int, path: int) -> State:
        """Return the state after a change by `node`, in which it forgot lost names of a path."""
        alone = frozenset(
            replace(version, is_published=False)
            if version.path == path and not self.sees(node, version.node)
            else version
            for version in self.alone
        )
        return replace(self, alone=alone)

    def with_under(self, path: int, value: Value) -> State:
        """Return the state in which the under level has `value`."""
        under = (*self.under[:path], value, *self.under[path + 1 :])
        return replace(self, under=under)

    def without(self, versions: Iterable[Alone]) -> State:
        """Return the state without these versions that are in memory alone."""
        return replace(self, alone=self.alone - frozenset(versions))
