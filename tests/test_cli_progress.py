"""Plain lines on a long stage: rare, with rate and remaining time."""

from __future__ import annotations

import time

import pytest

from cuesta.api.console import Console
from cuesta.api.progress import Pace, PlainObserver, make_observer

MIB = 1 << 20


def test_a_long_stage_reports_progress_each_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    observer = make_observer(Console(stderr=True))
    assert isinstance(observer, PlainObserver)
    observer.stage("running")
    for second in range(1, 26):
        now[0] = 100.0 + second
        observer.progress(second * MIB, 50 * MIB)
    assert capsys.readouterr().err.splitlines() == [
        "running",
        "running: 20 % of 50 MiB, 1 MiB/s, 40 s to go",
        "running: 40 % of 50 MiB, 1 MiB/s, 30 s to go",
    ]


def test_notes_with_names_of_files_have_neither_line_breaks_nor_colours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file called by a line break and a colour wrote a line of its own, in red. Notes and
    stages have question marks there, on terminals too.
    """
    name = "\x1b[31mred\nwarning: x.tsv"
    for is_terminal in (False, True):
        console = Console(stderr=True)
        monkeypatch.setattr(Console, "is_terminal", is_terminal)
        observer = make_observer(console)
        observer.note(f"{name}: 2 genes")
        observer.stage(f"reading {name}")
        observer.close()
        text = capsys.readouterr().err
        assert "?red?warning: x.tsv: 2 genes" in text
        assert "\x1b[31m" not in text
        assert "\nwarning" not in text


def test_no_percentage_is_printed_for_an_unknown_total(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(time, "monotonic", iter(range(0, 1000, 20)).__next__)
    observer = PlainObserver(Console(stderr=True))
    observer.progress(5, 0)
    observer.progress(0, 5)
    assert capsys.readouterr().err == ""


def test_the_start_of_an_engine_is_in_no_rate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An engine took 60 s to start, and its first task ended after 61 s: a rate from these was
    wrong. Now the start of an engine is in no rate.
    """
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    observer = PlainObserver(Console(stderr=True))
    observer.stage("running")
    for second in range(0, 60, 5):
        now[0] = float(second)
        observer.progress(0, 50 * MIB)
    for second in (61, 62, 71):
        now[0] = float(second)
        observer.progress((second - 60) * MIB, 50 * MIB)
    assert capsys.readouterr().err.splitlines() == [
        "running",
        "running: 4 % of 50 MiB, 1 MiB/s, 48 s to go",
    ]


def test_each_part_of_the_work_has_its_rate() -> None:
    pace = Pace()
    assert pace.rate(0.0, 0, 100) is None
    assert pace.rate(5.0, 10, 100) is None
    assert pace.rate(6.0, 30, 100) == 20
    assert pace.rate(106.0, 5, 100) is None
    assert pace.rate(107.0, 6, 100) == 1
    assert pace.rate(108.0, 9, 200) is None
