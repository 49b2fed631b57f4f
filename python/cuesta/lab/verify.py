"""Holds the answer files of any engine against another method on the same input."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from cuesta.lab.fingerprint import Fingerprint, watching
from cuesta.native import from_response, native_module, to_request
from cuesta.trial import Trial
from cuesta.workloads import get_workload

FULL, SAMPLE, NONE = LEVELS = ("full", "sample", "none")
"""How much of an answer is held against its input: all; all that can be seen in the answer alone
and a part of the rest, chosen at random; nothing."""

Progress = Callable[[int, int], None]
"""Called with what is done and what there is to do, in bytes or rows; 0 is not known."""


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What came of it.

    Attributes
    ----------
    verified
        None where nobody looked.
    digest, expected
        Of the answer files, and by another method; None where nobody looked.
    method
        The other method, in one sentence.
    counts
        Of the answer files.
    files
        Files and folders of the answer that were looked at; empty where the verifier names none.
    remark
        What is wrong with the answer beyond its digest; empty where nothing is.
    inputs
        Fingerprints of what was read of each input; empty where not all was to be read.
    """

    verified: bool | None
    digest: str | None
    expected: str | None
    method: str
    seconds: float
    counts: Mapping[str, int]
    level: str = FULL
    files: tuple[str, ...] = ()
    remark: str = ""
    inputs: tuple[Fingerprint, ...] = ()

    @property
    def fault(self) -> str:
        """What is wrong, in words."""
        if self.digest == self.expected and self.remark:
            return self.remark
        return f"its digest is {self.digest}, {self.method} gives {self.expected}"

    def requiring(self, holds: bool, remark: str) -> Verification:
        """The same, but wrong where a property of the answer does not hold."""
        if holds or self.verified is not True:
            return self
        return replace(self, verified=False, remark=remark)


UNVERIFIED = Verification(
    verified=None, digest=None, expected=None, method="", seconds=0.0, counts={}, level=NONE
)


class Verifier(Protocol):
    """Judges an answer."""

    def __call__(
        self,
        trial: Trial,
        answer: Path,
        scratch: Path,
        *,
        level: str = FULL,
        progress: Progress | None = None,
    ) -> Verification:
        """Verify the files in `answer`; `progress` receives how far it is."""
        ...


def verify(
    trial: Trial,
    answer: Path,
    scratch: Path,
    *,
    level: str = FULL,
    progress: Progress | None = None,
) -> Verification:
    """Verify the answer files in `answer`; the engine that wrote them does not matter.

    Arguments: `level` is `full` or `sample`. Errors: `InputError` when the files or the inputs
    cannot be read.
    """
    started = time.perf_counter()
    readable, _ = get_workload(trial.workload).readable(trial, scratch)
    request = to_request(readable, answer, scratch, verify=level)
    with watching(trial.inputs, readable.inputs) as watched:
        response = from_response(native_module().verify(trial.workload, request, progress))
    return Verification(
        verified=response["verified"],
        digest=response["digest"],
        remark=response.get("remark") or "",
        expected=response["expected"],
        method=response["method"],
        seconds=time.perf_counter() - started,
        counts=response["counts"],
        files=tuple(response["files"]),
        level=level,
        inputs=watched.fingerprints if level == FULL else (),
    )


def strictly(
    verification: Verification, names: Iterable[str], told: Iterable[Mapping[str, int]]
) -> Verification:
    """The verification, wrong also for a file that was not looked at or a count that differs.

    Arguments: `names` of what is in the answer folder, and counts that were `told` of the answer.
    """
    found = verification
    if found.files:
        for name in names:
            found = found.requiring(
                name in found.files, f"{name} is no file of it: nothing says what it should be"
            )
    for counts in told:
        for name, count in counts.items():
            known = found.counts.get(name, count)
            words = name.replace("_", " ")
            found = found.requiring(
                known == count, f"{words} was said to be {count:,}, its files have {known:,}"
            )
    return found
