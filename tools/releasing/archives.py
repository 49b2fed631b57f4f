"""Wheels and source archives of all distributions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from distributions import DISTRIBUTIONS, Distribution

from .toolchain import PLATFORM, ROOT, TARGETS, VENV, Target, environment


def build(folder: Path, epoch: int, machines: Iterable[str]) -> list[Path]:
    """Build all archives into an empty folder, wheels for these processors.

    `epoch` is the time that all files get, in seconds since 1970.
    """
    targets = [target for target in TARGETS if target.machine in set(machines)]
    for distribution in DISTRIBUTIONS:
        source_archive(distribution, folder, epoch)
        if not distribution.is_native:
            pure_wheel(distribution, folder, epoch)
    for target in targets:
        for distribution in DISTRIBUTIONS:
            if distribution.is_native:
                native_wheel(distribution, target, folder, epoch)
    return sorted(folder.iterdir())


def native_wheel(distribution: Distribution, target: Target, folder: Path, epoch: int) -> None:
    """Build the wheel of a native module for a processor, linked by zig for an old glibc."""
    command = [str(VENV / "bin" / "maturin"), "build", "--release", "--locked", "--quiet", "--zig"]
    command += ["--target", target.triple, "--compatibility", PLATFORM, "--out", str(folder)]
    variables = environment(target, epoch)
    # Another interpreter than that of the build would name the module after itself.
    variables.pop("PYO3_PYTHON", None)
    subprocess.run(command, cwd=distribution.folder, env=variables, check=True)


def pure_wheel(distribution: Distribution, folder: Path, epoch: int) -> None:
    """Build a wheel without compiled parts."""
    _run_uv("--wheel", distribution, folder, epoch)


def source_archive(distribution: Distribution, folder: Path, epoch: int) -> None:
    """Build the source archive of a distribution, of which its wheel can be built alone."""
    if not distribution.is_native:
        _run_uv("--sdist", distribution, folder, epoch)
        return
    variables = os.environ | {"SOURCE_DATE_EPOCH": str(epoch)}
    command = [str(VENV / "bin" / "maturin"), "sdist", "--out", str(folder)]
    # Its list of all files is long; a failure has its reason in there.
    done = subprocess.run(
        command, cwd=distribution.folder, env=variables, check=False, stderr=subprocess.PIPE
    )
    if done.returncode:
        sys.stderr.buffer.write(done.stderr)
        done.check_returncode()


def _run_uv(kind: str, distribution: Distribution, folder: Path, epoch: int) -> None:
    """Build by the pinned backend, without a network."""
    variables = os.environ | {
        "SOURCE_DATE_EPOCH": str(epoch),
        "VIRTUAL_ENV": str(VENV),
        "PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }
    command = [str(VENV / "bin" / "uv"), "build", "--quiet", kind, "--no-build-isolation"]
    command += ["--offline", "--out-dir", str(folder), str(distribution.folder)]
    subprocess.run(command, cwd=ROOT, env=variables, check=True)
    # uv leaves a file for Git next to its archives.
    (folder / ".gitignore").unlink(missing_ok=True)


def commit_time() -> int:
    """Time of the last commit, in seconds since 1970."""
    listing = ["git", "log", "-1", "--format=%ct"]
    done = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True)
    return int(done.stdout)


def empty(folder: Path) -> None:
    """Make `folder` anew, without anything in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
