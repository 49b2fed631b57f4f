"""The nodes of a cluster that are connected to its leader, and their messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from socket import socket
from typing import Any

from cuesta.cluster.node import NodeFacts
from cuesta.cluster.waiting import WaitingRoom
from cuesta.cluster.wire import Message, Peer, WireError
from cuesta.errors import InputError


@dataclass
class Member:
    """A node whose agent has connected.

    Attributes
    ----------
    ready, addresses, pids
        Services that run there, by name: whether they are ready, their addresses and processes.
    """

    name: str
    peer: Peer
    began: float
    agent_pid: int
    facts: NodeFacts | None = None
    ready: set[str] = field(default_factory=set)
    addresses: dict[str, str] = field(default_factory=dict)
    pids: dict[str, int] = field(default_factory=dict)


class Members:
    """The connections of agents and users.

    Attributes
    ----------
    known
        Connected nodes by name; lost nodes are in `lost` only, with the reason.
    requests
        Messages of users, with the connections to answer on.
    room
        Connections that have not proven to have the secret.
    """

    def __init__(self, listener: socket, secret: str) -> None:
        self.known: dict[str, Member] = {}
        self.lost: dict[str, str] = {}
        self.requests: list[tuple[Peer, Message]] = []
        self.room = WaitingRoom(listener, secret)
        self._listener = listener
        self._unnamed: list[Peer] = []

    @property
    def port(self) -> int:
        """Port that agents and users connect to."""
        port: int = self._listener.getsockname()[1]
        return port

    def channels(self) -> list[Any]:
        """Return the channels to poll."""
        peers = [member.peer for member in self.known.values()]
        return [*peers, *self._unnamed, *self.room.channels()]

    def receive(self) -> list[tuple[Member, Message]]:
        """Return messages of nodes since the last call; move disconnected nodes to `lost`.

        Errors: `InputError` with the message of a node that refuses.
        """
        self._unnamed += self.room.proven()
        unhandled: list[tuple[Member, Message]] = []
        for peer in list(self._unnamed):
            self._introduce(peer)
        for member in list(self.known.values()):
            try:
                messages = member.peer.received()
            except WireError as error:
                self.lose(member.name, str(error))
                continue
            for message in messages:
                if "refuses" in message:
                    raise InputError(f"node {member.name}: {message['refuses']}")
                if "facts" in message:
                    member.facts = NodeFacts(**message["facts"])
                elif "ready" in message:
                    member.ready.add(message["ready"])
                    member.addresses[message["ready"]] = message.get("address", "")
                elif "started" in message:
                    member.pids[message["started"]] = message["pid"]
                elif "ping" not in message:
                    unhandled.append((member, message))
        return unhandled

    def facts(self) -> list[NodeFacts]:
        """Return the facts of nodes that have sent them."""
        return [member.facts for member in self.known.values() if member.facts]

    def send(self, name: str, message: Message) -> None:
        """Send a message to a node, which is lost if that fails."""
        try:
            self.known[name].peer.send(message)
        except WireError as error:
            self.lose(name, str(error))

    def lose(self, name: str, why: str) -> None:
        """Close the connection to a node and record it as lost."""
        self.known.pop(name).peer.close()
        self.lost[name] = why

    def _introduce(self, peer: Peer) -> None:
        """Identify a peer by its first message: `hello` of an agent, or a user's request."""
        try:
            messages = peer.received()
        except WireError:
            self._unnamed.remove(peer)
            peer.close()
            return
        for message in messages:
            if "hello" in message:
                name = str(message["hello"])
                self._unnamed.remove(peer)
                self.known[name] = Member(name, peer, message["began"], message["pid"])
                # Messages that follow in the same packet are received with the next ones.
                peer.unread(messages[messages.index(message) + 1 :])
                return
            self.requests.append((peer, message))
