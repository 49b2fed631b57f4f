"""Options of `cuesta cluster plan`, `up` and `submit`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

if TYPE_CHECKING:
    from cuesta.cluster.settings import ClusterPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """The options as they are typed."""

    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND", help="What to run, e.g. -- run sort FILE -o DIR."),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="New folder for state, logs and settings, which all nodes share.",
        ),
    ] = None
    nodes: Annotated[int, typer.Option("--nodes", "-n", help="How many nodes.")] = 2
    time: Annotated[
        str | None,
        typer.Option("--time", "-t", help="Minutes, or hours:minutes:seconds.", show_default=False),
    ] = None
    scheduler: Annotated[str, typer.Option(help="Who gives nodes: local, slurm, pbs, hosts.")] = (
        "local"
    )
    hosts: Annotated[
        str,
        typer.Option(
            metavar="A,B",
            help="For hosts: their names; else these of the allocation's nodes.",
            show_default=False,
        ),
    ] = ""
    starter: Annotated[
        str, typer.Option("--start", metavar="WORDS", help="For hosts: runs a command on {host}.")
    ] = "ssh -o BatchMode=yes {host}"
    queue: Annotated[
        str, typer.Option("--queue", "-q", help="Queue or partition.", show_default=False)
    ] = ""
    account: Annotated[
        str, typer.Option("--account", "-A", help="Who pays.", show_default=False)
    ] = ""
    services: Annotated[
        str, typer.Option("--with", metavar="A,B", help="What to bring up: spark, mpi, yarn.")
    ] = "spark"
    store: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="A store of this memory on each node.", show_default=False
        ),
    ] = None
    under: Annotated[str, typer.Option(metavar="DIR", help="The folder that stores are over.")] = ""
    cores: Annotated[
        int | None,
        typer.Option(help="Cores of each node; all otherwise.", min=1, show_default=False),
    ] = None
    memory: Annotated[
        str | None,
        typer.Option(help="Memory of each node; most of it otherwise.", show_default=False),
    ] = None
    interface: Annotated[
        str,
        typer.Option(
            metavar="A,B",
            help="Network interface to listen on; the first that a node has.",
            show_default=False,
        ),
    ] = ""
    scratch: Annotated[
        str,
        typer.Option(
            metavar="DIR", help="Folder on a disk of each node; $TMPDIR or /tmp otherwise."
        ),
    ] = ""
    preset: Annotated[str, typer.Option(help="Settings by name: paper.", show_default=False)] = ""
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting: Spark's, Hadoop's or ours."),
    ] = None
    wait: Annotated[
        bool, typer.Option("--wait", help="For submit: stay until the command has ended.")
    ] = False

    def plan(self) -> ClusterPlan:
        """Return the plan of the options. Errors: `InputError`."""
        from cuesta.cli.cluster_command import with_engine
        from cuesta.cluster import settings
        from cuesta.units import parse_size

        minutes = None if self.time is None else settings.parse_minutes(self.time)
        memory = None if self.memory is None else parse_size(self.memory, "--memory")
        return settings.ClusterPlan(
            cluster="",
            allocation=settings.Allocation(
                scheduler=self.scheduler,
                nodes=self.nodes,
                minutes=minutes,
                queue=self.queue,
                account=self.account,
                starter=self.starter,
                hosts=tuple(word.strip() for word in self.hosts.split(",") if word.strip()),
            ),
            share=settings.NodeShare(
                cores=self.cores,
                memory_bytes=memory,
                interface=self.interface,
                scratch=self.scratch and str(Path(self.scratch).absolute()),
            ),
            services=tuple(word.strip() for word in self.services.split(",") if word.strip()),
            store_bytes=parse_size(self.store, "--store") if self.store else 0,
            store_under=self.under and str(Path(self.under).absolute()),
            preset=self.preset,
            sets=settings.parse_sets(self.sets or []),
            command=with_engine(tuple(self.command or ())),
        )


def with_options(function: Callable[[PlanOptions], None], *, command: bool) -> Callable[..., None]:
    """A command with the options as its signature, and with `-- COMMAND` where it takes one."""

    def call(**options: Any) -> None:
        function(complete(options))

    left_out = set() if command else {"command", "wait"}
    hints = get_type_hints(PlanOptions, include_extras=True)
    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=_untyped(hints[field.name], field.default),
            default=None,
        )
        for field in fields(PlanOptions)
        if field.name not in left_out
    ]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = hints
    call.__doc__ = function.__doc__
    return call


_WORDS = {"start": "starter", "with": "services", "set": "sets"}
"""By name of a setting `cluster.NAME`, the option that has another name here."""


def complete(typed: Mapping[str, Any]) -> PlanOptions:
    """Return the options, with settings and defaults for those that nobody typed.

    A `--set` that is typed wins over the same key of a file. Errors: `InputError` for a setting
    that is wrong.
    """
    from cuesta.config.known import SETS, option_name
    from cuesta.config.layers import effective

    values = {name: value for name, value in typed.items() if value is not None}
    sets: list[str] = []
    for setting in effective("cluster").values():
        word = setting.name.removeprefix("cluster.")
        if setting.name.startswith(f"{SETS}."):
            sets.append(f"{option_name(setting.name)}={setting.value}")
        else:
            values.setdefault(_WORDS.get(word, word), setting.value)
    return PlanOptions(**values | ({"sets": [*sets, *values.get("sets", [])]} if sets else {}))


def setting_name(field: str) -> str:
    """Return the name of the setting of a field of `PlanOptions`."""
    words = {name: word for word, name in _WORDS.items()}
    return f"cluster.{words.get(field, field)}"


def _untyped(hint: Any, default: object) -> Any:
    """The annotation of an option whose value is None until it is typed; help has its default."""
    kind, declared = get_args(hint)
    declared = copy(declared)
    if default not in (None, "", False):
        declared.show_default = str(default)
    return Annotated[kind if default is None else kind | None, declared]
