"""Factors of a machine to which a trial can be held: names, units and values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cuesta.errors import InputError
from cuesta.units import parse_size

INPUT = "input"
SCRATCH = "scratch"
OUTPUT = "output"
HELD = (INPUT, SCRATCH, OUTPUT)
"""Kinds of files that disks of a trial may hold."""

PAGES = ("always", "madvise", "never")
DISKS_MAX = 16
NODES_MAX = 16
LINK_RATE_MIN = 1e6
DISK_RATE_MIN = 1 << 20
MEMORY_MIN = 16 << 20
DIRTY_MIN = 1 << 20
DISK_SIZE_MIN = 64 << 20


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A factor of a machine that a study may vary; `unit` describes the form of its values."""

    name: str
    unit: str
    sentence: str


_ALL = (
    Factor(
        name="memory-group",
        unit="bytes, as 512MiB",
        sentence="limit of the memory of a trial's processes, their pages of files included",
    ),
    Factor(
        name="disk-rate",
        unit="bytes a second, as 50MB/s",
        sentence="most bytes a second that each disk of the trial reads, and that it writes",
    ),
    Factor(
        name="disk-dirty",
        unit="bytes, as 8MiB",
        sentence="most bytes that wait in memory to be written to each disk of the trial",
    ),
    Factor(
        name="disk-seek",
        unit="seconds, as 8ms",
        sentence="wait of a request to a disk of the trial that does not follow the last one",
    ),
    Factor(
        name="disks",
        unit="a number",
        sentence="how many disks the trial has; its files are laid on them in turn",
    ),
    Factor(name="disk-size", unit="bytes, as 4GiB", sentence="room of each disk of the trial"),
    Factor(
        name="disk-holds",
        unit="words of input scratch output",
        sentence="what lies on the disks of the trial; everything unless said",
    ),
    Factor(
        name="file-system",
        unit="ext2, ext3, ext4, xfs or btrfs",
        sentence="file system of the disks of the trial; ext4 unless said",
    ),
    Factor(
        name="huge-pages",
        unit="always, madvise or never",
        sentence="who gets huge pages of memory without asking for them by name",
    ),
    Factor(
        name="zram",
        unit="bytes, as 1GiB",
        sentence="size of a swap device in compressed memory; it is used beyond memory-group",
    ),
    Factor(
        name="link-rate",
        unit="bits a second, as 1gbit",
        sentence="most bits a second of each node's link, in each direction",
    ),
    Factor(
        name="link-latency",
        unit="seconds, as 2ms",
        sentence="delay that each link adds to what its node sends",
    ),
    Factor(
        name="link-nodes",
        unit="a number",
        sentence="how many nodes, each with a network of its own, are linked; 2 unless said",
    ),
    Factor(
        name="cpu-quota",
        unit="cores, as 1.5",
        sentence="most processor time of a trial's processes on each node, in cores",
    ),
)

NAMES: Mapping[str, Factor] = {factor.name: factor for factor in _ALL}
"""All factors by name."""

OF_DISKS = frozenset(
    {"disk-rate", "disk-dirty", "disk-seek", "disks", "disk-size", "disk-holds", "file-system"}
)
OF_LINKS = frozenset({"link-rate", "link-latency", "link-nodes"})


@dataclass(frozen=True, kw_only=True)
class MachineFactors:
    """Parsed factors, in bytes, bits, seconds and numbers; None for a factor that is not set.

    `disks` and `link_nodes` are 0 if no factor of disks or links is set.
    """

    memory_bytes: int | None = None
    disk_bytes_per_s: int | None = None
    dirty_bytes: int | None = None
    seek_seconds: float | None = None
    disks: int = 0
    disk_bytes: int | None = None
    disk_holds: frozenset[str] = frozenset(HELD)
    file_system: str = "ext4"
    huge_pages: str | None = None
    zram_bytes: int | None = None
    link_bits_per_s: float | None = None
    link_seconds: float | None = None
    link_nodes: int = 0
    cores: float | None = None

    @property
    def grouped(self) -> bool:
        """Whether the processes need a control group."""
        return self.memory_bytes is not None or self.cores is not None


