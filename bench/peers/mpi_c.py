"""The dataflow in C on MPI, compiled with the MPI that our own engine runs on."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.model import THREADS, Sample

SOURCE = Path(__file__).with_name("dataflow.c")


@dataclass(frozen=True, kw_only=True)
class Program:
    """A way to compile and to run it."""

    name: str
    flags: tuple[str, ...]
    fused: bool

    @property
    def how(self) -> str:
        """What it is, in a few words."""
        loops = "one loop a block" if self.fused else "three loops a block"
        return f"mpicc {' '.join(self.flags)}, {THREADS} ranks, {loops}; between two barriers"


PROGRAMS = (
    Program(name="mpi/c", flags=("-O3",), fused=False),
    Program(name="mpi/c fused", flags=("-O3",), fused=True),
    Program(name="mpi/c fused, this cpu", flags=("-O3", "-march=native"), fused=True),
)


def missing() -> str | None:
    """Why it cannot be compiled or run here, or None."""
    if not shutil.which("cc"):
        return "a C compiler is missing"
    lacking = [name for name in ("mpicc", "mpiexec") if not _tool(name).is_file()]
    return f"{lacking[0]} is missing; pip install mpich" if lacking else None


def run(program: Program, shape: tuple[int, int, str], folder: Path) -> Sample:
    """Blocks, vectors of a block and shift; the sums go to `folder/sums.tsv`."""
    blocks, vectors, shift = shape
    binary = _compiled(program.flags, folder.parent)
    words = [str(_tool("mpiexec")), "-n", str(THREADS), str(binary), str(blocks), str(vectors)]
    words += ["0", *shift.split(","), str(int(program.fused)), "1", str(folder / "sums.tsv")]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return Sample(seconds=float(done.stdout.split()[-1]))


@cache
def _compiled(flags: tuple[str, ...], folder: Path) -> Path:
    binary = folder / f"dataflow{''.join(flags)}"
    words = [str(_tool("mpicc")), *flags, "-o", str(binary), str(SOURCE)]
    subprocess.run(words, check=True)
    return binary


def _tool(name: str) -> Path:
    return Path(sysconfig.get_path("scripts")) / name
