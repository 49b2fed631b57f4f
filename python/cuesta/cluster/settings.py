"""What is asked for: an allocation, what runs in it, and what each node gives."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from cuesta.cluster import limits
from cuesta.errors import InputError
from cuesta.units import parse_size

SERVICES = ("spark", "mpi", "yarn")
HADOOP_PREFIXES = ("yarn.", "mapreduce.", "hadoop.", "security.")
"""How settings of Hadoop begin that `--set` takes."""

OWN_SETTINGS: dict[str, tuple[float, str]] = {
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
"""Settings of `--set` that are not Spark's: default and meaning."""


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """Whom to ask for nodes, and for how many.

    Attributes
    ----------
    minutes
        How long; None is as long as the scheduler gives.
    queue, account
        As the site calls them; empty where none is named.
    hosts
        For `hosts`: their names.
    starter
        For `hosts`: words that run a command on `{host}`.
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
    """What is used of each node; None and empty are what the node has.

    Attributes
    ----------
    cores, memory_bytes
        For the work of a run.
    interface
        The network interface that services listen on.
    scratch
        A folder on a disk of the node's own.
    """

    cores: int | None = None
    memory_bytes: int | None = None
    interface: str = ""
    scratch: str = ""


@dataclass(frozen=True, kw_only=True)
class ClusterPlan:
    """All that a leader has to know.

    Attributes
    ----------
    cluster
        A random name that marks all of its processes.
    services
        Some of `SERVICES`.
    store_bytes, store_under
        Memory of a store on each node, and the folder that it is over; 0 is no store.
    hadoop_classes
        Where Hadoop's daemons are: words of a class path.
    preset, sets
        Settings of Spark, of Hadoop and of ours that were chosen.
    command
        What to run when all is there; empty means to wait for `down`.
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

    def own(self, name: str) -> float:
        """The value of one of `OWN_SETTINGS`."""
        given = self.sets.get(name)
        return OWN_SETTINGS[name][0] if given is None else _own(name, given)

    @property
    def end_seconds(self) -> float:
        """How long an agent may take to end: what runs on its node, then the store of the node."""
        return 2 * self.own("stop") + (self.own("store-grace") + 1 if self.store_bytes else 0)

    @property
    def spark_sets(self) -> dict[str, str]:
        """Settings of Spark that were given."""
        return {key: value for key, value in self.sets.items() if key.startswith("spark.")}

    @property
    def hadoop_sets(self) -> dict[str, str]:
        """Settings of Hadoop that were given."""
        return {key: value for key, value in self.sets.items() if key.startswith(HADOOP_PREFIXES)}


def check(plan: ClusterPlan) -> None:
    """Refuse what can be refused before anything starts. Errors: `InputError`."""
    allocation = plan.allocation
    if not 1 <= allocation.nodes <= limits.NODES_MAX:
        raise InputError(f"--nodes is {allocation.nodes}, give 1 to {limits.NODES_MAX}")
    if allocation.minutes is not None and allocation.minutes <= 0:
        raise InputError(f"--time is {allocation.minutes:g} minutes, give more than 0")
    for name in plan.services:
        if name not in SERVICES:
            raise InputError(f"--with {name}: is not known; choose from {', '.join(SERVICES)}")
    for name, value in plan.sets.items():
        if name in OWN_SETTINGS:
            _own(name, value)
        elif not name.startswith(("spark.", *HADOOP_PREFIXES)):
            raise InputError(
                f"--set {name}: is not known; give {', '.join(OWN_SETTINGS)}, one of Spark's own "
                "spark.*, or of Hadoop's yarn.* and mapreduce.*"
            )
    if plan.store_bytes and not plan.store_under:
        raise InputError("--store: name the folder that it is over with --under DIR")


def to_json(plan: ClusterPlan) -> dict[str, Any]:
    """As it is in `plan.json`."""
    return asdict(plan)


def from_json(found: Mapping[str, Any]) -> ClusterPlan:
    """What `to_json` made, read again."""
    values = {one.name: found[one.name] for one in fields(ClusterPlan)}
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


def parse_sets(given: list[str]) -> dict[str, str]:
    """`KEY=VALUE` words as a mapping. Errors: `InputError`."""
    found = {}
    for word in given:
        key, equals, value = word.partition("=")
        if not (key and equals):
            raise InputError(f"--set {word}: give KEY=VALUE")
        found[key] = value
    return found


def parse_minutes(text: str) -> float:
    """Minutes in `30`, `1:30:00` (hours), `90:00` (minutes and seconds). Errors: `InputError`."""
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


def _own(name: str, text: str) -> float:
    if name == "scratch-min":
        return float(parse_size(text, f"--set {name}"))
    try:
        value = float(text.removesuffix("s"))
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise InputError(f"--set {name} is {text!r}, give seconds")
    return value
