"""`cuesta store start` and `stop`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """The options of `start`, as they are typed."""

    under: Annotated[
        Path,
        typer.Option(
            help="Folder whose files are kept in memory.",
            exists=True,
            file_okay=False,
            show_default=False,
        ),
    ]
    memory: Annotated[
        str, typer.Option(help="Most memory for blocks, e.g. 8GiB.", show_default=False)
    ]
    block: Annotated[str, typer.Option(help="Size of a block.")] = "64MiB"
    policy: Annotated[
        str, typer.Option(help="Which block leaves: lru, sieve, s3-fifo, clock-pro.")
    ] = "lru"
    admission: Annotated[
        bool, typer.Option(help="A block comes into a full memory only where that will pay.")
    ] = True
    quotas: Annotated[
        list[str] | None,
        typer.Option("--quota", metavar="/FOLDER=SIZE", help="Most memory for files below it."),
    ] = None
    uses: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            metavar="/FOLDER=USE",
            help="pin (what is read stays), normal, or bypass (what is read does not come).",
        ),
    ] = None
    fresh: Annotated[
        str,
        typer.Option(
            help="When a file is compared with the one in memory: on-open, immutable (never "
            "again), or seconds after which it is."
        ),
    ] = "on-open"
    write: Annotated[
        str, typer.Option(help="Where files are written: through, back, bypass, memory.")
    ] = "through"
    stripes: Annotated[
        int | None,
        typer.Option(
            help="Parts of a block that are read from the folder at once; as many as Lustre, "
            "OrangeFS or GlusterFS says that a file has stripes, where this is not given.",
            min=1,
            max=256,
            show_default=False,
        ),
    ] = None
    lower_buffer: Annotated[
        str, typer.Option(help="Size of such a part, where there are several.")
    ] = "4MiB"
    preallocate: Annotated[
        bool,
        typer.Option(
            "--preallocate",
            help="Take all memory from the system now, so that nothing waits for it later.",
        ),
    ] = False
    grace: Annotated[
        float, typer.Option(help="Seconds that dirty files may take after a signal to end.")
    ] = 30.0
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[:PORT]",
            help="The address that the other stores of a job reach this one at; a free port if "
            "none is given.",
            show_default=False,
        ),
    ] = None
    peers: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT,...|FILE",
            help="The addresses of all stores of the job; or a file with one a line, which is "
            "read again when it changes.",
            show_default=False,
        ),
    ] = None
    secret: Annotated[
        Path | None,
        typer.Option(
            help="The file of the secret of the job, made by `cuesta store secret`.",
            show_default=False,
        ),
    ] = None
    page: Annotated[
        int | None,
        typer.Option(
            help="Serve a live page and metrics on this port of 127.0.0.1; 0 is any free one.",
            min=0,
            max=65535,
            show_default=False,
        ),
    ] = None


def start_command() -> Callable[..., None]:
    """The command, with `StartOptions` for its signature."""

    def start(**options: Any) -> None:
        _start(StartOptions(**options))

    hints = get_type_hints(StartOptions, include_extras=True)
    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hints[field.name],
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
        )
        for field in fields(StartOptions)
    ]
    start.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    start.__annotations__ = hints
    start.__doc__ = """Start a store on this node; it goes on until `stop` or a signal.

    Its folder is $CUESTA_STORE, else one of yours in /dev/shm.
    """
    return start


def _start(options: StartOptions) -> None:
    from cuesta_store import control
    from cuesta_store.control import StoreSettings
    from cuesta_store.peers import peer_settings
    from cuesta_store.rules import folder_rules
    from cuesta_store.units import format_bytes, parse_size

    status = control.start(
        StoreSettings(
            under=options.under,
            memory_bytes=parse_size(options.memory, "--memory"),
            block_bytes=parse_size(options.block, "--block"),
            policy=options.policy,
            max_age_seconds=_age(options.fresh),
            write=options.write,
            grace_seconds=options.grace,
            preallocate=options.preallocate,
            admission=options.admission,
            stripes=options.stripes,
            stripe_bytes=parse_size(options.lower_buffer, "--lower-buffer"),
            rules=folder_rules(options.quotas or (), options.uses or ()),
            peers=peer_settings(options.listen, options.peers, options.secret),
        )
    )
    if status["limit_bytes"] < status["memory_bytes"]:
        typer.echo(
            f"of {format_bytes(status['memory_bytes'])} at most "
            f"{format_bytes(status['limit_bytes'])} are used now: this job, or the system, has no "
            "more memory to spare",
            err=True,
        )
    if status["foreign"]:
        typer.echo(control.foreign_line(control.default_folder(), status["foreign"]), err=True)
    stripe_size = status["layout"]["stripe_size"]
    if stripe_size and status["block_bytes"] % stripe_size:
        typer.echo(
            f"blocks of {format_bytes(status['block_bytes'])} do not end where stripes of "
            f"{format_bytes(stripe_size)} end; a --block that is a multiple reads faster",
            err=True,
        )
    typer.echo(
        f"store of {format_bytes(status['memory_bytes'])} over {status['under']}, "
        f"process {status['pid']}{_peer_words(status)}{_page_words(options.page)}",
        err=True,
    )


def _peer_words(status: dict[str, Any]) -> str:
    return f", for other stores {status['peers']['name']}" if status["peers"] else ""


def _page_words(port: int | None) -> str:
    """Sentence with the page's address, once it is started; without a page there is no store."""
    from cuesta_store import control
    from cuesta_store import page as store_page
    from cuesta_store.errors import InputError

    if port is None:
        return ""
    try:
        return f", page {store_page.start(control.default_folder(), port)}"
    except InputError as error:
        try:
            control.stop()
        except InputError as refusal:
            # A killed store left files in memory alone, which are worth more than the page.
            raise InputError(f"{error}; the store runs without a page, for {refusal}") from None
        raise


def _age(fresh: str) -> float | None:
    from cuesta_store.errors import InputError

    named = {"on-open": 0.0, "immutable": None}
    if fresh in named:
        return named[fresh]
    try:
        seconds = float(fresh)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise InputError(f"--fresh is {fresh!r}, give on-open, immutable or seconds")
    return seconds


def secret(
    file: Annotated[Path, typer.Argument(help="Where it is, for you alone.", show_default=False)],
) -> None:
    """Make the secret that the stores of a job share, or replace it while they run.

    Stores take the current and the previous one, and read the file again within a second.
    """
    from cuesta_store.peers import make_secret

    make_secret(file)


def stop(
    discard: Annotated[
        bool, typer.Option("--discard", help="Give up files that are not on the under level.")
    ] = False,
    discard_memory_files: Annotated[
        bool,
        typer.Option(
            "--discard-memory-files", help="Give up files of mode memory, which end with the store."
        ),
    ] = False,
) -> None:
    """Write what is dirty to the under level, stop the store and give its memory back.

    Files of mode memory keep the store from stopping, unless they are flushed or given up.
    """
    from cuesta_store import control

    folder = control.default_folder()
    names = control.stop(discards=discard, discards_memory=discard_memory_files)
    if names:
        typer.echo(control.foreign_line(folder, names), err=True)
