"""A Hadoop program with a forged store, and links planted after its store is lost."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from adversarykit import damage, listing, needs_root
from cuesta_store.filesystem import CuestaFileSystem
from forgerkit import KINDS, forger
from hadoopkit import Hadoop, hadoop
from storekit import RunningStore, running_store
from waitkit import wait_for

__all__ = ["hadoop"]

NAME_LOOP = "cuesta.hadoop.NameLoop"


def kill(store: RunningStore) -> None:
    pid = store.status()["pid"]
    os.kill(pid, signal.SIGKILL)
    state = Path(f"/proc/{pid}/stat")
    wait_for(lambda: not state.exists() or state.read_text().rpartition(")")[2].split()[0] in "ZX")


@needs_root
@pytest.mark.parametrize("kind", KINDS)
def test_a_forged_store_is_sent_nothing(hadoop: Hadoop, tmp_path: Path, kind: str) -> None:
    """The client did not check whose store answers: another account forged what jobs read, and the
    first to make `/dev/shm/cuesta-UID` also chose where files were written. Now the client checks
    the owner.
    """
    with forger(kind) as forged:
        store = RunningStore(forged.folder, tmp_path)
        done = hadoop.run(store, NAME_LOOP, cwd=tmp_path)
        assert forged.received() == b""
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if line.startswith("Exception in")]
    assert len(lines) == 1, done.stderr
    assert "nothing was asked of it" in lines[0]
    assert str(forged.folder) in lines[0]
    assert "fs.cuesta.store" in lines[0]


@needs_root
def test_a_forged_store_in_place_of_a_lost_store_is_sent_nothing(
    hadoop: Hadoop, tmp_path: Path
) -> None:
    (tmp_path / "under").mkdir()
    (tmp_path / "under" / "a").write_bytes(b"ours")
    with (
        running_store(tmp_path / "under") as store,
        hadoop.program(store, "NameLoop", tmp_path) as program,
        forger("folder") as forged,
    ):
        assert program.ask("read /a") == "ok ours"
        kill(store)
        store.folder.rename(store.folder.with_name("gone"))
        forged.folder.rename(store.folder)
        try:
            for question in ("read /a", "list /", "stat /x", "write /b", "remove /a"):
                assert "nothing was asked of it" in program.ask(question), question
            assert forged.received() == b""
        finally:
            store.folder.rename(forged.folder)
            store.folder.with_name("gone").rename(store.folder)
    assert (tmp_path / "under" / "a").read_bytes() == b"ours"


def test_links_are_not_followed_out_of_the_root_once_the_store_is_lost(
    hadoop: Hadoop, tmp_path: Path
) -> None:
    """Java followed a symbolic link out of the root, such as to keys of its user. The daemon
    refuses such links; without the store they were followed as by any program. Now they are refused
    there, too.
    """
    under, outside = tmp_path / "under", tmp_path / "outside"
    for folder in (under / "d" / "e", outside / "deep"):
        folder.mkdir(parents=True)
    (outside / "secret").write_bytes(b"secret")
    (under / "d" / "file").write_bytes(b"inside")
    links = {
        "up": "../outside",
        "far": str(outside),
        "absolute": str(under / "d" / "file"),
        "secret": "../outside/secret",
        "through": "d/../../outside/secret",
        "loop": "loop",
        "dangling": "nowhere",
        "below": "d/file/x",
        "good": "d/./e/../file",
        "folder": "d",
        "chain": "folder/file",
    }
    for name, target in links.items():
        (under / name).symlink_to(target)
    os.mkfifo(under / "pipe")
    (under / "d" / "back").symlink_to("../d/file")
    questions = [f"{act} /{name}" for name in links for act in ("read", "stat", "list")]
    questions += ["read /up/secret", "read /far/secret", "stat /up/deep", "list /up/deep"]
    questions += ["read /folder/file", "read /d/back", "read /folder/back", "read /d/file/x"]
    questions += ["list /folder", "list /d", "list /", "read /pipe", "read /d", "read /none"]
    with (
        running_store(under) as store,
        hadoop.program(store, "NameLoop", tmp_path) as program,
    ):
        # The program must do without the daemon what the daemon does.
        expected = {question: program.ask(question) for question in questions}
        assert "ok secret" not in expected.values()
        assert expected["read /chain"] == expected["read /folder/back"] == "ok inside"
        kill(store)
        results = {question: program.ask(question) for question in questions}
    refused = {question for question, answer in expected.items() if answer.startswith("failed")}
    for question in questions:
        if question in refused:
            assert results[question].startswith("failed"), (question, results[question])
            assert "secret" not in results[question].removeprefix("failed").split(": ")[-1]
        else:
            assert results[question] == expected[question], question
    assert "leads out of the under level" in results["read /secret"]


def test_removing_a_folder_removes_its_names_alone(hadoop: Hadoop, tmp_path: Path) -> None:
    under = tmp_path / "under"
    (under / "data[1]" / "d").mkdir(parents=True)
    (under / "data1").mkdir()
    for name in ("data[1]/d/x", "data1/x"):
        (under / name).write_bytes(b"x")
    (under / "data[1]" / "link").symlink_to("../data1")
    before = listing(under)
    with running_store(under) as store, hadoop.program(store, "NameLoop", tmp_path) as program:
        assert program.ask("remove /data[1]") == "ok removed"
        assert program.ask("remove /") == "ok not removed"
    removed = [name for name in before if name.startswith(b"data[1]")]
    assert damage(before, listing(under)) == [f"{name!r} was removed" for name in sorted(removed)]


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_names_that_are_not_utf8_are_carried_as_bytes(
    hadoop: Hadoop, tmp_path: Path, locale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a surrogate pair, a byte on the wire, became a question mark: the name of another
    file, which was removed in place of the listed file. Now names are carried as bytes.
    """
    monkeypatch.setenv("LC_ALL", locale)
    under = tmp_path / "under"
    for folder in (under / "d", under / "kept"):
        folder.mkdir(parents=True)
        for size, name in enumerate((b"caf\xe9", b"caf?", "caf\u00e9\U0001f600".encode()), 1):
            Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(b"x" * size)
    before = listing(under)
    with running_store(under) as store, hadoop.program(store, "NameLoop", tmp_path) as program:
        files = CuestaFileSystem(folder=str(store.folder), skip_instance_cache=True)
        carries = any("\udce9" in name for name in files.ls("/d", detail=False))
        assert not carries or program.ask("sizes /d") == "ok 3 6"
        removed = program.ask("remove /d")
        assert not carries or removed == "ok removed"
        lost = [line for line in damage(before, listing(under)) if not line.startswith("b'd")]
        assert lost == []
        kill(store)
        assert program.ask("sizes /kept") == "ok 3 6"


def test_no_recursive_removal_is_outside_its_class() -> None:
    sources = Path(__file__).parents[2] / "jvm"
    grep_result = subprocess.run(
        ["grep", "-rlE", r'"remove"|\.delete\(.*true|Files\.(delete|walk)', "--include=*.java"]
        + [str(path) for path in sources.glob("*/src/main")],
        capture_output=True,
        text=True,
        check=False,
    )
    names = {Path(line).name for line in grep_result.stdout.splitlines()}
    assert names == {"Removal.java"}
