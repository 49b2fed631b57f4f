"""Files and folders of a single account: how they are made, and when their content is trusted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adversarykit import STRANGER_UID, needs_root
from cuesta.cluster.folder import ClusterFolder
from cuesta.engines.spark import archive, masters
from cuesta.errors import InputError
from cuesta.private import is_trusted, make_private_folder, open_new, write_private


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Folder of this account alone."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    return folder


def test_what_this_account_alone_can_write_is_trusted(place: Path) -> None:
    file = place / "archive"
    file.write_text("x")
    file.chmod(0o644)
    assert is_trusted(file)
    assert not is_trusted(place / "missing")


@pytest.mark.parametrize("mode", [0o666, 0o646])
def test_a_file_that_all_can_write_is_not_trusted(place: Path, mode: int) -> None:
    file = place / "archive"
    file.write_text("x")
    file.chmod(mode)
    assert not is_trusted(file)


def test_a_file_in_a_folder_that_all_can_write_is_not_trusted(place: Path) -> None:
    (place / "more").mkdir()
    file = place / "more" / "archive"
    file.write_text("x")
    place.chmod(0o777)
    assert not is_trusted(file)
    # The mode of `/tmp`.
    place.chmod(0o1777)
    assert is_trusted(file)


@needs_root
def test_a_file_of_another_account_is_not_trusted(place: Path) -> None:
    file = place / "archive"
    file.write_text("x")
    os.chown(file, STRANGER_UID, STRANGER_UID)
    assert not is_trusted(file)
    link = place / "link"
    link.symlink_to(file)
    assert not is_trusted(link)


@needs_root
def test_a_planted_archive_or_master_is_not_used(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a cache shared by accounts, a planted archive of classes, or settings with jars for the
    master of a cluster, ran as the next user to start a session. Now such files are not used.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    stamp = place / "cuesta" / "spark" / "stamp.jsa"
    stamp.parent.mkdir(parents=True)
    planted = stamp.with_name("stamp-4.jsa")
    planted.write_text("code")
    conf = place / "conf"
    conf.mkdir()
    masters.remember("spark://host:1", conf)
    assert archive.existing(stamp) == planted
    assert masters.settings_of("spark://host:1") == conf
    os.chown(planted, STRANGER_UID, STRANGER_UID)
    os.chown(next((place / "cuesta" / "masters").iterdir()), STRANGER_UID, STRANGER_UID)
    assert archive.existing(stamp) is None
    assert masters.settings_of("spark://host:1") is None


@pytest.mark.parametrize("planted", ["link", "file", "open"])
def test_a_planted_folder_is_not_taken_as_private(place: Path, planted: str) -> None:
    folder = place / "scratch"
    if planted == "link":
        (place / "elsewhere").mkdir()
        folder.symlink_to(place / "elsewhere")
    elif planted == "file":
        folder.touch()
    else:
        folder.mkdir(mode=0o755)
    with pytest.raises(InputError, match="remove it or name another folder"):
        make_private_folder(folder)


def test_a_private_folder_is_made_once_and_taken_again(place: Path) -> None:
    folder = place / "a" / "scratch"
    make_private_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    (folder / "file").touch()
    make_private_folder(folder)
    assert (folder / "file").exists()


@needs_root
def test_a_cluster_is_not_put_into_a_folder_of_another_account(place: Path) -> None:
    folder = place / "job"
    folder.mkdir()
    ClusterFolder(folder).make()
    assert folder.stat().st_mode & 0o777 == 0o700
    other = place / "theirs"
    other.mkdir()
    os.chown(other, STRANGER_UID, STRANGER_UID)
    with pytest.raises(InputError, match="remove it or name another folder"):
        ClusterFolder(other).make()
    assert not any(other.iterdir())


def test_a_private_file_follows_no_planted_link(place: Path) -> None:
    """The temporary name of a secret was predictable: a planted link redirected it. Now links are
    not followed.
    """
    target = place / "elsewhere"
    target.write_text("precious")
    (place / f".secret.{os.getpid()}").symlink_to(target)
    write_private(place / "secret", "text")
    assert (place / "secret").read_text() == "text"
    assert target.read_text() == "precious"
    (place / "log").symlink_to(target)
    with pytest.raises(FileExistsError):
        open_new(place / "log")
