"""Objects that other products add to Cuesta, by entry points of their distributions."""

from __future__ import annotations

from typing import Any


def plugin(group: str, name: str) -> Any | None:
    """Load the object of an entry point; None where its product is not installed."""
    from importlib.metadata import entry_points  # Slow: only for what is not Cuesta's own.

    for entry in entry_points(group=group, name=name):
        try:
            return entry.load()
        except ModuleNotFoundError as error:
            # Metadata without its package is left by an interrupted removal.
            if error.name != entry.module.partition(".")[0]:
                raise
    return None


def remedy(extra: str) -> str:
    """How to install the product of an extra."""
    return f"pip install 'cuesta[{extra}]'"
