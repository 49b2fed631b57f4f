"""The plan of a cluster: allocation, services, resources of each node, settings."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from cuesta import store
from cuesta.cluster import limits
from cuesta.errors import InputError
from cuesta.units import parse_size

SERVICES = ("spark", "mpi", "yarn")
HADOOP_PREFIXES = ("yarn.", "mapreduce.", "hadoop.", "security.")
"""Prefixes of settings of Hadoop that `--set` takes."""

CLUSTER_SETTINGS: dict[str, tuple[float, str]] = {
    "start": (limits.START_SECONDS, "seconds for nodes, and then for workers, to be there"),
    "lost": (limits.LOST_SECONDS, "seconds of silence after which a node is lost"),
    "poll": (limits.POLL_SECONDS, "seconds between questions to the scheduler"),
    "guard": (limits.GUARD_SECONDS, "seconds before the end of the allocation to stop at"),
    "stop": (limits.STOP_SECONDS, "seconds that a process may take to end"),
    "store-grace": (limits.STORE_GRACE_SECONDS, "seconds for a store to write what is dirty"),
    "store-secret": (limits.STORE_SECRET_SECONDS, "seconds after which stores get a new secret"),
    "yarn-strangers": (0.0, "1 has YARN start where other accounts are at work; it has no secret"),
    "scratch-min": (limits.SCRATCH_BYTES_MIN, "bytes that must be free on a node's scratch"),
}
"""Settings of `--set` that belong to cuesta: default and meaning."""


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """A request to a scheduler for nodes.

    Attributes
    ----------
    minutes
        Requested time; None is the scheduler's default.
    queue, account
        Names at the site; empty where none is chosen.
    hosts
        Host names, for the scheduler `hosts`.
    starter
        Command words that run a command on `{host}`, for the scheduler `hosts`.
    """

    scheduler: str = "local"
    nodes: int = 2
    minutes: float | None = None
    queue: str = ""
    account: str = ""
    hosts: tuple[str, ...] = ()
    starter: str = "ssh -o BatchMode=yes {host}"


@dataclass(frozen=True, kw_only=True)
class NodeShare:
    """Resources to use of each node; None and empty stand for the node's defaults.

    Attributes
    ----------
    cores, memory_bytes
        Cores and memory for the work of a run.
    interface
        The network interface that services listen on.
    scratch
        A folder on a local disk of the node.
    """

    cores: int | None = None
    memory_bytes: int | None = None
    interface: str = ""
    scratch: str = ""


@dataclass(frozen=True, kw_only=True)
class ClusterPlan:
    """The input of a leader.

    Attributes
    ----------
    cluster
        A random name that marks all of its processes.
    services
        Some of `SERVICES`.
    store_bytes, store_under
        Memory of a store on each node, and the shared folder under it; 0 is no store.
    hadoop_classes
        Class path of Hadoop's daemons.
    preset, sets
        Chosen settings of Spark, Hadoop and cuesta.
    command
        Command to run once the cluster is ready; empty means to wait for `down`.
    owner
        A process of the leader's machine with which the cluster ends, by `processes.identity`.
    """

    cluster: str
    allocation: Allocation = field(default_factory=Allocation)
    share: NodeShare = field(default_factory=NodeShare)
    services: tuple[str, ...] = ("spark",)
    store_bytes: int = 0
    store_under: str = ""
    hadoop_classes: tuple[str, ...] = ()
    preset: str = ""
    sets: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    python: str = sys.executable
    owner: str = ""

    def setting(self, name: str) -> float:
        """Return the value of a setting of `CLUSTER_SETTINGS`."""
        text = self.sets.get(name)
        return CLUSTER_SETTINGS[name][0] if text is None else _setting_value(name, text)

    @property
    def end_seconds(self) -> float:
        """Time limit of an agent's end: services of its node, then the node's store."""
        return 2 * self.setting("stop") + (
            self.setting("store-grace") + 1 if self.store_bytes else 0
        )

    @property
    def spark_sets(self) -> dict[str, str]:
        """Chosen settings of Spark."""
        return {key: value for key, value in self.sets.items() if key.startswith("spark.")}

    @property
    def hadoop_sets(self) -> dict[str, str]:
        """Chosen settings of Hadoop."""
        return {key: value for key, value in self.sets.items() if key.startswith(HADOOP_PREFIXES)}


def check(plan: ClusterPlan) -> None:
    """Check a plan before anything starts. Errors: `InputError`."""
    allocation = plan.allocation
    if not 1 <= allocation.nodes <= limits.NODES_MAX:
        raise InputError(f"--nodes is {allocation.nodes}, give 1 to {limits.NODES_MAX}")
    if allocation.minutes is not None and allocation.minutes <= 0:
        raise InputError(f"--time is {allocation.minutes:g} minutes, give more than 0")
    for name in plan.services:
        if name not in SERVICES:
            raise InputError(f"--with {name}: is not known; choose from {', '.join(SERVICES)}")
    for name, value in plan.sets.items():
        if name in CLUSTER_SETTINGS:
            _setting_value(name, value)
        elif not name.startswith(("spark.", *HADOOP_PREFIXES)):
            raise InputError(
                f"--set {name}: is not known; give {', '.join(CLUSTER_SETTINGS)}, one of Spark's "
                "own spark.*, or of Hadoop's yarn.* and mapreduce.*"
            )
    if plan.store_bytes and not plan.store_under:
        raise InputError("--store: name the folder that it is over with --under DIR")
    if plan.store_bytes:
        store.require("--store")


def to_json(plan: ClusterPlan) -> dict[str, Any]:
    """Return the plan as an object for `plan.json`."""
    return asdict(plan)


def from_json(record: Mapping[str, Any]) -> ClusterPlan:
    """Return the plan that `to_json` wrote."""
    values = {field.name: record[field.name] for field in fields(ClusterPlan)}
    allocation = dict(values["allocation"])
    allocation["hosts"] = tuple(allocation["hosts"])
    return ClusterPlan(
        **values
        | {
            "allocation": Allocation(**allocation),
            "share": NodeShare(**values["share"]),
            "services": tuple(values["services"]),
            "hadoop_classes": tuple(values["hadoop_classes"]),
            "command": tuple(values["command"]),
        }
    )


def parse_sets(words: list[str]) -> dict[str, str]:
    """Return `KEY=VALUE` words as a mapping. Errors: `InputError`."""
    sets = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals):
            raise InputError(f"--set {word}: give KEY=VALUE")
        sets[key] = value
    return sets


def parse_minutes(text: str) -> float:
    """Parse minutes: `30`, `1:30:00` (hours), `90:00` (minutes, seconds). Errors: `InputError`."""
    parts = text.split(":")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= 3 or any(number < 0 for number in numbers):
        raise InputError(f"--time is {text!r}, give minutes, or hours:minutes:seconds")
    if len(numbers) == 1:
        return numbers[0]
    seconds = 0.0
    for number in numbers:
        seconds = seconds * 60 + number
    return seconds / 60


def _setting_value(name: str, text: str) -> float:
    if name == "scratch-min":
        return float(parse_size(text, f"--set {name}"))
    try:
        value = float(text.removesuffix("s"))
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise InputError(f"--set {name} is {text!r}, give seconds")
    return value
