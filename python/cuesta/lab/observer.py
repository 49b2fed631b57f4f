"""Interface through which the lab reports its progress, independent of terminals."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Receiver of events while a trial runs."""

    def note(self, text: str) -> None:
        """Receive a sentence for the user."""
        ...

    def stage(self, name: str) -> None:
        """Begin a stage: `reading`, `verifying`... in one or a few words."""
        ...

    def detail(self, text: str) -> None:
        """Receive a sentence for a user who requested details."""
        ...

    def progress(self, done: int, total: int) -> None:
        """Receive the progress of the stage in bytes, total 0 if unknown; from any thread."""
        ...

    def close(self) -> None:
        """End the reports for now."""
        ...


class Silent:
    """Observer that ignores all events."""

    def note(self, text: str) -> None:
        """Ignore it."""

    def stage(self, name: str) -> None:
        """Ignore it."""

    def detail(self, text: str) -> None:
        """Ignore it."""

    def progress(self, done: int, total: int) -> None:
        """Ignore it."""

    def close(self) -> None:
        """Ignore it."""
