"""Blocks from the memory of another node over 1 Gbit/s, compared with a plain TCP stream."""

from __future__ import annotations

import hashlib
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benches.store import stated
from cuesta_lab import machines
from cuesta_lab.machines import Node, Place
from cuesta_store import control
from cuesta_store.filesystem import CuestaFileSystem
from cuesta_store.peers import PeerSettings, make_secret, write_members
from harness import stores
from harness.model import Answer, Case, Contestant, Ratio, Sample
from harness.size import Size
from peers import tcp_stream

LINK = {"link-nodes": 2, "link-rate": "1gbit"}
PORT = 7070
NAME = "/remote.bin"
READY_SECONDS = 30.0
OF_STREAM = 0.95


@dataclass(frozen=True, kw_only=True)
class Far:
    """Two nodes, the store of each, and a file in the memory of the first one alone."""

    nodes: tuple[Node, Node]
    folders: tuple[Path, Path]
    source: Path
    port: int

    @property
    def bytes(self) -> int:
        """Bytes of the file."""
        return self.source.stat().st_size


def cases(size: Size) -> Iterator[Case]:
    """A case of all blocks of a file, from one node to the other."""
    why = machines.refusal(LINK)
    with far(size, is_held=why is None) as pair:
        yield case(pair, why)


@contextmanager
def far(size: Size, is_held: bool) -> Iterator[Far]:
    """Bring both up, over one folder; on one node where we may not make links."""
    records = stores.records(size)
    count = min(records.stat().st_size, size.pick(8 << 20, 256 << 20))
    source = stores.new_folder("remote-source")
    with records.open("rb") as file:
        source.write_bytes(file.read(count))
    folders = (stores.new_folder("near"), stores.new_folder("far"))
    processes: list[subprocess.Popen[str]] = []
    try:
        with machines.apply(LINK if is_held else {}, Place(folder=size.folder)) as place:
            nodes = (place.nodes[0], place.nodes[-1])
            names = [f"{node.address}:{PORT + index}" for index, node in enumerate(nodes)]
            make_secret(_file_of(size, "secret"))
            write_members(_file_of(size, "members"), names)
            for node, name, folder in zip(nodes, names, folders, strict=True):
                processes.append(started(size, (node, name), folder, count))
            wait_until_met(folders[1])
            with CuestaFileSystem(str(folders[0])).open(NAME, "wb", write_mode="memory") as file:
                file.write(source.read_bytes())
            sender = [sys.executable, tcp_stream.__file__, "send", str(source), nodes[0].address]
            sending = subprocess.Popen(
                [*nodes[0].prefix(), *sender], stdout=subprocess.PIPE, text=True
            )
            processes.append(sending)
            assert sending.stdout is not None
            port = int(sending.stdout.readline())
            yield Far(nodes=nodes, folders=folders, source=source, port=port)
            for process in processes:
                process.send_signal(signal.SIGKILL)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        source.unlink(missing_ok=True)
        for name in ("secret", "members"):
            _file_of(size, name).unlink(missing_ok=True)


def _file_of(size: Size, name: str) -> Path:
    return size.folder / f"remote-{name}"


def started(size: Size, which: tuple[Node, str], folder: Path, count: int) -> subprocess.Popen[str]:
    """The store of a node, once clients can connect. Errors: `RuntimeError`."""
    node, name = which
    secret, members = _file_of(size, "secret"), _file_of(size, "members")
    peers = PeerSettings(listen=name, secret=secret, members_file=members)
    settings = stores.settings(size, count + 4 * stores.block_bytes(size), preallocate=True)
    request = control.to_request(replace(settings, peers=peers), folder)
    words = [*node.prefix(), sys.executable, "-m", "cuesta_store.serve", request]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first_line = process.stdout.readline().strip()
    if first_line != "ready":
        raise RuntimeError(first_line)
    return process


def wait_until_met(folder: Path) -> None:
    """Wait until the store reaches the other. Errors: `TimeoutError`."""
    limit = time.monotonic() + READY_SECONDS
    while not all(member["is_live"] for member in control.status(folder)["peers"]["members"]):
        if time.monotonic() > limit:
            raise TimeoutError("the stores do not reach each other")
        time.sleep(0.05)


def case(pair: Far, why: str | None) -> Case:
    """Equal bytes by both; shown only, `why` the link has no limited rate."""
    near, far_folder = pair.nodes[1], pair.folders[1]

    def by_store(_: Path) -> Sample:
        control.ask("free", far_folder, path=NAME)
        stores.RunningStore(folder=far_folder, under=far_folder).wait_for_memory()
        begun = time.perf_counter()
        control.ask("load", far_folder, path=NAME)
        return Sample(seconds=time.perf_counter() - begun)

    def taken(_: Path) -> Answer:
        content = CuestaFileSystem(str(far_folder)).cat_file(NAME)
        return Answer(digest=hashlib.sha256(content).hexdigest(), rows=len(content))

    def by_stream(folder: Path) -> Sample:
        words = ["receive", pair.nodes[0].address, str(pair.port), str(pair.bytes)]
        fields = subprocess.run(
            [*near.prefix(), sys.executable, tcp_stream.__file__, *words],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        (folder / "digest").write_text(fields[1])
        return Sample(seconds=float(fields[0]))

    def streamed(folder: Path) -> Answer:
        return Answer(digest=(folder / "digest").read_text(), rows=pair.bytes)

    bar = Ratio(
        ours="cuesta",
        peer="tcp",
        at_least=None if why else OF_STREAM,
        text="shown" if why else f"{OF_STREAM} of a plain TCP stream over the same link",
    )
    return Case(
        name=f"remote blocks, {'loopback' if why else '1 Gbit/s'}, {stated(pair.bytes)}",
        contestants=(
            Contestant(
                name="cuesta",
                how="store load: all blocks from the memory of the other node into the memory here",
                work=by_store,
                answer=taken,
            ),
            Contestant(
                name="tcp",
                how="sendfile from memory, recv into memory that was touched before, 1 MiB at once",
                work=by_stream,
                answer=streamed,
            ),
        ),
        bars=(bar,),
        amount=pair.bytes,
        unit="B",
        notes=(why or "network namespaces of one machine, held to 1 Gbit/s by tbf on both ends",),
    )