def parse(machine: Mapping[str, object]) -> MachineFactors:
    """Parse factors. Errors: `InputError` for an unknown factor, unit or value."""
    read: dict[str, Any] = {}
    for name, value in machine.items():
        if name not in NAMES:
            known = ", ".join(NAMES)
            raise InputError(f"machine factor {name} is not known; there are {known}")
        field, convert = _READERS[name]
        read[field] = convert(str(value).strip(), name)
    factors = MachineFactors(**read)
    if OF_DISKS & machine.keys() and not factors.disks:
        factors = replace(factors, disks=1)
    if OF_LINKS & machine.keys() and not factors.link_nodes:
        factors = replace(factors, link_nodes=2)
    return factors


def _wrong(name: str, text: str) -> InputError:
    return InputError(f"machine factor {name} is {text!r}, give {NAMES[name].unit}")


def _size(least: int) -> Callable[[str, str], int]:
    def read(text: str, name: str) -> int:
        try:
            size = parse_size(text)
        except InputError:
            raise _wrong(name, text) from None
        if size < least:
            raise InputError(f"machine factor {name} is {text!r}, give at least {least} bytes")
        return size

    return read


def _disk_rate(text: str, name: str) -> int:
    return _size(DISK_RATE_MIN)(text.removesuffix("/s"), name)


_BITS = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
_LINK_RATE = re.compile(r"(\d+(?:\.\d+)?) ?([kmg]?bit)(?:/s)?", re.IGNORECASE)
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_LATENCY = re.compile(r"(\d+(?:\.\d+)?) ?(us|ms|s)")
_DECIMAL = re.compile(r"\d+(?:\.\d+)?")


def _link_rate(text: str, name: str) -> float:
    match = _LINK_RATE.fullmatch(text)
    rate = float(match[1]) * _BITS[match[2].lower()] if match else 0.0
    if rate < LINK_RATE_MIN:
        raise _wrong(name, text)
    return rate


def _latency(text: str, name: str) -> float:
    match = _LATENCY.fullmatch(text)
    if match is None:
        raise _wrong(name, text)
    return float(match[1]) * _SECONDS[match[2]]


def _cores(text: str, name: str) -> float:
    if not _DECIMAL.fullmatch(text) or float(text) < 0.01:
        raise _wrong(name, text)
    return float(text)


def _number(most: int) -> Callable[[str, str], int]:
    def read(text: str, name: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise InputError(f"machine factor {name} is {text!r}, give 1 to {most}")
        return int(text)

    return read


def _choice(*words: str) -> Callable[[str, str], str]:
    def read(text: str, name: str) -> str:
        if text not in words:
            raise _wrong(name, text)
        return text

    return read


def _holds(text: str, name: str) -> frozenset[str]:
    words = frozenset(text.replace(",", " ").split())
    if not words or not words <= set(HELD):
        raise _wrong(name, text)
    return words


_READERS: dict[str, tuple[str, Callable[[str, str], object]]] = {
    "memory-group": ("memory_bytes", _size(MEMORY_MIN)),
    "disk-rate": ("disk_bytes_per_s", _disk_rate),
    "disk-dirty": ("dirty_bytes", _size(DIRTY_MIN)),
    "disk-seek": ("seek_seconds", _latency),
    "disks": ("disks", _number(DISKS_MAX)),
    "disk-size": ("disk_bytes", _size(DISK_SIZE_MIN)),
    "disk-holds": ("disk_holds", _holds),
    "file-system": ("file_system", _choice("ext2", "ext3", "ext4", "xfs", "btrfs")),
    "huge-pages": ("huge_pages", _choice(*PAGES)),
    "zram": ("zram_bytes", _size(1 << 20)),
    "link-rate": ("link_bits_per_s", _link_rate),
    "link-latency": ("link_seconds", _latency),
    "link-nodes": ("link_nodes", _number(NODES_MAX)),
    "cpu-quota": ("cores", _cores),
}
"""Field of `MachineFactors`, and parser of the value, by factor."""
