"""Hosts that are network namespaces of this machine on a bridge, with links of limited rate."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import pytest

from cuesta_store import control
from cuesta_store.control import StoreSettings
from cuesta_store.errors import CuestaError
from cuesta_store.filesystem import CuestaFileSystem
from cuesta_store.peers import PeerSettings, make_secret, write_members
from storekit import BLOCK_BYTES
from waitkit import wait_for

BRIDGE = "cuestabr1"
NETWORK = "10.77.8"
LOCK = Path(gettempdir()) / "cuesta-test-hosts.lock"


def ip(*words: str) -> bool:
    """Run `ip`; return whether it succeeded."""
    return subprocess.run(["ip", *words], check=False, capture_output=True).returncode == 0


def host_name(number: int) -> str:
    """Return the name of the namespace of a host."""
    return f"cuesta-s{number}"


def address(number: int) -> str:
    """Return the address of a host."""
    return f"{NETWORK}.{number + 10}"


@contextmanager
def hosts(count: int) -> Iterator[str | None]:
    """Create this number of hosts, from 1 on; return the reason if that is impossible.

    Their names are of the whole machine: other tests wait for them.
    """
    if os.geteuid() or not shutil.which("ip") or not shutil.which("tc"):
        yield "only root can make network namespaces, and with ip and tc"
        return
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield from _made(count)


def _made(count: int) -> Iterator[str | None]:
    """Create hosts, yield once, and remove them."""
    try:
        bridge_exists = ip("link", "add", BRIDGE, "type", "bridge")
        bridge_exists = bridge_exists and ip("link", "set", BRIDGE, "up")
        yield (
            None
            if bridge_exists
            and all(
                make_host(host_name(number), (_end(number), BRIDGE), address(number))
                for number in range(1, count + 1)
            )
            else ("this system has no virtual network interfaces")
        )
    finally:
        for number in range(1, count + 1):
            # Connections that are not closed yet keep a namespace and its link alive for minutes.
            ip("link", "del", _end(number))
            ip("netns", "del", host_name(number))
        ip("link", "del", BRIDGE)


def make_host(name: str, link: tuple[str, str], ip_address: str) -> bool:
    """Create a namespace with an address on a bridge; `link` is the bridge's end and the bridge."""
    end, bridge = link
    within = ("netns", "exec", name, "ip")
    return all(
        [
            ip("netns", "add", name),
            ip("link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", name),
            ip("link", "set", end, "master", bridge, "up"),
            ip(*within, "addr", "add", f"{ip_address}/24", "dev", "eth0"),
            ip(*within, "link", "set", "eth0", "up"),
            ip(*within, "link", "set", "lo", "up"),
        ]
    )


def _end(number: int) -> str:
    return f"cuestas{number}"


def connected(number: int, is_connected: bool) -> None:
    """Connect or disconnect the network cable of a host."""
    assert ip("link", "set", _end(number), "up" if is_connected else "down")


