"""Commands of other products, which the command `cuesta` finds by entry points.

The table is static, so that help lists all commands and a missing product is named; entry points
are read only when a command of another product is used.
"""

from __future__ import annotations

import typer

from cuesta.errors import EngineMissing
from cuesta.plugins import plugin, remedy

GROUP = "cuesta.commands"
"""Entry points with the name of a command, each a function that adds it to an application."""

COMMANDS = {"lab": ("study", "explain", "model", "advise")}
"""Commands by the extra of `cuesta` that installs their product."""

_EXTRAS = {name: extra for extra, names in COMMANDS.items() for name in names}


def is_of_product(name: str) -> bool:
    """Whether a command is that of another product."""
    return name in _EXTRAS


def register(app: typer.Typer, name: str) -> None:
    """Add a command; where its product is missing, one that says how to install it."""
    add = plugin(GROUP, name)
    if add is None:
        _add_remedy(app, name)
    else:
        add(app)


def _add_remedy(app: typer.Typer, name: str) -> None:
    """Add a command that takes any words, and refuses."""
    extra = _EXTRAS[name]

    def refuse() -> None:
        raise EngineMissing(f"{name} is not installed; {remedy(extra)}")

    app.command(
        name,
        help=f"Not installed: pip install cuesta-{extra}",  # Brackets would be markup.
        add_help_option=False,
        context_settings={
            "allow_extra_args": True,
            "ignore_unknown_options": True,
            "help_option_names": [],
        },
    )(refuse)
