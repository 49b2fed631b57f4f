"""Slurm on this machine, with the commands of PBS over it: one controller, several nodes.

All of it runs as this user, from Debian's packages, which are unpacked and not installed. The nodes
are called n1, n2 ... and are daemons of this machine, each with a share of its cores. `bin` in the
folder has Slurm's commands for this cluster: put it on the path.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import debian
import testbed_service
from testbed_service import TestbedError

PACKAGES = (
    "slurmctld",
    "slurmd",
    "slurm-client",
    "slurm-wlm-basic-plugins",
    "slurm-wlm-torque",
    "munge",
    "libmunge2",
    "libslurm38",
    "libslurm-perl",
    "libslurmdb-perl",
    "libswitch-perl",
    "libhwloc15",
    "liblua5.1-0",
)
START_SECONDS = 60.0
NODES_MAX = 16
NODE_TIMEOUT_SECONDS = 5
"""Seconds of silence after which a node is down."""
MEMORY_MIB = 4000
"""Memory of a node, as the scheduler has it."""
KILL_WAIT_SECONDS = 5


@dataclass(frozen=True, kw_only=True)
class SlurmBed:
    """A Slurm that runs from a folder."""

    folder: Path

    @property
    def bin(self) -> Path:
        """The folder of its commands."""
        return self.folder / "bin"

    def environment(self) -> dict[str, str]:
        """Variables with which its commands come first."""
        path = f"{self.bin}{os.pathsep}{os.environ.get('PATH', '')}"
        return {"PATH": path, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def pid(self, daemon: str) -> int:
        """The process of `slurmctld`, `munged`, or the daemon of a node: `slurmd-n1`."""
        return int((self.folder / f"{daemon}.pid").read_text())

    def start_node(self, name: str) -> None:
        """Start the daemon of a node."""
        stepd = self.folder / "sbin" / "slurmstepd-wlm"
        words = ["slurmd-wlm", "-N", name, "-f", str(self.folder / "slurm.conf"), "-d", str(stepd)]
        self.run(*words)

    def run(self, *words: str) -> str:
        """The output of one of its programs. Errors: `TestbedError` with its last line."""
        program = next(
            (place for place in (self.bin / words[0], self.folder / "sbin" / words[0])
             if place.exists()), None
        )  # fmt: skip
        if program is None:
            raise TestbedError(f"{words[0]}: Slurm has no such program")
        done = subprocess.run(
            [str(program), *words[1:]],
            capture_output=True,
            text=True,
            check=False,
            timeout=START_SECONDS,
        )
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["it says nothing"]
            raise TestbedError(f"{words[0]}: {lines[-1]}")
        return done.stdout


def up(folder: Path, nodes: int = 2, cores: int = 1) -> SlurmBed:
    """Start a Slurm whose files are in `folder`, or name the one that runs from there.

    Guarantee: when it returns, all nodes are idle. Errors: `TestbedError`.
    """
    folder = folder.resolve()
    existing = running(folder)
    if existing:
        return existing
    testbed_service.check_count("--nodes", nodes, NODES_MAX)
    try:
        root = debian.unpacked("slurm", PACKAGES)
    except debian.DebianError as error:
        raise TestbedError(f"Slurm: {error}") from None
    testbed_service.remove(folder)
    folder.mkdir(parents=True)
    bed = SlurmBed(folder=folder)
    names = [f"n{number}" for number in range(1, nodes + 1)]
    _write_programs(bed, root)
    _write_settings(bed, root, names, cores)
    try:
        _start(bed, names)
    except BaseException:
        down(folder)
        raise
    return bed


def running(folder: Path) -> SlurmBed | None:
    """The Slurm that runs from `folder`."""
    bed = SlurmBed(folder=folder.resolve())
    with contextlib.suppress(OSError, ValueError, TestbedError, subprocess.TimeoutExpired):
        if testbed_service.is_ours(bed.pid("slurmctld"), bed.folder):
            return bed
    return None


def down(folder: Path) -> None:
    """End the Slurm of `folder`, with all of its jobs, and remove its files."""
    bed = SlurmBed(folder=folder.resolve())
    if running(folder):
        with contextlib.suppress(TestbedError, subprocess.TimeoutExpired):
            cancel_all(bed)
    for pid in _daemons(bed.folder):
        testbed_service.end(pid, bed.folder)
    testbed_service.remove(bed.folder)


def cancel_all(bed: SlurmBed) -> None:
    """End all jobs. Errors: `TestbedError` when they do not end."""
    bed.run("scancel", "--user", getpass.getuser())
    _wait(lambda: not bed.run("squeue", "--noheader"), KILL_WAIT_SECONDS + 25, "jobs end")


def _daemons(folder: Path) -> list[int]:
    """Processes that were started from a folder, munged last."""
    daemons = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes()
            if os.fsencode(folder) in words and b"-wlm" in words.split(b"\0")[0]:
                daemons.append(int(entry.name))
            elif os.fsencode(folder) in words and b"munged" in words.split(b"\0")[0]:
                daemons.insert(0, int(entry.name))
    return daemons[::-1]


def _write_programs(bed: SlurmBed, root: Path) -> None:
    """Scripts that start the unpacked programs with their own libraries and settings."""
    libraries = root / "usr" / "lib" / "x86_64-linux-gnu"
    machine = os.uname().machine
    if machine != "x86_64":
        libraries = root / "usr" / "lib" / f"{machine}-linux-gnu"
    variables = {
        "LD_LIBRARY_PATH": f"{libraries}:{libraries / 'slurm-wlm'}",
        "SLURM_CONF": str(bed.folder / "slurm.conf"),
        "PERL5LIB": ":".join(map(str, [*libraries.glob("perl5/*"), root / "usr/share/perl5"])),
    }
    exports = "".join(f"export {name}={shlex.quote(text)}\n" for name, text in variables.items())
    path = f'export PATH={shlex.quote(str(bed.bin))}:"$PATH"\n'
    for kind in ("bin", "sbin"):
        (bed.folder / kind).mkdir()
        for program in (root / "usr" / kind).iterdir():
            script = bed.folder / kind / program.name
            text = f'#!/bin/sh\n{exports}{path}exec {shlex.quote(str(program))} "$@"\n'
            script.write_text(text)
            script.chmod(0o755)


def _write_settings(bed: SlurmBed, root: Path, names: list[str], cores: int) -> None:
    folder, user = bed.folder, getpass.getuser()
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    (folder / "state").mkdir()
    host = socket.gethostname().partition(".")[0]
    plugins = next(root.glob("usr/lib/*/slurm-wlm"))
    lines = [
        "ClusterName=testbed",
        f"SlurmctldHost={host}(127.0.0.1)",
        f"SlurmUser={user}",
        f"SlurmdUser={user}",
        "AuthType=auth/munge",
        "CredType=cred/munge",
        f"AuthInfo=socket={folder}/munge.socket",
        f"PluginDir={plugins}",
        f"SlurmctldPort={_free_port()}",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmctldLogFile={folder}/slurmctld.log",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool-%n",
        f"SlurmdPidFile={folder}/slurmd-%n.pid",
        f"SlurmdLogFile={folder}/slurmd-%n.log",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        # Jobs that request no memory get a part of a node, as at sites that count it.
        f"DefMemPerCPU={MEMORY_MIB // 4 * 3 // cores}",
        "MpiDefault=none",
        "ReturnToService=2",
        "SchedulerParameters=batch_sched_delay=0,sched_min_interval=0",
        f"SlurmdTimeout={NODE_TIMEOUT_SECONDS}",
        f"KillWait={KILL_WAIT_SECONDS}",
        # The configured hardware of nodes, not that of the machine.
        "SlurmdParameters=config_overrides",
        *(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={_free_port()} "
            f"CPUs={cores} RealMemory={MEMORY_MIB}"
            for name in names
        ),
        "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
    ]
    (folder / "slurm.conf").write_text("\n".join([*lines, ""]))


def _start(bed: SlurmBed, names: list[str]) -> None:
    folder = bed.folder
    places = {
        "key-file": "munge.key", "socket": "munge.socket", "pid-file": "munged.pid",
        "log-file": "munged.log", "seed-file": "munged.seed",
    }  # fmt: skip
    # A folder of tests may be writable by more than its user.
    munge = [f"--{name}={folder / file}" for name, file in places.items()]
    bed.run("munged", "--force", *munge)
    _wait((folder / "munge.socket").exists, START_SECONDS, "munged answers")
    bed.run("slurmctld-wlm", "-f", str(folder / "slurm.conf"))
    for name in names:
        bed.start_node(name)
    wait_until_idle(bed, len(names))


def wait_until_idle(bed: SlurmBed, count: int) -> None:
    """Wait until so many nodes have nothing to do. Errors: `TestbedError`."""

    def idle() -> bool:
        with contextlib.suppress(TestbedError):
            states = bed.run("sinfo", "--noheader", "--Node", "--format", "%T").split()
            return states.count("idle") >= count
        return False

    _wait(idle, START_SECONDS, f"{count} nodes are idle")


def _wait(reached: Callable[[], bool], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > deadline:
            raise TestbedError(f"Slurm: waited {seconds:.0f} s, but not: {what}")
        time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def kill_node(bed: SlurmBed, name: str) -> None:
    """Kill the daemon of a node with signal 9; jobs there go on."""
    os.kill(bed.pid(f"slurmd-{name}"), signal.SIGKILL)
