"""A file as a plain TCP stream, from the page cache of one node to the memory of another.

python tcp_stream.py send FILE ADDRESS           prints its port, sends to who connects, again
python tcp_stream.py receive ADDRESS PORT BYTES  prints seconds and the digest of what came
"""

from __future__ import annotations

import hashlib
import socket
import sys
import time
from pathlib import Path


def send(path: str, address: str) -> None:
    """Serve a file to one after the other."""
    with socket.create_server((address, 0)) as listener, Path(path).open("rb") as file:
        print(listener.getsockname()[1], flush=True)
        while True:
            stream, _ = listener.accept()
            with stream:
                file.seek(0)
                stream.sendfile(file)


def receive(address: str, port: int, count: int) -> None:
    """Receive into memory that was touched before."""
    into = memoryview(bytearray(count))
    done = 0
    started = time.perf_counter()
    with socket.create_connection((address, port)) as stream:
        while done < count:
            came = stream.recv_into(into[done : done + (1 << 20)])
            if not came:
                break
            done += came
    seconds = time.perf_counter() - started
    print(seconds, hashlib.sha256(into[:done]).hexdigest(), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "send":
        send(sys.argv[2], sys.argv[3])
    else:
        receive(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
