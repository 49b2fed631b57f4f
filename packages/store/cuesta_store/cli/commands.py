"""The commands of `cuesta-store`, which are those of `cuesta store` too."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from cuesta_store.cli.conf import hadoop_conf, spark_conf
from cuesta_store.cli.mount import mount, unmount
from cuesta_store.cli.simulate import simulate_policies
from cuesta_store.cli.start import secret, start_command, stop
from cuesta_store.untrusted import single_line

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PATH_HELP = "cuesta:///PATH or /PATH: a name as it is, never a pattern."
StoredPath = Annotated[str, typer.Argument(metavar="PATH", help=PATH_HELP, show_default=False)]
StoredPaths = Annotated[list[str], typer.Argument(metavar="PATH...", help=PATH_HELP)]


def register(app: typer.Typer) -> None:
    """Add `store` with its subcommands to the command `cuesta`."""
    app.add_typer(store_app(), name="store")


def store_app(**settings: Any) -> typer.Typer:
    """Return the application with all commands; `settings` are those of its command line."""
    summary = "A tier of memory in front of a parallel file system."
    store = typer.Typer(help=summary, no_args_is_help=True, **settings)
    commands: dict[str, Callable[..., None]] = {
        "start": start_command(),
        "stop": stop,
        "status": show_status,
        "ls": list_folder,
        "stat": show_facts,
        "cat": print_files,
        "cp": copy_file,
        "load": load,
        "pin": pin,
        "unpin": unpin,
        "free": free,
        "put": put_file,
        "flush": flush,
        "rm": remove,
        "audit": audit,
        "mount": mount,
        "unmount": unmount,
        "spark-conf": spark_conf,
        "hadoop-conf": hadoop_conf,
        "scrub": scrub,
        "sweep": sweep,
        "secret": secret,
        "trace": record_trace,
        "simulate": simulate_policies,
    }
    for name, command in commands.items():
        store.command(name)(command)
    return store


def show_status(
    watch: Annotated[bool, typer.Option(help="Again each second, until Ctrl-C.")] = False,
    as_json: Json = False,
) -> None:
    """Say what is in memory and how often it was hit."""
    from cuesta_store.cli.status import show

    show(watch=watch, as_json=as_json)


def list_folder(path: StoredPath = "/", as_json: Json = False) -> None:
    """List a folder: size, how much of it is in memory, name."""
    from cuesta_store import control

    entries = control.ask("list", path=path)["entries"]
    typer.echo(json.dumps(entries, indent=2) if as_json else "\n".join(map(_entry_line, entries)))


def show_facts(path: StoredPath, as_json: Json = False) -> None:
    """Say how large a file is, how much of it is in memory, and how it lies on servers.

    Of several nodes, also how many of its blocks each store has in memory.
    """
    from cuesta_store import control
    from cuesta_store.places import blocks_by_store

    (entry,) = control.ask("stat", path=path)["entries"]
    stores = {} if entry["is_folder"] else blocks_by_store(path, entry["size_bytes"])
    if as_json:
        typer.echo(json.dumps(entry | {"stores": stores}, indent=2))
        return
    named = "".join(f"\n{name}: {count} blocks in memory" for name, count in stores.items())
    typer.echo(_entry_line(entry) + _layout(entry) + named)


def _entry_line(entry: dict[str, Any]) -> str:
    from cuesta_store.units import format_bytes

    if entry["is_folder"]:
        return f"{'':>10} {'':>5} {_shown(entry['name'])}/"
    share = entry["memory_bytes"] / entry["size_bytes"] if entry["size_bytes"] else 0.0
    return f"{format_bytes(entry['size_bytes']):>10} {share:>5.0%} {_shown(entry['name'])}"


def _shown(name: str) -> str:
    """Return a name for people, on a single line: bytes that are no text are escaped."""
    return single_line(os.fsencode(name).decode(errors="backslashreplace"))


def _layout(entry: dict[str, Any]) -> str:
    from cuesta_store.units import format_bytes

    layout = entry.get("layout")
    if layout is None or layout["layout"] == "plain":
        return ""
    stripe_size = format_bytes(layout["stripe_size"])
    return f"\n{layout['layout']}: {layout['stripe_count']} stripes of {stripe_size}"


def print_files(paths: StoredPaths) -> None:
    """Write files to the standard output."""
    for path in paths:
        _copy(path, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def copy_file(
    source: StoredPath,
    target: Annotated[Path, typer.Argument(help="A file that is not there.", show_default=False)],
) -> None:
    """Copy a file of the store to a place outside."""
    from cuesta_store import control
    from cuesta_store.errors import InputError

    (entry,) = control.ask("stat", path=source)["entries"]
    bits = entry.get("permissions", 0o666) & 0o777

    def create(path: str, flags: int) -> int:
        return os.open(path, flags, bits)

    try:
        with open(target, "xb", opener=create) as to:
            _copy(source, to)
    except FileExistsError:
        raise InputError(f"{target} is there already; remove it or give another name") from None


def _copy(path: str, to: Any) -> None:
    from cuesta_store import control
    from cuesta_store.client import CachedFile

    file = CachedFile(control.default_folder(), path)
    piece = bytearray(1 << 20)
    for offset in range(0, file.size_bytes, len(piece)):
        view = memoryview(piece)[: file.size_bytes - offset]
        file.read_into(view, offset)
        to.write(view)
    file.close()


def put_file(
    source: Annotated[Path, typer.Argument(help="A file.", exists=True, dir_okay=False)],
    target: StoredPath,
    write: Annotated[
        str | None, typer.Option(help="through, back, bypass or memory; the store's own if none.")
    ] = None,
) -> None:
    """Copy a file from a place outside into the store."""
    from cuesta_store import control
    from cuesta_store.writer import WrittenFile

    bits = source.stat().st_mode & 0o777
    with (
        source.open("rb") as bytes_,
        WrittenFile(control.default_folder(), target, write, permissions=bits) as to,
    ):
        while piece := bytes_.read(1 << 20):
            to.write(piece)


def flush(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH...]", help="All dirty files if none.")
    ] = None,
) -> None:
    """Bring files to the disk of the under level; when this ends they are there."""
    from cuesta_store import control
    from cuesta_store.units import format_bytes

    flushed = sum(control.ask("flush", path=path)["bytes"] for path in paths or (None,))
    typer.echo(f"{format_bytes(flushed)} flushed", err=True)


def remove(paths: StoredPaths) -> None:
    """Remove files or empty folders, from memory and from the under level."""
    from cuesta_store import control

    for path in paths:
        control.ask("remove", path=path)


def audit(
    read: Annotated[
        bool, typer.Option("--read", help="Read files of the under level, and compare checksums.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check that every file that was written here is there; exit code 1 where one is lost."""
    from cuesta_store import control
    from cuesta_store.units import format_bytes

    report = control.ask("audit", reads_bytes=read)
    del report["payload"]
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        for kind in ("lost", "changed", "conflicts"):
            for file in report.get(kind, ()):
                path = f"cuesta:///{_shown(file['path'])}"
                typer.echo(f"{kind.removesuffix('s')}: {path}: {file['reason']}")
        conflicts = len(report.get("conflicts", ()))
        typer.echo(
            f"{report['files']} files of {format_bytes(report['size_bytes'])} were written, "
            f"{report['memory_files']} of them are in memory alone; {len(report['lost'])} lost, "
            f"{len(report['changed'])} changed by others"
            + (f", {conflicts} kept under another name" if conflicts else ""),
            err=True,
        )
    if report["lost"]:
        raise typer.Exit(1)


