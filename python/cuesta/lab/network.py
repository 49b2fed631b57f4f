"""Throughput and round-trip time of a TCP connection between two processes.

    python -m cuesta.lab.network HOST PORT

listens until it is ended, on a free port for PORT 0, and prints the port. With the argument `probe`
added, it measures the connection to the listener there, and prints JSON. The first byte of a client
is its request: to send until it closes, to receive until it closes, or to get its bytes back.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

from cuesta.errors import InputError, in_words

CHUNK_BYTES = 256 << 10
SECONDS = 0.5
SECONDS_MAX = 60.0
"""Most seconds for which a listener sends."""

ECHO_SECONDS = 0.2
ECHOES_MAX = 1000
WAIT_SECONDS = 60.0
_SEND, _RECEIVE, _ECHO = b"s", b"r", b"e"


@dataclass(frozen=True, kw_only=True)
class Connection:
    """Figures of a connection: bytes a second to the other end and from it, seconds there
    and back of one byte (the median).
    """

    sent_bytes_per_s: float
    received_bytes_per_s: float
    round_trip_seconds: float


def probe(host: str, port: int, seconds: float = SECONDS) -> Connection:
    """Measure the connection to a listener. Errors: `InputError` if there is none."""
    try:
        return Connection(
            sent_bytes_per_s=_sent(host, port, seconds),
            received_bytes_per_s=_received(host, port, seconds),
            round_trip_seconds=_round_trip(host, port),
        )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error) or "no answer"
        raise InputError(
            f"{host}:{port}: {why.lower()}; listen there with `cuesta doctor --listen`"
        ) from None


@contextmanager
def listening(host: str, port: int = 0) -> Iterator[int]:
    """Listen in the background; yield the port. Errors: `InputError`."""
    try:
        server = socket.create_server((host, port))
    except OSError as error:
        raise InputError(f"{host}:{port}: {in_words(error)}") from None
    threading.Thread(target=_serve, args=(server,), name="cuesta-network", daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        # Closing alone would leave a thread waiting in `accept`.
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()


def _serve(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    with connection, suppress(OSError):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wanted = connection.recv(1)
        if wanted == _SEND:
            received = _drain(connection)
            connection.sendall(received.to_bytes(8, "little"))
        elif wanted == _RECEIVE:
            chunk, end = bytes(CHUNK_BYTES), time.monotonic() + SECONDS_MAX
            while time.monotonic() < end:
                connection.sendall(chunk)  # Raises an error once the other end closes.
        elif wanted == _ECHO:
            while byte := connection.recv(1):
                connection.sendall(byte)


def _drain(connection: socket.socket) -> int:
    """Count the bytes received until the other end closes."""
    room, received = bytearray(CHUNK_BYTES), 0
    while count := connection.recv_into(room):
        received += count
    return received


def _connect(host: str, port: int, wanted: bytes) -> socket.socket:
    connection = socket.create_connection((host, port), timeout=WAIT_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(wanted)
    return connection


def _sent(host: str, port: int, seconds: float) -> float:
    with _connect(host, port, _SEND) as connection:
        chunk, began = bytes(CHUNK_BYTES), time.perf_counter()
        while time.perf_counter() - began < seconds:
            connection.sendall(chunk)
        connection.shutdown(socket.SHUT_WR)
        received = int.from_bytes(connection.recv(8), "little")
        return received / (time.perf_counter() - began)


def _received(host: str, port: int, seconds: float) -> float:
    room, received = bytearray(CHUNK_BYTES), 0
    with _connect(host, port, _RECEIVE) as connection:
        began = time.perf_counter()
        while time.perf_counter() - began < seconds and (count := connection.recv_into(room)):
            received += count
        return received / (time.perf_counter() - began)


def _round_trip(host: str, port: int) -> float:
    times: list[float] = []
    with _connect(host, port, _ECHO) as connection:
        end = time.perf_counter() + ECHO_SECONDS
        while len(times) < ECHOES_MAX and (not times or time.perf_counter() < end):
            began = time.perf_counter()
            connection.sendall(b"x")
            if not connection.recv(1):
                raise ValueError("it answers otherwise")
            times.append(time.perf_counter() - began)
    return sorted(times)[len(times) // 2]


def main(words: list[str]) -> int:
    """Listen until ended, or probe."""
    if words[2:] == ["probe"]:
        sys.stdout.write(json.dumps(asdict(probe(words[0], int(words[1])))))
        return 0
    with listening(words[0], int(words[1])) as port:
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
