"""Build the wheels into `dist/` and try them where there is no compiler.

    python tools/wheel.py [--portable] [--out DIR]

Those of `cuesta` and `cuesta-store` work with each Python from 3.11 on (abi3) and for the C library
of this machine or newer; `--portable` links with zig (from its PyPI package) against glibc 2.17,
for older clusters.
That of `cuesta-lab` is pure Python.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import check_wheel

ROOT = Path(__file__).resolve().parent.parent
LAB, STORE = (ROOT / "packages" / name for name in ("lab", "store"))
BIN = ROOT / ".venv" / "bin"
ZIG = "ziglang==0.15.2"


def main(arguments: Sequence[str]) -> int:
    """Build, try, name the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--portable", action="store_true")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    options = parser.parse_args(arguments)
    wheel = build(options.out, portable=options.portable)
    store = build(options.out, STORE, portable=options.portable)
    lab = build_lab(options.out)
    for built in (wheel, store, lab):
        print(f"wheel: {built.name}, {built.stat().st_size / 1e6:.1f} MB", flush=True)
    check_wheel.check(wheel, store, lab)
    print("wheel: an empty environment without a compiler installed them, ran and explained a scan")
    return 0


def build(folder: Path, product: Path = ROOT, *, portable: bool = False) -> Path:
    """The wheel of a product with a native module in `folder`, which may hold older ones."""
    folder = folder.absolute()
    command = [str(BIN / "maturin"), "build", "--release", "--quiet", "--out", str(folder)]
    if portable:
        pip = [str(BIN / "python"), "-m", "pip", "install", "--quiet", ZIG]
        subprocess.run(pip, check=True)
        command += ["--zig", "--compatibility", "manylinux2014"]
    subprocess.run(command, cwd=product, env=environment(), check=True)
    name = "cuesta_store" if product == STORE else "cuesta"
    return newest(folder.glob(f"{name}-*.whl"))


def build_lab(folder: Path) -> Path:
    """The wheel of the laboratory in `folder`, made by the pinned backend without a network."""
    command = [str(BIN / "python"), "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--wheel-dir", str(folder), str(LAB)]
    subprocess.run(command, cwd=ROOT, env=environment(), check=True)
    return newest(folder.glob("cuesta_lab-*.whl"))


def newest(wheels: Iterable[Path]) -> Path:
    """The wheel that was built last."""
    return max(wheels, key=lambda path: path.stat().st_mtime)


def environment() -> dict[str, str]:
    """Variables with which the tools of `.venv` are used."""
    return os.environ | {
        "VIRTUAL_ENV": str(BIN.parent),
        "PYO3_PYTHON": str(BIN / "python"),
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
