"""The engine `hadoop`: rounds as jobs of MapReduce.

A round is a job. Its map tasks do its tasks in a child that has our kernels, and with parts, its
reduce tasks are the parts: what is sent goes through Hadoop's own sort and shuffle, pairs of text
as pairs of a key and a value. What was found comes by files of the scratch folder, which all nodes
share.
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
from cuesta.engines import Engine, Progress, rounds
from cuesta.engines.hadoop import examples, history, settings
from cuesta.engines.hadoop.jobs import Jobs, found_in, hadoop_jars
from cuesta.engines.hadoop.settings import Options, options_of
from cuesta.engines.rounds import Job, Means, Round, combined
from cuesta.engines.spark.java import find_java, how_to_get
from cuesta.errors import CuestaError, EngineError
from cuesta.trial import STAGES_MAX, Outcome, Phase, RemoteUse, Stage, Trial, limit_tasks

ON_YARN = " on YARN"
"""Stands behind the version of Hadoop where other processes than this one's have done the work."""
JAR = jarfile.FOLDER / "cuesta-hadoop-rounds.jar"


@dataclass
class _Held:
    """The JVM that copies of an engine share, and what it was started for.

    `counters` and `stages` are those of the jobs of the last run, `slots` its tasks at once.
    """

    jobs: Jobs | None = None
    started_for: tuple[object, ...] = ()
    counters: Counter[str] = field(default_factory=Counter)
    stages: list[Stage] = field(default_factory=list)
    slots: int = 1


@dataclass(frozen=True)
class HadoopEngine:
    """MapReduce on the YARN of `$HADOOP_CONF_DIR`, or in one JVM of this machine."""

    progress: Progress | None = None
    name: str = "hadoop"
    reads_uris: bool = True
    _held: _Held = field(default_factory=_Held, repr=False)

    @property
    def workloads(self) -> frozenset[str]:
        """Those in rounds."""
        return rounds.workloads()

    def missing(self) -> str | None:
        """What to install for Hadoop's client, its Java included."""
        if not hadoop_jars():
            return "engine hadoop has no Hadoop's client; pip install 'cuesta[spark]' brings it"
        if not find_java(os.environ):
            return how_to_get("hadoop")
        return jarfile.missing(JAR)

    def prepare(self, say: Callable[[str], None]) -> None:
        """Compile the jar where a checkout has changed. Errors: `EngineMissing`."""
        if jarfile.origin_of(JAR) is None:
            say("compiling the jobs for Hadoop, this once")
        jarfile.current(JAR)

    def with_progress(self, progress: Progress) -> Engine:
        """The same engine on the same JVM, calling `progress` with bytes done and in all."""
        return replace(self, progress=progress)

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        """Compute the answer of `trial` into `output`.

        Errors: `InputError`, also for a line that a task can't read; `EngineError` when a job
        fails, with Hadoop's reason.
        """
        options, slots = options_of(trial), trial.threads
        self._held.counters, self._held.stages, self._held.slots = Counter(), [], slots
        if options.examples:
            return examples.sort(trial, options, output, scratch)
        rounds.check(trial, (output, scratch))
        memory_bytes = rounds.memory_without_overhead(trial, settings.overhead_bytes(options, slots), slots)
        means = Means(
            slots=slots,
            memory_bytes=memory_bytes,
            tasks=options.tasks,
            text=True,
            slow_to_begin=True,
        )
        started, before = time.perf_counter(), self._held.jobs
        jobs = self._jobs(options, slots)
        seconds = time.perf_counter() - started
        start = () if jobs is before else (Phase(name="start", seconds=seconds),)

        def found(job: Job, round_: Round) -> list[bytes]:
            return self._found(jobs, options, scratch, (job, round_))

        outcome = rounds.run(trial, (output, scratch), means, found)
        where = ON_YARN if options.conf else ""
        versions = {"hadoop": f"{jobs.hadoop_version}{where}"}
        return replace(outcome, phases=(*start, *outcome.phases), versions=versions)

    def remote_use(self, trial: Trial) -> RemoteUse | None:
        """Unknown use of the containers on YARN."""
        return RemoteUse() if options_of(trial).conf else None

    def log_totals(self) -> Mapping[str, float]:
        """What the counters of the last run's jobs say."""
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
        """The map and the reduce tasks of the last run's jobs on YARN, by Hadoop's history."""
        return limit_tasks(self._held.stages[:STAGES_MAX])

    def close(self) -> None:
        """End the JVM, and the job that it runs."""
        jobs, self._held.jobs = self._held.jobs, None
        if jobs:
            jobs.close()

    def _jobs(self, options: Options, slots: int) -> Jobs:
        # Hadoop's own settings may be of its file systems, which are made once.
        started_for = (options.conf, slots, dict(options.hadoop))
        if self._held.jobs is None or self._held.started_for != started_for:
            self.close()
            self._held.jobs = Jobs(options, slots, jarfile.current(JAR))
            self._held.started_for = started_for
        return self._held.jobs

    def _found(
        self, jobs: Jobs, options: Options, scratch: Path, what: tuple[Job, Round]
    ) -> list[bytes]:
        """What the tasks found, or with parts what they did, in the order of their numbers."""
        job, round_ = what
        with removal.temporary_folder(folder=scratch.absolute(), prefix="job-") as name:
            folder = Path(name)
            (folder / settings.ROUND).write_bytes(pickle.dumps(what))
            try:
                found = self._tried(jobs, options, what, folder)
            except CuestaError:
                raise
            except BaseException:
                # Nothing may be written here any more when the folder is removed.
                self.close()
                raise
        return combined(job.worker(), round_, found) if round_.combines else found

    def _tried(
        self, jobs: Jobs, options: Options, what: tuple[Job, Round], folder: Path
    ) -> list[bytes]:
        """The results of a round. Errors: as `_submitted`."""
        if settings.suits_its_master(options, what[1]):
            # What a master does itself has one try only.
            with contextlib.suppress(EngineError):
                return self._submitted(jobs, options, what, folder, is_uber=True)
        return self._submitted(jobs, options, what, folder, is_uber=False)

    def _submitted(
        self, jobs: Jobs, options: Options, what: tuple[Job, Round], folder: Path, is_uber: bool
    ) -> list[bytes]:
        """The results of a job. Errors: `EngineError` where it fails, or some are not there."""
        job, round_ = what
        results = folder / "found"
        removal.discard(results)
        results.mkdir()
        told = settings.of_round(options, what, folder, is_uber)
        settings.write(told, folder / "settings.xml")
        self._held.counters["jobs"] += 1
        self._held.counters.update(jobs.run(folder / "settings.xml", self._tell(round_)))
        self._held.stages += history.read(folder / "history", self._held.slots)
        found = found_in(results)
        expected = settings.results_of(round_, job.means, is_uber)
        if len(found) != expected:
            raise EngineError(
                f"engine hadoop: a job has {len(found)} results, not {expected}; do all nodes "
                f"share {folder.parent}?"
            )
        return found

    def _tell(self, round_: Round) -> Callable[[float], None]:
        def tell(part: float) -> None:
            if self.progress and round_.size_bytes:
                self.progress(int(round_.size_bytes * part), round_.size_bytes)

        return tell
