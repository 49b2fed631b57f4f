"""Runs a study: what is not there yet, in its order, until it is tight or its time is spent."""

from __future__ import annotations

import collections
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from cuesta import __version__, machine, markers, outputs
from cuesta.errors import CuestaError, EngineMissing, InputError, VerificationError
from cuesta.lab import leftovers, machines, record
from cuesta.lab.observer import Observer
from cuesta.lab.record import Record
from cuesta.lab.run import lacking
from cuesta.lab.study import belief, estimate, inputs, order, result, rules, trials
from cuesta.lab.study.cells import Combination, combinations
from cuesta.lab.study.claims import judged
from cuesta.lab.study.measures import measures
from cuesta.lab.study.model import Factor, Key, Study
from cuesta.lab.study.result import RUNS, Found, Result
from cuesta.lab.study.settings import Settings
from cuesta.lab.study.trials import Means
from cuesta.machine import cores_usable
from cuesta.units import format_bytes, format_seconds

WRONG = "wrong.json"
"""In the folder of a combination: which repeat had a wrong answer, and how it was seen."""
FOLDER_MARK = ".cuesta-study"
FOLDER_SCHEMA = "cuesta.study-folder/1"
SETTINGS = "settings.json"
"""In the folder of a combination: what its runs were run with."""
_RUN = re.compile(r"\.?\d+|\d+" + re.escape(trials.ANSWER))
"""Folders of a combination: records of runs, some not complete, and answers."""
_LEFTOVER = re.compile(r"(\d+" + re.escape(trials.ANSWER) + r")\.(?:partial|replaced)-[\d.]+")
"""Folders of runs that were killed, or whose answer was wrong and is for a person to look at."""
TIGHT_BY = "work"
"""The measure whose interval is to be tight."""


def run(
    study: Study, output: Path, means: Means, observer: Observer, levels: Sequence[Factor] = ()
) -> tuple[Result, list[Found]]:
    """Run what is not yet in the folder `output`; return and write its `study.json`.

    Every run has a process of its own that is bound to as many cores as it may use, and a folder
    `runs/COMBINATION/REPEAT`, of which the record is kept. One that is there already, of the same
    settings, is taken, so a study that was stopped goes on; so are its inputs. Combinations that
    lack something here are left out, and named. With some `levels`, only these are run;
    what is known of the others from before stays in the result.

    Errors: `InputError` for a wrong study or an input that cannot be made. A run that fails is told
    of in the result; `result.complain` raises it.
    """
    began, started = time.monotonic(), time.gmtime(time.time())
    earlier = _same(study, _earlier(output))
    part = replace(study, factors=tuple(levels)) if levels else study
    work, found = prepared(part, output, means, observer)
    work.run(found)
    seconds = time.monotonic() - began if work.count or not earlier else 0.0
    if work.taken:
        count = work.taken + work.count
        done = "nothing was run" if not work.count else f"{work.count} were run now"
        observer.note(f"{work.taken} of {count} runs were here already; {done}")
    cells = result.to_cells(found)
    if levels:
        cells = result.completed(cells, combinations(study, means.memory_bytes), earlier)
    records = result.records([place for cell in cells for place in cell["runs"]], output)
    whole = result.to_result(
        study,
        cells,
        started=earlier.get("started") or time.strftime("%Y-%m-%dT%H:%M:%SZ", started),
        seconds=seconds + float(earlier.get("seconds") or 0.0),
        budget_spent=work.is_spent,
        machine=machine.describe({"output": output}),
        versions=_versions(records),
    )
    whole["claims"] = judged(whole)
    whole["alarms"] = rules.alarms(whole, records)
    result.write(whole, output)
    return whole, found


def prepared(study: Study, output: Path, means: Means, hears: Observer) -> tuple[Work, list[Found]]:
    """The inputs made, and all combinations, of which none has been run.

    Errors: as `run`.
    """
    combined = combinations(study, means.memory_bytes)
    if not means.allows_options:
        belief.check(study, combined)
    # What an earlier study has left of the machine, perhaps in folders of this one.
    machines.put_back()
    _claim(output, [item.source for item in study.inputs if item.kind == "path"])
    hears.note(estimate.sentence(study, combined, _earlier(output)))
    asked = {key for one in combined if not one.left_out for key in one.keys}
    named = {one.name: one for one in study.inputs}
    # In the order of the file, which those who wait read.
    every = sorted(asked, key=lambda key: (list(named).index(key[0]), key[1] or ""))
    wanted = {key: named[key[0]] for key in every}
    places = inputs.prepared(wanted, output, means.places, hears)
    found = [Found(combination=one, left_out=_refusal(one, places, means)) for one in combined]
    work = Work(study, output, means, hears, places)
    for one in found:
        if one.left_out is None:
            work.check_folder(one.combination)
    return work, found


