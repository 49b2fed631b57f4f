"""`dataflow` as an MPI programmer writes it in C: `dataflow.c`, compiled at its first use.

It is the C program of "A benchmarking study to evaluate Apache Spark on large-scale
supercomputers" (2019), and a process of its own that reads no file: `--kernels c`. Its table is
verified as that of any engine.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuesta import removal
from cuesta.engines.dataflow import ANSWER_FILE, Plan
from cuesta.engines.mpi import launch
from cuesta.errors import EngineError, EngineMissing, InputError
from cuesta.machine import cache_folder
from cuesta.private import is_trusted

SOURCE = Path(__file__).with_name("dataflow.c")
FLAGS = ("-O3",)
"""What it is compiled with: it must run on every processor of a cluster."""
ERROR_CHARACTERS_MAX = 300


def missing() -> str | None:
    """What to install for it, or None."""
    command = launch.launcher()
    if command is None:
        return "there is no mpiexec; install cuesta[mpi] or load the site's MPI"
    if not _compiler(command).is_file():
        return (
            f"--kernels c needs mpicc beside {command}; pip install 'cuesta[mpi]' brings it, or "
            "load the site's MPI with its compilers"
        )
    return None


def check(asked: Plan) -> None:
    """Refuse what the program does not do. Errors: `InputError`."""
    if asked.files:
        raise InputError("--kernels c generates its vectors; leave the files out")
    if asked.keep == "disk":
        raise InputError("--kernels c keeps blocks in memory or not at all; leave out --keep disk")


def run(asked: Plan, ranks: int, output: Path, program: Path) -> dict[str, Any]:
    """Compute the answer on `ranks` new ranks; the response is that of `_native.run`.

    Arguments: `program` is what `compiled` has given. Errors: `EngineError` when a rank dies.
    """
    numbers = map(repr, (asked.blocks, asked.block_vectors, asked.seed, *asked.shift))
    words = [str(program), *numbers, asked.stages, asked.keep, str(output / ANSWER_FILE)]
    code, said = launch.run_program(ranks, words)
    if code:
        raise launch.failure(code, said)
    lines = [line.split() for line in said.splitlines()]
    found = {line[0]: line[1] for line in lines if len(line) == 2}
    if found.get("ranks") != str(ranks):
        raise EngineError(
            f"mpi: {ranks} ranks were started, but the C program sees {found.get('ranks')}: "
            "mpiexec and mpicc belong to different MPIs; use one for both"
        )
    phases = [
        {"name": name, "seconds": float(found[name]), **asked.amounts(name)}
        for name in asked.phase_names
    ]
    return {
        "phases": phases,
        "counts": {"blocks": asked.blocks, "vectors": asked.vectors, "ranks": ranks},
    }


def compiled(flags: Sequence[str]) -> tuple[Path, bool]:
    """The program in the cache, and whether it was compiled just now. Errors: `EngineMissing`."""
    why = missing()
    command = launch.launcher()
    if why or command is None:
        raise EngineMissing(f"engine mpi: {why}")
    compiler = _compiler(command).resolve()
    made_with = (compiler, compiler.stat().st_mtime_ns, tuple(flags), SOURCE.read_text("utf-8"))
    name = hashlib.sha256(repr(made_with).encode()).hexdigest()[:16]
    folder = cache_folder() / "programs"
    target = folder / f"dataflow-{os.uname().machine}-{name}"
    if target.is_file() and is_trusted(target):
        return target, False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with removal.temporary_folder(folder=folder) as partial:
            _compile([str(compiler), *flags, str(SOURCE)], Path(partial, "dataflow"))
            removal.put(Path(partial, "dataflow"), target)
        if not is_trusted(target):
            raise EngineMissing(
                f"engine mpi: other accounts can write to {folder} or a folder above it; set "
                "XDG_CACHE_HOME to a folder that is yours alone"
            )
    except OSError as error:
        raise EngineMissing(
            f"engine mpi: the C program cannot be kept in {folder}: {error.strerror}; set "
            "XDG_CACHE_HOME to a folder that can be written"
        ) from None
    return target, True


def _compile(words: Sequence[str], target: Path) -> None:
    done = subprocess.run(
        [*words, "-o", str(target)],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        told = lines[0][:ERROR_CHARACTERS_MAX] if lines else f"code {done.returncode}"
        raise EngineMissing(
            f"engine mpi: {words[0]} does not compile the C program ({told}); install a C compiler"
        )


def _compiler(command: str) -> Path:
    """The wrapper of the MPI that has this launcher."""
    return Path(command).with_name("mpicc")
