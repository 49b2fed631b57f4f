"""What a node says of itself: software, memory, its place in the network, and its scratch."""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import shutil
import socket
import struct
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from cuesta import machine, removal
from cuesta.errors import InputError

NETWORKS = Path("/sys/class/net")
_ADDRESS_REQUEST = 0x8915
"""SIOCGIFADDR of <linux/sockios.h>."""
PEOPLE = range(1000, 60_001)
"""Numbers that systems give to accounts of people."""
ACCOUNTS_MAX = 3


@dataclass(frozen=True, kw_only=True)
class NodeFacts:
    """A node, as its agent found it.

    Attributes
    ----------
    name
        As the scheduler calls it.
    host
        As it calls itself.
    interface, address
        Where its services listen.
    python, wheel, spark, java
        Versions; empty for what is not there.
    java_home
        Of that Java, as Spark takes it.
    scratch, scratch_free_bytes, scratch_error
        The folder for temporary files, and what is wrong with it.
    accounts
        Numbers of other accounts of people that have processes here, a few of them.
    """

    name: str
    host: str
    interface: str
    address: str
    python: str
    wheel: str
    spark: str
    java: str
    java_home: str
    cores: int
    memory_bytes: int
    scratch: str
    scratch_free_bytes: int
    scratch_error: str
    accounts: Sequence[int] = ()

    def to_json(self) -> dict[str, Any]:
        """For a message."""
        return asdict(self)


def facts(name: str, address: str, scratch: Path) -> NodeFacts:
    """What this node has; nothing is started."""
    from cuesta.engines.spark.java import find_java

    free_bytes, scratch_error = _check_scratch(scratch)
    java = find_java(os.environ)
    home = java.home_for_spark(scratch) if java and not scratch_error else None
    return NodeFacts(
        name=name,
        host=platform.node(),
        interface=interface_of(address),
        address=address,
        python=platform.python_version(),
        wheel=_wheel(),
        spark=_package("pyspark"),
        java=java.version if java else "",
        java_home=str(home or ""),
        cores=_allotted(("SLURM_CPUS_ON_NODE", "NCPUS", "PBS_NUM_PPN")) or machine.cores_usable(),
        memory_bytes=_memory_bytes(),
        scratch=str(scratch),
        scratch_free_bytes=free_bytes,
        scratch_error=scratch_error,
        accounts=_other_accounts(),
    )


def nearest(state: Mapping[str, Any]) -> dict[str, Any]:
    """The node that the leader is on, or else the first."""
    nodes: list[dict[str, Any]] = state["nodes"]
    name = state["leader"]["node"]
    return next((node for node in nodes if node["name"] == name), nodes[0])


def scratch_here(state: Mapping[str, Any]) -> str:
    """The scratch folder of the node that the leader is on; empty where it is on none."""
    node = nearest(state)
    return str(node["scratch"]) if node["host"] == platform.node() else ""


def interfaces() -> dict[str, str]:
    """IPv4 addresses by the names of the interfaces of this machine that have one."""
    found = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                answer = fcntl.ioctl(asked, _ADDRESS_REQUEST, request)
            except OSError:
                continue
            found[name] = socket.inet_ntoa(answer[20:24])
    return found


def _ends_here(name: str) -> bool:
    """Whether it is a bridge to guests and containers of this machine alone, such as `docker0`."""
    members = NETWORKS / name / "brif"
    leads_out = ("device", "bonding", "lower_*")
    return members.is_dir() and not any(
        any((NETWORKS / member.name).glob(kind))
        for member in members.iterdir()
        for kind in leads_out
    )


def interface_of(address: str) -> str:
    """The interface that has an address; empty where none has."""
    return next((name for name, own in interfaces().items() if own == address), "")


def address_on(names: str) -> str:
    """The address of an interface, the first of these that is here: `ib0,eth0`.

    Errors: `InputError` naming those that there are.
    """
    known = interfaces()
    found = next((known[name] for name in names.split(",") if name in known), None)
    if found is None:
        there = ", ".join(f"{one} ({own})" for one, own in known.items())
        raise InputError(
            f"--interface {names}: {platform.node()} has none of that name with an IPv4 address; "
            f"it has {there}"
        )
    return found


def listening_address(named: str, others_are_here: bool, own_name: str) -> str:
    """Where the leader listens: on the interface that was named, or the one its own name is of.

    Errors: `InputError` where the name is of none and there are several to choose from.
    """
    if named:
        return address_on(named)
    if others_are_here:
        return "127.0.0.1"
    known = {
        name: own
        for name, own in interfaces().items()
        if not own.startswith("127.") and not _ends_here(name)
    }
    try:
        resolved = {str(one[4][0]) for one in socket.getaddrinfo(own_name, None, socket.AF_INET)}
    except OSError:
        resolved = set()
    found = [own for own in known.values() if own in resolved]
    if len(found) == 1 or len(known) == 1:
        return (found or list(known.values()))[0]
    if not known:
        return "127.0.0.1"
    there = ", ".join(f"{one} ({own})" for one, own in known.items())
    raise InputError(
        f"{own_name} has {len(known)} network interfaces, {there}, and its name is the address of "
        "none of them; choose one with --interface NAME"
    )


def free_ports(address: str, count: int) -> list[int]:
    """So many ports of an address, each another, that nobody listens on now."""
    with contextlib.ExitStack() as held:
        found = []
        for _ in range(count):
            asked = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            asked.bind((address, 0))
            found.append(int(asked.getsockname()[1]))
        return found


def _allotted(names: Sequence[str]) -> int:
    """What the scheduler has given to this job here; 0 where it does not say."""
    found = (os.environ.get(name, "") for name in names)
    return next((int(text) for text in found if text.isdecimal()), 0)


def _memory_bytes() -> int:
    """Memory of the node, or less where the job has less."""
    allotted = _allotted(("SLURM_MEM_PER_NODE",)) << 20
    return min(allotted or machine.memory_bytes(), machine.memory_bytes())


def _wheel() -> str:
    from cuesta import __version__

    try:
        from cuesta import _native
    except ImportError:
        return __version__
    return f"{__version__}/{_native.__version__}"


def _package(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _other_accounts() -> list[int]:
    """Accounts of people, not of the system, that have processes here, but this one."""
    uids = set()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                uids.add(entry.stat().st_uid)
    people = {uid for uid in uids if uid in PEOPLE} - {os.geteuid()}
    return sorted(people)[:ACCOUNTS_MAX]


def _check_scratch(scratch: Path) -> tuple[int, str]:
    """Free bytes, and what is wrong: it must be a folder that takes a file."""
    if not scratch.parent.is_dir():
        return 0, f"{scratch.parent} is no folder"
    try:
        removal.ensure_marked(scratch)
        with tempfile.TemporaryFile(dir=scratch) as file:
            file.write(b"\0" * 4096)
            file.flush()
            os.fsync(file.fileno())
        return shutil.disk_usage(scratch).free, ""
    except OSError as error:
        return 0, (error.strerror or str(error)).lower()
