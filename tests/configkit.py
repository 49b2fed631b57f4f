"""Files of settings in a home of the test's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Home:
    """Folders of a site, of a user and of a project; the working folder is below the project."""

    site: Path
    user: Path
    project: Path
    work: Path


def make_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Make the folders, and have the environment lead to them."""
    home = Home(
        site=folder / "site" / "cuesta" / "cuesta.toml",
        user=folder / "user" / "cuesta" / "cuesta.toml",
        project=folder / "project" / "cuesta.toml",
        work=folder / "project" / "a" / "b",
    )
    for place in (home.site.parent, home.user.parent, home.work):
        place.mkdir(parents=True)
    monkeypatch.delenv("CUESTA_CONFIG")
    monkeypatch.delenv("CUESTA_SITE_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(folder / "site"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "user"))
    monkeypatch.chdir(home.work)
    return home