def limit_link(number: int, bits_per_s: int | None) -> None:
    """Limit the rate of a host's link in both directions; None removes the limit."""
    inside = ["ip", "netns", "exec", host_name(number)]
    for words in ([*inside, "tc", "qdisc"], ["tc", "qdisc"]):
        device = "eth0" if inside[0] in words else _end(number)
        subprocess.run([*words, "del", "dev", device, "root"], check=False, capture_output=True)
        if bits_per_s:
            burst = max(bits_per_s // 8 // 200, 16_000)
            rate = ["rate", f"{bits_per_s}bit", "burst", str(burst), "latency", "20ms"]
            subprocess.run([*words, "add", "dev", device, "root", "tbf", *rate], check=True)


def _number(name: str) -> int:
    """Return the host of a store."""
    return int(name.partition(":")[0].rpartition(".")[2]) - 10


@dataclass
class HostStore:
    """The store of a host."""

    number: int
    folder: Path
    settings: StoreSettings
    process: subprocess.Popen[bytes] | None = None
    environment: dict[str, str] = field(default_factory=dict)
    pids: list[int] = field(default_factory=list)
    """Process ids of all processes that were started."""

    def start(self) -> None:
        """Start the store."""
        request = control.to_request(self.settings, self.folder)
        words = ["ip", "netns", "exec", host_name(self.number)]
        words += [sys.executable, "-m", "cuesta_store.serve", request]
        self.process = subprocess.Popen(
            words,
            env=os.environ | self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.pids.append(self.process.pid)
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        assert line == "ready\n", line

    def signal(self, number: int) -> None:
        """Send a signal; after SIGKILL, wait until the process has ended."""
        assert self.process is not None
        self.process.send_signal(number)
        if number == signal.SIGKILL:
            self.process.wait()

    def status(self) -> dict[str, Any]:
        """Return the status of the store."""
        return control.status(self.folder)

    def peers(self) -> dict[str, Any]:
        """Return what the store reports of its peers."""
        peers: dict[str, Any] = self.status()["peers"]
        return peers

    def live(self) -> set[int]:
        """Return the hosts whose stores are live in the view of this store."""
        return {_number(peer["name"]) for peer in self.peers()["members"] if peer["is_live"]}

    def returns(self) -> dict[int, int]:
        """Return how often each host came back to life in the view of this store."""
        return {_number(peer["name"]): peer["returns"] for peer in self.peers()["members"]}

    def from_peers(self) -> int:
        """Return the bytes of blocks received from peers."""
        return sum(member["read_bytes"] for member in self.peers()["members"])

    def ask(self, question: str, **fields: Any) -> dict[str, Any]:
        """Send a question to the store and return the answer."""
        return control.ask(question, self.folder, **fields)


@dataclass
class HostJob:
    """A job with a store on each host."""

    place: Path
    under: Path
    stores: dict[int, HostStore] = field(default_factory=dict)

    def make(self, number: int, secret: Path | None = None, **settings: Any) -> HostStore:
        """Return the store of a host, not started yet."""
        peers = PeerSettings(
            listen=f"{address(number)}:7070",
            secret=secret or self.place / "secret",
            members_file=self.place / "members",
        )
        options = {"memory_bytes": 64 * BLOCK_BYTES, "block_bytes": BLOCK_BYTES} | settings
        store = StoreSettings(under=self.under, peers=peers, admission=False, **options)
        return HostStore(number, self.place / f"m{number}", store)

    def wait_until_live(self, numbers: Sequence[int]) -> None:
        """Wait until each of these hosts sees exactly the others of this list."""
        wait_for(
            lambda: all(self.stores[number].live() == set(numbers) - {number} for number in numbers)
        )


def read(store: HostStore, name: str) -> bytes:
    """Return the content of a file, through the store of a host."""
    content: bytes = CuestaFileSystem(str(store.folder)).cat_file(f"/{name}")
    return content


def write(store: HostStore, name: str, content: bytes, mode: str = "memory") -> None:
    """Write a file through the store of a host."""
    with CuestaFileSystem(str(store.folder)).open(f"/{name}", "wb", write_mode=mode) as file:
        file.write(content)


def write_under(job: HostJob, name: str, content: bytes) -> None:
    """Write a file to the folder with an old time stamp, so that its next version differs."""
    (job.under / name).write_bytes(content)
    time.sleep(0.12)


def wait_for_places(job: HostJob, blocks: int) -> None:
    """Wait until the directories of the job know the places of this number of blocks."""
    stores = job.stores.values()
    wait_for(lambda: sum(store.peers()["directory_blocks"] for store in stores) == blocks)


@contextmanager
def fresh_job(under: Path, count: int) -> Iterator[HostJob]:
    """Yield stores on hosts that know each other; restore the links afterwards."""
    under.mkdir()
    # Socket paths must be short.
    with TemporaryDirectory(prefix="cuesta-test-") as place, ExitStack() as stack:
        for number in range(1, count + 1):
            stack.callback(limit_link, number, None)
            stack.callback(connected, number, True)
        yield stack.enter_context(host_job(Path(place), under, count))


@pytest.fixture(scope="module")
def hosts_exist(request: pytest.FixtureRequest) -> Iterator[None]:
    """The hosts of a module, as many as its `COUNT`; skips where they are impossible."""
    with hosts(request.module.COUNT) as reason:
        if reason:
            pytest.skip(reason)
        yield


@pytest.fixture
def job(hosts_exist: None, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HostJob]:
    """A job with a store on each host of the module."""
    with fresh_job(tmp_path / "under", request.module.COUNT) as running:
        yield running


@contextmanager
def host_job(
    place: Path,
    under: Path,
    count: int,
    environment: Callable[[int], dict[str, str]] = lambda _: {},
    **settings: Any,
) -> Iterator[HostJob]:
    """Yield stores on hosts that know each other; `environment` has the variables of a host."""
    job = HostJob(place, under)
    make_secret(place / "secret")
    write_members(place / "members", [f"{address(host)}:7070" for host in range(1, count + 1)])
    job.stores = {number: job.make(number, **settings) for number in range(1, count + 1)}
    for number, store in job.stores.items():
        store.environment = environment(number)
    try:
        for store in job.stores.values():
            store.start()
        job.wait_until_live(list(job.stores))
        yield job
    finally:
        for store in job.stores.values():
            if store.process is not None:
                store.process.send_signal(signal.SIGCONT)
                with suppress(CuestaError, OSError, json.JSONDecodeError):
                    control.stop(store.folder, discards=True)
                store.process.kill()
                store.process.communicate()
