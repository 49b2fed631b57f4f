"""Verification of the answer files of any engine by another method on the same input."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from cuesta.lab.fingerprint import Fingerprint, watching
from cuesta.native import from_response, native_module, to_request
from cuesta.trial import Trial
from cuesta.workloads import derived, get_workload

FULL, SAMPLE, NONE = LEVELS = ("full", "sample", "none")
"""Levels of verification against the input: the full answer; all properties of the answer alone
and a part of the rest, chosen at random; nothing."""

Progress = Callable[[int, int], None]
"""Callback with the done and the total amount, in bytes or rows; a total of 0 is unknown."""


@dataclass(frozen=True, kw_only=True)
class Verification:
    """Result of a verification.

    Attributes
    ----------
    verified
        Whether the answer is right; None if it was not verified.
    digest, expected
        Digest of the answer files, and by the other method; None if not verified.
    method
        The other method, in one sentence.
    counts
        Counts of the answer files.
    files
        Files and folders of the answer that were read; empty if the verifier names none.
    remark
        Fault of the answer beyond its digest; empty if there is none.
    inputs
        Fingerprints of the bytes read of each input; empty for a partial verification.
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
        """Description of the fault."""
        if self.digest == self.expected and self.remark:
            return self.remark
        return f"its digest is {self.digest}, {self.method} gives {self.expected}"

    def requiring(self, holds: bool, remark: str) -> Verification:
        """Mark the answer as wrong, with `remark`, unless a property `holds`."""
        if holds or self.verified is not True:
            return self
        return replace(self, verified=False, remark=remark)


UNVERIFIED = Verification(
    verified=None, digest=None, expected=None, method="", seconds=0.0, counts={}, level=NONE
)


class Verifier(Protocol):
    """Verifies an answer."""

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

    Arguments: `level` is `full` or `sample`. Errors: `InputError` if the files or the inputs
    cannot be read.
    """
    started = time.perf_counter()
    workload = get_workload(trial.workload)
    readable, _ = workload.readable(trial, scratch)
    request = to_request(readable, answer, scratch, verify=level)
    with watching(trial.inputs, workload.parts(trial, readable)) as watched:
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


def with_derived(
    verification: Verification, trial: Trial, answer: Path, sample: str
) -> Verification:
    """Compare the derived files of a verified answer with its other files.

    Arguments: `sample` is the name in them, which nothing proves.
    """
    if verification.verified is not True:
        return verification
    names = derived.names(trial.workload, answer)
    files = (*verification.files, *names) if verification.files else ()
    fault = derived.fault(trial.workload, answer, sample)
    return replace(verification, files=files).requiring(not fault, fault)


def strictly(
    verification: Verification, names: Iterable[str], reported: Iterable[Mapping[str, int]]
) -> Verification:
    """Mark the answer as wrong also for an unread file or a differing count.

    Arguments: `names` are the entries of the answer folder, `reported` are counts of the answer by
    the engine.
    """
    result = verification
    if result.files:
        for name in names:
            result = result.requiring(
                name in result.files, f"{name} is no file of it: nothing says what it should be"
            )
    for counts in reported:
        for name, count in counts.items():
            known = result.counts.get(name, count)
            words = name.replace("_", " ")
            result = result.requiring(
                known == count, f"{words} was said to be {count:,}, its files have {known:,}"
            )
    return result
