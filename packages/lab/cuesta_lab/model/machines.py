"""Reader of machine descriptions, `spec/machines/*.toml` or a user's file.

The format is `spec/formats/machine.md`; `spec/machines/template.toml` is one to fill in.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cuesta
from cuesta.errors import InputError
from cuesta.units import parse_rate, parse_size
from cuesta.untrusted import read_text

FOLDER = Path(cuesta.__file__).resolve().parent / "spec" / "machines"
NOT_MACHINES = frozenset({"template", "findings"})
KINDS = ("hdd", "ssd", "nvme")
HOURS_A_YEAR = 8766.0


@dataclass(frozen=True, kw_only=True)
class Disks:
    """Disks of one node; sizes in bytes and rates in bytes per second are of one disk."""

    kind: str
    count: int
    size_bytes: int
    read: float
    write: float


@dataclass(frozen=True, kw_only=True)
class SharedStorage:
    """Aggregate throughput of storage for all nodes of a job, in bytes per second."""

    what: str
    read: float
    write: float


@dataclass(frozen=True, kw_only=True)
class Price:
    """Price of a node, in dollars.

    Attributes
    ----------
    node
        Purchase price; None for a rented node.
    hour
        Rent per hour; None for a bought node.
    parts
        Total price of the parts; None if they are not listed.
    """

    node: float | None
    hour: float | None
    date: str
    source: str
    parts: float | None

    def by_hour(self, years: float) -> float:
        """Dollars per node hour; a bought node is used for `years`."""
        if self.hour is not None:
            return self.hour
        return (self.node or 0.0) / (years * HOURS_A_YEAR)


@dataclass(frozen=True, kw_only=True)
class Power:
    """Electrical power of a node at work, in watts."""

    watts: float
    source: str


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """A machine: nodes that are alike.

    Attributes
    ----------
    name
        Display name; `key` is the name of its file.
    nodes_max
        Largest number of nodes of a job.
    cores, core_speed
        Cores of a node; speed of a core relative to the machine that demands were measured on.
    network
        Bytes per second between two nodes, in each direction.
    assumed
        Numbers that were not measured, with reasons.
    """

    key: str
    name: str
    what: str
    source: str
    nodes_max: int
    cores: int
    core_speed: float
    memory_bytes: int
    network: float
    disks: Disks | None
    shared: SharedStorage | None
    price: Price | None
    assumed: tuple[str, ...]
    notes: tuple[str, ...]
    power: Power | None = None

    @property
    def has_storage(self) -> bool:
        """Whether the storage for input and answers is described."""
        return self.disks is not None or self.shared is not None


def known() -> dict[str, Hardware]:
    """Return the machines that come with Cuesta, by key."""
    paths = (path for path in sorted(FOLDER.glob("*.toml")) if path.stem not in NOT_MACHINES)
    return {path.stem: read(path) for path in paths}


def read(path: Path) -> Hardware:
    """Read the machine in a file. Errors: `InputError` with the file and the field."""
    try:
        table = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not TOML ({error}); correct it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {str(error).lower()}; give a TOML file") from None
    top = _Fields(path, "", table)
    node = top.table("node")
    hardware = Hardware(
        key=path.stem,
        name=top.text("name"),
        what=top.text("what", ""),
        source=top.text("source", ""),
        nodes_max=top.integer("nodes_max"),
        cores=node.integer("cores"),
        core_speed=node.number("core_speed", 1.0),
        memory_bytes=node.size("memory"),
        network=node.rate("network"),
        disks=_disks(node) if "disks" in node.values else None,
        shared=_shared(top.table("shared")) if "shared" in table else None,
        price=_price(top.table("price")) if "price" in table else None,
        assumed=top.texts("assumed"),
        notes=top.texts("notes"),
        power=_power(top.table("power")) if "power" in table else None,
    )
    node.refuse_unknown()
    top.refuse_unknown()
    return hardware


def _disks(node: _Fields) -> Disks:
    fields = node.table("disks")
    kind = fields.text("kind")
    if kind not in KINDS:
        raise fields.wrong("kind", f"{kind!r}, give one of {', '.join(KINDS)}")
    disks = Disks(
        kind=kind,
        count=fields.integer("count"),
        size_bytes=fields.size("size"),
        read=fields.rate("read"),
        write=fields.rate("write"),
    )
    fields.refuse_unknown()
    return disks


def _shared(fields: _Fields) -> SharedStorage:
    storage = SharedStorage(
        what=fields.text("what"), read=fields.rate("read"), write=fields.rate("write")
    )
    fields.refuse_unknown()
    return storage


def _price(fields: _Fields) -> Price:
    node, hour = fields.number("node", None), fields.number("hour", None)
    if (node is None) == (hour is None):
        raise fields.wrong("node", "give either what a node costs (node) or what an hour (hour)")
    parts = fields.values.get("parts")
    fields.used.add("parts")
    price = Price(
        node=node,
        hour=hour,
        date=fields.text("date"),
        source=fields.text("source", ""),
        parts=sum(part["count"] * part["each"] for part in parts) if parts else None,
    )
    fields.refuse_unknown()
    return price


def _power(fields: _Fields) -> Power:
    power = Power(watts=fields.number("watts", _REQUIRED), source=fields.text("source"))
    fields.refuse_unknown()
    return power


class _Fields:
    """Typed access to the fields of a table, with errors that name the field."""

    def __init__(self, path: Path, place: str, table: Mapping[str, Any]) -> None:
        self.path, self.place, self.values = path, place, table
        self.used: set[str] = set()

    def wrong(self, name: str, what: str) -> InputError:
        return InputError(f"{self.path}: {self.place}{name}: {what}")

    def refuse_unknown(self) -> None:
        """Raise `InputError` if the table has unknown fields."""
        for name in self.values:
            if name not in self.used:
                raise self.wrong(name, f"not known; the fields are {', '.join(sorted(self.used))}")

    def table(self, name: str) -> _Fields:
        value = self._value(name, _REQUIRED)
        if not isinstance(value, dict):
            raise self.wrong(name, "not a table")
        return _Fields(self.path, f"{self.place}{name}.", value)

    def text(self, name: str, default: Any = None) -> str:
        value = self._value(name, _REQUIRED if default is None else default)
        if not isinstance(value, str) or (default is None and not value):
            raise self.wrong(name, f"{value!r}, not a text")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._value(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(name, "not a list of texts")
        return tuple(value)

    def number(self, name: str, default: Any) -> Any:
        """Return a number above zero."""
        value = self._value(name, default)
        if value is default and name not in self.values:
            return value
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise self.wrong(name, f"{value!r}, give a number above zero")
        return float(value)

    def integer(self, name: str) -> int:
        value = self.number(name, _REQUIRED)
        if value != int(value):
            raise self.wrong(name, f"{value:g}, not a whole number")
        return int(value)

    def size(self, name: str) -> int:
        value = parse_size(self.text(name), f"{self.path}: {self.place}{name}")
        if not value:
            raise self.wrong(name, "nothing, give a size above zero")
        return value

    def rate(self, name: str) -> float:
        return parse_rate(self.text(name), f"{self.path}: {self.place}{name}")

    def _value(self, name: str, default: Any) -> Any:
        self.used.add(name)
        value = self.values.get(name, default)
        if value is _REQUIRED:
            raise self.wrong(name, "missing")
        return value


_REQUIRED = object()
