"""`cuesta data`: list the registry, get a dataset by name, make a synthetic one."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuesta.cli.verbosity import messages

if TYPE_CHECKING:
    from cuesta.data.make import Kind, Option
    from cuesta.data.registry import Progress


def register(app: typer.Typer) -> None:
    """Add `data` with its subcommands."""
    from cuesta.data.make import KINDS

    data = typer.Typer(help="Real datasets by name, synthetic ones by seed.", no_args_is_help=True)
    data.command("list")(list_datasets)
    data.command("get")(get_dataset)
    make = typer.Typer(help="Make a seeded synthetic input of any size.", no_args_is_help=True)
    for kind in KINDS:
        make.command(kind.name, help=kind.help)(_maker(kind))
    data.add_typer(make, name="make")
    app.add_typer(data, name="data")


def list_datasets(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the datasets that `data get` knows."""
    from cuesta.data.obtain import cache_folder
    from cuesta.data.registry import datasets

    cache = cache_folder()
    rows = [
        {
            "name": dataset.name,
            "what": dataset.what,
            "licence": dataset.licence,
            "source": dataset.source.text,
            "size": dataset.sizes,
            "files": {file.name: file.sha256 for file in dataset.files},
            "cached": all((cache / dataset.name / file.name).exists() for file in dataset.files),
        }
        for dataset in datasets().values()
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
    else:
        _print_table(rows)


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from cuesta.api.console import Console

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, leading=1)
    table.add_column("name", no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("what it is, licence, origin", overflow="fold")
    table.add_column("here", justify="center")
    for row in rows:
        origin = Text(f"{row['licence']}; {row['source']}", style="dim")
        here = "yes" if row["cached"] else ""
        table.add_row(row["name"], "\n".join(row["size"]), Text(f"{row['what']}\n") + origin, here)
    Console().rich().print(table)


def get_dataset(
    name: Annotated[str, typer.Argument(help="A name that `data list` shows.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Copy it into this folder.")
    ] = None,
) -> None:
    """Obtain a dataset, check its sha256 and print the path of its matrix, or of its files.

    It stays in the cache ($CUESTA_DATA, else ~/.cache/cuesta/data) for the next time.
    """
    from cuesta.data.obtain import cache_folder, copy_out, obtain
    from cuesta.data.registry import dataset

    wanted = dataset(name)
    with _download_bar(name) as progress:
        paths = obtain(wanted, cache_folder(), progress)
    messages().print(f"{name}: {', '.join(wanted.sizes)}; {wanted.licence}")
    for path in paths:
        typer.echo(str(copy_out(path, output) if output else path))


@contextmanager
def _download_bar(name: str) -> Iterator[Progress]:
    """A bar with rate and remaining time on a terminal, nothing elsewhere."""
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    console = messages().rich()
    columns = (
        TextColumn("getting {task.description}", markup=False),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


def _maker(kind: Kind) -> Callable[..., None]:
    """A command that makes this kind, with an option for each of its options."""

    def command(**values: Any) -> None:
        from cuesta.data.make import is_device, make
        from cuesta.units import format_bytes, format_seconds

        output, overwrite = values.pop("output"), values.pop("overwrite")
        started = time.perf_counter()
        answer = make(kind, values, output, overwrite=overwrite)
        seconds = format_seconds(time.perf_counter() - started)
        known = [
            f"{answer[name]:,} {name}"
            for name in ("rows", "genes", "points", "images")
            if name in answer
        ]
        size = answer.get("bytes")
        known += [format_bytes(size)] if isinstance(size, int) else []
        messages().print(f"{kind.name}: {', '.join([*known, seconds])}")
        # On a device such as /dev/stdout the path would be appended to the data.
        if not is_device(output):
            typer.echo(str(output))

    parameters = [_parameter(option) for option in kind.options]
    place = Annotated[Path, typer.Option("-o", "--output", help="Where to write it.")]
    parameters.append(inspect.Parameter("output", inspect.Parameter.KEYWORD_ONLY, annotation=place))
    replaces = Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")]
    parameters.append(
        inspect.Parameter(
            "overwrite", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=replaces
        )
    )
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _parameter(option: Option) -> inspect.Parameter:
    """The parameter that Typer reads an option from."""
    flag = "--" + option.name.replace("_", "-")
    optional = not option.required and option.default is None
    kind = option.type | None if optional else option.type
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if option.required else option.default,
        annotation=Annotated[kind, typer.Option(flag, help=option.help)],
    )
