"""Holds the answer files of any engine against another method on the same input."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cuesta.lab.points import with_arrays
from cuesta.lab.request import from_response, native_module, to_request
from cuesta.lab.trial import Trial


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What came of it: digest of the answer files, digest by another method, and which method.

    `remark` says what is wrong with the answer beyond its digest; it is empty where nothing is.
    """

    verified: bool
    digest: str
    expected: str
    method: str
    seconds: float
    counts: Mapping[str, int]
    remark: str = ""

    @property
    def fault(self) -> str:
        """What is wrong, in words."""
        if self.digest == self.expected and self.remark:
            return self.remark
        return f"its digest is {self.digest}, {self.method} gives {self.expected}"


def verify(trial: Trial, answer: Path, scratch: Path) -> Verification:
    """Verify the answer files in `answer`; the engine that wrote them does not matter.

    Errors: `InputError` when the files or the inputs cannot be read.
    """
    started = time.perf_counter()
    trial, _ = with_arrays(trial, scratch)
    text = native_module().verify(trial.workload, to_request(trial, answer, scratch))
    response = from_response(text)
    return Verification(
        verified=response["verified"],
        digest=response["digest"],
        remark=response.get("remark") or "",
        expected=response["expected"],
        method=response["method"],
        seconds=time.perf_counter() - started,
        counts=response["counts"],
    )
