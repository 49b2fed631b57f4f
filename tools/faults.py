"""Put known faults into the code, one at a time, and see whether their tests find them.

    python tools/faults.py [--only AREA] [--list]

`tests/faults/AREA.toml` lists the faults of an area: file, old and new text, the test that finds
it, and why it matters. First all tests of an area must pass. Then each fault is made in a copy of
the tree, `target/faults/tree`, and its test runs there; a test that still passes has missed it.
Compiled crates stay in `CARGO_TARGET_DIR`, or `target/faults/target`. Some 10 seconds a fault.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LISTS = ROOT / "tests" / "faults"
WORK = ROOT / "target" / "faults"
PYTHON = ROOT / ".venv" / "bin" / "python"
PRODUCTS = ("python", "packages/lab", "packages/store")
"""Folders of the Python packages."""
BUILT = (
    *("python/cuesta/jars", "python/cuesta/_native.abi3.so"),
    *("packages/store/cuesta_store/jars", "packages/store/cuesta_store/_native.abi3.so"),
    ".venv",
)
"""Paths outside of git that tests need: links in the copy."""
HANG_SECONDS = 1200
"""A guard: a fault whose test hangs is found."""
FOUND, MISSED, BROKEN = "found", "missed", "broken"
PYTEST_FAILED = 1


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault of an area: `old` text of a file becomes `new`.

    Attributes
    ----------
    test
        Node of pytest; with `crate`, the path of a Rust test.
    why
        Consequence of the fault for a user, in a line.
    crate, target
        Rust crate, and the file of its tests; `lib` for unit tests.
    """

    area: str
    file: str
    old: str
    new: str
    test: str
    why: str
    crate: str = ""
    target: str = "lib"

    @property
    def binary(self) -> tuple[str, str]:
        """Crate and file of the test; empty for Python."""
        return (self.crate, self.target) if self.crate else ("", "")


