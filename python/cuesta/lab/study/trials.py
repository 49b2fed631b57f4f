"""Makes the trial of a combination, and runs it in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from cuesta import removal
from cuesta.engines import Engine
from cuesta.errors import InputError
from cuesta.lab import ceilings, inputs, machines, record
from cuesta.lab.child import run_in_child
from cuesta.lab.folder import forget, replaceable
from cuesta.lab.observer import Observer, Silent
from cuesta.lab.record import Record
from cuesta.lab.run import Plan, check, run_trial
from cuesta.lab.study.settings import TIER, Settings
from cuesta.trial import Trial, is_remote
from cuesta.workloads import get_workload

ANSWER = ".answer"
"""Ends the name of the folder of a trial's answer, which is beside that of its record."""
SCRATCH_MARK = "{scratch}"
"""Stands in an option of an engine for all scratch folders, between commas."""


@dataclass(frozen=True, kw_only=True)
class Tier:
    """A store that runs: what stands before a path in it, and a folder of its files, if mounted.

    `hold` brings a file into its memory, as far as that goes, where it stays.
    """

    prefix: str
    hold: Callable[[str], object]
    mounted: Path | None = None


def _no_store(_under: Path, _memory_bytes: int, _mounted: bool) -> AbstractContextManager[Tier]:
    raise NotImplementedError


Cluster = Callable[[Settings, machines.Place], AbstractContextManager[Mapping[str, str]]]


@dataclass(frozen=True, kw_only=True)
class Means:
    """What a study is run with.

    Attributes
    ----------
    engine
        The engine of a name.
    memory_bytes
        Limit that no trial may exceed; None to leave it to the study.
    places
        By name, URIs or folders below which inputs that are to lie apart are put.
    store
        Starts a store over a folder, with so much memory; mounted where that is asked for.
    cluster
        Brings up the nodes that settings ask for, where a place has them; gives the engine's
        options.
    allows_options
        Whether a person has said that what a study sets is meant, code that it may name included.
    """

    engine: Callable[[str], Engine]
    memory_bytes: int | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    store: Callable[[Path, int, bool], AbstractContextManager[Tier]] = field(default=_no_store)
    cluster: Cluster | None = None
    allows_options: bool = False


def trial_of(own: Settings, given: Sequence[str]) -> Trial:
    """The trial of these settings. Errors: `InputError` naming a parameter."""
    workload = get_workload(own.workload)
    parameters, names = workload.apart(own.asked)
    return Trial(
        workload=own.workload,
        engine=own.engine,
        inputs=tuple(given),
        parameters=workload.check(parameters),
        threads=own.cores * own.nodes,
        memory_bytes=own.memory_bytes,
        seed=own.seed,
        engine_options=dict(own.engine_options),
        names=names and str(Path(names).absolute()),
    )


def run(own: Settings, given: Sequence[str], output: Path, means: Means, hears: Observer) -> Record:
    """Run a trial of these settings into `output`; of its answer the record stays.

    Errors: as `run_trial`.
    """
    engine = means.engine(own.engine)
    output.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        trial = trial_of(own, given)
        here = machines.Place(folder=output.parent, inputs=trial.inputs)
        place = stack.enter_context(machines.apply(own.machine, here))
        trial = replace(trial, inputs=place.inputs)
        # Not where its record will stand: that is there once all of the trial has ended well.
        local = output.with_name(f"{output.name}{ANSWER}")
        forget_answer(local)
        written = next((folder / "answer" for folder in place.output_folders), local)
        if own.output:
            written = stack.enter_context(_written_at(own.output, means))
        scratch = None if own.scratch in (None, TIER) else Path(str(own.scratch))
        scratch = next(iter(place.scratch_folders), scratch)
        cache = own.cache
        if own.store_bytes is not None:
            under = trial.inputs
            trial, scratch = _in_store(own, trial, means, stack)
            if not any(map(is_remote, under)):
                # What is cached is the files behind the store, whose memory is its own.
                inputs.drop_cached(under, cache)
                cache = inputs.CACHE_AS_IS
        if own.nodes > 1 and means.cluster is not None:
            options = stack.enter_context(means.cluster(own, place))
            trial = replace(trial, engine_options={**trial.engine_options, **options})
        trial = _with_scratch(trial, place.scratch_folders or (scratch,))
        plan = Plan(
            output=written,
            overwrite=written.exists(),
            cache=cache,
            scratch=scratch,
            ceilings=ceilings.load(trial.threads),
        )
        check(engine, trial, plan)
        _in_process(engine, trial, plan, place, hears)
        found = record.read(written)
    found["cache"] = own.cache
    if own.machine:
        found["machine_factors"] = {"asked": dict(own.machine), "probed": dict(place.probed)}
    if own.nodes > 1:
        found["nodes"] = own.nodes
    keep_record(found, output)
    forget_answer(local)
    return found


