"""Notices of what a native module contains: each crate, its licence, and the licence's text.

A distribution with such a module has them in a file of its own, which is in version control and in
its archives; `make lint` refuses one that does not name the crates of `Cargo.lock`. The jars of a
wheel contain classes of this repository alone.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from distributions import DISTRIBUTIONS, Distribution

ROOT = Path(__file__).resolve().parent.parent.parent
NAME = "THIRD-PARTY.txt"
NATIVE = tuple(distribution for distribution in DISTRIBUTIONS if distribution.is_native)
"""Distributions with a module that crates are linked into."""
TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")

_TEXTS = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)([._-].*)?$", re.IGNORECASE)
_NOTICE = re.compile(r"NOTICE([._-].*)?$", re.IGNORECASE)
_C_SOURCES = ("zstd/LICENSE", "xz/COPYING", "xz/COPYING.0BSD")
"""Texts of the C libraries that crates contain; those of programs that no crate links apart."""
_OURS = "Apache-2.0"
_HEAD = """\
{name} contains the software below, in the native module of its wheels. Written by
`python tools/release.py notices` from Cargo.lock and the sources of the crates. Whatever may be
used under Apache-2.0 is: its text is in the file LICENSE, and only notices follow.

"""
_LISTED = re.compile(r"^([\w.-]+) (\d\S*): .*$", re.MULTILINE)


class StaleNotices(Exception):
    """Notices that do not belong to the lock file, in one line."""


@dataclass(frozen=True)
class Crate:
    """A crate of the module, where its sources are, and its licence in words of SPDX."""

    name: str
    version: str
    licence: str
    folder: Path


def write() -> list[str]:
    """Write the notices of all distributions anew; return what each has, a line each."""
    lines = []
    for distribution in NATIVE:
        crates = crates_of_module(distribution)
        file = distribution.folder / NAME
        file.write_text(text_of(distribution.name, crates), encoding="utf-8")
        lines.append(f"{len(crates)} crates in {file.relative_to(ROOT)}")
    return lines


def check() -> int:
    """Return the number of crates in the notices of any module. Errors: `StaleNotices`."""
    names: set[str] = set()
    for distribution in NATIVE:
        wanted = names_of_module(distribution)
        check_text((distribution.folder / NAME).read_text(encoding="utf-8"), wanted)
        names |= wanted
    return len(names)


def check_text(text: str, wanted: set[str]) -> None:
    """Refuse notices of other crates than these. Errors: `StaleNotices`."""
    listed = {f"{match[1]} {match[2]}" for match in _LISTED.finditer(text)}
    if listed != wanted:
        names = ", ".join(sorted(listed ^ wanted)[:5])
        raise StaleNotices(
            f"{NAME} and Cargo.lock differ in {names}; run python tools/release.py notices"
        )


def names_of_module(distribution: Distribution) -> set[str]:
    """Names and versions of the crates that a module contains, on any of its processors."""
    names: set[str] = set()
    for target in TARGETS:
        words = ["cargo", "tree", "--locked", "--offline", "-p", distribution.crate]
        words += ["--edges", "normal", "--prefix", "none", "--format", "{p}", "--target", target]
        done = subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        for line in filter(None, done.stdout.splitlines()):
            name, version, *rest = line.split()
            # A crate of this repository has a path; a macro runs in the compiler alone.
            if not any(word.startswith(("(/", "(proc-macro")) for word in rest):
                names.add(f"{name} {version.removeprefix('v')}")
    return names


def crates_of_module(distribution: Distribution) -> list[Crate]:
    """The crates that a module contains, by name."""
    names = names_of_module(distribution)
    words = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1"]
    done = subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    crates = [
        Crate(
            package["name"],
            package["version"],
            package["license"] or "see its text",
            Path(package["manifest_path"]).parent,
        )
        for package in json.loads(done.stdout)["packages"]
        if f"{package['name']} {package['version']}" in names
    ]
    return sorted(crates, key=lambda crate: (crate.name, crate.version))


def text_of(name: str, crates: list[Crate]) -> str:
    """The notices: all crates with their licences, then each text once with those it belongs to."""
    holders: dict[str, list[str]] = {}
    for crate in crates:
        for text in texts(crate):
            holders.setdefault(text, []).append(crate.name)
    listed = "".join(f"{crate.name} {crate.version}: {crate.licence}\n" for crate in crates)
    parts = [_HEAD.format(name=name) + listed]
    for text, names in holders.items():
        parts.append(f"{'-' * 100}\n{_wrapped(names)}\n\n{text}")
    return "\n".join(parts)


def texts(crate: Crate) -> Iterator[str]:
    """Yield the texts in the folder of a crate that apply to it, with equal white space."""
    choices = {choice.strip(" ()") for choice in re.split(r" OR |/", crate.licence)}
    wanted = _NOTICE if _OURS in choices and " AND " not in crate.licence else _TEXTS
    files = [file for file in sorted(crate.folder.iterdir()) if wanted.match(file.name)]
    files += [crate.folder / name for name in _C_SOURCES]
    for file in filter(Path.is_file, files):
        text = file.read_text(encoding="utf-8", errors="replace")
        yield "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n"


def _wrapped(names: list[str]) -> str:
    lines = [""]
    for name in names:
        if len(lines[-1]) + len(name) > 97:
            lines.append("")
        lines[-1] += f"{', ' if lines[-1] else ''}{name}"
    return "\n".join(lines)
