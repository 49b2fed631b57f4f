"""Connections of leader, agents and users: JSON objects, a line each, between who has the secret.

Both ends prove that they know the secret before anything else is said, by a keyed hash of random
numbers of both (HMAC-SHA256). Each line after that begins with a keyed hash of its text, of its
place in the order and of these numbers, so that none can be added, changed, repeated or left out.
They are not encrypted.
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

from cuesta.cluster.limits import HANDSHAKE_BYTES_MAX, HANDSHAKE_SECONDS, MESSAGE_BYTES_MAX

Message = dict[str, Any]


class WireError(Exception):
    """The other end is gone, or is not who it should be."""


LISTENS, CONNECTS = "listens", "connects"
"""Roles of the ends of a connection."""


class Sealing:
    """The keyed hashes of the lines of one direction."""

    def __init__(self, secret: str, role: str, nonces: str) -> None:
        self._key = _proof(secret, f"messages of the end that {role} {nonces}").encode()
        self._count = 0

    def sealed(self, text: bytes) -> bytes:
        """Return the next line, without its end."""
        return self._next(text) + b" " + text

    def opened(self, line: bytes) -> bytes:
        """Return the text of the next line. Errors: `WireError` where it is not that."""
        proof, _, text = line.partition(b" ")
        if not hmac.compare_digest(proof, self._next(text)):
            raise WireError("a message is not by the other end, or not in its place")
        return text

    def _next(self, text: bytes) -> bytes:
        counted = self._count.to_bytes(8, "little") + text
        self._count += 1
        return hmac.new(self._key, counted, "sha256").hexdigest().encode()


class Peer:
    """An end of a connection that is open, and proven.

    Arguments: `sends` and `receives` are for the lines of the two directions; `pending` are bytes
    that came with the handshake.
    """

    def __init__(
        self, channel: socket.socket, sends: Sealing, receives: Sealing, pending: bytes = b""
    ) -> None:
        self._channel = channel
        self._sends, self._receives = sends, receives
        self._pending = pending
        self._again: list[Message] = []
        self.heard = time.monotonic()

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
            self._channel.sendall(self._sends.sealed(json.dumps(message).encode()) + b"\n")
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
            found.append(_parsed(self._receives.opened(line)))
        return found

    def unread(self, messages: list[Message]) -> None:
        """Give back messages, which come first when it is asked again."""
        self._again = messages + self._again

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


class Greeting:
    """The listening end of a handshake, which goes on as bytes come and waits for none.

    Errors: `WireError` where the other end is gone already.
    """

    def __init__(self, channel: socket.socket, secret: str) -> None:
        self._channel = channel
        self._secret = secret
        self._nonce = secrets.token_hex(16)
        self._text = b""
        channel.setblocking(False)
        channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._send({"nonce": self._nonce})

    def fileno(self) -> int:
        """Return the descriptor, for `select`."""
        return self._channel.fileno()

    def step(self) -> Peer | None:
        """Take what has come; return the peer once it has proven to know the secret.

        Errors: `WireError` where it does not know it, says too much, or is gone.
        """
        try:
            data = self._channel.recv(HANDSHAKE_BYTES_MAX - len(self._text))
        except BlockingIOError:
            return None
        except OSError as error:
            raise WireError(str(error)) from None
        if not data:
            raise WireError("the other end is gone")
        self._text += data
        line, end, rest = self._text.partition(b"\n")
        if not end:
            if len(self._text) >= HANDSHAKE_BYTES_MAX:
                raise WireError("a handshake has no end")
            return None
        answer = _parsed(line)
        nonces = f"{self._nonce} {_word(answer, 'nonce')}"
        _check(answer, self._secret, f"{CONNECTS} {nonces}")
        self._send({"proof": _proof(self._secret, f"{LISTENS} {nonces}")})
        return _peer(self._channel, self._secret, (LISTENS, CONNECTS), (nonces, rest))

    def close(self) -> None:
        """End it."""
        self._channel.close()

    def _send(self, message: Message) -> None:
        """Send a line that always has room in the buffer of a new connection."""
        line = json.dumps(message).encode() + b"\n"
        try:
            if self._channel.send(line) < len(line):
                raise WireError("the other end does not read")
        except OSError as error:
            raise WireError(str(error)) from None


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
    try:
        channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _dialled(channel, secret, deadline)
    except OSError as error:
        channel.close()
        raise WireError(str(error)) from None
    except WireError:
        channel.close()
        raise


def _dialled(channel: socket.socket, secret: str, deadline: float) -> Peer:
    """The connecting end of a handshake."""
    text = b""

    def answer() -> Message:
        nonlocal text
        last = max(time.monotonic() + HANDSHAKE_SECONDS, deadline)
        while b"\n" not in text:
            left = last - time.monotonic()
            if left <= 0 or not ready([channel], left):
                raise WireError("nothing is said")
            data = channel.recv(HANDSHAKE_BYTES_MAX)
            if not data:
                raise WireError("the other end is gone")
            text += data
            if len(text) > MESSAGE_BYTES_MAX:
                raise WireError("a handshake has no end")
        line, _, text = text.partition(b"\n")
        return _parsed(line)

    nonce = secrets.token_hex(16)
    nonces = f"{_word(answer(), 'nonce')} {nonce}"
    proof = _proof(secret, f"{CONNECTS} {nonces}")
    channel.sendall(json.dumps({"nonce": nonce, "proof": proof}).encode() + b"\n")
    _check(answer(), secret, f"{LISTENS} {nonces}")
    return _peer(channel, secret, (CONNECTS, LISTENS), (nonces, text))


def _peer(
    channel: socket.socket, secret: str, roles: tuple[str, str], got: tuple[str, bytes]
) -> Peer:
    """A proven connection.

    Arguments: `roles` are that of this end and that of the other; `got` the random numbers of
    both and what came after the handshake.
    """
    nonces, pending = got
    sends, receives = (Sealing(secret, role, nonces) for role in roles)
    return Peer(channel, sends, receives, pending)


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
