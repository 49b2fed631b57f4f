"""Programs of Debian packages without installing them: downloaded once, unpacked under `build/`."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS_MAX = 300


class DebianError(Exception):
    """A missing or broken part, in one line."""


def unpacked(name: str, packages: Sequence[str]) -> Path:
    """The folder with the files of these packages, as below `/`. Errors: `DebianError`.

    Their dependencies are named among them, or are on the system.
    """
    place = ROOT / "build" / "debian" / name
    if place.is_dir():
        return place
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise DebianError(f"{packages[0]} comes as a package of Debian, but there is no apt-get")
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as temporary:
        folder = Path(temporary)
        _run(["apt-get", "-qq", "download", *packages], folder)
        for archive in folder.glob("*.deb"):
            _run(["dpkg-deb", "-x", archive.name, "unpacked"], folder)
        if not place.is_dir():
            (folder / "unpacked").rename(place)
    return place


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
