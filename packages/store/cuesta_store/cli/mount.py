"""`cuesta store mount` and `unmount`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Place = Annotated[Path, typer.Argument(metavar="DIR", help="An empty folder.", show_default=False)]


def mount(
    place: Place,
    write: Annotated[
        str | None, typer.Option(help="through, back, bypass or memory; the store's own if none.")
    ] = None,
    tmpfs: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Without FUSE: memory of this size in DIR, without the store."
        ),
    ] = None,
) -> None:
    """Have the store at DIR, for programs that need paths, until `unmount`.

    It goes on after this command, also while the store is started again.
    """
    from cuesta_store import mount as mounts
    from cuesta_store.errors import InputError
    from cuesta_store.units import parse_size

    if tmpfs is not None:
        if write is not None:
            raise InputError("--write is for the store; --tmpfs is memory without it")
        typer.echo(mounts.take_memory(place, parse_size(tmpfs, "--tmpfs")), err=True)
        return
    mounts.mount(place, write)
    typer.echo(f"the store is at {place}", err=True)


def unmount(place: Place) -> None:
    """End a mount, once the programs that use it have closed their files."""
    from cuesta_store import mount as mounts

    mounts.unmount(place)
