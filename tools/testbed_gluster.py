"""GlusterFS on this machine: nodes with a disk, a network and a memory of their own, as root.

One process holds the machine to the factors of `cuesta.lab.machines`, starts a daemon in each node,
makes one volume of all disks, cut into shards, and mounts it. At SIGTERM it undoes all of that;
what it leaves when it is killed is undone by the next command that holds a machine to factors.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import maven
import testbed_service
from testbed_service import TestbedError

if TYPE_CHECKING:
    from cuesta.lab.machines import Node, Place

NODES_MAX = 16
START_SECONDS = 120.0
COMMAND_SECONDS = 60.0
VOLUME = "cuesta"
DAEMON = "glusterd"
COMMANDS = (DAEMON, "gluster", "mount.glusterfs")

_NAME = "GlusterFS"
_PATH = f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"
_VOLFILE = """\
volume management
    type mgmt/glusterd
    option working-directory {folder}/state
    option run-directory {short}
    option glusterd-sockfile {short}/d
    option transport-type socket
    option transport.socket.listen-port 24007
    option transport.socket.keepalive-time 10
    option transport.socket.keepalive-interval 2
    option ping-timeout 0
end-volume
"""


@dataclass(frozen=True, kw_only=True)
class Running:
    """A volume that is mounted.

    Attributes
    ----------
    probed
        Measured rates of its disks and links, by names that end in their units.
    """

    pid: int
    mount: str
    probed: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How many nodes, and what each is held to, as the machine factors of studies are written.

    An empty text is no limit. `memory` is that of a node's daemons and of the pages of its disk.
    """

    nodes: int = 2
    disk_size: str = "2GiB"
    disk_rate: str = ""
    link_rate: str = ""
    memory: str = ""
    shard_size: str = "64MiB"

    def factors(self) -> dict[str, object]:
        """The same for `cuesta.lab.machines`."""
        limits = {
            "disk-rate": self.disk_rate,
            "link-rate": self.link_rate,
            "memory-group": self.memory,
        }
        return {
            "disks": self.nodes,
            "disk-size": self.disk_size,
            "disk-holds": "input",
            "link-nodes": self.nodes,
            **{name: text for name, text in limits.items() if text},
        }


def missing() -> str | None:
    """What to install for GlusterFS, or what is not allowed here, or None."""
    if os.geteuid() != 0:
        return f"{_NAME} needs root, for its disks, networks and mounts"
    for command in COMMANDS:
        if not shutil.which(command, path=_PATH):
            return f"{_NAME} needs {command}: apt-get install glusterfs-server"
    if not Path("/dev/fuse").exists():
        return f"{_NAME} is mounted by FUSE, and /dev/fuse is not there"
    refused: str | None = _machines().refusal(Shape().factors())
    return refused


def up(folder: Path, shape: Shape | None = None) -> Running:
    """Mount a new volume whose files are in `folder`, or name the one that runs from there.

    Guarantee: when it returns, files can be written. Errors: `TestbedError`.
    """
    folder, shape = folder.resolve(), shape or Shape()
    found = running(folder)
    if found:
        return found
    testbed_service.check_count("--nodes", shape.nodes, NODES_MAX)
    lacking = missing()
    if lacking:
        raise TestbedError(lacking)
    down(folder)
    folder.mkdir(parents=True)
    words = [sys.executable, __file__, str(folder), json.dumps(asdict(shape))]
    with (folder / "log").open("wb") as log:
        holder = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    return _ready(folder, holder)


def running(folder: Path) -> Running | None:
    """The volume that runs from `folder`."""
    state: dict[str, Any] | None = testbed_service.read_state(folder.resolve())
    return Running(**state) if state else None


def down(folder: Path) -> None:
    """Unmount the volume of `folder`, end its nodes, and remove its files."""
    folder = folder.resolve()
    state = testbed_service.read_state(folder)
    if state:
        testbed_service.end(int(str(state["pid"])), folder)
    _unmount(folder / "mount")
    if folder.exists():
        # Of one that was killed; it has files here.
        _machines().put_back()
    testbed_service.remove(folder)


def _ready(folder: Path, holder: subprocess.Popen[bytes]) -> Running:
    """The volume once it is mounted. Errors: `TestbedError`, and then nothing is left of it."""
    began = time.monotonic()
    while time.monotonic() - began < START_SECONDS and holder.poll() is None:
        found = running(folder)
        if found:
            return found
        time.sleep(0.05)
    lines = (folder / "log").read_text(errors="replace").strip().splitlines()
    with suppress(ProcessLookupError):
        holder.terminate()
    holder.wait()
    down(folder)
    raise TestbedError(f"{_NAME} does not start: {(lines or ['no word of it'])[-1][:300]}")


