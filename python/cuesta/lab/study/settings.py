"""The settings of a trial: those of the study with those of its levels laid over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cuesta.engines import ENGINE_NAMES
from cuesta.errors import InputError
from cuesta.lab import machines
from cuesta.lab.inputs import CACHE_AS_IS, CACHE_INPUT_DROPPED, CACHE_MACHINE_DROPPED
from cuesta.lab.study.model import NAME, REMOTE, Table
from cuesta.machine import cores_usable, memory_bytes
from cuesta.units import parse_size
from cuesta.workloads import WORKLOAD_NAMES, get_workload

ALL = "all"
NONE = "none"
TIER = "tier"
CACHES = {
    "warm": CACHE_AS_IS,
    "cold": CACHE_INPUT_DROPPED,
    "cold-machine": CACHE_MACHINE_DROPPED,
}
_TABLES = ("parameters", "engine_options", "per_core", "machine")
"""Settings that are tables: the names in them are laid over one by one."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How one combination of levels is run.

    `per_core` are parameters that are multiplied by all cores, those of every node; `machine` are
    factors of the machine by name; `store` is the memory of a store over the inputs, or none, which
    has brought in what of them it has room for where it `holds` them;
    `place` is where inputs lie, by the name that `study run --remote` gives it, or None for where
    they were made; `output` is where the answer is written, so too, or None for the study's folder.
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
    store_bytes: int | None = None
    holds: bool = False
    scratch: str | None = None
    per_core: Mapping[str, int] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0

    @property
    def asked(self) -> dict[str, Any]:
        """The parameters of the workload that are not left to their defaults."""
        scaled = {name: each * self.cores * self.nodes for name, each in self.per_core.items()}
        return {**self.parameters, **scaled}


NAMES = frozenset(Settings.__dataclass_fields__) - {"memory_bytes", "store_bytes"} | {
    "memory",
    "store",
}
"""What may be set, by its name in the file."""


def overlaid(tables: Iterable[Table]) -> dict[str, Any]:
    """The settings of the last of the tables that names them; tables within them are joined."""
    whole: dict[str, Any] = {}
    for table in tables:
        for name, value in table.items():
            joined = name in _TABLES and isinstance(value, Mapping)
            whole[name] = {**whole.get(name, {}), **value} if joined else value
    return whole


def settings(tables: Iterable[Table], most_memory_bytes: int | None = None) -> Settings:
    """Settings of these tables, later ones over earlier ones, each value checked.

    Errors: `InputError` naming the setting.
    """
    whole = overlaid(tables)
    unknown = sorted(whole.keys() - NAMES)
    if unknown:
        raise InputError(f"{unknown[0]} is not a setting; there are {', '.join(sorted(NAMES))}")
    for name in _TABLES:
        if not isinstance(whole.get(name, {}), Mapping):
            raise InputError(f"{name} is {whole[name]!r}, give a table such as {{name = 1}}")
    found = Settings(
        workload=_one_of(whole, "workload", WORKLOAD_NAMES, None),
        engine=_one_of(whole, "engine", ENGINE_NAMES, "native"),
        parameters=whole.get("parameters", {}),
        engine_options={key: _word(one) for key, one in whole.get("engine_options", {}).items()},
        inputs=_names(whole.get("inputs", ())),
        place=_place(whole, "place"),
        output=_place(whole, "output"),
        memory_bytes=_memory(whole, most_memory_bytes),
        cores=_cores(whole.get("cores", ALL)),
        nodes=_count(whole, "nodes"),
        cache=CACHES[_one_of(whole, "cache", CACHES, "warm")],
        store_bytes=None if whole.get("store", NONE) == NONE else _size(whole, "store"),
        holds=_holds(whole),
        scratch=_scratch(whole.get("scratch", "default")),
        per_core={key: _whole(key, one) for key, one in whole.get("per_core", {}).items()},
        machine={key: _word(one) for key, one in whole.get("machine", {}).items()},
        seed=_whole("seed", whole.get("seed", 0)),
    )
    machines.parse(found.machine)
    workload = get_workload(found.workload)
    workload.check(workload.apart(found.asked)[0])
    return found


def _one_of(whole: Table, name: str, known: Iterable[str], default: str | None) -> str:
    value = whole.get(name, default)
    if value is None:
        raise InputError(f"{name} is missing")
    if value not in tuple(known):
        raise InputError(f"{name} is {value!r}, give one of {', '.join(known)}")
    return str(value)


def _word(value: object) -> str:
    """A value as it would be typed."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _names(value: object) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise InputError(f"inputs is {value!r}, give a list of names")


def _place(whole: Table, name: str) -> str | None:
    value = whole.get(name, NONE)
    if isinstance(value, str) and NAME.fullmatch(value):
        return None if value == NONE else value
    raise InputError(f"{name} is {value!r}, give the name of a place, such as {REMOTE}, or {NONE}")


def _holds(whole: Table) -> bool:
    value = whole.get("holds", whole.get("cache", "warm") == "warm")
    if isinstance(value, bool):
        return value
    raise InputError(f"holds is {value!r}, give true or false")


def _whole(name: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise InputError(f"{name} is {value!r}, give a whole number")


def _count(whole: Table, name: str) -> int:
    value = _whole(name, whole.get(name, 1))
    if not value:
        raise InputError(f"{name} is 0, give at least 1")
    return value


def _cores(value: object) -> int:
    if value == ALL:
        return cores_usable()
    return _count({"cores": value}, "cores")


def _size(whole: Table, name: str) -> int:
    value = whole[name]
    size_bytes = parse_size(value, name) if isinstance(value, str) else _whole(name, value)
    if size_bytes < 1 << 20:
        raise InputError(f"{name} is {value!r}, give a size such as 4GiB")
    return size_bytes


def _memory(whole: Table, most_bytes: int | None) -> int:
    asked = _size(whole, "memory") if "memory" in whole else memory_bytes() // 2
    return min(asked, most_bytes) if most_bytes else asked


def _scratch(value: object) -> str | None:
    if not isinstance(value, str):
        raise InputError(f"scratch is {value!r}, give default, {TIER}, or a folder")
    return None if value == "default" else value
