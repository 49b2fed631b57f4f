"""Settings of a trial: those of the study, overridden by those of its levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cuesta.engines import ENGINE_NAMES
from cuesta.errors import InputError
from cuesta.lab.inputs import CACHE_AS_IS, CACHE_INPUT_DROPPED, CACHE_MACHINE_DROPPED
from cuesta.machine import cores_usable, memory_bytes
from cuesta.units import parse_size
from cuesta.workloads import WORKLOAD_NAMES, get_workload
from cuesta_lab import machines
from cuesta_lab.study import commands
from cuesta_lab.study.commands import COMMAND, CommandContext, CommandSettings
from cuesta_lab.study.model import NAME, REMOTE, Table

ALL = "all"
NONE = "none"
TIER = "tier"
CACHES = {
    "warm": CACHE_AS_IS,
    "cold": CACHE_INPUT_DROPPED,
    "cold-machine": CACHE_MACHINE_DROPPED,
}
_TABLES = ("parameters", "engine_options", "per_core", "machine", "tolerance")
"""Settings that are tables: the names in them are overridden separately."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings with which a combination of levels is run.

    `per_core` are parameters that are multiplied by the cores of all nodes. `machine` are factors
    of the machine by name. `store_bytes` is the memory of a store over the inputs, None for no
    store; if it `holds` them, it has loaded as much of them as fits. `place` is the place of the
    inputs, by its name in `study run --remote`, or None for the place where they were made.
    `warm_runs` come before the measured run in its session of the engine.
    `output` is the place of the answer, likewise, or None for the study's folder. With a `command`
    the workload and the engine are `COMMAND`.
    """

    workload: str
    engine: str
    parameters: Table = field(default_factory=dict)
    engine_options: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    place: str | None = None
    output: str | None = None
    memory_bytes: int = 0
    cores: int = 1
    nodes: int = 1
    cache: str = CACHE_AS_IS
    warm_runs: int = 0
    store_bytes: int | None = None
    holds: bool = False
    scratch: str | None = None
    per_core: Mapping[str, int] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    command: CommandSettings | None = None

    @property
    def workload_parameters(self) -> dict[str, Any]:
        """Parameters of the workload that differ from their defaults."""
        scaled = {name: each * self.cores * self.nodes for name, each in self.per_core.items()}
        return {**self.parameters, **scaled}


NAMES = (
    frozenset(Settings.__dataclass_fields__) - {"memory_bytes", "store_bytes"}
    | {"memory", "store"}
    | commands.NAMES
)
"""Names of settings in the file."""


def merge_settings(tables: Iterable[Table]) -> dict[str, Any]:
    """Merge tables of settings; later ones override earlier ones, nested tables are joined."""
    merged: dict[str, Any] = {}
    for table in tables:
        for name, value in table.items():
            joined = name in _TABLES and isinstance(value, Mapping)
            merged[name] = {**merged.get(name, {}), **value} if joined else value
    return merged


def settings(
    tables: Iterable[Table],
    most_memory_bytes: int | None = None,
    context: CommandContext | None = None,
) -> Settings:
    """Merge tables into settings, later ones over earlier ones, and check each value.

    `context` is that of commands in them. Errors: `InputError` with the setting.
    """
    merged = merge_settings(tables)
    unknown = sorted(merged.keys() - NAMES)
    if unknown:
        raise InputError(f"{unknown[0]} is not a setting; there are {', '.join(sorted(NAMES))}")
    for name in _TABLES:
        if not isinstance(merged.get(name, {}), Mapping):
            raise InputError(f"{name} is {merged[name]!r}, give a table such as {{name = 1}}")
    if COMMAND in merged:
        return _of_command(merged, most_memory_bytes, context or CommandContext())
    of_command = sorted(merged.keys() & commands.NAMES)
    if of_command:
        raise InputError(f"{of_command[0]} is for a command; add command, or leave it out")
    values = Settings(
        workload=_choice(merged, "workload", WORKLOAD_NAMES, None),
        engine=_choice(merged, "engine", ENGINE_NAMES, "native"),
        parameters=merged.get("parameters", {}),
        engine_options={
            key: _word(value) for key, value in merged.get("engine_options", {}).items()
        },
        inputs=_names(merged.get("inputs", ())),
        place=_place(merged, "place"),
        output=_place(merged, "output"),
        memory_bytes=_memory(merged, most_memory_bytes),
        cores=_cores(merged.get("cores", ALL)),
        nodes=_count(merged, "nodes"),
        cache=CACHES[_choice(merged, "cache", CACHES, "warm")],
        warm_runs=_integer("warm_runs", merged.get("warm_runs", 0)),
        store_bytes=None if merged.get("store", NONE) == NONE else _size(merged, "store"),
        holds=_holds(merged),
        scratch=_scratch(merged.get("scratch", "default")),
        per_core={key: _integer(key, value) for key, value in merged.get("per_core", {}).items()},
        machine={key: _word(value) for key, value in merged.get("machine", {}).items()},
        seed=_integer("seed", merged.get("seed", 0)),
    )
    machines.parse(values.machine)
    workload = get_workload(values.workload)
    workload.check(workload.split_gene_names(values.workload_parameters)[0])
    return values


def _of_command(merged: Table, most_memory_bytes: int | None, context: CommandContext) -> Settings:
    """Settings of a trial that runs a command. Errors: `InputError`."""
    inputs = _names(merged.get("inputs", ()))
    return Settings(
        workload=COMMAND,
        engine=COMMAND,
        inputs=inputs,
        memory_bytes=_memory(merged, most_memory_bytes),
        cores=_cores(merged.get("cores", ALL)),
        cache=CACHES[_choice(merged, "cache", CACHES, "warm")],
        command=commands.read_command(merged, len(inputs), context),
    )


def _choice(table: Table, name: str, known: Iterable[str], default: str | None) -> str:
    value = table.get(name, default)
    if value is None:
        raise InputError(f"{name} is missing; add it")
    if value not in tuple(known):
        raise InputError(f"{name} is {value!r}, give one of {', '.join(known)}")
    return str(value)


def _word(value: object) -> str:
    """Format a value as on a command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _names(value: object) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise InputError(f"inputs is {value!r}, give a list of names")


