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


OWN = frozenset(("lab", "model", "store"))
"""Extras that bring another product of the release, which no package index has."""
RELEASE = "RELEASE"
"""Name of the folder with the wheels of a release, in hints and in the guide."""


def remedy(extra: str) -> str:
    """Return the words that install an extra; the one place that knows.

    No index has Cuesta itself. It is installed already where these words are shown, so that pip
    looks for the packages of an extra alone; another product is in the folder of the release.
    """
    words = f"pip install 'cuesta[{extra}]'"
    return f"{words} --find-links {RELEASE}" if extra in OWN else words
