"""Stores on four hosts: slow links, partitions, kills, and strangers on the network."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cuesta_store.cli.status import lines
from cuesta_store.errors import CuestaError, InputError
from cuesta_store.peers import make_secret, peer_settings
from hostkit import (
    HostJob,
    HostStore,
    address,
    connected,
    host_name,
    hosts_exist,
    job,
    limit_link,
    read,
    wait_for_places,
    write,
    write_under,
)
from storekit import BLOCK_BYTES, noise
from waitkit import HANG_SECONDS, wait_for

__all__ = ["hosts_exist", "job"]

COUNT = 4
SIZE = 8 * BLOCK_BYTES + 77
SOON = 1.5
"""A dead store is detected within a second; the rest is for a busy machine."""


def test_what_a_host_has_in_memory_is_read_from_all_other_hosts(job: HostJob) -> None:
    content, alone = noise(1, SIZE), noise(2, SIZE)
    write_under(job, "shared", content)
    assert read(job.stores[1], "shared") == content
    wait_for_places(job, 9)
    write(job.stores[1], "alone", alone)
    for number in range(2, COUNT + 1):
        assert read(job.stores[number], "shared") == content
        assert read(job.stores[number], "alone") == alone
        # Content that is also in the folder may come from there: it is a fast disk here.
        assert job.stores[number].from_peers() >= SIZE
        assert {entry["name"] for entry in job.stores[number].ask("list", path="/")["entries"]} == {
            "shared",
            "alone",
        }


def test_the_status_shows_which_peers_answer_and_what_came_from_each(job: HostJob) -> None:
    write(job.stores[1], "alone", noise(1, SIZE))
    read(job.stores[2], "alone")
    job.stores[3].signal(signal.SIGKILL)
    job.wait_until_live([1, 2, 4])
    reader_report = "\n".join(lines(job.stores[2].status() | {"page": None}))
    assert f"name      {address(2)}:7070, 0 blocks (0 B) given to other stores" in reader_report
    assert f"store     {address(1)}:7070, answers; 9 blocks (512 KiB) from it at " in reader_report
    assert f"store     {address(3)}:7070, bypassed: does not answer (" in reader_report
    assert f"store     {address(4)}:7070, answers; 0 blocks (0 B) from it" in reader_report
    server_report = "\n".join(lines(job.stores[1].status() | {"page": None}))
    assert f"name      {address(1)}:7070, 9 blocks (512 KiB) given to other stores" in server_report


def test_a_full_store_reads_what_another_store_has_in_memory_alone(job: HostJob) -> None:
    write_under(job, "pinned", noise(1, 64 * BLOCK_BYTES))
    job.stores[2].ask("pin", path="/pinned")
    write(job.stores[1], "alone", noise(2, SIZE))
    assert read(job.stores[2], "alone") == noise(2, SIZE)
    assert job.stores[2].status()["bypassed"] > 0
    job.stores[1].signal(signal.SIGKILL)
    with pytest.raises(CuestaError, match=r"/alone was in the memory"):
        read(job.stores[2], "alone")


def test_a_slow_link_is_left_for_the_folder(job: HostJob) -> None:
    """The folder is a disk of this machine; a block takes half a second by the link."""
    for index in range(20):
        write_under(job, f"f{index}", noise(index, BLOCK_BYTES))
        read(job.stores[1], f"f{index}")
    wait_for_places(job, 20)
    limit_link(1, 1_000_000)
    for index in range(20):
        assert read(job.stores[2], f"f{index}") == noise(index, BLOCK_BYTES)
    assert job.stores[2].from_peers() <= 5 * BLOCK_BYTES


def test_a_host_that_is_cut_off_is_gone_past_and_comes_back(job: HostJob) -> None:
    shared, alone = noise(1, SIZE), noise(2, SIZE)
    write_under(job, "shared", shared)
    read(job.stores[1], "shared")
    write(job.stores[1], "alone", alone)
    write(job.stores[2], "other", alone)
    assert read(job.stores[3], "alone") == alone
    connected(1, False)
    assert read(job.stores[2], "shared") == shared
    job.wait_until_live([2, 3, 4])
    for number in (2, 4):
        with pytest.raises(CuestaError, match=rf"/alone was in the memory .* {address(1)}:7070"):
            job.stores[number].ask("open", path="/alone")
        assert read(job.stores[number], "other") == alone
    # On its side of the cut all continues, too.
    assert read(job.stores[1], "alone") == alone
    assert read(job.stores[1], "shared") == shared
    write(job.stores[1], "late", shared)
    connected(1, True)
    job.wait_until_live([1, 2, 3, 4])
    for number in (2, 3, 4):
        assert read(job.stores[number], "alone") == alone
        wait_for(partial(_reads, job.stores[number], "late", shared))


def _reads(store: HostStore, name: str, content: bytes) -> bool:
    try:
        return read(store, name) == content
    except OSError:
        return False


def test_a_link_that_is_cut_while_a_block_comes_breaks_no_reader(job: HostJob) -> None:
    content = noise(1, 40 * BLOCK_BYTES)
    write_under(job, "shared", content)
    read(job.stores[1], "shared")
    wait_for_places(job, 40)
    limit_link(1, 40_000_000)
    words = [sys.executable, "-c", _READ, str(job.stores[2].folder), "/shared"]
    reader = subprocess.Popen(words, stdout=subprocess.PIPE)
    wait_for(lambda: job.stores[2].from_peers() > 0 or reader.poll() is not None)
    connected(1, False)
    received, _ = reader.communicate(timeout=HANG_SECONDS)
    assert received == content


_READ = """\
import sys
from cuesta_store.filesystem import CuestaFileSystem
sys.stdout.buffer.write(CuestaFileSystem(sys.argv[1]).cat_file(sys.argv[2]))
"""


def test_kills_of_hosts_lose_what_was_in_their_memory_alone_and_nothing_else(
    job: HostJob,
) -> None:
    contents = {f"f{index}": noise(index, SIZE) for index in range(6)}
    for index, (name, content) in enumerate(contents.items()):
        write(job.stores[index % 3 + 1], name, content, "memory" if index % 2 else "back")
    for name, content in contents.items():
        assert read(job.stores[4], name) == content
    for dead in (2, 3):
        job.stores[dead].ask("flush", path=None)
        job.stores[dead].signal(signal.SIGKILL)
        job.wait_until_live([number for number in job.stores if number != dead])
        for index, (name, content) in enumerate(contents.items()):
            if index % 3 + 1 != dead or not index % 2:
                assert read(job.stores[4], name) == content
                continue
            with pytest.raises(CuestaError, match=f"/{name} was in the memory .* {address(dead)}"):
                job.stores[4].ask("open", path=f"/{name}")
        job.stores[dead].start()
        job.wait_until_live(list(job.stores))
        for name, content in contents.items():
            assert read(job.stores[4], name) == content


def test_a_store_that_hangs_is_no_member_until_it_continues(job: HostJob) -> None:
    write(job.stores[1], "alone", noise(1, SIZE))
    job.stores[1].signal(signal.SIGSTOP)
    wait_for(lambda: 1 not in job.stores[2].live())
    with pytest.raises(CuestaError, match=r"/alone was in the memory"):
        job.stores[2].ask("open", path="/alone")
    job.stores[1].signal(signal.SIGCONT)
    job.wait_until_live([1, 2, 3, 4])
    assert read(job.stores[2], "alone") == noise(1, SIZE)


IDLE = """\
import socket, sys, time
held = []
for _ in range(1000):
    held.append(socket.create_connection((sys.argv[1], 7070), 5))