def _hold(folder: Path, shape: Shape) -> None:
    """Keep a volume until SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    machines = _machines()
    with machines.apply(shape.factors(), machines.Place(folder=folder)) as place, ExitStack() as on:
        # Paths of sockets are short.
        short = Path(on.enter_context(tempfile.TemporaryDirectory(prefix="cuesta-gluster-")))
        for index, node in enumerate(place.nodes):
            on.enter_context(_daemon(node, folder / f"node-{index}", short / str(index)))
        command = [*place.nodes[0].prefix(), "gluster", "--mode=script"]
        _make([*command, f"--glusterd-sock={short}/0/d"], place, shape)
        on.enter_context(_mounted(place.nodes[0].address, folder))
        state = {"pid": os.getpid(), "mount": str(folder / "mount"), "probed": dict(place.probed)}
        testbed_service.write_state(folder, state)
        while True:
            signal.pause()


@contextmanager
def _daemon(node: Node, folder: Path, short: Path) -> Iterator[None]:
    """A daemon of a node, ended with all it has started."""
    folder.mkdir()
    short.mkdir()
    (folder / "state").mkdir()
    volfile = folder / "glusterd.vol"
    volfile.write_text(_VOLFILE.format(folder=folder, short=short))
    options = ["--no-daemon", f"--volfile={volfile}", f"--log-file={folder}/log"]
    command = [*node.prefix(), DAEMON, *options, f"--pid-file={short}/pid"]
    process = subprocess.Popen(command, env=_environment(), start_new_session=True)
    try:
        yield
    finally:
        # The disks follow it in its session; what is left ends with the network of the node.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _make(gluster: Sequence[str], place: Place, shape: Shape) -> None:
    """Make the volume of all nodes, and start it."""
    _patiently([*gluster, "pool", "list"])
    for node in place.nodes[1:]:
        _patiently([*gluster, "peer", "probe", node.address])
    bricks = [
        f"{node.address}:{folder}/brick"
        for node, folder in zip(place.nodes, place.input_folders, strict=True)
    ]
    volume = [*gluster, "volume"]
    _patiently([*volume, "create", VOLUME, *bricks, "force"])
    _said([*volume, "set", VOLUME, "features.shard", "on"])
    _said([*volume, "set", VOLUME, "features.shard-block-size", _shard(shape.shard_size)])
    _said([*volume, "start", VOLUME])


def _shard(size: str) -> str:
    """As GlusterFS writes sizes."""
    return size.replace("iB", "B")


@contextmanager
def _mounted(address: str, folder: Path) -> Iterator[None]:
    mount = folder / "mount"
    mount.mkdir()
    log = f"log-file={folder}/mount.log"
    _patiently(["mount", "-t", "glusterfs", "-o", log, f"{address}:/{VOLUME}", str(mount)])
    try:
        yield
    finally:
        _unmount(mount)


def _unmount(mount: Path) -> None:
    """Also where the file system no longer answers."""
    if os.path.ismount(mount) or _is_dead(mount):
        subprocess.run(["umount", "-l", str(mount)], check=False, capture_output=True)


def _is_dead(mount: Path) -> bool:
    """Whether it is a mount whose process is gone."""
    try:
        mount.stat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _patiently(command: Sequence[str]) -> None:
    """Until it succeeds: daemons that have just started refuse for a while."""
    deadline = time.monotonic() + START_SECONDS / 4
    while True:
        try:
            _said(command)
        except TestbedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


def _said(command: Sequence[str]) -> None:
    """Run a command of the system. Errors: `TestbedError` with what it says."""
    try:
        done = subprocess.run(
            command,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise TestbedError(f"{' '.join(command)}: no end after {COMMAND_SECONDS:g} s") from None
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "refused").splitlines()
        raise TestbedError(f"{' '.join(command)}: {lines[-1]}")


def _environment() -> dict[str, str]:
    return os.environ | {"PATH": _PATH, "LC_ALL": "C"}


def _machines() -> ModuleType:
    """The package of machine factors: tools run from a checkout that may not be installed."""
    sys.path.insert(0, str(maven.ROOT / "python"))
    from cuesta.lab import machines

    return machines


def _main(folder: str, shape: str) -> int:
    """The process that keeps a volume; what is wrong goes to its log, in one last line."""
    sys.path.insert(0, str(maven.ROOT / "python"))
    from cuesta.errors import CuestaError

    try:
        _hold(Path(folder), Shape(**json.loads(shape)))
    except KeyboardInterrupt:
        return 0
    except (TestbedError, CuestaError, OSError) as error:
        print(error, file=sys.stderr)
    return 3


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
