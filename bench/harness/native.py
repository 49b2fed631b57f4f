"""Our contestants: the native module in this process, and the complete command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuesta.native import native_module
from harness.model import MEMORY_BYTES, THREADS, Sample

_LAUNCHER = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""A small process between, because a child's peak is never below that of the one it came from."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A workload with its inputs and parameters."""

    workload: str
    inputs: tuple[Path | str, ...]
    parameters: Mapping[str, object]

    @property
    def text(self) -> str:
        """As a line: `scan, min_abs_score 0.8`."""
        return ", ".join([self.workload, *(f"{key} {val}" for key, val in self.parameters.items())])


def run(job: Job, folder: Path) -> dict[str, Any]:
    """Run `job` in this process, its answer in `folder`; return its phases and counts."""
    response = native_module().run(job.workload, request(job, folder))
    parsed: dict[str, Any] = json.loads(response)
    return parsed


def request(job: Job, folder: Path) -> str:
    """The request for the native module."""
    return json.dumps(
        {
            "inputs": [str(path) for path in job.inputs],
            "parameters": dict(job.parameters),
            "output": str(folder),
            "threads": THREADS,
            "memory_bytes": MEMORY_BYTES,
            "scratch": str(folder),
        }
    )


def command(job: Job, folder: Path, *options: str) -> Sample:
    """Run `cuesta run` as a process of its own, with its start, its checks and its record.

    The answer is in `folder/answer`. Errors: `RuntimeError` with the output of the command.
    """
    words = [sys.executable, "-m", "cuesta", "run", job.workload, *map(str, job.inputs)]
    for name, value in job.parameters.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    words += ["--threads", str(THREADS), "-o", str(folder / "answer"), *options]
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LAUNCHER, *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NO_COLOR": "1"},
    )
    seconds = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: code {done.returncode}: {done.stderr.strip()}")
    return Sample(seconds=seconds, peak_resident_bytes=int(done.stdout.split()[-1]) * 1024)


def read_warm(path: Path) -> Sample:
    """Time a pass of a loop of `pread` over a file that the page cache holds."""
    rate = _ceiling("file_read_warm", seconds_min=0.0, path=str(path))
    return Sample(seconds=path.stat().st_size / rate)


def memory_pass(size_bytes: int, passes: int) -> Sample:
    """Time `passes` passes over so much memory that only add up its numbers."""
    rate = _ceiling("memory_read", seconds_min=0.2, bytes=max(size_bytes, 64 << 20))
    return Sample(seconds=passes * size_bytes / rate)


def memory_copy(size_bytes: int) -> Sample:
    """Read so much memory and write as much elsewhere."""
    rate = _ceiling("memory_copy", seconds_min=0.2, bytes=max(size_bytes, 64 << 20))
    return Sample(seconds=2 * size_bytes / rate)


def multiply_adds(flops: float) -> Sample:
    """So many operations in single precision as multiply-adds on registers."""
    return Sample(seconds=flops / _ceiling("fma_f32", seconds_min=0.2))


def _ceiling(kind: str, **more: object) -> float:
    """Units a second of one repeat of a ceiling of the machine."""
    options = {"threads": THREADS, "repeats": 1, **more}
    rate: float = json.loads(native_module().ceiling(kind, json.dumps(options)))["per_s"][0]
    return rate