def main(arguments: Sequence[str]) -> int:
    """Try the faults; 1 where a test misses one, or fails without any."""
    areas = sorted(path.stem for path in LISTS.glob("*.toml"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=areas, metavar="AREA", help=", ".join(areas))
    parser.add_argument("--list", action="store_true", help="print the faults, try none")
    options = parser.parse_args(arguments)
    faults = load([options.only] if options.only else areas)
    if options.list:
        for fault in faults:
            print(f"{fault.area}: {fault.file}: {fault.why} ({fault.test})")
        return 0
    stale = [fault for fault in faults if occurrences(ROOT, fault) != 1]
    for fault in stale:
        print(f"{fault.file}: not once in it: {fault.old!r}", file=sys.stderr)
    if stale:
        return 1
    tree = copied(WORK / "tree")
    if not all(passes(tree, faults_of) for faults_of in by_binary(faults).values()):
        return 1
    return report([(fault, tried(tree, fault)) for fault in faults])


def load(areas: Sequence[str]) -> list[Fault]:
    """Read the faults of some areas."""
    return [
        Fault(area=area, **fields)
        for area in areas
        for fields in tomllib.loads((LISTS / f"{area}.toml").read_text())["fault"]
    ]


def by_binary(faults: Sequence[Fault]) -> dict[tuple[str, str], list[Fault]]:
    """Group faults by the binary of their tests."""
    groups: dict[tuple[str, str], list[Fault]] = {}
    for fault in faults:
        groups.setdefault(fault.binary, []).append(fault)
    return groups


def occurrences(root: Path, fault: Fault) -> int:
    """Count the old text in its file."""
    path = root / fault.file
    return path.read_text().count(fault.old) if path.is_file() else 0


def copied(tree: Path) -> Path:
    """Bring the copy of the tree up to date; files that are equal keep their times."""
    tree.mkdir(parents=True, exist_ok=True)
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    names = {name for name in listing.stdout.split("\0") if name and os.path.lexists(ROOT / name)}
    for name in names:
        source, target = ROOT / name, tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            link(target, str(source.readlink()))
        elif not target.is_file() or target.read_bytes() != source.read_bytes():
            target.write_bytes(source.read_bytes())
            target.chmod(source.stat().st_mode)
    for folder in ("crates", "python", "packages", "tests"):
        for path in (tree / folder).rglob("*"):
            name = path.relative_to(tree).as_posix()
            if path.is_file() and not path.is_symlink() and name not in names:
                path.unlink()
    for name in BUILT:
        if (ROOT / name).exists():
            link(tree / name, str(ROOT / name))
    return tree


def link(place: Path, target: str) -> None:
    """Make a symbolic link."""
    place.unlink(missing_ok=True)
    place.symlink_to(target)


@contextmanager
def applied(tree: Path, fault: Fault) -> Iterator[None]:
    """Put a fault into its file of the copy, for a while."""
    path = tree / fault.file
    before = path.read_text()
    path.write_text(before.replace(fault.old, fault.new))
    try:
        yield
    finally:
        path.write_text(before)


def passes(tree: Path, faults: Sequence[Fault]) -> bool:
    """Whether the tests of faults, all of one binary, run and pass without a fault."""
    names = sorted({fault.test for fault in faults})
    done = subprocess.run(
        command_of(faults[0], names), cwd=tree, env=environment(tree), check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    passed = sum(map(int, re.findall(r"(\d+) passed", done.stdout)))
    if done.returncode == 0 and passed >= len(names):
        return True
    print(f"without a fault, {passed} of {len(names)} tests pass:\n{done.stdout}{done.stderr}")
    return False


def tried(tree: Path, fault: Fault) -> str:
    """Run the test of a fault with it; return `FOUND`, `MISSED` or `BROKEN`."""
    with applied(tree, fault):
        try:
            done = subprocess.run(
                command_of(fault, [fault.test]), cwd=tree, env=environment(tree), check=False,
                capture_output=True, text=True, timeout=HANG_SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return FOUND
    outcome = outcome_of(fault, done.returncode, done.stdout)
    print(f"{outcome}: {fault.area}: {fault.file}: {fault.why} ({fault.test})", flush=True)
    if outcome == BROKEN:
        print(f"{done.stdout}{done.stderr}", flush=True)
    return outcome


def outcome_of(fault: Fault, code: int, output: str) -> str:
    """Return what the end of a test says: a fault that does not compile was not tried."""
    if code == 0:
        return MISSED
    has_failed = "test result: FAILED" in output if fault.crate else code == PYTEST_FAILED
    return FOUND if has_failed else BROKEN


def command_of(fault: Fault, tests: Sequence[str]) -> list[str]:
    """Return the command that runs tests of the binary of a fault."""
    if not fault.crate:
        return [str(PYTHON), "-m", "pytest", "-p", "no:cacheprovider", *tests]
    which = ["--lib"] if fault.target == "lib" else ["--test", fault.target]
    return ["cargo", "test", "--quiet", "-p", fault.crate, *which, "--", "--exact", *tests]


def environment(tree: Path) -> Mapping[str, str]:
    """Return variables with which the copy of the package is imported, and crates stay compiled."""
    return {
        "CARGO_TARGET_DIR": str(WORK / "target"),
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(tree / name) for name in PRODUCTS),
        # A fault of the same length within a second would leave the compiled file in use.
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYO3_PYTHON": str(PYTHON),
    }


def report(outcomes: Sequence[tuple[Fault, str]]) -> int:
    """Print how many faults of each area were found; return 1 if any was not."""
    for area in dict.fromkeys(fault.area for fault, _ in outcomes):
        of_area = [outcome for fault, outcome in outcomes if fault.area == area]
        print(f"faults: {area}: {of_area.count(FOUND)} of {len(of_area)} found")
    return int(any(outcome != FOUND for _, outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
