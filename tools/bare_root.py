"""Try the wheels of a release in bare roots of Debian: no compiler, no network, no other package.

    python tools/bare_root.py [--suites bookworm,trixie] [--machine x86_64|aarch64] [--out DIR]

A root is made once of Debian's packages, by mmdebstrap, in `build/roots`. The wheels of `--out`
(`dist/release`) and of what Cuesta depends on are put into it; there `pip` installs them without
an index, and `releasing/golden.py` runs the golden cases, all in a network namespace without links.
Another processor than this machine's is emulated by `qemu`, which starts one process: there wheels
are unpacked instead of installed. Needs root.
"""

from __future__ import annotations

import argparse
import os
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
from distributions import DISTRIBUTIONS

ROOT = Path(__file__).resolve().parent.parent
ROOTS = ROOT / "build" / "roots"
GOLDEN = ROOT / "tools" / "releasing" / "golden.py"
PYTHONS = {"bookworm": "3.11", "trixie": "3.13"}
DEBIAN_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
PACKAGES = ("python3-minimal", "python3-venv", "ca-certificates")
PLATFORMS = ("manylinux_2_17", "manylinux2014", "manylinux_2_28")


def main(arguments: Sequence[str]) -> int:
    """Try each suite; 1 where one fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--suites", default=",".join(PYTHONS))
    parser.add_argument("--machine", default=platform.machine(), choices=DEBIAN_NAMES)
    parser.add_argument("--out", type=Path, default=release.OUT)
    options = parser.parse_args(arguments)
    failed = 0
    for suite in options.suites.split(","):
        try:
            root = make_root(suite, options.machine)
            began = time.monotonic()
            print(attempt(root, suite, options.machine, options.out).strip())
        except (debian.DebianError, subprocess.CalledProcessError) as error:
            output = getattr(error, "stderr", "") or ""
            print(f"bare root: {suite}: {error}\n{output}", file=sys.stderr)
            failed = 1
            continue
        seconds = time.monotonic() - began
        print(f"bare root: {suite}, {options.machine}: installed and run in {seconds:.0f} s")
    return failed


def make_root(suite: str, machine: str) -> Path:
    """The root of a suite for a processor, made of packages where it is not there."""
    root = ROOTS / f"{suite}-{machine}"
    if root.is_dir():
        return root
    ROOTS.mkdir(parents=True, exist_ok=True)
    program = shutil.which("mmdebstrap")
    if program is None:
        program = str(debian.unpacked("mmdebstrap", ["mmdebstrap"]) / "usr" / "bin" / "mmdebstrap")
    # Of another processor no script can run: its packages are unpacked alone.
    variant = "minbase" if machine == platform.machine() else "extract"
    words = [program, "--quiet", "--mode=root", f"--variant={variant}", "--format=directory"]
    words += [f"--architectures={DEBIAN_NAMES[machine]}", f"--include={','.join(PACKAGES)}"]
    temporary = root.with_suffix(".partial")
    shutil.rmtree(temporary, ignore_errors=True)
    run([*words, suite, str(temporary)])
    temporary.rename(root)
    return root


def attempt(root: Path, suite: str, machine: str, out: Path) -> str:
    """Install the wheels in a root and run the golden cases; return what they print."""
    work = root / "srv"
    shutil.rmtree(work, ignore_errors=True)
    (work / "wheels").mkdir(parents=True)
    for distribution in DISTRIBUTIONS:
        for wheel in sorted(out.glob(f"{distribution.stem}-*.whl")):
            if machine in wheel.name or wheel.name.endswith("-any.whl"):
                shutil.copyfile(wheel, work / "wheels" / wheel.name)
    shutil.copyfile(GOLDEN, work / "golden.py")
    wanted = [str(path) for path in sorted((work / "wheels").glob("cuesta-*.whl"))]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:"]
    pip += ["--python-version", PYTHONS[suite], "--dest", str(work / "wheels")]
    pip += [word for name in PLATFORMS for word in ("--platform", f"{name}_{machine}")]
    run([*pip, *wanted])
    inside = ["unshare", "--net", "chroot", str(root)]
    if machine == platform.machine():
        install = "/srv/venv/bin/pip install --quiet --no-index --find-links /srv/wheels cuesta"
        run([*inside, "sh", "-ec", f"cd /srv; python3 -m venv venv; {install} cuesta-lab"])
        return run([*inside, "/srv/venv/bin/python", "/srv/golden.py"])
    for wheel in (work / "wheels").glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(work / "site")
    emulator = debian.unpacked("qemu", ["qemu-user-static"]) / "usr" / "bin"
    shutil.copy2(emulator / f"qemu-{machine}-static", work / "qemu")
    python = f"/usr/bin/python{PYTHONS[suite]}"
    words = ["/srv/qemu", "-E", "PYTHONPATH=/srv/site", python, "/srv/golden.py"]
    return run([*inside, *words])


def run(words: Sequence[str]) -> str:
    """Run a command without variables of this machine's Python; return its output."""
    variables = {"PATH": os.environ["PATH"], "HOME": "/root", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(words, env=variables, check=True, capture_output=True, text=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
