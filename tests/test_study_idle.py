"""Between studies of one command, the load of the one before is waited for."""

from __future__ import annotations

import os
from collections.abc import Iterator

from cuesta_lab.study import idle
from test_study_run import Notes


def waited(loads: Iterator[float]) -> tuple[bool, float, list[str]]:
    """Return whether the machine got idle, the seconds of waiting, and the notes."""
    observer, slept = Notes(), list[float]()
    is_idle = idle.wait(observer, load=lambda: next(loads), sleep=slept.append)
    return is_idle, sum(slept), observer.said


def test_an_idle_machine_is_not_waited_for() -> None:
    assert waited(iter([0.1])) == (True, 0.0, [])


def test_a_load_that_falls_is_waited_for() -> None:
    cores = float(os.cpu_count() or 1)
    high = [1.5 * cores] * 10
    is_idle, seconds, notes = waited(iter([*high, cores]))
    assert is_idle
    assert seconds == idle.STEP_S * 9
    assert len(notes) == 1


def test_a_load_of_other_programs_is_not_waited_for_without_end() -> None:
    busy = iter(lambda: 2.0 * (os.cpu_count() or 1), None)
    is_idle, seconds, notes = waited(busy)
    assert not is_idle
    assert seconds == idle.LONGEST_S
    assert "other programs" in notes[-1]
