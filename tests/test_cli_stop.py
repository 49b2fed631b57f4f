"""A stopped run leaves nothing that looks like an answer."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cuesta.cli.app import call
from cuesta.engines import get_engine
from labkit import names
from waitkit import HANG_SECONDS, wait_for

COMMAND = [sys.executable, "-m", "cuesta"]


INTERRUPTED_IMPORT = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == "cuesta.cli.app":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
import cuesta.cli
"""


def test_ctrl_c_during_the_imports_leaves_no_traceback() -> None:
    """In its first tenths of a second a command ended in a traceback out of an import."""
    words = [sys.executable, "-c", INTERRUPTED_IMPORT]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def start(words: list[str], mark: str) -> subprocess.Popen[str]:
    """Start a command; return it once it has printed `mark` on stderr."""
    process = subprocess.Popen([*COMMAND, *words], stderr=subprocess.PIPE, text=True)
    assert process.stderr
    for line in process.stderr:
        if mark in line:
            return process
    raise AssertionError(f"it ended with {process.wait()} before {mark!r}")


def stop(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    """Return exit code and last line of a process after a signal, sent before its work is done."""
    process.send_signal(number)
    _, text = process.communicate(timeout=HANG_SECONDS)
    return process.returncode, text.splitlines()[-1] if text else ""


ENDINGS = {
    signal.SIGINT: (130, "cuesta: interrupted"),
    signal.SIGTERM: (143, "cuesta: ended by SIGTERM"),
}


@pytest.mark.parametrize("command", ["run", "compare"])
@pytest.mark.parametrize("number", ENDINGS)
def test_a_stopped_run_leaves_nothing(
    command: str, number: signal.Signals, large: Path, tmp_path: Path
) -> None:
    engines = ["--engines", "native"] if command == "compare" else []
    words = [command, "degrees", str(large), "--repeat", "1000", *engines]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = start(
        [*words, "--scratch", str(scratch), "-o", str(tmp_path / "out")], "run 4 of 1000"
    )
    assert names(tmp_path) == {"scratch", f"out.partial-{process.pid}"}
    assert stop(process, number) == ENDINGS[number]
    assert names(tmp_path) == {"scratch"}
    assert names(scratch) == set()


@pytest.mark.parametrize("level", ["full", "sample"])
def test_a_run_that_is_stopped_while_it_is_verified_leaves_nothing(
    level: str, tmp_path: Path
) -> None:
    words = ["run", "dataflow", "--blocks", "3000", "--block-vectors", "100000", "--threads", "1"]
    process = start([*words, "--verify", level, "-o", str(tmp_path / "out")], "verifying")
    assert stop(process, signal.SIGINT) == (130, "cuesta: interrupted")
    assert names(tmp_path) == set()


def test_a_killed_run_leaves_only_a_name_with_partial(large: Path, tmp_path: Path) -> None:
    words = ["run", "degrees", str(large), "--repeat", "1000", "-o", str(tmp_path / "out")]
    process = start(words, "run 4 of 1000")
    process.kill()
    process.communicate()
    (left,) = names(tmp_path)
    assert left == f"out.partial-{process.pid}"
    assert not list((tmp_path / left).rglob("run.json"))


@pytest.mark.parametrize(("command", "rank_count"), [("run", 1), ("run", 3), ("compare", 3)])
def test_what_a_killed_command_has_started_ends_with_it(
    command: str, rank_count: int, tmp_path: Path
) -> None:
    """Ranks print nothing while they compute, so a broken pipe would not stop them. The first of
    three processes is the launcher, which may have only begun.
    """
    if reason := get_engine("mpi").missing():
        pytest.skip(reason)
    which = ["--engines", "mpi"] if command == "compare" else ["--engine", "mpi"]
    words = [command, "dataflow", "--blocks", "20000", "--block-vectors", "1048576", *which]
    process = start([*words, "-o", str(tmp_path / "out")], "running" if command == "run" else "mpi")
    wait_for(lambda: len(ranks_of(tmp_path)) >= rank_count)
    process.kill()
    process.communicate()
    wait_for(lambda: not ranks_of(tmp_path))


def ranks_of(folder: Path) -> list[int]:
    """Return the launcher and the live ranks whose files are in a folder."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes()
            if b"cuesta.engines.mpi.rank" in words and os.fsencode(folder) in words:
                pids.append(int(path.parent.name))
    return pids


def test_a_stopped_replacement_keeps_the_old_answer(large: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["run", "scan", str(large), "--min-abs-score", "0.9", "-o", str(out)]
    assert call(words) == 0
    before = (out / "run.json").read_text()
    process = start([*words, "--overwrite", "--repeat", "1000"], "run 4 of 1000")
    assert stop(process, signal.SIGINT)[0] == 130
    assert names(tmp_path) == {"out"}
    assert (out / "run.json").read_text() == before


@pytest.mark.parametrize("colour", [True, False])
def test_on_a_terminal_a_line_moves_and_no_color_is_respected(
    colour: bool, large: Path, tmp_path: Path
) -> None:
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    environment |= {} if colour else {"NO_COLOR": "1"}
    words = ["run", "degrees", str(large), "--repeat", "20", "-o", str(tmp_path / "out")]
    text = on_terminal(words, environment)
    assert "run 20 of 20" in text
    assert "degrees on native: verified" in re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-9]m", text)) == colour


def on_terminal(words: list[str], environment: dict[str, str]) -> str:
    """Return all output of a command on a terminal; it must succeed."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *words], stdout=follower, stderr=follower, stdin=follower, env=environment
    )
    os.close(follower)
    screen = b""
    while process.poll() is None or select.select([leader], [], [], 0)[0]:
        if select.select([leader], [], [], 0.1)[0]:
            try:
                screen += os.read(leader, 1 << 16)
            except OSError:
                break
    os.close(leader)
    assert process.wait() == 0, screen
    return screen.decode()
