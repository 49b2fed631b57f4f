"""Facts about the node of this process: software, memory, network address and scratch."""

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
from cuesta.errors import InputError, in_words

NETWORKS = Path("/sys/class/net")
_ADDRESS_REQUEST = 0x8915
"""SIOCGIFADDR of <linux/sockios.h>."""
PEOPLE = range(1000, 60_001)
"""Numbers of accounts of people, by convention of Linux distributions."""
ACCOUNTS_MAX = 3


@dataclass(frozen=True, kw_only=True)
class NodeFacts:
    """Facts about a node, collected by its agent.

    Attributes
    ----------
    name
        Name by which the scheduler knows it.
    host
        Host name.
    interface, address
        Network interface and address that its services listen on.
    python, wheel, spark, java
        Versions; empty for missing software.
    java_home
        Home of that Java, as Spark takes it.
    scratch, scratch_free_bytes, scratch_error
        The folder for temporary files, its free bytes, and its error, if any.
    accounts
        Numbers of at most `ACCOUNTS_MAX` other accounts of people that have processes here.
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
        """Return the facts as an object for a message."""
        return asdict(self)


def facts(name: str, address: str, scratch: Path) -> NodeFacts:
    """Return the facts of this node; nothing is started."""
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
    """Return the node that the leader runs on, or else the first."""
    nodes: list[dict[str, Any]] = state["nodes"]
    name = state["leader"]["node"]
    return next((node for node in nodes if node["name"] == name), nodes[0])


def scratch_here(state: Mapping[str, Any]) -> str:
    """Return the scratch folder of the leader's node; empty where it runs on none."""
    node = nearest(state)
    return str(node["scratch"]) if node["host"] == platform.node() else ""


def interfaces() -> dict[str, str]:
    """Return IPv4 addresses by the names of the interfaces of this machine that have one."""
    addresses = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                answer = fcntl.ioctl(probe, _ADDRESS_REQUEST, request)
            except OSError:
                continue
            addresses[name] = socket.inet_ntoa(answer[20:24])
    return addresses


def _ends_here(name: str) -> bool:
    """Whether an interface is a bridge to local guests and containers alone, such as `docker0`."""
    members = NETWORKS / name / "brif"
    leads_out = ("device", "bonding", "lower_*")
    return members.is_dir() and not any(
        any((NETWORKS / member.name).glob(kind))
        for member in members.iterdir()
        for kind in leads_out
    )


def interface_of(address: str) -> str:
    """Return the interface that has an address; empty where none has."""
    return next((name for name, candidate in interfaces().items() if candidate == address), "")


def address_on(names: str) -> str:
    """Return the address of the first of these interfaces that exists here: `ib0,eth0`.

    Errors: `InputError` naming the existing interfaces.
    """
    known = interfaces()
    address = next((known[name] for name in names.split(",") if name in known), None)
    if address is None:
        existing = ", ".join(f"{interface} ({ip})" for interface, ip in known.items())
        raise InputError(
            f"--interface {names}: {platform.node()} has none of that name with an IPv4 address; "
            f"it has {existing}"
        )
    return address


def listening_address(interface_names: str, nodes_are_local: bool, host_name: str) -> str:
    """Return the address for the leader to listen on: a named interface's, or its host name's.

    Errors: `InputError` where the host name resolves to none of several interfaces.
    """
    if interface_names:
        return address_on(interface_names)
    if nodes_are_local:
        return "127.0.0.1"
    known = {
        name: address
        for name, address in interfaces().items()
        if not address.startswith("127.") and not _ends_here(name)
    }
    try:
        records = socket.getaddrinfo(host_name, None, socket.AF_INET)
        resolved = {str(record[4][0]) for record in records}
    except OSError:
        resolved = set()
    matching = [address for address in known.values() if address in resolved]
    if len(matching) == 1 or len(known) == 1:
        return (matching or list(known.values()))[0]
    if not known:
        return "127.0.0.1"
    existing = ", ".join(f"{name} ({address})" for name, address in known.items())
    raise InputError(
        f"{host_name} has {len(known)} network interfaces, {existing}, and its name is the address "
        "of none of them; choose one with --interface NAME"
    )


def free_ports(address: str, count: int) -> list[int]:
    """Return `count` distinct ports of an address that no process listens on now."""
    with contextlib.ExitStack() as open_sockets:
        ports = []
        for _ in range(count):
            probe = open_sockets.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            probe.bind((address, 0))
            ports.append(int(probe.getsockname()[1]))
        return ports


def _allotted(names: Sequence[str]) -> int:
    """Return this job's amount from variables of the scheduler; 0 where it sets none."""
    texts = (os.environ.get(name, "") for name in names)
    return next((int(text) for text in texts if text.isdecimal()), 0)


def _memory_bytes() -> int:
    """Return the memory of the node, or less where the job has less."""
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
    """Return other accounts of people, not of the system, that have processes here."""
    uids = set()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                uids.add(entry.stat().st_uid)
    people = {uid for uid in uids if uid in PEOPLE} - {os.geteuid()}
    return sorted(people)[:ACCOUNTS_MAX]


def _check_scratch(scratch: Path) -> tuple[int, str]:
    """Return free bytes, and the error of a folder in which no file can be written."""
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
        return 0, in_words(error)
