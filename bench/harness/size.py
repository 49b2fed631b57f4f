"""Size of a bench: the real size, or a smoke size of seconds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Size:
    """Limits of a bench.

    Attributes
    ----------
    smoke
        Whether the run only checks that the bench works.
    repeats
        Measured repeats of every contestant.
    folder
        Folder of data between runs, and of answers during one.
    without
        Peers that are left out, e.g. `spark`.
    """

    smoke: bool
    repeats: int
    folder: Path
    without: frozenset[str] = frozenset()

    def pick(self, smoke: T, real: T) -> T:
        """The value for this size."""
        return smoke if self.smoke else real

    def left_out(self, peer: str) -> str | None:
        """Why `peer` does not take part, or None."""
        return f"left out with --without {peer}" if peer in self.without else None
