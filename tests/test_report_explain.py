"""A text of a run that fits a screen: honest, short, and safe to print."""

from __future__ import annotations

from pathlib import Path

import pytest

import reportkit as kit
from cuesta.cli.app import call
from cuesta_lab.report.explain import explain


def test_explain_fits_a_single_screen_and_names_what_bounds_the_run(tmp_path: Path) -> None:
    text = explain(kit.write_run(tmp_path / "a", kit.native()))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert len(text.splitlines()) <= 30
    words = " ".join(text.split())
    assert "native ran scan over 1.00 GiB with 2 threads in 173 ms" in words
    assert (
        "The command took 638 ms as typed: 173 ms work, 310 ms verification, 12.0 ms waiting for "
        "the disk and 143 ms everything else."
    ) in words
    assert "0.82 of the 7.36 GiB/s measured as file read warm" in words
    assert "A better program would gain at most 1.2" in words
    assert "the run would take 142 ms instead of 173 ms" in words


def test_explain_distinguishes_a_session_from_the_work(tmp_path: Path) -> None:
    words = " ".join(explain(kit.write_run(tmp_path / "a", kit.spark())).split())
    assert "took 6.88 s as typed: 4.09 s start, 2.33 s work, 310 ms verification," in words
    assert "64 % of a run from nothing is start: a session that stays up" in words
    assert "is not what bounds the scan of spark" in words


def test_a_negligible_part_of_a_command_is_not_listed(tmp_path: Path) -> None:
    record = kit.spark()
    record["time"]["disk_seconds"] = 29.6e-6
    words = " ".join(explain(kit.write_run(tmp_path / "a", record)).split())
    assert "310 ms verification and 143 ms everything else." in words


def test_explain_lists_what_it_does_not_know(tmp_path: Path) -> None:
    bare = kit.native(1, ceilings=None)
    bare["phases"] = [{"name": "scan", "seconds": 0.2}]
    words = " ".join(explain(kit.write_run(tmp_path / "a", bare)).split())
    assert "which has no measured ceiling" in words
    assert "`cuesta doctor --ceilings`" in words


def test_explain_lets_no_control_character_reach_the_terminal(tmp_path: Path) -> None:
    record = kit.native() | {"engine": "na\x1b[31mtive\r\n"}
    record["phases"][0]["name"] = "sc\x07an"
    record["inputs"][0]["path"] = "a\x1b]0;b\x07.txt"
    text = explain(kit.write_run(tmp_path / "a", record))
    assert not {letter for letter in text if not letter.isprintable()} - {"\n"}


def test_explain_needs_a_single_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = kit.write_comparison(tmp_path / "a", [kit.native(), kit.spark()])
    assert call(["explain", str(folder)]) == 2
    assert "holds 2 runs; explain takes one of" in capsys.readouterr().err
    assert call(["explain", str(folder / "spark")]) == 0
    assert "spark ran scan" in capsys.readouterr().out
