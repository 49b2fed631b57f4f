"""The next run removes the leftovers of a killed run; those of a living run remain."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adversarykit import STRANGER_UID, host_words, listing, needs_root
from cuesta.cli.app import call
from cuesta.lab import leftovers
from cuesta.lab.folder import AnswerFolder
from labkit import answer, names

HOLDS = """
import sys, time
from pathlib import Path
from cuesta.lab.folder import AnswerFolder
output, scratch = map(Path, sys.argv[1:])
folder = AnswerFolder(output, overwrite=True, scratch=scratch).__enter__()
(folder.answer / "half").write_bytes(bytes(3 << 20))
(folder.scratch / "spill").write_bytes(bytes(1 << 20))
(folder.scratch.parent / "cuesta-session").mkdir()
print("ready", flush=True)
time.sleep(600)
"""

FACTS = ("schema", "host", "machine", "boot", "numbers", "process", "scratch")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def start(output: Path, scratch: Path) -> subprocess.Popen[str]:
    """Start a process that makes an answer and never ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(output), str(scratch)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_leftovers_of_a_killed_run_are_removed_and_reported(tmp_path: Path, scratch: Path) -> None:
    process = start(tmp_path / "out", scratch)
    kill(process)
    partial = f"out.partial-{process.pid}"
    assert names(tmp_path) == {partial, "scratch"}
    assert names(scratch) == {f"cuesta-scratch.partial-{process.pid}"}
    (message,) = leftovers.sweep(tmp_path / "out")
    assert message == f"removed {partial}, 4 MiB, which a run that was killed had left"
    assert names(tmp_path) == {"scratch"}
    assert names(scratch) == set()


def test_a_leftover_with_a_folder_of_another_remains(tmp_path: Path, scratch: Path) -> None:
    """A folder beside those of the run was removed with its files. Now it stays, and is named."""
    process = start(tmp_path / "out", scratch)
    kill(process)
    foreign = tmp_path / f"out.partial-{process.pid}" / "mydata"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("x")
    (message,) = leftovers.sweep(tmp_path / "out")
    assert f"{foreign} is not of a run" in message
    assert (foreign / "thesis.txt").exists()


def test_what_a_living_run_makes_is_left_alone(tmp_path: Path, scratch: Path) -> None:
    process = start(tmp_path / "out", scratch)
    try:
        assert list(leftovers.sweep(tmp_path / "out")) == []
        assert names(tmp_path) == {f"out.partial-{process.pid}", "scratch"}
    finally:
        kill(process)


def test_what_a_killed_run_left_in_scratch_is_removed_by_any_run_with_that_folder(
    tmp_path: Path, scratch: Path
) -> None:
    """Files of an engine next to its scratch folder remained for ever, the rest for long. Now any
    run with that folder removes them.
    """
    killed, living = (start(tmp_path / name, scratch) for name in ("out", "living"))
    try:
        kill(killed)
        (message,) = leftovers.sweep(tmp_path / "other", scratch)
        room_name = f"cuesta-scratch.partial-{killed.pid}"
        assert message == f"removed {room_name}, 1 MiB, which a run that was killed had left"
        assert names(scratch) == {f"cuesta-scratch.partial-{living.pid}"}
        assert len(list(leftovers.sweep(tmp_path / "out", scratch))) == 1
        assert names(tmp_path) == {f"living.partial-{living.pid}", "scratch"}
    finally:
        kill(living)


def test_a_child_that_outlives_its_parent_keeps_the_folder(tmp_path: Path) -> None:
    with AnswerFolder(tmp_path / "out", overwrite=False) as folder:
        child = os.fork()
        if not child:
            signal.pause()
            os._exit(0)
        try:
            os.close(folder._held.pop())
            assert list(leftovers.sweep(tmp_path / "out")) == []
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        assert len(list(leftovers.sweep(tmp_path / "out"))) == 1


