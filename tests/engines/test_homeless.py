"""Accounts without a name, without a home, and with a read-only home."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cuesta import machine
from cuesta.cluster import yarn
from cuesta.errors import InputError

UNNAMED = 54321
HOMES: dict[str, dict[str, str]] = {"none": {}, "root": {"HOME": "/"}, "absent": {"HOME": "/nope"}}
COMMANDS = ("doctor", "data list", "run", "explain a", "report a -o b.html", "store status")
WITHOUT_NAME = """
import os, pwd, sys
def unknown(_key):
    raise KeyError("no such account")
pwd.getpwuid = pwd.getpwnam = unknown
sys.argv = ["cuesta", *sys.argv[1:]]
from cuesta.cli import main
main()
"""


def cuesta(words: str, home: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as an account without an entry in the account database."""
    names = ("HOME", "USER", "LOGNAME", "XDG_CACHE_HOME")
    variables = {name: value for name, value in os.environ.items() if name not in names}
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_NAME, *words.split()],
        env=variables | HOMES[home],
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("home", HOMES)
def test_a_run_needs_neither_name_nor_home(home: str, tmp_path: Path) -> None:
    """A container with `--user 54321` and without `HOME` ended in an internal error. Now a run
    needs neither.
    """
    done = cuesta("run dataflow --blocks 2 --block-vectors 10 -o a", home, tmp_path)
    assert done.returncode == 0, done.stderr
    assert cuesta("verify a", home, tmp_path).returncode == 0


@pytest.mark.parametrize("words", COMMANDS)
def test_no_command_takes_a_missing_home_for_a_defect(words: str, tmp_path: Path) -> None:
    done = cuesta(words, "none", tmp_path)
    assert done.returncode in (0, 2, 3), done.stderr
    assert "internal error" not in done.stderr


def test_a_tilde_without_a_home_is_refused() -> None:
    with pytest.raises(InputError, match=r"~no-such-account/x: there is no such home"):
        machine.expanded("~no-such-account/x")


def test_yarn_gets_a_number_for_an_account_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise KeyError(UNNAMED)

    monkeypatch.setattr("getpass.getuser", unknown)
    assert yarn._account() == str(os.geteuid())
