"""`cuesta config show`: all settings, the values that win, and where they come from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from cuesta.config.layers import Layer


@dataclass(frozen=True, kw_only=True)
class Row:
    """A setting: the value that wins, its origin, and the origins that it overrides."""

    name: str
    value: str
    origin: str
    over: tuple[str, ...] = ()


DEFAULT = "default"


def register(app: typer.Typer) -> None:
    """Add `config` with its subcommand."""
    group = typer.Typer(
        help="Show the settings of files cuesta.toml and of the environment.",
        no_args_is_help=True,
    )
    group.callback()(_group)
    group.command("show")(_show)
    app.add_typer(group, name="config")


def _group() -> None:
    """Show the settings of files cuesta.toml and of the environment."""


def _show(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Settings or tables; all without one."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show each setting, the value that wins, and why.

    An option of the command line wins over a variable of the environment, that over the file of
    the project, of the user and of the site, these over the default.
    """
    from cuesta.config.layers import layers

    rows = list(_chosen(rows_of(layers()), names or []))
    files = list(_files())
    if as_json:
        values = [{**vars(row), "over": list(row.over)} for row in rows]
        shown = [{"kind": kind, "file": file, "state": state} for kind, file, state in files]
        typer.echo(json.dumps({"settings": values, "files": shown}, indent=2))
    else:
        _print(rows, files)


def rows_of(known_layers: list[Layer]) -> Iterator[Row]:
    """Yield a row for each setting that there is, and for each option that a file sets."""
    from cuesta.config.known import SETTINGS

    defaults = _defaults()
    names = dict.fromkeys(SETTINGS)
    names |= dict.fromkeys(name for layer in known_layers for name in layer.values)
    for name in names:
        setting = [layer for layer in known_layers if name in layer.values]
        if not setting:
            yield Row(name=name, value=defaults.get(name, ""), origin=DEFAULT)
            continue
        over = (f"{_origin(layer, name)}: {_value(layer, name)}" for layer in setting[1:])
        yield Row(
            name=name,
            value=_value(setting[0], name),
            origin=_origin(setting[0], name),
            over=tuple(over),
        )


def _value(layer: Layer, name: str) -> str:
    from cuesta.config.layers import HIDDEN, is_secret
    from cuesta.untrusted import single_line

    return HIDDEN if is_secret(name) else single_line(layer.values[name])


def _origin(layer: Layer, name: str) -> str:
    from cuesta.config.known import variable

    return f"{layer.kind} {layer.source}" if layer.source else f"{layer.kind} {variable(name)}"


def _defaults() -> dict[str, str]:
    """Texts of the defaults, as help shows them."""
    from dataclasses import fields

    from cuesta.api.declared import ONE_ENGINE, SEVERAL_ENGINES, common_options
    from cuesta.cli.cluster_options import PlanOptions, setting_name

    options = [ONE_ENGINE, SEVERAL_ENGINES, *common_options()]
    texts = {
        option.setting: option.shown if isinstance(option.shown, str) else str(option.default)
        for option in options
        if option.setting
    }
    for field in fields(PlanOptions):
        if field.default:
            texts[setting_name(field.name)] = str(field.default)
    return texts


def _chosen(rows: Iterator[Row], names: list[str]) -> Iterator[Row]:
    """Yield the rows of some names. Errors: `InputError` for a name without a row."""
    from cuesta.errors import InputError

    known = list(rows)
    for name in names or [""]:
        matches = [row for row in known if row.name == name or row.name.startswith(f"{name}.")]
        if name and not matches:
            import difflib

            near = difflib.get_close_matches(name, [row.name for row in known], n=1)
            remedy = f"did you mean {near[0]}?" if near else "`cuesta config show` has them all"
            raise InputError(f"config show: {name} is no setting; {remedy}")
        yield from matches if name else known


def _files() -> Iterator[tuple[str, str, str]]:
    """Yield kind, name and state of each file that was looked for, strongest first."""
    from cuesta.config import places

    existing = {place.file: place for place in places.existing()}
    for place in existing.values():
        if place.kind == places.PROJECT:
            yield place.kind, place.file, place.passed_over or "read"
    if not any(place.kind == places.PROJECT for place in existing.values()):
        yield places.PROJECT, places.FILE_NAME, "none in this folder or above it"
    named = [(places.USER, places.user_file()), *((places.SITE, f) for f in places.site_files())]
    for kind, file in named:
        yield kind, file, "read" if file in existing else "is not there"


def _print(rows: list[Row], files: list[tuple[str, str, str]]) -> None:
    """Print a line for each setting, and below it a line for each origin that it overrides."""
    from cuesta.api.console import Console

    console = Console()
    names = max((len(row.name) for row in rows), default=0)
    values = max((len(row.value) for row in rows), default=0)
    for row in rows:
        line = f"{row.name:<{names}}  {row.value:<{values}}  {row.origin}"
        console.print(console.dim(line) if row.origin == DEFAULT else line)
        for origin in row.over:
            console.print(console.dim(f"{'':<{names + values + 4}}over {origin}"))
    for kind, file, state in files:
        console.print(console.dim(f"{kind} file {file}: {state}"))