def _claim(output: Path, paths: Sequence[str]) -> None:
    """Make the folder of a study, or go on in one. Errors: `InputError` for any other folder."""
    outputs.check_local(output)
    outputs.check_apart(output, paths)
    if not _is_study(output):
        if os.path.lexists(output) and (not output.is_dir() or any(output.iterdir())):
            raise InputError(f"{output} is not the folder of a study; give a new folder with -o")
        output.mkdir(parents=True, exist_ok=True)
        facts = json.dumps({"schema": FOLDER_SCHEMA})
        (output / FOLDER_MARK).write_text(f"{facts}\n", encoding="ascii")


def _is_study(output: Path) -> bool:
    """Whether a study was begun in a folder; those of older versions have no mark."""
    mark = markers.read_marker(output, FOLDER_MARK)
    is_marked = mark.get("schema") == FOLDER_SCHEMA
    return is_marked or _earlier(output) is not None or any(output.glob(f"{RUNS}/*/{SETTINGS}"))


def _earlier(output: Path) -> Result | None:
    """What an earlier run has found here, if any."""
    if not (
        output / result.FILE_NAME
    ).is_file():  # It may be a pipe, which is never read to its end.
        return None
    try:
        return result.read(output)
    except InputError:
        return None


def _same(study: Study, earlier: Result | None) -> Result:
    """Result of an earlier run of the same study; nothing of another study."""
    known = (earlier or {}).get("file"), (earlier or {}).get("smoke"), (earlier or {}).get("seed")
    is_same = earlier is not None and known == (as_json(study.given), study.smoke, study.seed)
    return earlier if earlier and is_same else {}


def as_json(value: object) -> object:
    """A value as it is read from a file that it was written to."""
    return json.loads(json.dumps(value, default=str))


def _refusal(one: Combination, places: dict[Key, tuple[str, str]], means: Means) -> str | None:
    """Why a combination is not run here, or None."""
    own = one.settings
    if why := foretold(one):
        return why
    if own.nodes > 1 and means.cluster is None:
        return "needs several nodes"
    try:
        paths = [places[key][0] for key in one.keys]
        return lacking(means.engine(own.engine), trials.trial_of(own, paths))
    except EngineMissing as error:
        return str(error)


def foretold(combination: Combination) -> str | None:
    """Reason why a combination cannot be run here, known without its inputs, or None."""
    settings = combination.settings
    if combination.left_out:
        return combination.left_out
    if settings.cores * settings.nodes > cores_usable():
        return f"needs {settings.cores * settings.nodes} cores, there are {cores_usable()}"
    if settings.memory_bytes > machine.memory_bytes():
        here = format_bytes(machine.memory_bytes())
        return f"needs {format_bytes(settings.memory_bytes)} of memory, there are {here}"
    return machines.refusal(settings.machine) or _unheld(settings)


def _unheld(own: Settings) -> str | None:
    """Why processes beside the trial's own would not be held to its factors, or None."""
    asked = own.machine.keys()
    if own.nodes > 1 and {"memory-group", "cpu-quota"} & asked and not machines.OF_LINKS & asked:
        return "memory-group and cpu-quota hold no nodes of their own; add link-rate"
    is_beside = own.nodes > 1 or own.store_bytes is not None
    if is_beside and "disk-rate" in asked and machines.holds_a_trial_alone():
        return "disk-rate holds a trial alone here, not a store or nodes beside it"
    return None


