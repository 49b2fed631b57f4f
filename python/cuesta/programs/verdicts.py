"""Verdicts about a program at one size of the input, from its runs and its answers."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cuesta.numerals import shortened
from cuesta.programs.tree import MEMORY, TIME, Ended
from cuesta.units import format_bytes, format_seconds
from cuesta.untrusted import single_line

REFERENCE, EQUAL = "reference", "equal"
DIFFERENT, UNSTABLE = "different", "unstable"
FAILED, TIMED_OUT, OUT_OF_MEMORY = "failed", "timed out", "out of memory"
NOT_STARTED, UNREADABLE, PENDING = "not started", "not comparable", "pending"

TIMED = frozenset((REFERENCE, EQUAL))
"""Verdicts of programs whose times count."""
WRONG = frozenset((DIFFERENT, UNSTABLE))
"""Verdicts of programs whose answer differs."""
NAMED_MAX = 5


@dataclass(kw_only=True)
class Case:
    """A program at one size of the input.

    Attributes
    ----------
    verdict
        One of the constants of this module.
    sentence
        The reason of the verdict, empty for an equal answer.
    summary
        Fields of the `Summary` of its first answer, if that could be read.
    difference
        Fields of the `Difference` from the reference.
    remarks
        Observations that do not change the verdict.
    words
        The words that were run, and the relative ones that were resolved.
    """

    name: str
    size: str
    verdict: str = PENDING
    sentence: str = ""
    runs: list[Ended] = field(default_factory=list)
    digests: list[str | None] = field(default_factory=list)
    summary: Mapping[str, Any] | None = None
    difference: Mapping[str, Any] | None = None
    remarks: dict[str, None] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    resolved: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether the program runs again."""
        return self.verdict == PENDING or self.verdict in TIMED

    def judge(self, verdict: str, sentence: str = "") -> None:
        """Set the verdict."""
        self.verdict, self.sentence = verdict, single_line(sentence)


def judge_end(case: Case, ended: Ended, time_limit_seconds: float, memory_bytes: int) -> bool:
    """Judge how a run ended; return whether there may be an answer."""
    if ended.exit_code is None:
        case.judge(NOT_STARTED, f"it could not be started: {ended.reason}")
    elif ended.reason == TIME:
        case.judge(
            TIMED_OUT,
            f"it ran for more than {format_seconds(time_limit_seconds)} (--time-limit) and was "
            f"ended{_last_line(ended)}",
        )
    elif ended.reason == MEMORY:
        case.judge(
            OUT_OF_MEMORY,
            f"it needed more than {format_bytes(memory_bytes)} of memory (--memory) and was ended",
        )
    elif ended.exit_code:
        code = ended.exit_code
        how = f"exit code {code}" if code > 0 else f"signal {_signal_name(-code)}"
        case.judge(FAILED, f"it failed with {how}{_last_line(ended)}")
    else:
        return True
    return False


def remark(case: Case, ended: Ended) -> None:
    """Add what a run did besides its answer."""
    if ended.leftovers:
        names = _listed(ended.leftovers)
        case.remarks[f"it left processes running ({names}), which were ended"] = None
    if ended.written:
        case.remarks[f"it wrote outside of its folder: {_listed(ended.written)}"] = None
    for stream, name in ((ended.stdout, "standard output"), (ended.stderr, "standard error")):
        if stream and stream.is_cut:
            case.remarks[
                f"it printed {format_bytes(stream.bytes)} on {name}, of which the file has the "
                "first part only"
            ] = None


def _last_line(ended: Ended) -> str:
    """The last line that a program printed, on standard error if there is one."""
    for stream in (ended.stderr, ended.stdout):
        lines = [line for line in (stream.tail if stream else "").splitlines() if line.strip()]
        if lines:
            text = lines[-1].strip()
            return f"; its last line is: {text if len(text) <= 200 else text[:200] + '…'}"
    return "; it printed nothing"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _listed(names: Sequence[str]) -> str:
    return shortened([single_line(name) for name in names], NAMED_MAX)
