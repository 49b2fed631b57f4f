"""Install the wheels into an empty environment without a compiler, and use them.

python tools/check_wheel.py WHEEL STORE LAB
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

LINES = (
    "2\t1\t1\t1\t6\t0\t0\t0\t0\t0.950000\t111111",
    "3\t1\t1\t1\t5\t1\t0\t0\t0\t0.100000\t911111",
    "3\t2\t1\t2\t4\t0\t1\t1\t0\t-0.870000\t118711",
)


class WheelError(Exception):
    """A failed step of a wheel, with its output."""


def main(arguments: Sequence[str]) -> int:
    """Check the wheels that are named: of `cuesta`, of `cuesta-store`, and of `cuesta-lab`."""
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    check(*map(Path, arguments))
    return 0


def check(wheel: Path, store: Path, lab: Path) -> None:
    """Errors: `WheelError` with the output of the step that failed."""
    with tempfile.TemporaryDirectory(prefix="cuesta-wheel-") as name:
        folder = Path(name)
        environment = folder / "venv"
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        install = [str(python), "-m", "pip", "install", "--quiet", "--only-binary=:all:"]
        run([*install, "--disable-pip-version-check", str(wheel.resolve())], folder)
        pairs = folder / "pairs.txt"
        pairs.write_text("\n".join(LINES) + "\n")
        cuesta = [str(environment / "bin" / "cuesta"), "run", "scan", str(pairs)]
        output = run([*cuesta, "--min-abs-score", "0.8", "-o", "answer", "--json"], folder)
        record = json.loads(output)
        rows = (folder / "answer" / "pairs.txt").read_text().splitlines()
        if record["verified"] is not True or rows != [LINES[0], LINES[2]]:
            raise WheelError(f"the scan kept {rows}, verified: {record['verified']}")
        install += ["--disable-pip-version-check"]
        check_lab([*install, str(lab.resolve())], cuesta[:1], folder)
        check_store([*install, str(store.resolve())], cuesta[:1], folder)
        check_store_alone(store, folder)


def check_store_alone(store: Path, folder: Path) -> None:
    """Check that the store works where nothing else of this repository is installed."""
    environment = folder / "alone"
    venv.create(environment, with_pip=True)
    install = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    install += ["--only-binary=:all:", "--disable-pip-version-check"]
    run([*install, str(store.resolve())], folder)
    use_store([str(environment / "bin" / "cuesta-store")], folder)


def check_store(install: Sequence[str], cuesta: Sequence[str], folder: Path) -> None:
    """Check that the store adds its command to `cuesta`, and that without it it is named."""
    require_remedy([*cuesta, "store", "status"], "store", folder)
    run(install, folder)
    use_store([*cuesta, "store"], folder)


def use_store(command: Sequence[str], folder: Path) -> None:
    """Start a store, read a file through it, and stop it."""
    under = folder / "under"
    under.mkdir(exist_ok=True)
    (under / "a.txt").write_text(LINES[0])
    run([*command, "start", "--under", str(under), "--memory", "1MiB", "--block", "64KiB"], folder)
    try:
        if run([*command, "cat", "/a.txt"], folder) != LINES[0]:
            raise WheelError("the store has other bytes than the file below it")
    finally:
        run([*command, "stop"], folder)


def require_remedy(command: Sequence[str], extra: str, folder: Path) -> None:
    """Check that a command of a missing product names the extra that has it."""
    try:
        message = run(command, folder)
    except WheelError as error:
        message = str(error)
    if f"pip install 'cuesta[{extra}]'" not in message:
        raise WheelError(f"`{' '.join(command[1:])}` does not name its package: {message}")


def check_lab(install: Sequence[str], cuesta: Sequence[str], folder: Path) -> None:
    """Check that the laboratory adds its commands, and that without it they name the remedy."""
    study = [*cuesta, "study", "list"]
    require_remedy(study, "lab", folder)
    run(install, folder)
    if "spark-hpc" not in run(study, folder):
        raise WheelError("the wheel of cuesta-lab has no study spark-hpc")
    run([*cuesta, "explain", "answer"], folder)
    run([*cuesta, "model", "machines"], folder)


def run(command: Sequence[str], folder: Path) -> str:
    """Run a step with only the environment's own programs in reach; return its stdout."""
    programs = str(Path(command[0]).parent)
    done = subprocess.run(
        command,
        cwd=folder,
        env=inherited() | {"PATH": programs, "CUESTA_STORE": str(folder / "store")},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise WheelError(f"`{' '.join(command)}` ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def inherited() -> dict[str, str]:
    """The caller's environment without what would point into another Python."""
    dropped = ("PYTHON", "VIRTUAL_ENV", "CARGO", "CC", "CXX", "RUST")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
