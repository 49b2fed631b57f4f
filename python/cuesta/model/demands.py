"""What a workload needs of a machine for each byte of its input, as it was measured.

`demands.toml` beside this file has what was measured on one machine, with the commands.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from cuesta.errors import InputError

FILE = Path(__file__).resolve().parent / "demands.toml"


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What one engine needs for a workload; amounts are for a byte of input.

    Attributes
    ----------
    many_nodes
        Whether it runs on several nodes; else on one.
    start_s
        Before any byte is looked at.
    cpu_s
        Seconds of cores, on the machine it was measured on, that any number of cores share.
    serial_s
        Seconds that one core works alone.
    reads, writes
        Bytes of input that are read, of answer that are written.
    memory
        Bytes of memory with which nothing goes to scratch.
    spill
        Bytes that go to scratch, and come back, where there is no memory at all.
    exchange
        Bytes that nodes send to others, where there are many.
    error
        Relative error of a prediction at the sizes measured.
    sizes
        The smallest and largest input measured, bytes.
    measured
        By what it was measured, in words.
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


def demands(workload: str) -> list[Demand]:
    """Of a workload, one for each engine. Errors: `InputError` where none was measured."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    found = [
        Demand(**{**one, "sizes": tuple(one["sizes"])})
        for one in table["demand"]
        if one["workload"] == workload
    ]
    if not found:
        known = ", ".join(sorted({one["workload"] for one in table["demand"]}))
        raise InputError(
            f"advise: what {workload} needs was not measured (there is {known}); run two parts of"
            f" the input, each by `cuesta compare {workload} PART --engines native,mpi,spark -o"
            " DIR`, and give both folders with --runs"
        )
    return found