def test_other_outputs_other_machines_and_what_has_no_lock_are_left_alone(
    tmp_path: Path, scratch: Path
) -> None:
    process = start(tmp_path / "out", scratch)
    kill(process)
    partial = tmp_path / f"out.partial-{process.pid}"
    assert list(leftovers.sweep(tmp_path / "ou")) == []
    assert list(leftovers.sweep(tmp_path / "out.partial")) == []
    lock = partial / "lock"
    facts = json.loads(lock.read_text())
    lock.write_text(json.dumps(facts | {"host": "elsewhere", "boot": "another"}))
    assert list(leftovers.sweep(tmp_path / "out")) == []
    lock.unlink()
    assert list(leftovers.sweep(tmp_path / "out")) == []
    assert partial.is_dir()
    room_folder = scratch / f"cuesta-scratch.partial-{process.pid}"
    (room_folder / "lock").write_text(json.dumps(facts | {"host": "elsewhere", "boot": "another"}))
    assert list(leftovers.sweep(tmp_path / "out", scratch)) == []
    (room_folder / "lock").unlink()
    room_folder.rename(scratch / "cuesta-scratch.partial-mine")
    assert list(leftovers.sweep(tmp_path / "out", scratch)) == []
    assert names(scratch) == {"cuesta-scratch.partial-mine"}


def test_a_machine_that_was_started_anew_has_no_run_of_before(
    tmp_path: Path, scratch: Path
) -> None:
    process = start(tmp_path / "out", scratch)
    kill(process)
    lock = tmp_path / f"out.partial-{process.pid}" / "lock"
    lock.write_text(json.dumps(json.loads(lock.read_text()) | {"boot": "before"}))
    assert len(list(leftovers.sweep(tmp_path / "out"))) == 1


def test_a_lock_file_cannot_have_another_folder_removed(tmp_path: Path, scratch: Path) -> None:
    process = start(tmp_path / "out", scratch)
    kill(process)
    precious = tmp_path / "thesis"
    precious.mkdir()
    lock = tmp_path / f"out.partial-{process.pid}" / "lock"
    lock.write_text(json.dumps(json.loads(lock.read_text()) | {"scratch": str(precious)}))
    assert len(list(leftovers.sweep(tmp_path / "out"))) == 1
    assert precious.is_dir()


def test_an_answer_that_was_about_to_be_replaced_gets_its_name_again(
    tmp_path: Path, scratch: Path
) -> None:
    process = start(tmp_path / "out", scratch)
    kill(process)
    answer(tmp_path / f"out.replaced-{process.pid}", {"pairs.txt": b"old"})
    messages = list(leftovers.sweep(tmp_path / "out"))
    assert len(messages) == 2
    assert (tmp_path / "out" / "pairs.txt").read_text() == "old"
    assert names(tmp_path) == {"out", "scratch"}


