"""Cases: trials whose answers are known, and the digest of the answer of an engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuesta.engines import Engine
from cuesta.native import from_response, native_module, to_request
from cuesta.trial import Trial
from cuesta.workloads import get_workload

MEMORY_BYTES = 2 << 30
_SPEC = Path(__file__).resolve().parent.parent / "spec"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A trial; `digest` of its answer where that is known."""

    workload: str
    name: str
    inputs: tuple[str, ...]
    parameters: Mapping[str, Any]
    seed: int = 0
    digest: str = ""
    native_only: bool = False

    def trial(self, engine: str, **options: str) -> Trial:
        """Return the trial of the case for an engine on two threads."""
        return Trial(
            workload=self.workload,
            engine=engine,
            inputs=self.inputs,
            parameters=get_workload(self.workload).check(dict(self.parameters)),
            threads=2,
            memory_bytes=MEMORY_BYTES,
            seed=self.seed,
            engine_options=options,
        )


def golden_cases() -> list[Case]:
    """Return the cases of `spec/workloads`, which are part of the package."""
    return [_case(path) for path in sorted(_SPEC.glob("workloads/*/cases/*.json"))]


def _case(path: Path) -> Case:
    fields = json.loads(path.read_text())
    return Case(
        workload=path.parent.parent.name,
        name=path.stem,
        inputs=tuple(str(_SPEC / "cases" / name) for name in fields["inputs"]),
        parameters=fields["parameters"],
        seed=fields["seed"],
        digest=fields["digest"],
        native_only=fields.get("native_only", False),
    )


def digest_of(case: Case, engine: Engine, folder: Path, **options: str) -> str:
    """Return the digest of the verified answer of an engine, which runs in a new `folder`.

    Errors: `AssertionError` where the answer fails verification; those of the engine.
    """
    trial = case.trial(engine.name, **options)
    output, scratch = folder / "answer", folder / "scratch"
    for place in (output, scratch):
        place.mkdir(parents=True)
    engine.run(trial, output, scratch)
    request = to_request(trial, output, scratch)
    native_module().annotate(case.workload, request)
    verdict = from_response(native_module().verify(case.workload, request))
    assert verdict["verified"], verdict["remark"]
    return str(verdict["digest"])
