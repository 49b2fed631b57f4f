"""The engine `hadoop`: rounds as jobs of MapReduce.

A round is a job. Its map tasks run the round's tasks in a child with our kernels, and with parts,
its reduce tasks are the parts: blocks go through Hadoop's sort and shuffle, pairs of text as pairs
of a key and a value. Results are files of the scratch folder, which all nodes share.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cuesta import jarfile, removal
from cuesta.engines import Capabilities, Engine, Progress, rounds
from cuesta.engines.hadoop import examples, history, settings
from cuesta.engines.hadoop.jobs import Jobs, hadoop_jars, results_in
from cuesta.engines.hadoop.settings import Options, options_of
from cuesta.engines.rounds import Job, Means, Round, combined
from cuesta.engines.spark.java import find_java, how_to_get
from cuesta.errors import CuestaError, EngineError
from cuesta.plugins import remedy
from cuesta.trial import STAGES_MAX, Outcome, Phase, RemoteUse, Stage, Trial, limit_tasks

ON_YARN = " on YARN"
"""Suffix of the version of Hadoop where tasks ran in processes of a site."""
JAR = jarfile.FOLDER / "cuesta-hadoop-rounds.jar"


@dataclass
class _Held:
    """The JVM that copies of an engine share, and the settings of its start.

    `counters` and `stages` are those of the jobs of the last run, `slots` its tasks at once.
    """

    jobs: Jobs | None = None
    started_for: tuple[object, ...] = ()
    counters: Counter[str] = field(default_factory=Counter)
    stages: list[Stage] = field(default_factory=list)
    slots: int = 1


@dataclass(frozen=True)
class HadoopEngine(Engine):
    """Runs MapReduce on the YARN of `$HADOOP_CONF_DIR`, or in one JVM of this machine."""

    progress: Progress | None = None
    name: str = "hadoop"
    capabilities = Capabilities(
        reads_uris=True,
        has_session=True,
        has_log=True,
        has_stages=True,
        shuffles_text=True,
        begins_slowly=True,
    )
    _held: _Held = field(default_factory=_Held, repr=False)

    @property
    def workloads(self) -> frozenset[str]:
        """Workloads that are described in rounds."""
        return rounds.workloads()

    def missing(self) -> str | None:
        """Describe what to install for Hadoop's client and its Java, or return None."""
        if not hadoop_jars():
            return f"engine hadoop has no Hadoop's client; {remedy('spark')} brings it"
        if not find_java(os.environ):
            return how_to_get("hadoop")
        return jarfile.missing(JAR)

    def prepare(self, report: Callable[[str], None]) -> None:
        """Compile the jar where a checkout has changed. Errors: `EngineMissing`."""
        if jarfile.origin_of(JAR) is None:
            report("compiling the jobs for Hadoop, this once")
        jarfile.current(JAR)

    def with_progress(self, progress: Progress) -> Engine:
        """Return a copy with the same JVM that calls `progress` with bytes done and in total."""
        return replace(self, progress=progress)

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        """Compute the answer of `trial` into `output`.

        Errors: `InputError`, also for a line that a task cannot read; `EngineError` when a job
        fails, with Hadoop's reason.
        """
        options, slots = options_of(trial), trial.threads
        self._held.counters, self._held.stages, self._held.slots = Counter(), [], slots
        if options.examples:
            return examples.sort(trial, options, output, scratch)
        rounds.check(trial, (output, scratch))
        overhead_bytes = settings.overhead_bytes(options, slots)
        memory_bytes = rounds.memory_without_overhead(trial, overhead_bytes, slots)
        means = Means(
            slots=slots,
            memory_bytes=memory_bytes,
            tasks=options.tasks,
            text=self.capabilities.shuffles_text,
            slow_to_begin=self.capabilities.begins_slowly,
        )
        started, jobs_before = time.perf_counter(), self._held.jobs
        jobs = self._jobs(options, slots)
        seconds = time.perf_counter() - started
        start = () if jobs is jobs_before else (Phase(name="start", seconds=seconds),)

        def execute(job: Job, round_: Round) -> list[bytes]:
            return self._execute(jobs, options, scratch, (job, round_))

        outcome = rounds.run(trial, (output, scratch), means, execute)
        where = ON_YARN if options.conf else ""
        versions = {"hadoop": f"{jobs.hadoop_version}{where}"}
        return replace(outcome, phases=(*start, *outcome.phases), versions=versions)

    def remote_use(self, trial: Trial) -> RemoteUse | None:
        """Return the unknown use of containers on YARN, None on this machine."""
        return RemoteUse() if options_of(trial).conf else None

    def log_totals(self) -> Mapping[str, float]:
        """Return totals of the counters of the last run's jobs."""
        counters = self._held.counters
        map_seconds, reduce_seconds, jvm_seconds, child_seconds, gc_seconds = (
            counters[f"{name}_ms"] / 1000
            for name in ("map_run", "reduce_run", "cpu", "child_cpu", "gc")
        )
        return {
            "jobs": counters["jobs"],
            "tasks": counters["maps"] + counters["reduces"],
            "tasks_failed": counters["maps_failed"] + counters["reduces_failed"],
            "run_seconds": map_seconds + reduce_seconds,
            "map_run_seconds": map_seconds,
            "reduce_run_seconds": reduce_seconds,
            "cpu_seconds": jvm_seconds + child_seconds,
            "gc_seconds": gc_seconds,
            "shuffle_write_bytes": counters["shuffle_write_bytes"],
            "shuffle_read_bytes": counters["shuffle_read_bytes"],
            **history.sums(self._held.stages, self._held.slots),
        }

    def stages(self) -> Sequence[Stage]:
        """Return stages of map and of reduce tasks of the last run on YARN, from its history."""
        return limit_tasks(self._held.stages[:STAGES_MAX])

    def close(self) -> None:
        """End the JVM, and the job that it runs."""
        jobs, self._held.jobs = self._held.jobs, None
        if jobs:
            jobs.close()

    def _jobs(self, options: Options, slots: int) -> Jobs:
        # Hadoop's settings may be for its file systems, which a JVM creates once.
        started_for = (options.conf, slots, dict(options.hadoop))
        if self._held.jobs is None or self._held.started_for != started_for:
            self.close()
            self._held.jobs = Jobs(options, slots, jarfile.current(JAR))
            self._held.started_for = started_for
        return self._held.jobs

    def _execute(
        self, jobs: Jobs, options: Options, scratch: Path, work: tuple[Job, Round]
    ) -> list[bytes]:
        """Return the results of the tasks, or of the parts if any, in the order of numbers."""
        job, round_ = work
        with removal.temporary_folder(folder=scratch.absolute(), prefix="job-") as name:
            folder = Path(name)
            (folder / settings.ROUND).write_bytes(pickle.dumps(work))
            try:
                results = self._attempted(jobs, options, work, folder)
            except CuestaError:
                raise
            except BaseException:
                # The JVM may not write here any more when the folder is removed.
                self.close()
                raise
        return combined(job.worker(), round_, results) if round_.combines else results

    def _attempted(
        self, jobs: Jobs, options: Options, work: tuple[Job, Round], folder: Path
    ) -> list[bytes]:
        """Run a round, first in its master if suitable; return results. Errors: as `_submitted`."""
        job, round_ = work

        def attempt(*, is_uber: bool) -> list[bytes]:
            properties = settings.round_properties(options, work, folder, is_uber)
            expected = settings.results_of(round_, job.means, is_uber)
            return self._submitted(jobs, round_, properties, folder, expected)

        if settings.suits_master(options, round_):
            # Tasks in a master are not retried.
            with contextlib.suppress(EngineError):
                return attempt(is_uber=True)
        return attempt(is_uber=False)

    def _submitted(
        self,
        jobs: Jobs,
        round_: Round,
        properties: Mapping[str, str],
        folder: Path,
        expected: int,
    ) -> list[bytes]:
        """Run a job; return its results. Errors: `EngineError` for a failure or missing results."""
        output_folder = folder / "found"
        removal.discard(output_folder)
        output_folder.mkdir()
        settings.write(properties, folder / "settings.xml")
        self._held.counters["jobs"] += 1
        counters = jobs.run(folder / "settings.xml", self._reporter(round_))
        if jobs.is_local:
            counters = {**counters, **settings.local_tasks(round_, self._held.slots)}
        self._held.counters.update(counters)
        self._held.stages += history.read(folder / "history", self._held.slots)
        results = results_in(output_folder)
        if len(results) != expected:
            raise EngineError(
                f"engine hadoop: a job has {len(results)} results, not {expected}; do all nodes "
                f"share {folder.parent}?"
            )
        return results

    def _reporter(self, round_: Round) -> Callable[[float], None]:
        def report(part: float) -> None:
            if self.progress and round_.size_bytes:
                self.progress(int(round_.size_bytes * part), round_.size_bytes)

        return report
