"""Files of Debian packages: the installed ones, else downloaded and unpacked in a cache."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

SECONDS_MAX = 120
"""Limit for a download; a slower mirror counts as unreachable."""


def package_files(package: str, folder: str, cache: pytest.Cache) -> Path:
    """Return the `folder` under /usr/share that `package` contains; skip the test without it.

    Nothing is installed, and no root is needed. Downloads are stored in pytest's cache.
    """
    installed = Path("/usr/share", folder)
    if installed.is_dir():
        return installed
    package_folder = cache.mkdir("debian") / package
    if not package_folder.is_dir():
        with tempfile.TemporaryDirectory(dir=package_folder.parent) as name:
            unpacked = _unpacked(package, Path(name))
            if not package_folder.is_dir():
                unpacked.rename(package_folder)
    share = package_folder / "usr" / "share" / folder
    if not share.is_dir():
        pytest.skip(f"{package} has no /usr/share/{folder} here")
    return share


def _unpacked(package: str, folder: Path) -> Path:
    remedy = f"apt-get install {package}"
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        pytest.skip(f"the reads of {package} are a package of Debian, but there is no apt-get")
    _run(["apt-get", "-qq", "download", package], folder, remedy)
    (archive,) = folder.glob("*.deb")
    _run(["dpkg-deb", "-x", archive.name, "unpacked"], folder, remedy)
    return folder / "unpacked"


def _run(words: list[str], folder: Path, remedy: str) -> None:
    try:
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{words[0]} took more than {SECONDS_MAX} s; {remedy}")
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"code {done.returncode}"]
        pytest.skip(f"{words[0]}: {lines[-1]}; {remedy}")
