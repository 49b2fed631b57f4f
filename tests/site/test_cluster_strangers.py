"""Foreign connections to the leader of a cluster delay no agent."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import threading
from collections.abc import Iterator

import pytest

from cuesta.cluster import wire
from cuesta.cluster.limits import HANDSHAKE_BYTES_MAX
from cuesta.cluster.members import Members
from cuesta.cluster.waiting import WaitingRoom

IDLE = 1000
SECRET = "secret"


@contextlib.contextmanager
def idle_connections(
    port: int, count: int, address: str = "127.0.0.1"
) -> Iterator[list[socket.socket]]:
    """Hold this number of silent connections from an address."""
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(
                socket.create_connection(("127.0.0.1", port), source_address=(address, 0))
            )
            for _ in range(count)
        ]


@contextlib.contextmanager
def descriptors(count: int) -> Iterator[None]:
    """Allow this process this number of descriptors."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] < count:
        pytest.skip(f"no more than {before[1]} descriptors here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], count), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


class Agent:
    """Agent that connects and sends its greeting, in a thread of its own."""

    def __init__(self, port: int, name: str = "n1") -> None:
        self.errors: list[Exception] = []
        self.thread = threading.Thread(target=self._run, args=(port, name))
        self.thread.start()

    def _run(self, port: int, name: str) -> None:
        try:
            self.peer = wire.connect("127.0.0.1", port, SECRET, 600)
            self.peer.send({"hello": name, "began": 0.0, "pid": 1})
        except wire.WireError as error:
            self.errors.append(error)


def wait_for_agent(members: Members, agent: Agent, name: str = "n1") -> None:
    """Let the leader run until it knows an agent, or the agent has given up."""
    while name not in members.known and not agent.errors:
        wire.ready(members.channels(), 0.05)
        members.receive()
    agent.thread.join()
    assert not agent.errors


def is_closed(channel: socket.socket) -> bool:
    """Return whether the peer has closed a connection; data sent before is read."""
    channel.setblocking(False)
    try:
        while channel.recv(4096):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    return True


def test_a_thousand_idle_connections_hold_up_no_agent() -> None:
    """The leader accepted one connection at a time and gave each five seconds to authenticate: six
    silent ones, as of a port scanner, outlasted an agent's timeout, and the cluster did not start.
    Now an agent connects behind a thousand of them.
    """
    with descriptors(3 * IDLE + 500):
        listener = wire.listen("127.0.0.1")
        members = Members(listener, SECRET)
        with idle_connections(members.port, IDLE) as idle:
            wait_for_agent(members, Agent(members.port))
            assert members.room.closed == 0
            assert not any(map(is_closed, idle))
        listener.close()


def test_a_leader_that_listens_waits_for_no_idle_connection() -> None:
    listener = wire.listen("127.0.0.1")
    members = Members(listener, SECRET)
    with idle_connections(members.port, 6) as idle:
        while len(members.channels()) < 1 + len(idle):
            assert members.receive() == []
        assert members.room.closed == 0
    listener.close()


def test_the_most_crowded_address_makes_room() -> None:
    listener = wire.listen("127.0.0.1")
    room = WaitingRoom(listener, SECRET, places=8)
    port = listener.getsockname()[1]
    with idle_connections(port, 1, "127.0.0.2") as quiet, idle_connections(port, 40) as crowd:
        while room.closed < 33:
            room.proven()
        assert not is_closed(quiet[0])
        assert sum(map(is_closed, crowd)) == 33
    listener.close()


@pytest.mark.parametrize(
    "text",
    [
        b"\x00\xff" * HANDSHAKE_BYTES_MAX,
        b"GET / HTTP/1.1\r\n\r\n",
        b"{}\n",
        b'{"nonce": 7, "proof": "p"}\n',
        b'{"nonce": "n", "proof": "p"}\n',
        b"[]\n",
    ],
    ids=["endless", "http", "empty", "number", "guess", "list"],
)
def test_garbage_is_sent_away(text: bytes) -> None:
    listener = wire.listen("127.0.0.1")
    room = WaitingRoom(listener, SECRET)
    with socket.create_connection(listener.getsockname()) as stranger:
        stranger.sendall(text)
        while not is_closed(stranger):
            wire.ready(room.channels(), 0.05)
            assert room.proven() == []
    assert room.channels() == [listener]
    listener.close()


def test_half_a_handshake_and_single_bytes_hold_up_no_agent() -> None:
    listener = wire.listen("127.0.0.1")
    members = Members(listener, SECRET)
    with idle_connections(members.port, 20) as slow:
        for channel in slow[:10]:
            channel.sendall(b'{"nonce": "n", ')
        members.receive()
        for channel in slow[10:]:
            channel.sendall(b"{")
            members.receive()
        wait_for_agent(members, Agent(members.port))
        assert members.room.closed == 0
    listener.close()


def test_a_recorded_handshake_proves_nothing() -> None:
    listener = wire.listen("127.0.0.1")
    room = WaitingRoom(listener, SECRET)
    with (
        recorded_agent(listener, room) as recording,
        socket.create_connection(listener.getsockname()) as stranger,
    ):
        stranger.sendall(recording)
        while not is_closed(stranger):
            wire.ready(room.channels(), 0.05)
            assert room.proven() == []
    listener.close()


def test_a_line_that_an_agent_did_not_send_is_refused() -> None:
    """Both ends authenticated, but later lines were believed from any sender: a host in between
    could wait for the proof and add `start` with its own words. Now each line has a keyed hash.
    """
    listener = wire.listen("127.0.0.1")
    room = WaitingRoom(listener, SECRET)
    for line in (b'{"start": "x"}\n', b"0" * 64 + b' {"start": "x"}\n'):
        agent = Agent(listener.getsockname()[1])
        peers: list[wire.Peer] = []
        while not peers and not agent.errors:
            wire.ready(room.channels(), 0.05)
            peers += room.proven()
        agent.thread.join()
        agent.peer._channel.sendall(line)
        assert "not by the other end" in end_of(peers[0])
        agent.peer.close()
        peers[0].close()
    listener.close()


def end_of(peer: wire.Peer) -> str:
    """Return why a connection ended on which an agent may have sent its greeting and no more."""
    try:
        while True:
            wire.ready([peer], 0.05)
            assert all("hello" in message for message in peer.received())
    except wire.WireError as error:
        return str(error)


@contextlib.contextmanager
def recorded_agent(listener: socket.socket, room: WaitingRoom) -> Iterator[bytes]:
    """Yield the lines that an admitted agent has sent."""
    near, far = socket.socketpair()
    with socket.create_connection(listener.getsockname()) as channel, near, far:
        dialled: list[wire.Peer] = []
        thread = threading.Thread(target=lambda: dialled.append(wire._dialled(near, SECRET, 0.0)))
        thread.start()
        recording = b""
        peers: list[wire.Peer] = []
        while not dialled:
            peers += room.proven()
            for source, sink in ((channel, far), (far, channel)):
                if wire.ready([source], 0.01):
                    data = source.recv(4096)
                    recording += data if source is far else b""
                    sink.sendall(data)
        thread.join()
        assert len(peers) == 1
        assert set(json.loads(recording)) == {"nonce", "proof"}
        yield recording
