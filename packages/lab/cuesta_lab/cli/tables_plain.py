"""Tables as plain text, as wide as they are."""

from __future__ import annotations

from collections.abc import Sequence

from cuesta.cli.echo import echo


def print_aligned(rows: Sequence[Sequence[str]], *, left: int) -> None:
    """Rows in columns as wide as their longest cell; all but the first `left` to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            f"{cell:<{width}}" if column < left else f"{cell:>{width}}"
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        echo("  ".join(cells).rstrip())
