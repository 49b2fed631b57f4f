"""Roots of Debian, made without a container registry, and the wheels that one of them needs."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import debian
from distributions import Distribution

ROOT = Path(__file__).resolve().parent.parent.parent
ROOTS = ROOT / "build" / "roots"
PYTHONS = {"bookworm": "3.11", "trixie": "3.13"}
"""By suite of Debian, the version of its Python."""
DEBIAN_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
"""By processor, the name that Debian and container images have for it."""
PLATFORMS = ("manylinux_2_17", "manylinux2014", "manylinux_2_28")


def make(name: str, suite: str, machine: str, options: Sequence[str]) -> Path:
    """The root of this name, made of a suite's packages by mmdebstrap unless it is there.

    `options` are those of mmdebstrap. Errors: `DebianError`, `CalledProcessError`.
    """
    root = ROOTS / name
    if root.is_dir():
        return root
    ROOTS.mkdir(parents=True, exist_ok=True)
    program = shutil.which("mmdebstrap")
    if program is None:
        program = str(debian.unpacked("mmdebstrap", ["mmdebstrap"]) / "usr" / "bin" / "mmdebstrap")
    # It calls programs that are next to it.
    search = f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}"
    words = ["env", f"PATH={search}", program, "--quiet", "--mode=root", "--format=directory"]
    words += [f"--architectures={DEBIAN_NAMES[machine]}", *options]
    if suite == "bookworm":
        # Without this it installs Perl, which merges the folders of programs.
        share = Path(program).parent.parent / "share" / "mmdebstrap"
        words += [f"--hook-dir={share / 'hooks' / 'merged-usr'}", "--include=usr-is-merged"]
    temporary = root.with_suffix(".partial")
    shutil.rmtree(temporary, ignore_errors=True)
    run([*words, suite, str(temporary)])
    temporary.rename(root)
    return root


def collect_wheels(
    folder: Path, release: Path, distributions: Iterable[Distribution], machine: str, python: str
) -> None:
    """Put the wheels of a release, and all that they depend on, into a folder for a processor."""
    folder.mkdir(parents=True, exist_ok=True)
    for distribution in distributions:
        for wheel in sorted(release.glob(f"{distribution.stem}-*.whl")):
            if machine in wheel.name or wheel.name.endswith("-any.whl"):
                shutil.copyfile(wheel, folder / wheel.name)
    wanted = sorted(map(str, folder.glob("*.whl")))
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:"]
    pip += ["--python-version", python, "--dest", str(folder), "--find-links", str(folder)]
    pip += [word for name in PLATFORMS for word in ("--platform", f"{name}_{machine}")]
    run([*pip, *wanted])


def is_native(machine: str) -> bool:
    """Whether programs for a processor run here without an emulator."""
    return machine == platform.machine()


def run(words: Sequence[str]) -> str:
    """Run a command without variables of this machine's Python; return its output.

    Errors: `CalledProcessError`, whose `stderr` says why.
    """
    names = ("PATH", "SOURCE_DATE_EPOCH")
    variables = {name: os.environ[name] for name in names if name in os.environ}
    variables |= {"HOME": "/root", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(words, env=variables, check=True, capture_output=True, text=True)
    return done.stdout