def test_a_run_after_a_killed_run_reports_what_it_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = tmp_path / "pairs.txt"
    words = "data make clusters --genes 300 --samples 50 --pairs 30000 --seed 3 -o"
    assert call([*words.split(), str(pairs)]) == 0
    out = str(tmp_path / "out")
    run = ["run", "degrees", str(pairs), "-o", out]
    command = [sys.executable, "-m", "cuesta", *run, "--repeat", "1000"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    assert any("run 4 of 1000" in line for line in process.stderr)
    kill(process)
    capsys.readouterr()
    assert call(run) == 0
    assert f"removed out.partial-{process.pid}, " in capsys.readouterr().err
    assert names(tmp_path) == {"out", "pairs.txt"}


def test_where_no_folder_is_nothing_is_removed(tmp_path: Path) -> None:
    assert list(leftovers.sweep(tmp_path / "nowhere" / "out")) == []


def test_machines_of_the_same_name_are_different_machines(tmp_path: Path, scratch: Path) -> None:
    """Nodes made from the same image may all be called `localhost`. The folder of a run on one of
    them was removed by the next run on any. Now machines are told apart by more than their name.
    """
    process = start(tmp_path / "out", scratch)
    kill(process)
    locks = [*tmp_path.glob("out.partial-*/lock"), *scratch.glob("*/lock")]
    for machine in ("0" * 32, "", None):
        for lock in locks:
            facts = json.loads(lock.read_text())
            assert facts["host"] == os.uname().nodename
            lock.write_text(json.dumps(facts | {"boot": "another", "machine": machine}))
        assert list(leftovers.sweep(tmp_path / "out", scratch)) == []
    assert names(tmp_path) == {f"out.partial-{process.pid}", "scratch"}
    assert names(scratch) == {f"cuesta-scratch.partial-{process.pid}"}


@needs_root
def test_living_runs_on_hosts_of_equal_name_are_left_alone(tmp_path: Path, scratch: Path) -> None:
    words = host_words("twin", [sys.executable, "-c", HOLDS, str(tmp_path / "out"), str(scratch)])
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    code = (
        "import sys; from pathlib import Path; from cuesta.lab import leftovers; "
        "print(*leftovers.sweep(Path(sys.argv[1]), Path(sys.argv[2])))"
    )
    sweeps = [sys.executable, "-c", code, str(tmp_path / "out"), str(scratch)]
    try:
        line = subprocess.check_output(host_words("twin", sweeps), text=True)
        assert line == "\n"
        assert names(scratch) == {f"cuesta-scratch.partial-{process.pid}"}
    finally:
        kill(process)
    line = subprocess.check_output(host_words("twin", sweeps), text=True)
    assert line.startswith(f"removed out.partial-{process.pid}, 4 MiB")
    assert names(tmp_path) == {"scratch"}


@pytest.mark.parametrize("lock", [None, "", "{}", "host", "link"])
def test_a_folder_that_only_looks_like_that_of_a_run_is_not_removed(
    tmp_path: Path, lock: str | None
) -> None:
    """A lock file with the name of this host was enough to have a folder removed. Now more of a
    run's marks are needed.
    """
    folder = tmp_path / "out.partial-123"
    folder.mkdir()
    (folder / "chapter-1.tex").write_text("all of it")
    text = json.dumps({"host": os.uname().nodename}) if lock in ("host", "link") else lock
    if lock == "link":
        (tmp_path / "facts").write_text(json.dumps(dict.fromkeys(FACTS, os.uname().nodename)))
        (folder / "lock").symlink_to(tmp_path / "facts")
    elif text is not None:
        (folder / "lock").write_text(text)
    before = listing(tmp_path)
    assert list(leftovers.sweep(tmp_path / "out")) == []
    assert listing(tmp_path) == before


def test_a_lock_file_cannot_have_the_scratch_of_another_run_removed(
    tmp_path: Path, scratch: Path
) -> None:
    killed, living = (start(tmp_path / name, scratch) for name in ("out", "living"))
    try:
        kill(killed)
        lock = tmp_path / f"out.partial-{killed.pid}" / "lock"
        other = scratch / f"cuesta-scratch.partial-{living.pid}"
        lock.write_text(json.dumps(json.loads(lock.read_text()) | {"scratch": str(other)}))
        before = listing(other)
        assert len(list(leftovers.sweep(tmp_path / "out"))) == 1
        assert listing(other) == before
    finally:
        kill(living)


def test_an_answer_that_was_replaced_is_swept_by_name_and_notes_in_it_stay(
    tmp_path: Path, scratch: Path
) -> None:
    process = start(tmp_path / "out", scratch)
    kill(process)
    answer(tmp_path / "out", {"pairs.txt": b"new"})
    old = answer(tmp_path / f"out.replaced-{process.pid}", {"pairs.txt": b"old"})
    (old / "notes.txt").write_text("read me")
    remains, _ = leftovers.sweep(tmp_path / "out")
    assert remains.startswith(f"{old} remains: {old}: notes.txt is not of the answer")
    assert names(old) == {"notes.txt", "pairs.txt", "run.json"}
    assert names(tmp_path) == {"out", "scratch", old.name}


@needs_root
def test_a_folder_of_another_account_is_not_swept(tmp_path: Path, scratch: Path) -> None:
    """In a shared folder root removed the folders of other accounts. Now a sweep skips them."""
    process = start(tmp_path / "out", scratch)
    kill(process)
    for folder in (tmp_path / f"out.partial-{process.pid}", *scratch.iterdir()):
        for place in (folder, folder / "lock"):
            os.chown(place, STRANGER_UID, STRANGER_UID)
    before = listing(tmp_path)
    assert list(leftovers.sweep(tmp_path / "out", scratch)) == []
    assert listing(tmp_path) == before


def test_a_file_of_a_user_in_a_leftover_remains(tmp_path: Path, scratch: Path) -> None:
    process = start(tmp_path / "out", scratch)
    kill(process)
    partial = tmp_path / f"out.partial-{process.pid}"
    (partial / "rescued.txt").write_text("mine")
    (message,) = leftovers.sweep(tmp_path / "out")
    assert message == f"{partial} remains: {partial / 'rescued.txt'} is not of a run; move it away"
    (partial / "rescued.txt").rename(tmp_path / "rescued.txt")
    (message,) = leftovers.sweep(tmp_path / "out")
    assert message.startswith("removed")
    assert names(tmp_path) == {"scratch", "rescued.txt"}


def test_the_lock_of_a_leftover_is_removed_last(tmp_path: Path, scratch: Path) -> None:
    """A sweep that ended midway had removed the lock, so no later sweep knew the rest.

    Now the lock is removed last.
    """
    process = start(tmp_path / "out", scratch)
    kill(process)
    partial = tmp_path / f"out.partial-{process.pid}"
    place = partial / "answer" / "mounted"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "none", place], check=False, capture_output=True)
    if done.returncode != 0:
        pytest.skip("needs the right to mount")
    try:
        (message,) = leftovers.sweep(tmp_path / "out")
        assert f"{partial} remains: {place}" in message
        assert (partial / leftovers.LOCK_NAME).exists()
    finally:
        subprocess.run(["umount", place], check=True)
    (message,) = leftovers.sweep(tmp_path / "out")
    assert message.startswith("removed")
    assert not partial.exists()


