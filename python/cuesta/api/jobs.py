"""Jobs that a call runs in a process of its own; see `cuesta.api.process`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from cuesta.api.declared import ONE_ENGINE, SEVERAL_ENGINES, Option
from cuesta.api.keywords import Request
from cuesta.api.options import (
    make_plan,
    make_trial,
    memory_limit,
    single_engine,
    thread_limit,
)

if TYPE_CHECKING:
    from cuesta.lab.observer import Observer
    from cuesta.trial import Trial


@dataclass(frozen=True, kw_only=True)
class Run:
    """A trial on one engine."""

    command: ClassVar[str] = "run"
    engines: ClassVar[Option] = ONE_ENGINE
    request: Request

    def do(self, observer: Observer) -> None:
        """Run it and write the answer folder. Errors: as `cuesta.lab.run.run_trial`."""
        from cuesta.engines import get_engine
        from cuesta.lab.run import run_trial

        request = self.request
        engine = get_engine(single_engine(request.common))
        run_trial(engine, _trial(request), make_plan(request.common, request.command), observer)


@dataclass(frozen=True, kw_only=True)
class Compare:
    """A trial on several engines."""

    command: ClassVar[str] = "compare"
    engines: ClassVar[Option] = SEVERAL_ENGINES
    request: Request

    def do(self, observer: Observer) -> None:
        """Run it on each engine, require equal answers. Errors: as `cuesta.lab.compare.compare`."""
        from cuesta.engines import get_engine
        from cuesta.errors import InputError
        from cuesta.lab.compare import compare

        request = self.request
        if not request.common.engines:
            raise InputError("--engines names no engine; give some, such as native,spark")
        engines = [get_engine(name) for name in request.common.engines]
        compare(engines, _trial(request), make_plan(request.common, request.command), observer)


@dataclass(frozen=True, kw_only=True)
class Assess:
    """An assembly, to be compared with a reference and its reads."""

    folder: Path
    reference: Path | None
    min_contig: int
    linear: bool
    no_reads: bool

    def do(self, observer: Observer) -> None:
        """Assess the assembly in `folder`, and write the assessment into the same folder.

        Errors: `InputError`; `EngineMissing` if mappy or NumPy is not installed.
        """
        from cuesta.assess import Plan, assess, write

        plan = Plan(
            reference=self.reference,
            circular=not self.linear,
            reads=not self.no_reads,
            min_contig=self.min_contig,
            threads=thread_limit(None),
            memory_bytes=memory_limit(None),
        )
        write(self.folder, assess(self.folder, plan, observer.stage))


Job = Run | Compare | Assess


def _trial(request: Request) -> Trial:
    from cuesta.lab import streams
    from cuesta.workloads import get_workload

    trial = make_trial(
        get_workload(request.workload), request.inputs, dict(request.parameters), request.common
    )
    streams.refuse(trial, "a call from Python reads no stream; give files")
    return trial