def load(paths: StoredPaths) -> None:
    """Bring files into memory, as far as there is room."""
    _move("load", paths, "in memory")


def pin(paths: StoredPaths) -> None:
    """Bring files into memory to stay there until they are freed."""
    _move("pin", paths, "in memory to stay")


def free(paths: StoredPaths) -> None:
    """Take files out of memory."""
    _move("free", paths, "freed")


def _move(question: str, paths: list[str], done: str) -> None:
    from cuesta_store import control
    from cuesta_store.units import format_bytes

    for path in paths:
        moved = control.ask(question, path=path)["bytes"]
        typer.echo(f"{_shown(path)}: {format_bytes(moved)} {done}", err=True)


def unpin(paths: StoredPaths) -> None:
    """Let pinned files leave memory again."""
    from cuesta_store import control

    for path in paths:
        control.ask("unpin", path=path)


def scrub() -> None:
    """Check all blocks in memory; changed ones are read again, or lost if in memory alone."""
    from cuesta_store import control

    damaged = control.ask("scrub")["damaged"]
    for path, block in damaged:
        typer.echo(f"block {block} of cuesta:///{_shown(path)} had changed in memory")
    typer.echo(f"{len(damaged)} damaged", err=True)


def sweep(
    path: StoredPath = "/",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List parts alone.")] = False,
    older_than: Annotated[
        float | None,
        typer.Option(
            "--older-than",
            metavar="DAYS",
            min=0.0,
            help="Remove parts of this age too whose store may live on another host.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Remove what stores that have died left in the folder: hidden parts of files.

    A part goes if its process is gone, or its host was started again. A part of another host goes
    only by its age, or by its name as PATH.
    """
    from cuesta_store import control
    from cuesta_store.units import format_bytes

    seconds = None if older_than is None else int(older_than * 86400)
    parts = control.ask("sweep", path=path, is_dry=dry_run, older_than=seconds)["parts"]
    if as_json:
        typer.echo(json.dumps(parts, indent=2))
        return
    for part in parts:
        outcome, size = part["outcome"], format_bytes(part["size_bytes"])
        done = "would be removed" if dry_run and outcome == "removed" else outcome
        if isinstance(outcome, dict):
            done = f"{'would be' if dry_run else 'is'} cuesta:///{_shown(outcome['recovered'])}"
        typer.echo(f"{done}: cuesta:///{_shown(part['path'])} ({size}): {part['reason']}")
    gone = sum(part["outcome"] != "retained" for part in parts)
    typer.echo(f"{gone} of {len(parts)} parts {'would go' if dry_run else 'removed'}", err=True)


def record_trace(
    file: Annotated[
        Path | None, typer.Argument(help="A file that is not there.", show_default=False)
    ] = None,
    end: Annotated[bool, typer.Option("--end", help="End the trace.")] = False,
) -> None:
    """Record from now on which blocks are read; `--end` ends that."""
    from cuesta_store import control
    from cuesta_store.errors import InputError

    if (file is None) != end:
        raise InputError("give a file to record a trace in, or --end to end it")
    control.ask("trace", file=None if file is None else str(file.absolute()))