def _place(table: Table, name: str) -> str | None:
    value = table.get(name, NONE)
    if isinstance(value, str) and NAME.fullmatch(value):
        return None if value == NONE else value
    raise InputError(f"{name} is {value!r}, give the name of a place, such as {REMOTE}, or {NONE}")


def _holds(table: Table) -> bool:
    value = table.get("holds", table.get("cache", "warm") == "warm")
    if isinstance(value, bool):
        return value
    raise InputError(f"holds is {value!r}, give true or false")


def _integer(name: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise InputError(f"{name} is {value!r}, give a whole number")


def _count(table: Table, name: str) -> int:
    value = _integer(name, table.get(name, 1))
    if not value:
        raise InputError(f"{name} is 0, give at least 1")
    return value


def _cores(value: object) -> int:
    if value == ALL:
        return cores_usable()
    return _count({"cores": value}, "cores")


def _size(table: Table, name: str) -> int:
    value = table[name]
    size_bytes = parse_size(value, name) if isinstance(value, str) else _integer(name, value)
    if size_bytes < 1 << 20:
        raise InputError(f"{name} is {value!r}, give a size such as 4GiB")
    return size_bytes


def _memory(table: Table, most_bytes: int | None) -> int:
    requested = _size(table, "memory") if "memory" in table else memory_bytes() // 2
    return min(requested, most_bytes) if most_bytes else requested


def _scratch(value: object) -> str | None:
    if not isinstance(value, str):
        raise InputError(f"scratch is {value!r}, give default, {TIER}, or a folder")
    return None if value == "default" else value
