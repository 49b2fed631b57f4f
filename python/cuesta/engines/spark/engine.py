"""The engine `spark`: one session for all runs of a process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from cuesta.engines import Capabilities, Engine, Progress, rounds
from cuesta.engines.spark.java import HOW_TO_GET, find_java
from cuesta.engines.spark.options import Settings, memory_for, options_of, settings_of
from cuesta.errors import CuestaError
from cuesta.plugins import remedy
from cuesta.trial import Outcome, Phase, RemoteUse, Stage, Trial

if TYPE_CHECKING:
    from cuesta.engines.spark.context import Context
    from cuesta.engines.spark.session import Session

T = TypeVar("T")

_PACKAGES = ("pyspark", "pyarrow", "numpy")


@dataclass
class _Held:
    """The session that engines with different observers share."""

    session: Session | None = None


@dataclass(frozen=True)
class SparkEngine(Engine):
    """Runs workloads on Spark: in this machine, or on the cluster of `--master`."""

    progress: Progress | None = None
    name: str = "spark"
    capabilities = Capabilities(
        reads_uris=True, has_session=True, has_log=True, has_stages=True, has_limits=True
    )
    _held: _Held = field(default_factory=_Held, repr=False)

    @property
    def workloads(self) -> frozenset[str]:
        """Workloads that are described in rounds."""
        return rounds.workloads()

    def missing(self) -> str | None:
        """Describe what to install for Spark and its Java, or return None."""
        if any(find_spec(name) is None for name in _PACKAGES):
            return f"engine spark is not installed; {remedy('spark')}"
        return None if find_java(os.environ) else HOW_TO_GET

    def with_progress(self, progress: Progress) -> Engine:
        """Return a copy with the same session that calls `progress` with bytes done and total."""
        return replace(self, progress=progress)

    def remote_use(self, trial: Trial) -> RemoteUse | None:
        """Return an unknown use where workers are on nodes of a cluster, else None."""
        return (
            RemoteUse()
            if not trial.engine_options.get("master", "local").startswith("local")
            else None
        )

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        """Compute the answer of `trial` into `output`.

        Errors: `InputError`, also for a line that an executor cannot read; `EngineError` when Spark
        does not start or fails, with the path of its log.
        """
        from cuesta.engines.spark.context import Context

        if options_of(trial).kernels == "native":
            rounds.check(trial, (output, scratch))
        session, phases = self._session(trial, scratch)

        def work() -> tuple[Context, dict[str, int]]:
            session.begin()
            context = Context(session, trial, output)
            context.progress, context.scratch = self.progress, scratch
            counts = _run(context)
            session.python_seconds = context.times.totals()
            return context, counts

        context, counts = self._guarded(session, work)
        return Outcome(phases=(*phases, *context.phases), counts=counts, versions=session.versions)

    def log_totals(self) -> Mapping[str, float]:
        """Return totals of the last run from Spark's event log."""
        session = self._held.session
        return self._guarded(session, session.log_totals) if session else {}

    def stages(self) -> Sequence[Stage]:
        """Return Spark's stages of the run that `log_totals` read last."""
        return self._held.session.stages if self._held.session else ()

    def limits(self, threads: int, folder: Path, repeats: int) -> Mapping[str, Sequence[float]]:
        """Measure empty tasks in the Python workers of a local session. Errors: as `run`."""
        from cuesta.engines.spark.limits import measure

        session = self._session_for_limits(threads, folder)
        return self._guarded(session, lambda: measure(session, repeats))

    def _session_for_limits(self, threads: int, folder: Path) -> Session:
        trial = Trial(
            workload="none",
            engine=self.name,
            inputs=(),
            parameters={},
            threads=threads,
            memory_bytes=memory_for(threads),
        )
        scratch = folder / "scratch"
        scratch.mkdir(exist_ok=True)
        return self._session(trial, scratch)[0]

    def close(self) -> None:
        """End the session, if there is one."""
        if self._held.session:
            self._held.session.stop()
            self._held.session = None

    def _settings(self, trial: Trial) -> Settings:
        return settings_of(trial)

    def _session(self, trial: Trial, scratch: Path) -> tuple[Session, tuple[Phase, ...]]:
        """Return the session for `trial`, and the phase of its start if it was started now."""
        from cuesta.engines.spark.session import make_places, start

        settings = self._settings(trial)
        held = self._held.session
        if held and held.settings == settings:
            return held, ()
        started = time.perf_counter()
        self.close()
        self._held.session = start(settings, make_places(scratch))
        seconds = time.perf_counter() - started
        return self._held.session, (Phase(name="start", seconds=seconds),)

    def _guarded(self, session: Session, work: Callable[[], T]) -> T:
        """Call `work`; an error of Spark becomes one line, and Ctrl-C ends the JVM."""
        from cuesta.engines.spark.session import quiet

        # Also around the conversion of errors, which calls a JVM that may have ended.
        with quiet():
            return self._with_short_errors(session, work)

    def _with_short_errors(self, session: Session, work: Callable[[], T]) -> T:
        from cuesta.engines.spark.failures import is_cut_off, is_interrupted, to_cuesta_error

        try:
            return work()
        except Exception as error:
            if is_interrupted(error):
                self._held.session = None
                session.kill()
                raise KeyboardInterrupt from None
            if isinstance(error, (CuestaError, OSError)) and not is_cut_off(error):
                raise
            shared = not session.settings.options.is_local
            cuesta_error = to_cuesta_error(error, shared, session.keep_log)
            if session.is_dead or is_cut_off(error):
                self._held.session = None
                session.kill()
            raise cuesta_error from None
        except BaseException:
            self._held.session = None
            session.kill()
            raise


def _run(context: Context) -> dict[str, int]:
    from cuesta.engines.spark import dataflow
    from cuesta.engines.spark import rounds as in_rounds

    kernels = options_of(context.trial).kernels
    return dataflow.run(context) if kernels == "numpy" else in_rounds.run(context)