class Work:
    """The runs of a study, and the seconds they have taken."""

    def __init__(
        self,
        study: Study,
        output: Path,
        means: Means,
        hears: Observer,
        places: dict[Key, tuple[str, str]],
    ) -> None:
        self._study = study
        self._output = output
        self._means = means
        self._hears = hears
        self._places = places
        self.seconds = 0.0
        self.is_spent = False
        self.count = self.taken = 0

    def run(self, found: Sequence[Found]) -> None:
        """Run all that is not left out."""
        able = {one.combination.name: one for one in found if one.left_out is None}
        todo = [one.combination for one in able.values()]
        study = self._study

        def is_done(one: Combination) -> bool:
            own = able[one.name]
            samples = own.measures.get(TIGHT_BY, [])
            return bool(own.failed) or order.is_tight(samples, study.tight)

        total = len(todo) * study.repeats
        runs = order.rounds(todo, study.repeats, study.seed, is_done)
        for number, (one, repeat) in enumerate(runs, 1):
            if self.is_out_of_time(list(able.values())):
                self.is_spent = True
                self._hears.note("the budget of time is spent")
                break
            self.once(able[one.name], repeat, f"{number} of {total}")
            if number == len(todo) and study.repeats > 1:
                self._tell(list(able.values()), total - number)

    def _tell(self, found: Sequence[Found], runs: int) -> None:
        seconds = estimate.remaining(found, runs)
        if seconds is not None:
            left = min(seconds, max(0.0, self._study.minutes * 60 - self.seconds))
            self._hears.note(f"the first repeat of all is done; about {format_seconds(left)} more")

    def is_out_of_time(self, found: Sequence[Found], part: float = 1.0) -> bool:
        """Whether the next run, at the mean of those so far, would exceed the budget, or a part."""
        expected = estimate.remaining(found, 1) or 0.0
        return self.seconds + expected > part * self._study.minutes * 60

    def once(self, own: Found, repeat: int, number: str) -> dict[str, float] | None:
        """One run, or the record of it that is there: its measures; None where it failed."""
        one = own.combination
        place = f"{RUNS}/{one.name}/{repeat}"
        folder = self._output / place
        wrong_file = folder.parent / WRONG
        began = time.monotonic()
        if wrong_file.is_file():
            own.failed.append(json.loads(wrong_file.read_text(encoding="utf-8")))
            return None
        try:
            if (folder / record.FILE_NAME).is_file():
                kept = record.read(folder)
                self.taken += 1
            else:
                self.count += 1
                words = ", ".join(f"{name} {level}" for name, level in one.levels.items())
                self._hears.note(f"{number}: {words or self._study.name}")
                paths = [self._places[key][0] for key in one.keys]
                kept = trials.run(one.settings, paths, folder, self._means, self._hears)
            measured = measures(kept)
            own.add(place, kept, measured)
        except CuestaError as error:
            measured = None
            wrong = isinstance(error, VerificationError)
            failed = {"repeat": repeat, "why": str(error), "wrong": wrong}
            own.failed.append(failed)
            if wrong:
                # Whoever goes on with the study shall not be lucky.
                wrong_file.write_text(json.dumps(failed), encoding="utf-8")
            self._hears.note(f"{one.name} failed: {error}")
        spent = time.monotonic() - began
        typed = own.measures.get("typed", [])
        self.seconds += max(spent, typed[-1] if typed else 0.0)
        return measured

    def check_folder(self, one: Combination) -> None:
        """Forget runs that were made with other settings or inputs."""
        folder = self._output.absolute() / RUNS / one.name
        made_from = [self._places[key][1] for key in one.keys]
        wanted = json.dumps([asdict(one.settings), made_from], sort_keys=True, default=str)
        told = folder / SETTINGS
        if not told.is_file() or told.read_text(encoding="utf-8") != wanted:
            _clear(folder)
            folder.mkdir(parents=True, exist_ok=True)
            told.write_text(wanted, encoding="utf-8")


def _clear(folder: Path) -> None:
    """Remove the runs of a combination. Errors: `InputError` where anything else is with them."""
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    names = sorted(path.name for path in folder.iterdir())
    for match in filter(None, map(_LEFTOVER.fullmatch, names)):
        collections.deque(leftovers.sweep(folder / match[1]), maxlen=0)
    names = [name for name in names if not _LEFTOVER.fullmatch(name)]
    foreign = [name for name in names if name not in (SETTINGS, WRONG) and not _RUN.fullmatch(name)]
    if foreign or not _is_settings(folder / SETTINGS):
        what = folder / (foreign or [SETTINGS])[0]
        raise InputError(f"{what} is not of a run of this study; move it away")
    for name in names:
        if name.endswith(trials.ANSWER):
            trials.forget_answer(folder / name)
        elif name not in (SETTINGS, WRONG):
            trials.clear_record(folder / name)
    # Last, so that a study that is stopped here clears the rest when it goes on.
    (folder / WRONG).unlink(missing_ok=True)
    (folder / SETTINGS).unlink()


def _is_settings(file: Path) -> bool:
    """Whether a study wrote what the runs beside this file were run with."""
    try:
        facts = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
    except (OSError, ValueError):
        return False
    return isinstance(facts, list) and [*map(type, facts)] == [dict, list]


def _versions(records: Mapping[str, Record]) -> dict[str, str]:
    """Of everything that took part."""
    versions = {"cuesta": __version__}
    for one in records.values():
        versions |= one["versions"]
    return versions
