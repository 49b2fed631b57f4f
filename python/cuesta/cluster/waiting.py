"""Connections whose peer has not proven its identity yet: none of them delays another.

A handshake proceeds as its bytes arrive. The number of handshakes is limited: a newcomer displaces
the oldest of the address that has most of them, so that a host that connects a thousand times
displaces only its own connections.
"""

from __future__ import annotations

import errno
import resource
import select
from collections import Counter
from socket import socket
from typing import Any

from cuesta.cluster.limits import ACCEPTED_AT_ONCE, STRANGERS_MAX
from cuesta.cluster.wire import Greeting, Peer, WireError
from cuesta.machine import FILES_MAX

_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)


class WaitingRoom:
    """The handshakes of a listener.

    Attributes
    ----------
    closed
        How many connections were closed to make room for newer ones.
    """

    def __init__(self, listener: socket, secret: str, places: int | None = None) -> None:
        self.closed = 0
        self._listener = listener
        self._secret = secret
        self._places = places or _places()
        # From the oldest to the newest, with the address of the peer.
        self._greetings: dict[Greeting, str] = {}

    def channels(self) -> list[Any]:
        """Return the channels to poll."""
        return [self._listener, *self._greetings]

    def proven(self) -> list[Peer]:
        """Accept newcomers and continue all handshakes; return peers that proved the secret."""
        self._admit()
        poll = select.poll()
        by_number = {greeting.fileno(): greeting for greeting in self._greetings}
        for number in by_number:
            poll.register(number, select.POLLIN)
        peers = []
        for number, _ in poll.poll(0):
            greeting = by_number[number]
            try:
                peer = greeting.step()
            except WireError:
                self._close(greeting)
                continue
            if peer:
                del self._greetings[greeting]
                peers.append(peer)
        return peers

    def _admit(self) -> None:
        """Accept some connections: so few that handshakes proceed before the room is full."""
        for _ in range(min(ACCEPTED_AT_ONCE, self._places // 4 + 1)):
            try:
                channel, address = self._listener.accept()
            except OSError as error:
                if error.errno not in _NO_DESCRIPTOR or not self._make_room():
                    return
                continue
            try:
                self._greetings[Greeting(channel, self._secret)] = address[0]
            except (WireError, OSError):
                channel.close()
            if len(self._greetings) > self._places:
                self._make_room()

    def _make_room(self) -> bool:
        """Close the oldest handshake of the address that has most; return whether one existed."""
        if not self._greetings:
            return False
        crowded = Counter(self._greetings.values()).most_common(1)[0][0]
        self._close(next(key for key, value in self._greetings.items() if value == crowded))
        self.closed += 1
        return True

    def _close(self, greeting: Greeting) -> None:
        del self._greetings[greeting]
        greeting.close()


def _places() -> int:
    """Return the limit of handshakes: half of the descriptors is for the cluster."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = FILES_MAX if soft == resource.RLIM_INFINITY else soft
    return max(1, min(STRANGERS_MAX, limit // 2))
