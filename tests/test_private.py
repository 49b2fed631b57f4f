"""Code in a cache is run only where no stranger can have put it there."""

from __future__ import annotations

import os
from pathlib import Path

from adversarykit import STRANGER_UID, needs_root
from cuesta.engines.spark import archive
from cuesta.private import is_trusted


def cached(folder: Path) -> Path:
    folder.mkdir(mode=0o755)
    path = folder / "x-3.jsa"
    path.write_text("abc")
    path.chmod(0o644)
    return path


def test_code_that_anybody_may_write_is_not_run(tmp_path: Path) -> None:
    """An archive of classes was mapped into a JVM whoever had put it into the cache."""
    path = cached(tmp_path / "cache")
    place = path.with_name("x.jsa")
    assert archive.whole(place) == path
    path.chmod(0o646)
    assert archive.whole(place) is None
    path.chmod(0o644)
    path.parent.chmod(0o757)
    assert archive.whole(place) is None
    assert not is_trusted(path.parent / "missing")


@needs_root
def test_code_of_another_account_is_not_run(tmp_path: Path) -> None:
    path = cached(tmp_path / "cache")
    os.chown(path, STRANGER_UID, STRANGER_UID)
    assert archive.whole(path.with_name("x.jsa")) is None
