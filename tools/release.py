"""Make all files of a release in `dist/release`: what could be uploaded as it is.

    python tools/release.py [build] [--machines x86_64,aarch64] [--twice] [--out DIR]
    python tools/release.py check|sources [--out DIR]
    python tools/release.py notices|lock|list
    python tools/release.py tag TAG

`build` makes wheels for each processor, linked by zig for glibc 2.17, source archives, a bill of
materials, notices and `SHA256SUMS`, and checks them; `--twice` builds again and
compares the bytes. `check` checks a folder again, and `sources` builds each source archive alone,
whose wheel then has the files of the released one; `notices` writes `THIRD-PARTY.txt` anew from the
crates; `lock` pins the tools of a release; `list` prints the distributions, and `tag` refuses a tag
of another version than that of all files, for the workflow that publishes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import debian
import distributions
from releasing import archives, checks, notices, sources, toolchain

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "dist" / "release"
SUMS = "SHA256SUMS"
MACHINES = ",".join(target.machine for target in toolchain.TARGETS)


class ReleaseError(Exception):
    """A fault of a release, in one line."""


def main(arguments: Sequence[str]) -> int:
    """Do what the first word says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("step", nargs="?", default="build")
    parser.add_argument("tag", nargs="?", default="")
    parser.add_argument("--machines", default=MACHINES)
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    try:
        if options.step not in STEPS:
            parser.error(f"no step {options.step}; choose from {', '.join(STEPS)}")
        STEPS[options.step](options)
    except (ReleaseError, checks.CheckError, debian.DebianError, notices.StaleNotices) as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        words = " ".join(map(str, error.cmd[:4]))
        print(f"release: `{words} ...` ended with code {error.returncode}", file=sys.stderr)
        return 1
    return 0


def check_sources(folder: Path) -> None:
    """Build each source archive of a release alone, and run its quick tests."""
    for line in sources.check(folder, archives.commit_time()):
        print(f"release: {line}", flush=True)


def write_notices() -> None:
    """Write the notices of all distributions anew."""
    for line in notices.write():
        print(f"release: {line}")


def list_distributions() -> None:
    """Print the beginnings of the names of archives, for the workflow that publishes."""
    stems = [distribution.stem for distribution in distributions.DISTRIBUTIONS]
    print(f"distributions={json.dumps(stems)}")


def build(folder: Path, machines: Sequence[str], *, twice: bool) -> None:
    """Make and check a release. Errors: `ReleaseError`, `CheckError`."""
    if unknown := set(machines) - {target.machine for target in toolchain.TARGETS}:
        raise ReleaseError(f"no wheels are built for {', '.join(sorted(unknown))}")
    notices.check()
    toolchain.TOOLS.install()
    epoch = archives.commit_time()
    archives.empty(folder)
    built = archives.build(folder, epoch, machines)
    if twice:
        compare(built, epoch, machines)
    write_sbom(built, folder)
    for distribution in notices.NATIVE:
        place = folder / f"{distribution.stem}-{notices.NAME}"
        shutil.copyfile(distribution.folder / notices.NAME, place)
    write_sums(folder)
    check(folder)


def compare(built: Sequence[Path], epoch: int, machines: Sequence[str]) -> None:
    """Build again without what was compiled, and refuse other bytes."""
    shutil.rmtree(toolchain.FOLDER / "target", ignore_errors=True)
    again = toolchain.FOLDER / "again"
    archives.empty(again)
    archives.build(again, epoch, machines)
    other = [file.name for file in built if digest(file) != digest(again / file.name)]
    if other:
        raise ReleaseError(f"a second build has other bytes in {', '.join(other)}")
    print(f"release: a second build has the same bytes in {len(built)} archives")


def check(folder: Path) -> None:
    """Check all files of a folder, of which each is in `SHA256SUMS`."""
    sums = (folder / SUMS).read_text(encoding="utf-8")
    if sums != sums_of(folder):
        raise ReleaseError(f"{folder / SUMS} does not have the sums of its files")
    files = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    for line in checks.check(sorted(files)):
        print(f"release: {line}")
    print(f"release: {folder}, version {distributions.version()}, {len(sums.splitlines())} files")


def check_tag(tag: str) -> None:
    """Refuse a tag of another version, and a version that is not the same everywhere."""
    wanted = distributions.version()
    if tag != f"v{wanted}":
        raise ReleaseError(f"the tag {tag or '(none)'} does not name version {wanted}: v{wanted}")
    for name, version in distributions.versions().items():
        if version != wanted:
            raise ReleaseError(f"{name} has version {version}, and Cargo.toml {wanted}")


def write_sbom(built: Sequence[Path], folder: Path) -> None:
    """Write the bill of materials of a native wheel next to it, for who does not unpack wheels."""
    for file in built:
        if file.suffix == ".whl" and checks.owner(file).is_native:
            text = json.dumps(checks.sbom(file), indent=1, sort_keys=True)
            (folder / f"{file.stem}.cdx.json").write_text(text + "\n", encoding="utf-8")


def write_sums(folder: Path) -> None:
    """Write `SHA256SUMS`, as `sha256sum --check` reads it."""
    (folder / SUMS).write_text(sums_of(folder), encoding="utf-8")


def sums_of(folder: Path) -> str:
    """Sums of all files of a folder but those of the sums themselves."""
    files = sorted(file for file in folder.iterdir() if file.name != SUMS)
    return "".join(f"{digest(file)}  {file.name}\n" for file in files)


def digest(file: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


STEPS: dict[str, Callable[[argparse.Namespace], None]] = {
    "build": lambda options: build(options.out, options.machines.split(","), twice=options.twice),
    "check": lambda options: check(options.out),
    "sources": lambda options: check_sources(options.out),
    "notices": lambda _: write_notices(),
    "lock": lambda _: toolchain.TOOLS.lock(),
    "list": lambda _: list_distributions(),
    "tag": lambda options: check_tag(options.tag),
}
"""Functions of the first word of the command line."""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
