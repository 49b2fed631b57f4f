"""Plain lines about a long stage: seldom, with rate and time to go."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from cuesta.cli.progress import PlainObserver, make_observer

MIB = 1 << 20


def test_a_long_stage_says_every_ten_seconds_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    shown = io.StringIO()
    observer = make_observer(Console(file=shown))
    assert isinstance(observer, PlainObserver)
    observer.stage("running")
    for second in range(1, 26):
        now[0] = 100.0 + second
        observer.progress(second * MIB, 50 * MIB)
    assert shown.getvalue().splitlines() == [
        "running",
        "running: 20 % of 50 MiB, 1 MiB/s, 40 s to go",
        "running: 40 % of 50 MiB, 1 MiB/s, 30 s to go",
    ]


def test_nothing_is_said_about_an_unknown_total(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", iter(range(0, 1000, 20)).__next__)
    shown = io.StringIO()
    observer = PlainObserver(Console(file=shown))
    observer.progress(5, 0)
    observer.progress(0, 5)
    assert shown.getvalue() == ""
