"""Commands of other products, found by entry points of the group `cuesta.commands`.

An entry point is named after its command and leads to a function as the `register` of a module of
this package. They are read only for a command of the table below, and for help: a `run` pays
nothing for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from cuesta.errors import EngineMissing
from cuesta.plugins import plugin, remedy

GROUP = "cuesta.commands"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductCommand:
    """A command of another product: its distribution, the extra of `cuesta` that installs it, and
    its line of help where it is not installed.
    """

    distribution: str
    extra: str
    summary: str


COMMANDS = {
    "store": ProductCommand(
        distribution="cuesta-store",
        extra="store",
        summary="A tier of memory in front of a parallel file system.",
    ),
    "study": ProductCommand(
        distribution="cuesta-lab",
        extra="lab",
        summary="Run a file of trials that ask a question, and draw the answer.",
    ),
    "explain": ProductCommand(
        distribution="cuesta-lab",
        extra="lab",
        summary="Say where the time of a run went and what bounds it.",
    ),
    "model": ProductCommand(
        distribution="cuesta-lab",
        extra="lab",
        summary="Predict how long a job takes elsewhere, with intervals.",
    ),
    "advise": ProductCommand(
        distribution="cuesta-lab",
        extra="lab",
        summary="Say which machine, how many nodes and which engine a job deserves.",
    ),
}
"""By name, all commands that are not of this package."""


def register(app: typer.Typer, name: str) -> None:
    """Add a command of the table; one that is not installed says how to get it."""
    add = plugin(GROUP, name)
    if add is not None:
        add(app)
        return
    command = COMMANDS[name]

    def missing(words: Annotated[list[str] | None, typer.Argument(hidden=True)] = None) -> None:
        del words
        raise EngineMissing(
            f"`cuesta {name}` is a command of {command.distribution}, which is not installed; "
            f"{remedy(command.extra)}"
        )

    settings = {"ignore_unknown_options": True, "help_option_names": []}
    # Help shows the first sentence alone, and takes what is in brackets for a style.
    summary = f"{command.summary.removesuffix('.')} ({command.distribution})."
    app.command(name, help=summary, context_settings=settings)(missing)
