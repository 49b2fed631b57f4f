"""Resources of a study besides its engines: a store for a trial, and several nodes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from cuesta import removal
from cuesta.cluster.local_session import session, session_on
from cuesta.cluster.node import interfaces
from cuesta.cluster.settings import Allocation, NodeShare
from cuesta.errors import EngineError, InputError
from cuesta.store import MEMORY_ROOT, VARIABLE, require, translated
from cuesta_lab.machines import Node, Place
from cuesta_lab.study.settings import Settings
from cuesta_lab.study.trials import Tier


@contextmanager
def started_store(under: Path, memory_bytes: int, mounted: bool) -> Iterator[Tier]:
    """A store over a folder until the trial has ended; mounted where requested.

    Errors: `EngineMissing` without `cuesta_store`; as `control.start`.
    """
    require("a study with a store")
    from cuesta_store import control
    from cuesta_store.control import StoreSettings

    before = os.environ.get(VARIABLE)
    with removal.temporary_folder(prefix="cuesta-study-", folder=MEMORY_ROOT) as place:
        folder = Path(place, "store")
        os.environ[VARIABLE] = str(folder)
        try:
            with translated():
                control.start(StoreSettings(under=under, memory_bytes=memory_bytes), folder)

            def hold(path: str) -> object:
                with translated():
                    return control.ask("pin", folder, path=path)

            try:
                with _mounted(Path(place, "mount"), folder) if mounted else nullcontext() as paths:
                    yield Tier(prefix="cuesta://", hold=hold, mounted=paths)
            finally:
                with translated():
                    control.stop(folder, discards=True)
        finally:
            del os.environ[VARIABLE]
            if before is not None:
                os.environ[VARIABLE] = before


@contextmanager
def _mounted(place: Path, folder: Path) -> Iterator[Path]:
    """A folder of files that are in the memory of the store alone. Errors: as `mount.mount`."""
    from cuesta_store import mount

    place.mkdir()
    with translated():
        mount.mount(place, "memory", folder)
    try:
        yield place
    finally:
        with translated():
            mount.unmount(place)


@contextmanager
def started_cluster(settings: Settings, place: Place) -> Iterator[Mapping[str, str]]:
    """The nodes of a trial until it has ended; yields the engine options that select them.

    Errors: `InputError` where an engine cannot use nodes with links of their own; `EngineError`
    where nodes do not come up.
    """
    with removal.temporary_folder(prefix="cuesta-nodes-") as folder:
        scratch = next(iter(place.scratch_folders), Path(folder))
        if len(place.nodes) == 1:
            up = session(settings.nodes, settings.cores, settings.memory_bytes, scratch)
        else:
            share = NodeShare(
                cores=settings.cores,
                memory_bytes=settings.memory_bytes,
                interface=f"{_bridge(place.nodes[0])},eth0",
                scratch=str(scratch),
            )
            up = session_on(_linked(settings, place, Path(folder)), share)
        with up as cluster:
            if settings.engine == "mpi":
                yield {"ranks": str(settings.nodes * settings.cores)}
            elif len(place.nodes) == 1:
                yield {"master": cluster.master}
            else:
                # The driver of the run is on the first node, the master outside the nodes.
                first_address = place.nodes[0].address
                names = ("spark.driver.host", "spark.driver.bindAddress")
                yield {"master": cluster.master, **dict.fromkeys(names, first_address)}


def _linked(settings: Settings, place: Place, folder: Path) -> Allocation:
    """Nodes with links of their own, reached by a script. Errors: `InputError`."""
    if settings.engine == "mpi":
        raise InputError("ranks of MPI are not started over links that are held to a rate; spark")
    if len(place.nodes) != settings.nodes:
        raise InputError(
            f"nodes is {settings.nodes}, link-nodes is {len(place.nodes)}; give the same"
        )
    names = [str(node.namespace) for node in place.nodes]
    cases = [
        f'{name}) exec {shlex.join(node.prefix())} "$@" ;;'
        for name, node in zip(names, place.nodes, strict=True)
    ]
    script = folder / "reach"
    lines = ["#!/bin/sh", "host=$1", "shift", 'case "$host" in', *cases, "esac", "exit 1", ""]
    script.write_text("\n".join(lines), encoding="utf-8")
    script.chmod(0o700)
    return Allocation(
        scheduler="hosts", nodes=len(names), hosts=tuple(names), starter=f"{script} {{host}}"
    )


def _bridge(node: Node) -> str:
    """The interface of this machine that leads to a node. Errors: `EngineError`."""
    net = node.address.rpartition(".")[0]
    names = (name for name, address in interfaces().items() if address.rpartition(".")[0] == net)
    name = next(names, None)
    if name is None:
        raise EngineError(f"no interface of this machine leads to {node.address}")
    return name
