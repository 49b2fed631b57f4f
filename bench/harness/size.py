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
    only
        Parts of a bench that run, by name; empty for all.
    peers
        Peers that take part; None for all.
    """

    smoke: bool
    repeats: int
    folder: Path
    without: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    peers: frozenset[str] | None = None

    def pick(self, smoke: T, real: T) -> T:
        """The value for this size."""
        return smoke if self.smoke else real

    def left_out(self, peer: str) -> str | None:
        """Why `peer` does not take part, or None."""
        if self.peers is not None and peer not in self.peers:
            return "not one of --peers"
        return f"left out with --without {peer}" if peer in self.without else None

    def takes(self, *names: str) -> bool:
        """Whether a part of the bench runs that has one of these names."""
        return not self.only or any(name in self.only for name in names)

    @property
    def is_partial(self) -> bool:
        """Whether a part of the bench or of the peers does not run."""
        return bool(self.only) or self.peers is not None
