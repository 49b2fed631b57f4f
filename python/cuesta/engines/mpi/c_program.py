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
from cuesta.plugins import remedy
from cuesta.private import is_trusted

SOURCE = Path(__file__).with_name("dataflow.c")
FLAGS = ("-O3",)
"""Flags of the compiler: the program must run on all processors of a cluster."""
ERROR_CHARACTERS_MAX = 300


def missing() -> str | None:
    """Describe what to install for the program, or return None."""
    command = launch.launcher()
    if command is None:
        return "there is no mpiexec; install cuesta[mpi] or load the site's MPI"
    if not _compiler(command).is_file():
        return (
            f"--kernels c needs mpicc beside {command}; {remedy('mpi')} brings it, or "
            "load the site's MPI with its compilers"
        )
    return None


def check(plan: Plan) -> None:
    """Check for options that the program lacks. Errors: `InputError`."""
    if plan.files:
        raise InputError("--kernels c generates its vectors; leave the files out")
    if plan.keep == "disk":
        raise InputError("--kernels c keeps blocks in memory or not at all; leave out --keep disk")


def run(plan: Plan, ranks: int, output: Path, program: Path) -> dict[str, Any]:
    """Compute the answer on `ranks` new ranks; the response is that of `_native.run`.

    Arguments: `program` was returned by `compiled`. Errors: `EngineError` when a rank dies.
    """
    numbers = map(repr, (plan.blocks, plan.block_vectors, plan.seed, *plan.shift))
    words = [str(program), *numbers, plan.stages, plan.keep, str(output / ANSWER_FILE)]
    code, output_text = launch.run_program(ranks, words)
    if code:
        raise launch.failure(code, output_text)
    lines = [line.split() for line in output_text.splitlines()]
    report = {line[0]: line[1] for line in lines if len(line) == 2}
    if report.get("ranks") != str(ranks):
        raise EngineError(
            f"mpi: {ranks} ranks were started, but the C program sees {report.get('ranks')}: "
            "mpiexec and mpicc belong to different MPIs; use one for both"
        )
    phases = [
        {"name": name, "seconds": float(report[name]), **plan.amounts(name)}
        for name in plan.phase_names
    ]
    return {
        "phases": phases,
        "counts": {"blocks": plan.blocks, "vectors": plan.vectors, "ranks": ranks},
    }


def compiled(flags: Sequence[str]) -> tuple[Path, bool]:
    """Return the cached program, and whether it was compiled now. Errors: `EngineMissing`."""
    why = missing()
    command = launch.launcher()
    if why or command is None:
        raise EngineMissing(f"engine mpi: {why}")
    compiler = _compiler(command).resolve()
    made_with = (compiler, compiler.stat().st_mtime_ns, tuple(flags), SOURCE.read_text("utf-8"))
    name = hashlib.sha256(repr(made_with).encode()).hexdigest()[:16]
    folder = cache_folder() / "programs"
    target = folder / f"{SOURCE.stem}-{os.uname().machine}-{name}"
    if target.is_file() and is_trusted(target):
        return target, False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with removal.temporary_folder(folder=folder) as partial:
            compiled_file = Path(partial, SOURCE.stem)
            _compile([str(compiler), *flags, str(SOURCE)], compiled_file)
            removal.put(compiled_file, target)
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
        message = lines[0][:ERROR_CHARACTERS_MAX] if lines else f"code {done.returncode}"
        raise EngineMissing(
            f"engine mpi: {words[0]} does not compile the C program ({message}); "
            "install a C compiler"
        )


def _compiler(command: str) -> Path:
    """Return the compiler wrapper of the MPI that has this launcher."""
    return Path(command).with_name("mpicc")
