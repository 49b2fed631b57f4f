"""Masters of clusters that this user has started, with the folders of their settings and secrets.

The leader of a cluster records its master here, so that `--master spark://HOST:PORT` is enough to
use it: its `spark-defaults.conf`, private to the user, has the secret that it requires.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from cuesta import removal
from cuesta.machine import cache_folder
from cuesta.private import is_trusted


def remember(master: str, conf: Path) -> None:
    """Record `conf` as the folder of settings for sessions on a master."""
    place = _place(master)
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_suffix(".new")
    temporary.write_text(str(conf))
    removal.put(temporary, place)


def forget(master: str) -> None:
    """Remove the record of a master."""
    with contextlib.suppress(OSError):
        _place(master).unlink()


def settings_of(master: str) -> Path | None:
    """Return the folder of a master's settings; None without a record."""
    place = _place(master)
    # Settings name jars, which are executed.
    if not is_trusted(place):
        return None
    conf = Path(place.read_text())
    return conf if conf.is_dir() else None


def _place(master: str) -> Path:
    name = re.sub(r"[^\w.-]+", "_", master)
    return cache_folder() / "masters" / name
