"""How the lab tells somebody what it is doing, without knowing about terminals."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Hears what happens while a trial runs."""

    def note(self, text: str) -> None:
        """A sentence worth a line."""
        ...

    def stage(self, name: str) -> None:
        """What is being done from now on: `reading`, `verifying`... in one or a few words."""
        ...

    def progress(self, done: int, total: int) -> None:
        """How far the stage is, in bytes; total 0 means unknown. Called from any thread."""
        ...

    def close(self) -> None:
        """Nothing more comes for now."""
        ...


class Silent:
    """Hears nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def stage(self, name: str) -> None:
        """Nothing."""

    def progress(self, done: int, total: int) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""
