"""Attempts of another account on a service: it scans ports, sends requests, reads and runs."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import re
import struct
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from adversarykit import STRANGER_UID

TIMEOUT_S = 300.0
_LISTENS = "0A"
_REFUSED = re.compile(
    r"HTTP/1\.[01] (400|401|403|404|421) |\x15\x03|<!DOCTYPE HTML>(?s:.)*: 400 - "
)
"""Answers that refuse: of an HTTP server, or an alert of TLS."""

STRANGER = f"""\
import json, os, sys
def become_stranger():
    os.setgroups([])
    os.setresgid({STRANGER_UID}, {STRANGER_UID}, {STRANGER_UID})
    os.setresuid({STRANGER_UID}, {STRANGER_UID}, {STRANGER_UID})
    os.chdir("/")
def answer(value):
    print(json.dumps(value), flush=True)
request = json.loads(sys.argv[1])
"""
"""Begin of the stranger's script, which imports its modules, then changes its account."""

KNOCKS = (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"\0" * 64, b"{}\n")
KNOCK = """
import socket, encodings.idna
from concurrent.futures import ThreadPoolExecutor
become_stranger()
def knock(place, text):
    with socket.create_connection(place, 5) as channel:
        channel.settimeout(request["seconds"])
        reply = b""
        try:
            channel.sendall(text)
            while data := channel.recv(65536):
                reply += data
        except OSError:
            pass
        return reply.decode("latin-1")
texts = [bytes.fromhex(text) for text in request["texts"]]
pairs = [(tuple(place), text) for place in request["places"] for text in texts]
with ThreadPoolExecutor(16) as pool:
    answers = list(pool.map(lambda pair: knock(*pair), pairs))
answer([[place, reply] for (place, _), reply in zip(pairs, answers)])
"""
"""Script that sends a few bytes to each port, and returns the replies."""


def as_stranger(script: str, prefix: Sequence[str] = (), **request: Any) -> Any:
    """Run a script in a new process that becomes another account; return its answer.

    Arguments: `prefix` are words that run the rest, such as on another host.
    """
    words = [*prefix, sys.executable, "-c", STRANGER + script, json.dumps(request)]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def family(pid: int) -> list[int]:
    """Return a process and all its descendants; some may have ended since."""
    pids = [pid]
    for parent in pids:
        with contextlib.suppress(OSError):
            for task in Path("/proc", str(parent), "task").glob("*/children"):
                pids += map(int, task.read_text().split())
    return pids


def ports(pids: Iterable[int]) -> list[tuple[str, int]]:
    """Return addresses and ports on which some of these processes listen, each in its network."""
    inodes, networks = set(), {}
    for pid in pids:
        process = Path("/proc", str(pid))
        with contextlib.suppress(OSError):
            for entry in process.glob("fd/*"):
                with contextlib.suppress(OSError):
                    inodes.add(str(entry.readlink()))
        with contextlib.suppress(OSError):
            networks[str((process / "ns/net").readlink())] = process / "net"
    places = []
    for network in networks.values():
        for name in ("tcp", "tcp6"):
            with contextlib.suppress(OSError):
                places += _listening(network / name, inodes)
    return places


def _listening(table: Path, inodes: set[str]) -> list[tuple[str, int]]:
    places = []
    for line in table.read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == _LISTENS and f"socket:[{words[9]}]" in inodes:
            address, _, port = words[1].partition(":")
            places.append((_address(address), int(port, 16)))
    return places


def command_lines(pids: Iterable[int]) -> str:
    """Return the command lines of processes, which each account can read.

    A process that has ended meanwhile has none.
    """
    script = """
become_stranger()
lines = []
for pid in request["pids"]:
    try:
        lines.append(open(f"/proc/{pid}/cmdline").read())
    except (FileNotFoundError, ProcessLookupError):
        pass
answer(lines)
"""
    return "\n".join(as_stranger(script, pids=list(pids)))


def answers_to_a_knock(
    places: Iterable[tuple[str, int]], texts: Sequence[bytes] = KNOCKS, prefix: Sequence[str] = ()
) -> list[str]:
    """Return the replies of ports to a stranger, without empty ones and HTTP refusals."""
    words = [text.hex() for text in texts]
    replies = as_stranger(KNOCK, prefix, seconds=1.0, places=list(places), texts=words)
    return [f"{place}: {text}" for place, text in replies if text and not _REFUSED.match(text)]


def _address(text: str) -> str:
    """Return an address of `/proc/net` in text form: `0.0.0.0` and `::` stand for all addresses."""
    parts = bytes.fromhex(text)
    number = b"".join(parts[at : at + 4][::-1] for at in range(0, len(parts), 4))
    address = ipaddress.ip_address(number)
    mapped = address.ipv4_mapped if address.version == 6 else None
    return str(mapped or address)


def spark_message(kind: int, fields: bytes, body: bytes) -> bytes:
    """Return a message of Spark's network layer: its length, kind, fields and body."""
    return struct.pack(">qb", 8 + 1 + len(fields) + len(body), kind) + fields + body


def spark_question() -> bytes:
    """Return a question to the driver with bytes that are no serialized Java object."""
    name = b"endpoint-verifier"
    address = struct.pack(">?h9si", True, 9, b"127.0.0.1", 1)
    body = address + address + struct.pack(">h", len(name)) + name + b"no object"
    return spark_message(3, struct.pack(">qi", 1, len(body)), body)


NONCE = r'\{"nonce": "[0-9a-f]{32}"\}\n'
PAGE = b"GET /json/ HTTP/1.0\r\n\r\n"
PY4J = b"r\nu\njava.lang.Runtime\nrj\ne\n"
"""Question to Py4J for a class; the answer `!y` means that it was served."""


def spark_stream(name: str) -> bytes:
    """Return a request for a file that the driver serves to executors."""
    return spark_message(6, struct.pack(">i", len(name)) + name.encode(), b"")


def is_refusal_of_spark(text: str) -> bool:
    """Return whether Spark or Py4J has refused the request without reading it."""
    _, _, answer = text.partition("]: ")
    is_stream_failure = answer[8:9] == "\x08"
    return "SaslMessage" in answer or is_stream_failure or answer.startswith(("!x", "!zs"))


def is_refusal_of_cluster(text: str) -> bool:
    """Return whether a process of a cluster has refused, or sent only its own random number."""
    _, _, answer = text.partition("]: ")
    return is_refusal_of_spark(text) or re.fullmatch(NONCE, answer) is not None
