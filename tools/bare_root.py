"""Try the wheels of a release in bare roots of Debian: no compiler, no network, no other package.

    python tools/bare_root.py [--suites bookworm,trixie] [--machine x86_64|aarch64] [--out DIR]

A root is made once of Debian's packages, by mmdebstrap, in `build/roots`. The wheels of `--out`
(`dist/release`) and of what they depend on are put into it; there `pip` installs them without an
index, `releasing/science.py` runs the science of the demo, and `releasing/golden.py` the golden
cases, all in a network namespace without links. Another processor than this machine's is emulated
by `qemu`, which starts one process: there wheels are unpacked instead of installed, and the golden
cases run alone. Needs root.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

import debian
import release
import setup
from distributions import DISTRIBUTIONS
from releasing import roots

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("python3-minimal", "python3-venv", "ca-certificates")
PROGRAMS = ("golden.py", "science.py")
DATASETS = ("nci60", "ecoli")
CHROOT = 'mount -t proc proc "$0/proc"; exec chroot "$0" "$@"'
"""A root without `/proc` is no system that anyone has."""
PYTHON = "/srv/venv/bin/python"
INSTALL = (
    "venv/bin/pip install --quiet --no-index --find-links wheels cuesta cuesta-lab cuesta-store"
)


def main(arguments: Sequence[str]) -> int:
    """Try each suite; 1 where one fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--suites", default=",".join(roots.PYTHONS))
    parser.add_argument("--machine", default=platform.machine(), choices=roots.DEBIAN_NAMES)
    parser.add_argument("--out", type=Path, default=release.OUT)
    options = parser.parse_args(arguments)
    failed = 0
    for suite in options.suites.split(","):
        try:
            root = make_root(suite, options.machine)
            text = attempt(root, suite, options.machine, options.out)
        except (debian.DebianError, subprocess.CalledProcessError) as error:
            output = getattr(error, "stderr", "") or ""
            print(f"bare root: {suite}: {error}\n{output}", file=sys.stderr)
            failed = 1
            continue
        for line in text.splitlines():
            print(f"bare root: {suite}, {options.machine}: {line}")
    return failed


def make_root(suite: str, machine: str) -> Path:
    """The root of a suite for a processor, made of packages where it is not there."""
    # Of another processor no script can run: its packages are unpacked alone.
    variant = "minbase" if roots.is_native(machine) else "extract"
    options = [f"--variant={variant}", f"--include={','.join(PACKAGES)}"]
    return roots.make(f"{suite}-{machine}", suite, machine, options)


def attempt(root: Path, suite: str, machine: str, out: Path) -> str:
    """Install the wheels in a root and use them there; return what was measured."""
    work = root / "srv"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    for name in PROGRAMS:
        shutil.copyfile(ROOT / "tools" / "releasing" / name, work / name)
    roots.collect_wheels(work / "wheels", out, DISTRIBUTIONS, machine, roots.PYTHONS[suite])
    inside = ["unshare", "--net", "--mount", "sh", "-ec", CHROOT, str(root)]
    if not roots.is_native(machine):
        return emulated(work, inside, suite, machine)
    for name in DATASETS:
        command = str(setup.VENV / "bin" / "cuesta")
        roots.run([command, "data", "get", name, "-o", str(work / "data")])
    began = time.monotonic()
    roots.run([*inside, "sh", "-ec", f"cd /srv; python3 -m venv venv; {INSTALL}"])
    installed = time.monotonic()
    science = roots.run([*inside, PYTHON, "/srv/science.py", "/srv/data", "/srv/answers"])
    golden = roots.run([*inside, PYTHON, "/srv/golden.py"])
    lines = [f"installed in {installed - began:.1f} s", science.splitlines()[-1], golden.strip()]
    return "\n".join(lines)


def emulated(work: Path, inside: Sequence[str], suite: str, machine: str) -> str:
    """Run the golden cases on an emulated processor; return what they print."""
    for wheel in (work / "wheels").glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(work / "site")
    emulator = debian.unpacked("qemu", ["qemu-user-static"]) / "usr" / "bin"
    shutil.copy2(emulator / f"qemu-{machine}-static", work / "qemu")
    python = f"/usr/bin/python{roots.PYTHONS[suite]}"
    words = ["/srv/qemu", "-E", "PYTHONPATH=/srv/site", python, "/srv/golden.py"]
    return roots.run([*inside, *words])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