print("held", flush=True)
sys.stdin.read()
"""


def test_strangers_are_refused_and_logged_and_harm_no_client(job: HostJob) -> None:
    job.stores[4].signal(signal.SIGKILL)
    job.wait_until_live([1, 2, 3])
    inside = ["ip", "netns", "exec", host_name(4)]
    idle = subprocess.Popen(
        [*inside, sys.executable, "-c", IDLE, address(1)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    for index in range(50):
        write(job.stores[1], f"f{index}", noise(index, SIZE))
        assert read(job.stores[2], f"f{index}") == noise(index, SIZE)
        job.stores[2].ask("remove", path=f"/f{index}")
    assert idle.communicate(timeout=HANG_SECONDS)[0] == b"held\n"
    assert job.stores[1].live() == {2, 3}
    refused = job.stores[1].peers()["refused"]
    assert refused >= 900
    assert address(4) in (job.stores[1].folder / "refused.log").read_text()
    # A store of another job that believes to be in this one.
    other = job.place / "other-secret"
    make_secret(other)
    job.stores[4] = job.make(4, secret=other)
    job.stores[4].start()
    wait_for(lambda: "another secret" in (job.stores[1].peers()["last_refusal"] or ""))
    assert job.stores[4].live() == set()
    assert job.stores[1].live() == {2, 3}
    # Bytes that follow no protocol of stores.
    for request in (b"GET / HTTP/1.1\r\n\r\n", b"cuestap3" + bytes(60), b"\xff" * 4096):
        words = [*inside, sys.executable, "-c", _SEND, address(1), request.hex()]
        assert subprocess.run(words, check=True, capture_output=True).stdout == b""


_SEND = """\
import socket, sys
with socket.create_connection((sys.argv[1], 7070), 5) as peer:
    peer.sendall(bytes.fromhex(sys.argv[2]))
    peer.shutdown(socket.SHUT_WR)
    try:
        while piece := peer.recv(4096):
            sys.stdout.buffer.write(piece)
    except ConnectionError:
        pass
"""


def test_conflicting_options_are_reported_in_a_single_line(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    with pytest.raises(InputError, match="give all three"):
        peer_settings("a:1", None, None)
    with pytest.raises(InputError, match="cuesta store secret"):
        peer_settings("a:1", "a:1,b:1", secret)
    make_secret(secret)
    first = secret.read_text()
    assert secret.stat().st_mode & 0o777 == 0o600
    make_secret(secret)
    assert secret.read_text().splitlines()[1:] == first.splitlines()
    with pytest.raises(InputError, match="'b' is no HOST:PORT"):
        peer_settings("a:1", "a:1,b", secret)
    settings = peer_settings("a", "a:1, b:2", secret)
    assert settings is not None
    assert (settings.listen, settings.members) == ("a:0", ("a:1", "b:2"))
    members = tmp_path / "members"
    members.write_text("a:1\n")
    settings = peer_settings("a:1", str(members), secret)
    assert settings is not None
    assert (settings.members_file, settings.members) == (members, ())
    assert peer_settings(None, None, None) is None


def test_an_address_that_other_stores_cannot_reach_is_refused(tmp_path: Path) -> None:
    from cuesta_store import control
    from cuesta_store.control import StoreSettings
    from cuesta_store.peers import PeerSettings

    make_secret(tmp_path / "secret")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for listen, message in (
            ("0.0.0.0:0", "that other stores reach"),
            (f"127.0.0.1:{port}", "listening on"),
        ):
            peers = PeerSettings(listen=listen, secret=tmp_path / "secret")
            settings = StoreSettings(
                under=tmp_path, memory_bytes=BLOCK_BYTES, block_bytes=BLOCK_BYTES, peers=peers
            )
            with pytest.raises(InputError, match=message), TemporaryDirectory() as place:
                control.start(settings, Path(place) / "store")
