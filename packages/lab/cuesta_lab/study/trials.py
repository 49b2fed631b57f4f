"""Trials of combinations, each run in its own process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from cuesta import removal
from cuesta.engines import Engine
from cuesta.errors import InputError, in_words
from cuesta.lab import ceilings, inputs, record
from cuesta.lab.child import run_in_child
from cuesta.lab.observer import Observer, Silent
from cuesta.lab.ownership import forget, replaceable
from cuesta.lab.plan import Plan
from cuesta.lab.record import Record
from cuesta.lab.run import run_trial
from cuesta.lab.steps.resolve import check
from cuesta.trial import Trial, is_remote
from cuesta.workloads import get_workload
from cuesta_lab import machines
from cuesta_lab.study.settings import TIER, Settings

ANSWER = ".answer"
"""Suffix of the folder of a trial's answer, which is next to that of its record."""
SCRATCH_MARK = "{scratch}"
"""Placeholder in an engine option for all scratch folders, separated by commas."""


@dataclass(frozen=True, kw_only=True)
class Tier:
    """A running store: the prefix of its paths, and the folder of its files if it is mounted.

    `hold` loads a file into the store's memory, as far as there is room, and retains it there.
    """

    prefix: str
    hold: Callable[[str], object]
    mounted: Path | None = None


def _no_store(_under: Path, _memory_bytes: int, _mounted: bool) -> AbstractContextManager[Tier]:
    raise NotImplementedError


Cluster = Callable[[Settings, machines.Place], AbstractContextManager[Mapping[str, str]]]


@dataclass(frozen=True, kw_only=True)
class StudyEnvironment:
    """Engines, limits and places with which a study is run.

    Attributes
    ----------
    engine
        Returns the engine of a name.
    memory_bytes
        Memory limit of all trials; None for the study's own limit.
    places
        URIs or folders, by the name of a place, to which inputs of that place are copied.
    facts
        Numbers of the storage of a place, by their names, from the program that started it.
    store
        Starts a store over a folder, with a memory in bytes, and mounts it if requested.
    cluster
        Starts the nodes that settings request, if the place has them; yields the engine's options.
    allows_options
        Whether a person has allowed all settings of the study, including code that it may name.
    allows_commands
        Whether a person has allowed the commands of the study.
    """

    engine: Callable[[str], Engine]
    memory_bytes: int | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    store: Callable[[Path, int, bool], AbstractContextManager[Tier]] = field(default=_no_store)
    cluster: Cluster | None = None
    allows_options: bool = False
    allows_commands: bool = False


def trial_of(settings: Settings, input_paths: Sequence[str]) -> Trial:
    """Make the trial of these settings. Errors: `InputError` with the parameter."""
    workload = get_workload(settings.workload)
    parameters, names = workload.split_gene_names(settings.workload_parameters)
    return Trial(
        workload=settings.workload,
        engine=settings.engine,
        inputs=tuple(input_paths),
        parameters=workload.check(parameters),
        threads=settings.cores * settings.nodes,
        memory_bytes=settings.memory_bytes,
        seed=settings.seed,
        engine_options=dict(settings.engine_options),
        names=names and str(Path(names).absolute()),
    )


def run(
    settings: Settings,
    input_paths: Sequence[str],
    output: Path,
    environment: StudyEnvironment,
    observer: Observer,
) -> Record:
    """Run a trial of these settings into `output`, where only the record of its answer remains.

    Errors: as `run_trial`.
    """
    engine = environment.engine(settings.engine)
    output.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        trial = trial_of(settings, input_paths)
        here = machines.Place(folder=output.parent, inputs=trial.inputs)
        place = stack.enter_context(machines.apply(settings.machine, here))
        trial = replace(trial, inputs=place.inputs)
        # Apart from the record's folder, which exists only once the complete trial has succeeded.
        local = output.with_name(f"{output.name}{ANSWER}")
        remove_answer(local)
        written = next((folder / "answer" for folder in place.output_folders), local)
        if settings.output:
            written = stack.enter_context(_written_at(settings.output, environment))
        scratch = None if settings.scratch in (None, TIER) else Path(str(settings.scratch))
        scratch = next(iter(place.scratch_folders), scratch)
        cache = settings.cache
        if settings.store_bytes is not None:
            under = trial.inputs
            trial, scratch = _in_store(settings, trial, environment, stack)
            if not any(map(is_remote, under)):
                # The page cache has the files behind the store, whose memory is separate.
                inputs.drop_cached(under, cache)
                cache = inputs.CACHE_AS_IS
        if settings.nodes > 1 and environment.cluster is not None:
            options = stack.enter_context(environment.cluster(settings, place))
            trial = replace(trial, engine_options={**trial.engine_options, **options})
        trial = _with_scratch(trial, place.scratch_folders or (scratch,))
        plan = Plan(
            output=written,
            overwrite=written.exists(),
            cache=cache,
            warm_runs=settings.warm_runs,
            scratch=scratch,
            ceilings=ceilings.load(trial.threads),
        )
        check(engine, trial, plan)
        _in_process(engine, trial, plan, place, observer)
        result = record.read(written)
    result["cache"] = settings.cache
    if settings.machine:
        result["machine_factors"] = {"asked": dict(settings.machine), "probed": dict(place.probed)}
    if settings.nodes > 1:
        result["nodes"] = settings.nodes
    if facts := environment.facts.get(settings.place or ""):
        result["place_facts"] = dict(facts)
    save_record(result, output)
    remove_answer(local)
    return result