@contextmanager
def _written_at(place: str, means: Means) -> Iterator[Path]:
    """A folder for an answer at a place, removed afterwards.

    Errors: `InputError` where the place is not told, or is no folder of this machine.
    """
    target = means.places.get(place)
    if target is None or is_remote(target):
        raise InputError(f"answers are to be written at {place}; say by --remote {place}=FOLDER")
    with removal.temporary_folder(prefix="answer-", folder=target) as folder:
        yield Path(folder) / "answer"


def _with_scratch(trial: Trial, folders: Sequence[Path | None]) -> Trial:
    """The trial with all its scratch folders where an option of the engine names them."""
    named = ",".join(str(folder) for folder in folders if folder)
    options = {
        key: value.replace(SCRATCH_MARK, named)
        for key, value in trial.engine_options.items()
        if named or SCRATCH_MARK not in value
    }
    return replace(trial, engine_options=options)


def _in_process(
    engine: Engine, trial: Trial, plan: Plan, place: machines.Place, hears: Observer
) -> None:
    def work() -> None:
        place.enter()
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: trial.threads])
        try:
            run_trial(engine, trial, plan, Silent())
        finally:
            hears.close()

    run_in_child(f"engine {engine.name}", work)


def _in_store(
    own: Settings, trial: Trial, means: Means, stack: ExitStack
) -> tuple[Trial, Path | None]:
    """The trial with its inputs in a store, and its scratch too where that is asked for."""
    paths = [Path(path) for path in trial.inputs if not is_remote(path)]
    under = Path(os.path.commonpath([path.parent for path in paths] or [Path.cwd()]))
    tier = stack.enter_context(means.store(under, own.store_bytes or 0, own.scratch == TIER))
    stored = tuple(
        path if is_remote(path) else f"{tier.prefix}/{Path(path).relative_to(under)}"
        for path in trial.inputs
    )
    if own.holds:
        for file in (file for path in paths for file in inputs.files_of(str(path))):
            tier.hold(f"/{file.relative_to(under)}")
    scratch = tier.mounted if own.scratch == TIER else None
    return replace(trial, inputs=stored), scratch


def keep_record(found: Record, folder: Path) -> None:
    """Leave the record alone of an answer: a study keeps times, not answers.

    Errors: `InputError` where a folder of that name has anything else in it.
    """
    partial = folder.with_name(f".{folder.name}")
    clear_record(partial)
    partial.mkdir(parents=True)
    record.write(found, partial)
    clear_record(folder)
    removal.put_new(partial, folder)


def clear_record(folder: Path) -> None:
    """Remove a folder of a record alone, if there is one.

    Errors: `InputError` where anything else is in it.
    """
    if not os.path.lexists(folder):
        return
    try:
        file = folder / record.FILE_NAME
        listed = {}
        if file.is_file():
            listed[PurePosixPath(record.FILE_NAME)] = removal.identity(file.lstat())
        remaining = removal.remove_listed(folder, listed)
    except OSError as error:
        raise InputError(f"{error.filename}: {(error.strerror or '').lower()}") from None
    if remaining:
        raise InputError(f"{folder / remaining[0]} is not of a run of this study; move it away")


def forget_answer(answer: Path) -> None:
    """Remove the answer of a trial, of which only the record stays.

    Errors: `InputError` where anything in it is not of the answer.
    """
    if os.path.lexists(answer):
        for sentence in forget(answer, replaceable(answer)):
            raise InputError(sentence)
