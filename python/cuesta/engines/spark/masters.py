"""Masters of clusters that this user has started, and where their settings and secrets are.

Whoever brings a cluster up remembers it here, so that `--master spark://HOST:PORT` is enough to
use it: its `spark-defaults.conf`, for the user alone, holds the secret that it asks for.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from cuesta import removal
from cuesta.machine import cache_folder
from cuesta.private import is_trusted


def remember(master: str, conf: Path) -> None:
    """Sessions on that master have the settings of the folder `conf` from now on."""
    place = _place(master)
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_suffix(".new")
    temporary.write_text(str(conf))
    removal.put(temporary, place)


def forget(master: str) -> None:
    """As if it had never been remembered."""
    with contextlib.suppress(OSError):
        _place(master).unlink()


def settings_of(master: str) -> Path | None:
    """The folder of the settings of a master; None where nobody has remembered one."""
    place = _place(master)
    # Settings name jars, which run.
    if not is_trusted(place):
        return None
    conf = Path(place.read_text())
    return conf if conf.is_dir() else None


def _place(master: str) -> Path:
    name = re.sub(r"[^\w.-]+", "_", master)
    return cache_folder() / "masters" / name
