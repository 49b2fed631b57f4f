"""Connections of leader, agents and users: JSON lines between processes that share a secret.

Both ends prove that they know the secret before any other message, by a keyed hash of random
numbers of both (HMAC-SHA256). Each line after that begins with a keyed hash of its text, of its
place in the order and of these numbers, so that none can be added, changed, repeated or left out.
The lines are not encrypted.
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
    """The peer has closed the connection, or has not proven its identity."""


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
        """Return the text of the next line. Errors: `WireError` where its hash is wrong."""
        proof, _, text = line.partition(b" ")
        if not hmac.compare_digest(proof, self._next(text)):
            raise WireError("a message is not by the other end, or not in its place")
        return text

    def _next(self, text: bytes) -> bytes:
        counted = self._count.to_bytes(8, "little") + text
        self._count += 1
        return hmac.new(self._key, counted, "sha256").hexdigest().encode()


class Peer:
    """An open connection to a peer that has proven to know the secret.

    Arguments: `sends` and `receives` are for the lines of the two directions; `pending` are bytes
    that came with the handshake.
    """

    def __init__(
        self, channel: socket.socket, sends: Sealing, receives: Sealing, pending: bytes = b""
    ) -> None:
        self._channel = channel
        self._sends, self._receives = sends, receives
        self._pending = pending
        self._put_back: list[Message] = []
        self.received_at = time.monotonic()

    def fileno(self) -> int:
        """Return the descriptor, for `poll`."""
        return self._channel.fileno()

    @property
    def address(self) -> str:
        """Address of the local end."""
        address: str = self._channel.getsockname()[0]
        return address

    def send(self, message: Message) -> None:
        """Send a message. Errors: `WireError` when the peer does not read it."""
        try:
            self._channel.settimeout(HANDSHAKE_SECONDS)
            self._channel.sendall(self._sends.sealed(json.dumps(message).encode()) + b"\n")
        except OSError as error:
            raise WireError(str(error)) from None

    def received(self) -> list[Message]:
        """Return messages received by now. Errors: `WireError` when the peer has closed."""
        messages, self._put_back = self._put_back, []
        if messages:
            return messages
        try:
            while ready([self], 0):
                self._pending += self._read()
        except WireError:
            # Complete lines before the end count; the next call meets the end again.
            if b"\n" not in self._pending:
                raise
        *lines, self._pending = self._pending.split(b"\n")
        self._check_size()
        for line in lines:
            self.received_at = time.monotonic()
            messages.append(_parsed(self._receives.opened(line)))
        return messages

    def unread(self, messages: list[Message]) -> None:
        """Put messages back, for the next call of `received` to return first."""
        self._put_back = messages + self._put_back

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
    """Wait until a channel can be read, `seconds` at most; return whether one can."""
    poll = select.poll()
    for channel in channels:
        poll.register(channel, select.POLLIN)
    return bool(poll.poll(seconds * 1e3))


def listen(address: str) -> socket.socket:
    """Return a listener on a free port of an address of this machine."""
    listener = socket.create_server((address, 0), backlog=1024)
    listener.setblocking(False)
    return listener


class Greeting:
    """The listening end of a handshake, which proceeds as bytes arrive and never blocks.

    Errors: `WireError` where the peer has closed already.
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
        """Return the descriptor, for `poll`."""
        return self._channel.fileno()

    def step(self) -> Peer | None:
        """Read available bytes; return the peer once it has proven to know the secret.

        Errors: `WireError` where it does not know it, sends too much, or has closed.
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
        return Peer(self._channel, *_sealings(self._secret, nonces, LISTENS, CONNECTS), rest)

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
    """Connect to a listener, retrying until it exists. Errors: `WireError`.

    Arguments: `seconds` is for the connection and the answers of the listener, which may have
    other peers to answer first.
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
    """Perform the connecting end of a handshake."""
    text = b""

    def answer() -> Message:
        nonlocal text
        last = max(time.monotonic() + HANDSHAKE_SECONDS, deadline)
        while b"\n" not in text:
            remaining_s = last - time.monotonic()
            if remaining_s <= 0 or not ready([channel], remaining_s):
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
    return Peer(channel, *_sealings(secret, nonces, CONNECTS, LISTENS), text)


def _sealings(secret: str, nonces: str, sends: str, receives: str) -> tuple[Sealing, Sealing]:
    """Return the sealings of a connection, by the roles of the local end and the peer."""
    return Sealing(secret, sends, nonces), Sealing(secret, receives, nonces)


def _proof(secret: str, text: str) -> str:
    # JSON may have lone surrogates, which an attacker sends on purpose.
    data = text.encode(errors="surrogatepass")
    return hmac.new(secret.encode(), data, "sha256").hexdigest()


def _check(message: Message, secret: str, text: str) -> None:
    # Of strings `compare_digest` takes ASCII alone.
    proof = _word(message, "proof").encode(errors="replace")
    if not hmac.compare_digest(proof, _proof(secret, text).encode()):
        raise WireError("the other end does not know the secret")


def _word(message: Message, name: str) -> str:
    value = message.get(name)
    if not isinstance(value, str):
        raise WireError(f"the other end says no {name}")
    return value


def _parsed(line: bytes) -> Message:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        raise WireError("what the other end says is no JSON") from None
    if not isinstance(message, dict):
        raise WireError("what the other end says is no object")
    return message
