"""`cuesta cluster plan|up|submit|status|down`: Spark, MPI, YARN on nodes of an allocation."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuesta.cli.cluster_options import PlanOptions, with_options
from cuesta.cli.verbosity import messages

if TYPE_CHECKING:
    from cuesta.cluster.folder import ClusterFolder
    from cuesta.cluster.settings import ClusterPlan

_Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder that was given to -o.")]


def register(app: typer.Typer) -> None:
    """Add `cluster` with its subcommands."""
    group = typer.Typer(
        help="Bring Spark, MPI or YARN up on several nodes, run, take all down.",
        no_args_is_help=True,
    )
    group.command("plan")(with_options(_plan, command=True))
    group.command("up")(with_options(_up, command=False))
    group.command("submit")(with_options(_submit, command=True))
    group.command("status")(_status)
    group.command("down")(_down)
    app.add_typer(group, name="cluster")


def _plan(options: PlanOptions) -> None:
    """Print the job's script and every setting; nothing is run."""
    from cuesta.cluster import control
    from cuesta.cluster.describe import described
    from cuesta.cluster.folder import ClusterFolder

    plan = control.planned(options.plan())
    typer.echo(described(plan, ClusterFolder(options.output or Path("DIR"))), nl=False)


def _up(options: PlanOptions) -> None:
    """Bring a cluster up; it goes on until `down`, or until its time has passed."""
    from cuesta.cluster import control

    plan, folder = _made(options)
    control.submit(plan, folder)
    try:
        state = control.wait_until_ready(folder, None)
    except BaseException:
        control.down(folder)
        raise
    times = state["times"]
    seconds = times["ready"] - times["submitted"]
    typer.echo(f"{len(state['nodes'])} nodes are up after {seconds:.1f} s, in {folder.root}")
    if "spark" in state:
        typer.echo(f"cuesta run WORKLOAD ... --engine spark --master {state['spark']['master']}")
    if "yarn" in state:
        yarn = state["yarn"]
        slots = yarn["nodes"] * yarn["cores"]
        typer.echo(
            f"HADOOP_CONF_DIR={yarn['conf']} cuesta run WORKLOAD ... --engine hadoop "
            f"--threads {slots} --memory {yarn['job_bytes'] >> 20}MiB"
        )
    typer.echo(f"cuesta cluster down {folder.root}")


def _submit(options: PlanOptions) -> None:
    """Run a command on a cluster that is brought up for it, and taken down after it."""
    from cuesta.cli.cluster_command import checked_command
    from cuesta.cluster import control
    from cuesta.cluster.following import followed
    from cuesta.errors import InputError

    if not options.command:
        raise InputError("cluster submit: name what to run after --, e.g. -- run sort FILE -o DIR")
    plan, folder = _made(options)
    for sentence in checked_command(plan):
        _note(sentence)
    job = control.submit(plan, folder)
    if not options.wait:
        typer.echo(f"job {job}; `cuesta cluster status {quote(str(folder.root))}` says how it is")
        return
    _note(f"job {job}, in {folder.root}")
    raise typer.Exit(followed(folder, typer.echo, _note))


def _note(sentence: str) -> None:
    """Print a line between the lines of the command."""
    messages().print(f"cuesta: {sentence}")


def _status(
    folder: _Folder,
    json: Annotated[bool, typer.Option("--json", help="Print the state as JSON.")] = False,
) -> None:
    """Say how a cluster is; after its end, leave with the exit code of that."""
    from cuesta.cluster import control
    from cuesta.cluster.describe import state_lines
    from cuesta.cluster.folder import ClusterFolder

    place = ClusterFolder(folder)
    state = control.status(place)
    if json:
        _print_json(state)
    else:
        for line in state_lines(state, control.waiting_reason(place, state)):
            typer.echo(line)
    raise typer.Exit(control.exit_code(state))


def _down(folder: _Folder) -> None:
    """End a cluster and wait until nothing of it runs."""
    from cuesta.cluster import control
    from cuesta.cluster.folder import ClusterFolder

    control.down(ClusterFolder(folder))


def _made(options: PlanOptions) -> tuple[ClusterPlan, ClusterFolder]:
    from cuesta.cluster import control
    from cuesta.cluster.folder import ClusterFolder
    from cuesta.errors import InputError

    if options.output is None:
        raise InputError("cluster: name a new folder, which all nodes share, with -o DIR")
    return control.planned(options.plan()), ClusterFolder(options.output)


def _print_json(value: dict[str, Any]) -> None:
    import json

    typer.echo(json.dumps(value, indent=2))
