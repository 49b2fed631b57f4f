"""Prints lines that may have words of others in them, such as those of a record or a model."""

from __future__ import annotations

import sys

from cuesta.untrusted import harmless


def echo(text: str, *, err: bool = False) -> None:
    """Print text on stdout or stderr, without what would do something to a terminal."""
    stream = sys.stderr if err else sys.stdout
    stream.write(f"{harmless(text)}\n")
    stream.flush()