@contextmanager
def _written_at(place: str, environment: StudyEnvironment) -> Iterator[Path]:
    """Make a folder for an answer at a place, and remove it afterwards.

    Errors: `InputError` if the place is unknown, or is no folder of this machine.
    """
    target = environment.places.get(place)
    if target is None or is_remote(target):
        raise InputError(f"answers are to be written at {place}; say by --remote {place}=FOLDER")
    with removal.temporary_folder(prefix="answer-", folder=target) as folder:
        yield Path(folder) / "answer"


def _with_scratch(trial: Trial, folders: Sequence[Path | None]) -> Trial:
    """Fill in the scratch folders in the engine options of a trial."""
    named = ",".join(str(folder) for folder in folders if folder)
    options = {
        key: value.replace(SCRATCH_MARK, named)
        for key, value in trial.engine_options.items()
        if named or SCRATCH_MARK not in value
    }
    return replace(trial, engine_options=options)


def _in_process(
    engine: Engine, trial: Trial, plan: Plan, place: machines.Place, observer: Observer
) -> None:
    def work() -> None:
        place.enter()
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: trial.threads])
        try:
            run_trial(engine, trial, plan, Silent())
        finally:
            observer.close()

    run_in_child(f"engine {engine.name}", work)


def _in_store(
    settings: Settings, trial: Trial, environment: StudyEnvironment, stack: ExitStack
) -> tuple[Trial, Path | None]:
    """Place a trial's inputs, and its scratch if its settings say so, in a store."""
    paths = [Path(path) for path in trial.inputs if not is_remote(path)]
    under = Path(os.path.commonpath([path.parent for path in paths] or [Path.cwd()]))
    tier = stack.enter_context(
        environment.store(under, settings.store_bytes or 0, settings.scratch == TIER)
    )
    stored = tuple(
        path if is_remote(path) else f"{tier.prefix}/{Path(path).relative_to(under)}"
        for path in trial.inputs
    )
    if settings.holds:
        for file in (file for path in paths for file in inputs.files_of(str(path))):
            tier.hold(f"/{file.relative_to(under)}")
    scratch = tier.mounted if settings.scratch == TIER else None
    return replace(trial, inputs=stored), scratch


def save_record(result: Record, folder: Path) -> None:
    """Save only the record of an answer: a study retains times, not answers.

    Errors: `InputError` if a folder of that name has other content.
    """
    partial = folder.with_name(f".{folder.name}")
    clear_record(partial)
    partial.mkdir(parents=True)
    record.write(result, partial)
    clear_record(folder)
    removal.put_new(partial, folder)


def clear_record(folder: Path) -> None:
    """Remove a folder that has only a record, if it exists.

    Errors: `InputError` if it has other content.
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
        raise InputError(f"{error.filename}: {in_words(error)}") from None
    if remaining:
        raise InputError(f"{folder / remaining[0]} is not of a run of this study; move it away")


def remove_answer(answer: Path) -> None:
    """Remove the answer of a trial, of which only the record remains.

    Errors: `InputError` if it has files that are not of the answer.
    """
    if os.path.lexists(answer):
        for sentence in forget(answer, replaceable(answer)):
            raise InputError(sentence)
