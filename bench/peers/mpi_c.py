"""The dataflow in C on MPI: the program of `--engine mpi --kernels c`, with flags of our choice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cuesta.engines.dataflow import Plan, plan
from cuesta.engines.mpi import c_program
from harness.model import THREADS, Sample


@dataclass(frozen=True, kw_only=True)
class Program:
    """A way to compile and to run it."""

    name: str
    flags: tuple[str, ...]
    stages: str

    @property
    def how(self) -> str:
        """The program in a few words."""
        loops = "one loop a block" if self.stages == "fused" else "three loops a block"
        return f"mpicc {' '.join(self.flags)}, {THREADS} ranks, {loops}; its phases"

    def plan(self, shape: tuple[int, int, str]) -> Plan:
        """The plan for blocks, vectors of a block and shift."""
        blocks, block_vectors, shift = shape
        options = {"blocks": blocks, "block_vectors": block_vectors, "shift": shift}
        return plan(options | {"stages": self.stages, "keep": "none"}, 0, ())


PROGRAMS = (
    Program(name="mpi/c", flags=("-O3",), stages="separate"),
    Program(name="mpi/c fused", flags=("-O3",), stages="fused"),
    Program(name="mpi/c fused, this cpu", flags=("-O3", "-march=native"), stages="fused"),
)


def missing() -> str | None:
    """Why it cannot be compiled or run here, or None."""
    return c_program.missing()


def run(program: Program, shape: tuple[int, int, str], folder: Path) -> Sample:
    """The sum of its phases; its table goes to `folder`."""
    binary, _ = c_program.compiled(program.flags)
    response = c_program.run(program.plan(shape), THREADS, folder, binary)
    return Sample(seconds=sum(phase["seconds"] for phase in response["phases"]))
