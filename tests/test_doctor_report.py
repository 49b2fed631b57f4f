"""`cuesta doctor` ends with a command; `--report` has no names and no paths of the user."""

from __future__ import annotations

import platform
import shlex
import shutil
import socket
from pathlib import Path

import pytest

from cuesta.cli import doctor
from cuesta.cli.app import call
from cuesta.cli.doctor_checks import ABSENT, BROKEN, OK, Check
from cuesta.cli.doctor_report import Hider, issue_text

SECRETS = ("zoë", "quux", "kestrel", "rabbit", "moonbase", "/home", "/tmp", "/work", "/scratch")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, an account, a machine and tools whose names and versions tell who the user is."""
    home = tmp_path / "Zoë Quux (rabbit), the lab's"
    programs = home / "bin of kestrel"
    programs.mkdir(parents=True)
    java = programs / "java"
    java.write_text('#!/bin/sh\ncat "$0.txt"\n')
    (programs / "java.txt").write_text(f'openjdk version "21" by Zoë.QUUX at {home}/jdk|x\n')
    java.chmod(0o755)
    for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("CUESTA_CONFIG")
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("USER", "zoë")
    monkeypatch.setenv("LOGNAME", "zoë.quux")
    monkeypatch.setenv("CUESTA_DATA", f"{home}/moonbase")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "settings"))
    monkeypatch.setattr(socket, "gethostname", lambda: "kestrel.moonbase.example")
    monkeypatch.setattr(platform, "node", lambda: "kestrel")
    monkeypatch.setattr(platform, "release", lambda: "6.1.0-kestrel+quux")
    settings = home / "settings" / "cuesta" / "cuesta.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[run]\nscratch = "{home}"\n[engine.spark]\n"quux.key" = "rabbit"\n')
    monkeypatch.chdir(home)
    return home


def test_a_report_has_no_names_and_no_paths(
    hostile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["doctor", "--report"]) == 0
    text = capsys.readouterr().out
    found = [secret for secret in SECRETS if secret in text.lower()]
    assert found == [], text
    assert "openjdk version" in text
    assert "run.scratch (user)" in text
    assert "CUESTA_DATA" in text
    assert "| memory | ok | " in text


@pytest.mark.parametrize(
    "text",
    [
        "{home}/a b/c", "file={home}", "'{home}/x'", "({home})", "ZOË on KESTREL",
        "zoë.quux@kestrel",
        "/scratch/zoë/run", "~zoë/run", "C=/scratch/kestrel", "x:/scratch/rabbit:/scratch/moonbase",
    ],
)  # fmt: skip
def test_names_and_paths_are_replaced_in_any_text(text: str, hostile: Path) -> None:
    hidden = Hider()(text.format(home=hostile))
    assert not any(secret in hidden.lower() for secret in SECRETS), hidden


def test_ordinary_text_remains(hostile: Path) -> None:
    del hostile
    for text in ("16 GiB, 12.1 GiB available", "5.3 GiB free on ext4", "pyspark 4.3.0"):
        assert Hider()(text) == text


def test_a_report_of_a_broken_machine_has_the_reason_without_its_path(hostile: Path) -> None:
    reason = f"{hostile}/x.so: undefined symbol | build it\nagain"
    check = Check(name="native module", state=BROKEN, found="", remedy=reason)
    (row,) = [line for line in issue_text([check]).splitlines() if "native module" in line]
    assert (
        row
        == r"| native module | broken | &lt;path>&lt;path>: undefined symbol \| build it?again |"
    )


def test_settings_that_are_wrong_do_not_stop_a_report(hostile: Path) -> None:
    (hostile / "settings" / "cuesta" / "cuesta.toml").write_text("[")
    assert "a file that is wrong" in issue_text([])


def test_the_last_line_is_the_next_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = Check(name="ceilings", state=OK, found="measured")
    monkeypatch.setattr(doctor, "all_checks", lambda: iter([ready]))
    assert call(["doctor"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("next: cuesta ")


@pytest.mark.parametrize("with_slurm", [False, True])
def test_each_next_command_can_be_typed(
    with_slurm: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    absent = Check(name="ceilings", state=ABSENT, found="", remedy="measure")
    broken = Check(name="native module", state=BROKEN, found="", remedy="build it")
    assert doctor.next_command([absent]) == "cuesta doctor --ceilings"
    assert doctor.next_command([absent, broken]) == "build it"
    monkeypatch.setattr(shutil, "which", lambda _: "/sbatch" if with_slurm else None)
    monkeypatch.chdir(tmp_path)
    program, *words = shlex.split(doctor.next_command([]))
    assert program == "cuesta"
    assert call(words) == 0


def test_variables_are_named_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/secret/place")
    text = issue_text([])
    assert "PYTHONPATH" in text
    assert "secret" not in text
