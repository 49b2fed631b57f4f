"""Place of a trial on a machine that is held to factors: its folders and its nodes."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cuesta.errors import EngineError

_NEW_NETWORK = 0x40000000
_NAMESPACES = Path("/run/netns")


@dataclass(frozen=True, kw_only=True)
class Node:
    """A part of the machine with separate limits.

    Attributes
    ----------
    groups
        Folders of the control groups of its processes.
    namespace
        Name of its network for `ip netns`, None for that of the machine.
    address
        Its address, which the other nodes and the machine can reach.
    """

    groups: tuple[Path, ...] = ()
    namespace: str | None = None
    address: str = "127.0.0.1"

    def enter(self) -> None:
        """Move this process here, before it has threads; its descendants are here too.

        It can be the `preexec_fn` of a process. Errors: `EngineError`.
        """
        try:
            for group in self.groups:
                (group / "cgroup.procs").write_text(str(os.getpid()))
            if self.namespace:
                _enter_network(_NAMESPACES / self.namespace)
        except OSError as error:
            raise EngineError(f"the node {self.address} cannot be entered: {error}") from None

    def prefix(self) -> list[str]:
        """Prefix of a command that runs it here: `[*node.prefix(), "hostname"]`."""
        words = []
        if self.groups:
            moves = "".join(f"echo $$ > {group}/cgroup.procs && " for group in self.groups)
            words += ["sh", "-c", f'{moves}exec "$@"', "sh"]
        if self.namespace:
            words += ["ip", "netns", "exec", self.namespace]
        return words


@dataclass(frozen=True, kw_only=True)
class Place:
    """Folders and nodes of a trial; `apply` fills in the changes by its factors.

    Attributes
    ----------
    folder
        Folder of the files behind the disks while these exist.
    inputs
        Inputs of the trial; copies on its disks if these hold inputs.
    disks
        Mount point of each disk of the trial.
    input_folders, scratch_folders, output_folders
        A folder on each disk for such files; none if the disks do not hold them.
    nodes
        A single node, or the linked nodes.
    probed
        Measured rates and times of disks and links, by names that end in their units.
    """

    folder: Path
    inputs: tuple[str, ...] = ()
    disks: tuple[Path, ...] = ()
    input_folders: tuple[Path, ...] = ()
    scratch_folders: tuple[Path, ...] = ()
    output_folders: tuple[Path, ...] = ()
    nodes: tuple[Node, ...] = (Node(),)
    probed: Mapping[str, float] = field(default_factory=dict)

    def enter(self) -> None:
        """Move this process to the first node; see `Node.enter`."""
        self.nodes[0].enter()


def _enter_network(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if library.setns(descriptor, _NEW_NETWORK):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(file))
    finally:
        os.close(descriptor)