def test_other_users_can_enter_no_temporary_folder(tmp_path: Path, scratch: Path) -> None:
    process = start(tmp_path / "out", scratch)
    kill(process)
    partial_folders = [tmp_path / f"out.partial-{process.pid}"]
    partial_folders.append(scratch / f"cuesta-scratch.partial-{process.pid}")
    assert [folder.stat().st_mode & 0o777 for folder in partial_folders] == [0o700] * 2
    assert [(folder / "lock").stat().st_mode & 0o777 for folder in partial_folders] == [0o600] * 2


def test_what_cannot_be_removed_keeps_its_lock_and_the_next_run_removes_it(tmp_path: Path) -> None:
    """Without a file to open, a failing run removed its lock file and nothing else, and no later
    run removed the rest.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with AnswerFolder(tmp_path / "out", overwrite=False) as folder:
        (folder.answer / "half").write_bytes(bytes(1 << 10))
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    partial = tmp_path / f"out.partial-{os.getpid()}"
    assert names(partial) == {"lock", "answer"}
    assert len(list(leftovers.sweep(tmp_path / "out"))) == 1
    assert names(tmp_path) == set()


def test_a_command_that_may_open_too_few_files_is_refused_by_the_name_of_the_limit(
    tmp_path: Path,
) -> None:
    (tmp_path / "pairs.txt").touch()
    words = f"exec {sys.executable} -m cuesta run scan pairs.txt -o u"
    done = subprocess.run(
        ["bash", "-c", f"ulimit -n 12; {words}"],
        check=False, capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "`ulimit -n 1024`" in done.stderr
    assert names(tmp_path) == {"pairs.txt"}
