"""Ceilings beside memory, files and arithmetic: the network, and what engines themselves take.

Of the network: `network_send_bytes_per_s`, `network_receive_bytes_per_s` and
`network_round_trips_per_s`, TCP between two processes of this machine. Of an engine, by its own
name and words: tasks without work and its transport, `NAME_tasks_per_s`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from cuesta import machine, removal
from cuesta.engines import Engine, HasLimits, HoldsSession, Prepares
from cuesta.lab import network
from cuesta.lab.child import run_in_child

SECONDS = 0.15
LOOPBACK = "127.0.0.1"
NETWORK_DETAIL = "one TCP connection between two processes, 256 KiB at a time"

Samples = Mapping[str, Sequence[float]]


def of_network(repeats: int) -> Samples:
    """Samples of the connection between two processes of this machine."""
    command = [sys.executable, "-m", "cuesta.lab.network", LOOPBACK, "0"]
    listens = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        port = int(listens.stdout.readline() if listens.stdout else 0)
        return of_connection(LOOPBACK, port, repeats)
    finally:
        listens.kill()
        listens.communicate()


def of_connection(host: str, port: int, repeats: int) -> Samples:
    """Samples of the connection to one who listens. Errors: `InputError` when nobody does."""
    seen = [network.probe(host, port, SECONDS) for _ in range(repeats)]
    return {
        "network_send_bytes_per_s": [one.sent_bytes_per_s for one in seen],
        "network_receive_bytes_per_s": [one.received_bytes_per_s for one in seen],
        "network_round_trips_per_s": [1 / one.round_trip_seconds for one in seen],
    }


def of_engine(engine: Engine, scratch: Path, repeats: int) -> Samples:
    """Samples of what an engine itself takes, with its name before each; none where it says none.

    It runs in a process of its own. Errors: those of the engine.
    """
    if not isinstance(engine, HasLimits) or engine.missing():
        return {}
    asks = engine
    if isinstance(engine, Prepares):
        engine.prepare(lambda _: None)
    threads = machine.cores_usable()
    with removal.temporary_folder(prefix="cuesta-limits-", folder=scratch) as folder:
        answer = Path(folder) / "answer.json"

        def work() -> None:
            try:
                found = asks.limits(threads, Path(folder), repeats)
            finally:
                if isinstance(engine, HoldsSession):
                    engine.close()
            answer.write_text(json.dumps({name: list(one) for name, one in found.items()}))

        run_in_child(f"engine {engine.name}", work)
        found: Samples = json.loads(answer.read_text())
    own = engine.name.replace("-", "_")
    return {f"{own}_{name}": samples for name, samples in found.items()}
