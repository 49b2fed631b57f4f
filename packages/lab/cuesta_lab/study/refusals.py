"""Reasons why a combination of a study cannot be run on this machine."""

from __future__ import annotations

from collections.abc import Mapping

from cuesta import machine
from cuesta.errors import EngineMissing
from cuesta.lab.steps.resolve import lacking
from cuesta.machine import cores_usable
from cuesta.units import format_bytes
from cuesta_lab import machines
from cuesta_lab.model.setting import cores_by_options
from cuesta_lab.study import trials
from cuesta_lab.study.cells import Combination
from cuesta_lab.study.model import Key
from cuesta_lab.study.settings import Settings
from cuesta_lab.study.trials import StudyEnvironment


def refusal(
    combination: Combination, places: Mapping[Key, tuple[str, str]], environment: StudyEnvironment
) -> str | None:
    """Reason why a combination is not run here, or None."""
    settings = combination.settings
    if why := refusal_of(combination):
        return why
    if settings.command:
        return None
    if settings.nodes > 1 and environment.cluster is None:
        return "needs several nodes"
    try:
        paths = [places[key][0] for key in combination.keys]
        return lacking(environment.engine(settings.engine), trials.trial_of(settings, paths))
    except EngineMissing as error:
        return str(error)


def refusal_of(combination: Combination) -> str | None:
    """Reason why a combination cannot be run here, known without its inputs, or None."""
    settings = combination.settings
    if combination.left_out:
        return combination.left_out
    if settings.command and (why := settings.command.refusal()):
        return why
    if settings.cores * settings.nodes > cores_usable():
        return f"needs {settings.cores * settings.nodes} cores, there are {cores_usable()}"
    if why := _too_many_workers(settings):
        return why
    if settings.memory_bytes > machine.memory_bytes():
        here = format_bytes(machine.memory_bytes())
        return f"needs {format_bytes(settings.memory_bytes)} of memory, there are {here}"
    return machines.refusal(settings.machine) or _unheld(settings)


def _too_many_workers(settings: Settings) -> str | None:
    """Reason why options of the engine, or a quota, ask for more cores than there are, or None."""
    quota = settings.machine.get("cpu-quota")
    wanted = [("cpu-quota", machines.parse(settings.machine).cores)] if quota else []
    wanted += [cores_by_options(settings.engine, settings.engine_options) or ("", 0)]
    for name, cores in wanted:
        if cores and cores > cores_usable():
            return f"{name} needs {cores:g} cores, there are {cores_usable()}"
    return None


def _unheld(settings: Settings) -> str | None:
    """Reason why a store or nodes of the trial would escape its factors, or None."""
    factors = settings.machine.keys()
    if (
        settings.nodes > 1
        and {"memory-group", "cpu-quota"} & factors
        and not machines.OF_LINKS & factors
    ):
        return "memory-group and cpu-quota hold no nodes of their own; add link-rate"
    has_other_processes = settings.nodes > 1 or settings.store_bytes is not None
    if has_other_processes and "disk-rate" in factors and machines.limits_trial_disks_only():
        return "disk-rate holds a trial alone here, not a store or nodes beside it"
    return None
