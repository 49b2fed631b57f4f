"""Compilers of a release: Rust for each processor, and zig, which links for old C libraries."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import debian
import pinned

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build" / "release"
VENV = FOLDER / "venv"
TOOLS = pinned.Environment(
    extra="release", folder=VENV, lock_command="python tools/release.py lock"
)
PLATFORM = "manylinux_2_17"
GLIBC_MAX = (2, 17)

RUST_PACKAGES = (
    "rustc-web",
    "libstd-rust-web-1.96",
    "libstd-rust-web-dev",
    "libstd-rust-web-dev:arm64",
    "libllvm22",
)
"""Packages of Debian 12 with a compiler, and the standard library of a second processor."""


@dataclass(frozen=True)
class Target:
    """A processor that wheels are built for."""

    machine: str
    triple: str


TARGETS = (
    Target("x86_64", "x86_64-unknown-linux-gnu"),
    Target("aarch64", "aarch64-unknown-linux-gnu"),
)


def environment(target: Target, epoch: int) -> dict[str, str]:
    """Variables of a build for `target`: equal sources make equal bytes in any folder.

    Errors: `DebianError` where the standard library of `target` is neither rustup's nor Debian's.
    """
    cargo_home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    renamed = {str(ROOT): "/cuesta", str(cargo_home): "/cargo"}
    rust = " ".join(f"--remap-path-prefix={old}={new}" for old, new in renamed.items())
    c = " ".join(f"-ffile-prefix-map={old}={new}" for old, new in renamed.items())
    return (
        os.environ
        | _compiler(target)
        | {
            "SOURCE_DATE_EPOCH": str(epoch),
            "VIRTUAL_ENV": str(VENV),
            "PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "RUSTFLAGS": rust,
            f"CFLAGS_{target.triple.replace('-', '_')}": c,
            "CARGO_PROFILE_RELEASE_DEBUG": "0",
            "CARGO_TARGET_DIR": str(FOLDER / "target"),
            "CARGO_INCREMENTAL": "0",
        }
    )


def _compiler(target: Target) -> dict[str, str]:
    """Variables that choose a compiler which has the standard library of `target`."""
    listing = subprocess.run(
        ["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True
    )
    if (Path(listing.stdout.strip()) / "lib" / "rustlib" / target.triple).is_dir():
        return {}
    unpacked = debian.unpacked("rust", RUST_PACKAGES)
    libraries = unpacked / "usr" / "lib" / "x86_64-linux-gnu"
    return {"RUSTC": str(unpacked / "usr" / "bin" / "rustc"), "LD_LIBRARY_PATH": str(libraries)}
