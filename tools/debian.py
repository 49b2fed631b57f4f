"""Programs of Debian packages without installing them: downloaded once, unpacked under `build/`."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS_MAX = 300
PROCESSORS = ("amd64", "arm64")
"""Names that Debian has for the processors of releases."""


class DebianError(Exception):
    """A missing or broken part, in one line."""


def unpacked(name: str, packages: Sequence[str]) -> Path:
    """The folder with the files of these packages, as below `/`. Errors: `DebianError`.

    Their dependencies are named among them, or are on the system. `NAME:arm64` is a package for
    another processor than this machine's.
    """
    place = ROOT / "build" / "debian" / name
    if place.is_dir():
        return place
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise DebianError(f"{packages[0]} comes as a package of Debian, but there is no apt-get")
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as temporary:
        folder = Path(temporary)
        download = ["apt-get", "-qq"]
        if any(":" in package for package in packages):
            download += _lists_of_all_processors(place.parent / "apt")
        _run([*download, "download", *packages], folder)
        for archive in folder.glob("*.deb"):
            _run(["dpkg-deb", "-x", archive.name, "unpacked"], folder)
        if not place.is_dir():
            (folder / "unpacked").rename(place)
    return place


def _lists_of_all_processors(state: Path) -> list[str]:
    """Options of `apt-get` with lists of its own, which the system's need not have.

    The system's settings remain as they are.
    """
    (state / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    settings = {"Dir::State::Lists": f"{state}/lists", "Dir::Cache": f"{state}/cache"}
    settings |= {"APT::Architectures": ",".join(PROCESSORS), "APT::Sandbox::User": "root"}
    options = [word for name, text in settings.items() for word in ("-o", f"{name}={text}")]
    _run(["apt-get", "-qq", *options, "update"], state)
    return options


def _run(words: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        raise DebianError(f"{words[0]} took more than {SECONDS_MAX} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
        raise DebianError(f"{words[0]}: {lines[-1]}")
