"""Source archives, each built alone: in a folder that has nothing else of this repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from distributions import DISTRIBUTIONS, Distribution, version

from .archives import empty
from .checks import CheckError, members
from .toolchain import FOLDER, PLATFORM, TARGETS, VENV, environment

WHEELS = FOLDER / "from-source"
QUICK_TESTS = {"cuesta": "cuesta-core", "cuesta-store": "cuesta-bindings"}
"""By distribution, a crate whose tests its archive has, and which take seconds."""


def check(folder: Path, epoch: int) -> Iterator[str]:
    """Build a wheel of each archive of a release, and run quick tests; yield what was measured.

    The wheels are left in `WHEELS`. Errors: `CheckError` for other files than those of the wheel
    of the release, `CalledProcessError`.
    """
    empty(WHEELS)
    for distribution in DISTRIBUTIONS:
        stem = f"{distribution.stem}-{version()}"
        with tempfile.TemporaryDirectory(prefix="cuesta-source-") as name:
            shutil.unpack_archive(folder / f"{stem}.tar.gz", name, filter="data")
            variables = variables_of(distribution, epoch)
            wheel = build(distribution, Path(name) / stem, variables)
            compare(wheel, folder)
            crate = QUICK_TESTS.get(distribution.name)
            if crate:
                words = ["cargo", "test", "--quiet", "--release", "--locked", "-p", crate]
                subprocess.run(words, cwd=Path(name) / stem, env=variables, check=True)
        tested = f", tests of {crate} passed" if crate else ""
        yield f"{stem}.tar.gz: builds alone, {len(members(wheel))} files as in the wheel{tested}"


def build(distribution: Distribution, source: Path, variables: dict[str, str]) -> Path:
    """Build the wheel of an unpacked archive as `pip` does, without a network."""
    words = [str(VENV / "bin" / "python"), "-m", "pip", "wheel", "--quiet", "--no-index"]
    words += ["--no-deps", "--no-build-isolation", "--wheel-dir", str(WHEELS), str(source)]
    subprocess.run(words, env=variables, check=True)
    (wheel,) = WHEELS.glob(f"{distribution.stem}-*.whl")
    return wheel


def variables_of(distribution: Distribution, epoch: int) -> dict[str, str]:
    """Variables of a build: crates that a release compiled before are not compiled again."""
    if not distribution.is_native:
        return os.environ | {"SOURCE_DATE_EPOCH": str(epoch)}
    target = TARGETS[0]
    words = f"--locked --zig --target {target.triple} --compatibility {PLATFORM}"
    return environment(target, epoch) | {"MATURIN_PEP517_ARGS": words, "CARGO_NET_OFFLINE": "true"}


def compare(wheel: Path, folder: Path) -> None:
    """Refuse a wheel with other files than the one of the release. Errors: `CheckError`."""
    released = folder / wheel.name
    if not released.is_file():
        raise CheckError(f"a build from source makes {wheel.name}, which {folder} does not have")
    if other := members(wheel) ^ members(released):
        names = ", ".join(sorted(other)[:5])
        raise CheckError(f"{wheel.name} built from source differs in {len(other)} files: {names}")
