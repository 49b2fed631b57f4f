"""The nodes of a cluster as its leader knows them: who has connected, what they said."""

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
        By name, what runs there for us: whether it can be used, where, and as which process.
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
    """All agents, and users who ask.

    Attributes
    ----------
    known
        Nodes by name; those that are lost stay in `lost` alone.
    asked
        What users have said, and whom to answer.
    room
        Who has connected and has not proven to have the secret.
    """

    def __init__(self, listener: socket, secret: str) -> None:
        self.known: dict[str, Member] = {}
        self.lost: dict[str, str] = {}
        self.asked: list[tuple[Peer, Message]] = []
        self.room = WaitingRoom(listener, secret)
        self._listener = listener
        self._unnamed: list[Peer] = []

    @property
    def port(self) -> int:
        """Where agents and users connect."""
        found: int = self._listener.getsockname()[1]
        return found

    def channels(self) -> list[Any]:
        """What to wait for."""
        peers = [one.peer for one in self.known.values()]
        return [*peers, *self._unnamed, *self.room.channels()]

    def hear(self) -> list[tuple[Member, Message]]:
        """What nodes have said since the last call; those that are gone are in `lost`.

        Errors: `InputError` with the words of a node that refuses.
        """
        self._unnamed += self.room.proven()
        said: list[tuple[Member, Message]] = []
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
                    said.append((member, message))
        return said

    def facts(self) -> list[NodeFacts]:
        """Of the nodes that have said them."""
        return [one.facts for one in self.known.values() if one.facts]

    def tell(self, name: str, message: Message) -> None:
        """Say something to a node, which is lost where it does not hear."""
        try:
            self.known[name].peer.send(message)
        except WireError as error:
            self.lose(name, str(error))

    def lose(self, name: str, why: str) -> None:
        """A node is gone."""
        self.known.pop(name).peer.close()
        self.lost[name] = why

    def _introduce(self, peer: Peer) -> None:
        """An agent says hello first; a user asks."""
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
                # What follows in the same packet is heard with the others.
                peer.unread(messages[messages.index(message) + 1 :])
                return
            self.asked.append((peer, message))
