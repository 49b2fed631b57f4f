"""Ceilings of the network, and of the overhead of engines.

Of the network: `network_send_bytes_per_s`, `network_receive_bytes_per_s` and
`network_round_trips_per_s`, TCP between two processes of this machine. Of an engine, with its name
as prefix: tasks without work, `NAME_tasks_per_s`, and its transport.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from cuesta import machine, removal
from cuesta.children import module_command
from cuesta.engines import Engine
from cuesta.lab import network
from cuesta.lab.child import run_in_child

SECONDS = 0.15
LOOPBACK = "127.0.0.1"
NETWORK_DETAIL = "one TCP connection between two processes, 256 KiB at a time"

Samples = Mapping[str, Sequence[float]]


def measure_network(repeats: int) -> Samples:
    """Measure the connection between two processes of this machine."""
    command = module_command("cuesta.lab.network", LOOPBACK, "0")
    listens = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        port = int(listens.stdout.readline() if listens.stdout else 0)
        return measure_connection(LOOPBACK, port, repeats)
    finally:
        listens.kill()
        listens.communicate()


def measure_connection(host: str, port: int, repeats: int) -> Samples:
    """Measure the connection to a listener. Errors: `InputError` if there is none."""
    connections = [network.probe(host, port, SECONDS) for _ in range(repeats)]
    return {
        "network_send_bytes_per_s": [connection.sent_bytes_per_s for connection in connections],
        "network_receive_bytes_per_s": [
            connection.received_bytes_per_s for connection in connections
        ],
        "network_round_trips_per_s": [
            1 / connection.round_trip_seconds for connection in connections
        ],
    }


def measure_engine(engine: Engine, scratch: Path, repeats: int) -> Samples:
    """Measure the limits of an engine, with its name as prefix; none if it reports none.

    It runs in its own process. Errors: those of the engine.
    """
    if not engine.capabilities.has_limits or engine.missing():
        return {}
    engine.prepare(lambda _: None)
    threads = machine.cores_usable()
    with removal.temporary_folder(prefix="cuesta-limits-", folder=scratch) as folder:
        samples_file = Path(folder) / "answer.json"

        def measure() -> None:
            """Measure the engine's limits, such as its tasks per second, and write the samples."""
            try:
                samples_of = engine.limits(threads, Path(folder), repeats)
            finally:
                engine.close()
            lists = {name: list(samples) for name, samples in samples_of.items()}
            samples_file.write_text(json.dumps(lists))

        run_in_child(f"engine {engine.name}", measure)
        samples_of: Samples = json.loads(samples_file.read_text())
    prefix = engine.name.replace("-", "_")
    return {f"{prefix}_{name}": samples for name, samples in samples_of.items()}
