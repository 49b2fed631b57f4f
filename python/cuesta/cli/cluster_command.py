"""Checks the command of `cuesta cluster submit` before its job waits for nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.errors import InputError
from cuesta.trial import is_path

if TYPE_CHECKING:
    from cuesta.cluster.settings import ClusterPlan

_RUNS = ("run", "compare")
"""Commands of ours that take inputs and engines."""
_SERVICE_OF = {"spark": "spark", "spark-scala": "spark"}
"""Services that engines need to use more than one node."""


def checked_command(plan: ClusterPlan) -> Iterator[str]:
    """Sentences about a command of ours that does less than its user may expect.

    Errors: `InputError` for words that the command refuses, and inputs that are not there.
    """
    if plan.command[0] not in _RUNS:
        return
    from cuesta.api.declared import ONE_ENGINE, SEVERAL_ENGINES
    from cuesta.api.options import checked
    from cuesta.cli.commands import parsed
    from cuesta.cli.samples import SAMPLES
    from cuesta.workloads import get_workload

    command = parsed(plan.command)
    if command is None:
        return
    name, values = command
    if values.get(SAMPLES.name):
        yield "--samples: samples run side by side on one node of the job"
        return
    engines = ONE_ENGINE if plan.command[0] == "run" else SEVERAL_ENGINES
    inputs, _, common = checked(get_workload(name), engines, values)
    for path in inputs:
        if is_path(path):
            yield from _check_input(Path(path))
    for engine in common.engines:
        service = _SERVICE_OF.get(engine, "")
        options = {**common.engine_settings.get(engine, {}), **common.engine_options}
        if service and service not in plan.services and "master" not in options:
            yield (
                f"--engine {engine}: the cluster has no {service.capitalize()} (--with "
                f"{','.join(plan.services)}), so the run uses one node alone; give --with {service}"
            )


def _check_input(path: Path) -> Iterator[str]:
    """Errors: `InputError` where the folder of an input is visible here, and the input is not."""
    if path.exists():
        return
    if path.parent.is_dir():
        raise InputError(
            f"{path}: no such file or folder; give a path that the nodes have too (nothing "
            "was submitted)"
        )
    yield f"{path}: is not visible here; the run will look for it on its nodes"


def with_engine(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command of ours with the engine that settings choose here, if none is typed.

    The cluster prepares what that engine needs. Errors: `InputError` for a setting that is wrong.
    """
    if command[:1] not in [(name,) for name in _RUNS]:
        return command
    option = {"run": "--engine", "compare": "--engines"}[command[0]]
    if any(word.partition("=")[0] == option for word in command):
        return command
    from cuesta.config.layers import effective

    setting = effective(command[0]).get(f"{command[0]}.{option.removeprefix('--')}")
    return command if setting is None else (*command, option, str(setting.value))
