"""Connections of leader, agents and users: JSON objects, a line each, between who has the secret.

Both ends prove that they know the secret before anything else is said, by a keyed hash of random
numbers of both (HMAC-SHA256). What is said then is neither encrypted nor secret.
"""

from __future__ import annotations

import hmac
import json
import secrets
import select
import socket
import time
from collections.abc import Iterable
from typing import Any

from cuesta.cluster.limits import HANDSHAKE_SECONDS, MESSAGE_BYTES_MAX

Message = dict[str, Any]


class WireError(Exception):
    """The other end is gone, or is not who it should be."""


class Peer:
    """One end of a connection that is open."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._pending = b""
        self._again: list[Message] = []
        self.heard = time.monotonic()
        channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def fileno(self) -> int:
        """For `select`."""
        return self._channel.fileno()

    @property
    def address(self) -> str:
        """Of this end."""
        found: str = self._channel.getsockname()[0]
        return found

    def send(self, message: Message) -> None:
        """Say something. Errors: `WireError` when nobody listens."""
        try:
            self._channel.settimeout(HANDSHAKE_SECONDS)
            self._channel.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise WireError(str(error)) from None

    def received(self) -> list[Message]:
        """What has arrived by now. Errors: `WireError` when the other end is gone."""
        found, self._again = self._again, []
        if found:
            return found
        try:
            while ready([self], 0):
                self._pending += self._read()
        except WireError:
            # What was said before the end counts; the end is met again next time.
            if b"\n" not in self._pending:
                raise
        *lines, self._pending = self._pending.split(b"\n")
        self._check_size()
        for line in lines:
            self.heard = time.monotonic()
            found.append(_parsed(line))
        return found

    def unread(self, messages: list[Message]) -> None:
        """Give back messages, which come first when it is asked again."""
        self._again = messages + self._again

    def wait(self, seconds: float) -> Message:
        """The next message. Errors: `WireError` when none comes in time."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            if left <= 0 or not ready([self], left):
                raise WireError("nothing is said")
            self._pending += self._read()
            self._check_size()
        line, _, self._pending = self._pending.partition(b"\n")
        self.heard = time.monotonic()
        return _parsed(line)

    def close(self) -> None:
        """End it."""
        self._channel.close()

    def _check_size(self) -> None:
        if len(self._pending.rpartition(b"\n")[2]) > MESSAGE_BYTES_MAX:
            raise WireError("a message has no end")

    def _read(self) -> bytes:
        try:
            data = self._channel.recv(1 << 16)
        except OSError as error:
            raise WireError(str(error)) from None
        if not data:
            raise WireError("the other end is gone")
        return data


def ready(channels: Iterable[Any], seconds: float) -> bool:
    """Wait until one of them can be read, so long at most."""
    poll = select.poll()
    for one in channels:
        poll.register(one, select.POLLIN)
    return bool(poll.poll(seconds * 1e3))


def listen(address: str) -> socket.socket:
    """A listener on a free port of an address of this machine."""
    listener = socket.create_server((address, 0), backlog=1024)
    listener.setblocking(False)
    return listener


def accept(listener: socket.socket, secret: str) -> Peer:
    """The next who connects.

    Errors: `WireError` for who does not know the secret; `OSError` where nobody connects, or
    nobody else can.
    """
    channel, _ = listener.accept()
    peer = Peer(channel)
    mine = secrets.token_hex(16)
    try:
        peer.send({"nonce": mine})
        answer = peer.wait(HANDSHAKE_SECONDS)
        theirs = _word(answer, "nonce")
        _check(answer, secret, f"connects {mine} {theirs}")
        peer.send({"proof": _proof(secret, f"listens {mine} {theirs}")})
    except WireError:
        peer.close()
        raise
    return peer


def connect(address: str, port: int, secret: str, seconds: float) -> Peer:
    """A connection to a listener, which is waited for. Errors: `WireError`.

    Arguments: `seconds` is for the connection and the answers of the other end, which may have
    others to answer first.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            channel = socket.create_connection((address, port), HANDSHAKE_SECONDS)
            break
        except OSError as error:
            if time.monotonic() > deadline:
                raise WireError(f"{address}:{port}: {error}") from None
            time.sleep(0.05)
    peer = Peer(channel)

    def answer() -> Message:
        return peer.wait(max(HANDSHAKE_SECONDS, deadline - time.monotonic()))

    try:
        theirs = _word(answer(), "nonce")
        mine = secrets.token_hex(16)
        peer.send({"nonce": mine, "proof": _proof(secret, f"connects {theirs} {mine}")})
        _check(answer(), secret, f"listens {theirs} {mine}")
    except WireError:
        peer.close()
        raise
    return peer


def _proof(secret: str, text: str) -> str:
    # JSON may have halves of a character, which a stranger sends on purpose.
    said = text.encode(errors="surrogatepass")
    return hmac.new(secret.encode(), said, "sha256").hexdigest()


def _check(message: Message, secret: str, text: str) -> None:
    # Of strings `compare_digest` takes ASCII alone.
    given = _word(message, "proof").encode(errors="replace")
    if not hmac.compare_digest(given, _proof(secret, text).encode()):
        raise WireError("the other end does not know the secret")


def _word(message: Message, name: str) -> str:
    found = message.get(name)
    if not isinstance(found, str):
        raise WireError(f"the other end says no {name}")
    return found


def _parsed(line: bytes) -> Message:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise WireError("what the other end says is no JSON") from None
    if not isinstance(found, dict):
        raise WireError("what the other end says is no object")
    return found
