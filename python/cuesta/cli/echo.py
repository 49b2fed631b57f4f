"""Prints lines with untrusted words in them, such as those of a record or a model."""

from __future__ import annotations

import sys

from cuesta.untrusted import harmless


def echo(text: str, *, err: bool = False) -> None:
    """Print text on stdout or stderr, without control characters of a terminal."""
    stream = sys.stderr if err else sys.stdout
    stream.write(f"{harmless(text)}\n")
    stream.flush()
