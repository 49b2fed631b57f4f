"""Demands of a workload on a machine for each byte of input, as measured.

`demands.toml`, next to this file, has the measurements of one machine, with the commands.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from cuesta.errors import InputError

FILE = Path(__file__).resolve().parent / "demands.toml"


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Demands of an engine for a workload; amounts are per byte of input.

    Attributes
    ----------
    many_nodes
        Whether it runs on several nodes; else on one.
    start_s
        Seconds before the first byte is read.
    cpu_s
        Core seconds of parallel work, on the measured machine.
    serial_s
        Core seconds of serial work.
    reads, writes
        Bytes of input read, and of answer written.
    memory
        Least bytes of memory with which nothing goes to scratch.
    spill
        Bytes written to scratch and read back without any memory.
    exchange
        Bytes that each node sends to other nodes, with many nodes.
    error
        Relative error of a prediction at the sizes measured.
    sizes
        The smallest and largest input measured, bytes.
    measured
        Description of the measurement.
    setting, applies
        Name and description of the options and the form of the input that this holds for.
    """

    workload: str
    engine: str
    many_nodes: bool
    start_s: float
    cpu_s: float
    serial_s: float
    reads: float
    writes: float
    memory: float
    spill: float
    exchange: float
    error: float
    sizes: tuple[float, float]
    measured: str
    setting: str = ""
    applies: str = ""


def demands(workload: str, setting: str = "") -> list[Demand]:
    """Return a workload's demands in a setting, its first one by default, one per engine.

    Errors: `InputError` if none was measured.
    """
    everything = _read()
    matches = [demand for demand in everything if demand.workload == workload]
    if not matches:
        known = ", ".join(sorted({demand.workload for demand in everything}))
        raise InputError(
            f"advise: what {workload} needs was not measured (there is {known}); run two parts of"
            f" the input, each by `cuesta compare {workload} PART --engines native,mpi,spark -o"
            " DIR`, and give both folders with --runs"
        )
    name = setting or matches[0].setting
    measured = [demand for demand in matches if demand.setting == name]
    if not measured:
        known = ", ".join(dict.fromkeys(demand.setting for demand in matches))
        raise InputError(
            f"advise {workload}: --setting is {setting!r}, which was not measured (there is"
            f" {known}); run a part of the input with these options and give it with --runs"
        )
    return measured


def unmeasured(workload: str, setting: str) -> list[str]:
    """Engines of a workload that were measured, but not in this setting."""
    everything = [demand for demand in _read() if demand.workload == workload]
    here = {demand.engine for demand in everything if demand.setting == setting}
    return list(dict.fromkeys(d.engine for d in everything if d.engine not in here))


def settings(workload: str) -> dict[str, str]:
    """Descriptions of the settings of a workload that were measured, by name."""
    return {d.setting: d.applies for d in _read() if d.workload == workload}


def _read() -> list[Demand]:
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return [Demand(**{**entry, "sizes": tuple(entry["sizes"])}) for entry in table["demand"]]
