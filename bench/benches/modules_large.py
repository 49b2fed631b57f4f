"""Modules of as many genes as R has no memory for here."""

from __future__ import annotations

from collections.abc import Iterator

from benches import modules
from harness.data import Matrix
from harness.model import Case
from harness.size import Size


def cases(size: Size) -> Iterator[Case]:
    """Ours alone, in 12 GiB."""
    shape = Matrix(genes=size.pick(900, 40_000), samples=size.pick(60, 500))
    yield modules.modules(size, shape, memory="12GiB")
