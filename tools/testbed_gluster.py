"""GlusterFS on this machine: nodes with a disk, a network and a memory of their own, as root.

One process sets the factors of `cuesta_lab.machines`, starts a daemon in each node, makes one
volume of all disks, where several have shards of each file, and mounts it. At SIGTERM it undoes all
of that.
"""

from __future__ import annotations

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
from typing import TYPE_CHECKING, Any

import testbed_held
import testbed_service
from testbed_held import START_SECONDS
from testbed_service import TestbedError

if TYPE_CHECKING:
    from cuesta_lab.machines import Node, Place

NODES_MAX = 16
COMMAND_SECONDS = 60.0
VOLUME = "cuesta"
STRIPES_BYTES = 48 << 20
"""Size of the file by whose parts the data nodes of a file are counted."""
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
    stripes
        Number of data nodes that have parts of a file of `STRIPES_BYTES`.
    """

    pid: int
    mount: str
    probed: Mapping[str, float]
    stripes: int


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Number of nodes, and their limits, written as the machine factors of studies.

    An empty text is no limit. `disk_dirty` bounds what may wait to be written to a disk; `memory`
    is that of a node's daemons and of the pages of its disk.
    """

    nodes: int = 2
    disk_size: str = "2GiB"
    disk_rate: str = ""
    disk_dirty: str = ""
    link_rate: str = ""
    memory: str = ""
    shard_size: str = "64MiB"

    def factors(self) -> dict[str, object]:
        """The limits as factors of `cuesta_lab.machines`."""
        limits = {
            "disk-rate": self.disk_rate,
            "disk-dirty": self.disk_dirty,
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
    """The remedy where GlusterFS cannot run here, or None."""
    if os.geteuid() != 0:
        return f"{_NAME} needs root, for its disks, networks and mounts"
    for command in COMMANDS:
        if not shutil.which(command, path=_PATH):
            return f"{_NAME} needs {command}: apt-get install glusterfs-server"
    if not Path("/dev/fuse").exists():
        return f"{_NAME} is mounted by FUSE, and /dev/fuse is not there"
    refused: str | None = testbed_held.machines().refusal(Shape().factors())
    return refused


def up(folder: Path, shape: Shape | None = None) -> Running:
    """Mount a new volume whose files are in `folder`, or name the one that runs from there.

    Guarantee: when it returns, files can be written. Errors: `TestbedError`.
    """
    folder, shape = folder.resolve(), shape or Shape()
    existing = running(folder)
    if existing:
        return existing
    testbed_service.check_count("--nodes", shape.nodes, NODES_MAX)
    lacking = missing()
    if lacking:
        raise TestbedError(lacking)
    down(folder)
    state: dict[str, Any] = testbed_held.up(_NAME, __file__, folder, asdict(shape))
    return Running(**state)


def running(folder: Path) -> Running | None:
    """The volume that runs from `folder`."""
    state: dict[str, Any] | None = testbed_service.read_state(folder.resolve())
    return Running(**state) if state else None


def down(folder: Path) -> None:
    """Unmount the volume of `folder`, end its nodes, and remove its files."""
    folder = folder.resolve()
    _unmount(folder / "mount")
    testbed_held.down(folder)


def _hold(folder: Path, shape_fields: dict[str, Any]) -> None:
    """Hold a volume until SIGTERM."""
    shape, machines = Shape(**shape_fields), testbed_held.machines()
    with machines.apply(shape.factors(), machines.Place(folder=folder)) as place, ExitStack() as on:
        # Paths of sockets are short.
        short = Path(on.enter_context(tempfile.TemporaryDirectory(prefix="cuesta-gluster-")))
        for index, node in enumerate(place.nodes):
            on.enter_context(_daemon(node, folder / f"node-{index}", short / str(index)))
        command = [*place.nodes[0].prefix(), "gluster", "--mode=script"]
        _make([*command, f"--glusterd-sock={short}/0/d"], place, shape)
        on.enter_context(_mounted(place.nodes[0].address, folder))
        facts = {"mount": str(folder / "mount"), "probed": dict(place.probed)}
        stripes = _stripes(folder / "mount", place)
        testbed_held.keep(folder, {**facts, "stripes": stripes})


def _stripes(mount: Path, place: Place) -> int:
    """Count the data nodes that have parts of a new file, which is removed afterwards."""
    probe = mount / "stripes.probe"
    with probe.open("wb") as file:
        for _ in range(STRIPES_BYTES >> 20):
            file.write(bytes(1 << 20))
        file.flush()
        os.fsync(file.fileno())
    bricks = [folder / "brick" for folder in place.input_folders]
    parts = [
        [path for path in (brick / probe.name, *brick.glob(".shard/*")) if _has_blocks(path)]
        for brick in bricks
    ]
    probe.unlink()
    return sum(bool(paths) for paths in parts)


def _has_blocks(path: Path) -> bool:
    """Whether a file exists and has data on its disk."""
    return path.is_file() and path.stat().st_blocks > 0


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
        # The disks follow it in its session; the rest ends with the network of the node.
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
    # Of a single disk, shards gain nothing, and version 10 loses some of what is written to them.
    if len(bricks) > 1:
        _checked([*volume, "set", VOLUME, "features.shard", "on"])
        _checked([*volume, "set", VOLUME, "features.shard-block-size", _shard(shape.shard_size)])
    _checked([*volume, "start", VOLUME])


def _shard(size: str) -> str:
    """A size as GlusterFS writes it."""
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
    """Unmount a folder, also where the file system no longer answers."""
    if os.path.ismount(mount) or _is_dead(mount):
        subprocess.run(["umount", "-l", str(mount)], check=False, capture_output=True)


def _is_dead(mount: Path) -> bool:
    """Whether a path is a mount whose process has exited."""
    try:
        mount.stat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _patiently(command: Sequence[str]) -> None:
    """Run a command until it succeeds: daemons that have just started refuse for a while."""
    deadline = time.monotonic() + START_SECONDS / 4
    while True:
        try:
            _checked(command)
        except TestbedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


def _checked(command: Sequence[str]) -> None:
    """Run a command of the system. Errors: `TestbedError` with its last line."""
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


if __name__ == "__main__":
    sys.exit(testbed_held.main(_hold, *sys.argv[1:]))
