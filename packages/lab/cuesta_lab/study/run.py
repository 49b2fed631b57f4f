"""Runs of a study, in its order, until intervals are tight or the time budget is used up."""

from __future__ import annotations

import collections
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from cuesta import __version__, machine, markers, outputs
from cuesta.errors import CuestaError, InputError, VerificationError
from cuesta.lab import leftovers, record
from cuesta.lab.observer import Observer
from cuesta.lab.record import Record
from cuesta.units import format_seconds
from cuesta.untrusted import read_json, read_text
from cuesta_lab import machines
from cuesta_lab.study import estimate, inputs, order, refusals, result, rules, trials, trust
from cuesta_lab.study.cells import Combination, combinations
from cuesta_lab.study.claims import judged
from cuesta_lab.study.measures import measures
from cuesta_lab.study.model import Factor, Key, Study
from cuesta_lab.study.programs import CommandRun, CommandRunner, script_digests
from cuesta_lab.study.result import RUNS, CombinationRuns, Result
from cuesta_lab.study.trials import StudyEnvironment

WRONG = "wrong.json"
"""File in the folder of a combination: the repeat with a wrong answer, and the error."""
FOLDER_MARK = ".cuesta-study"
FOLDER_SCHEMA = "cuesta.study-folder/1"
SETTINGS = "settings.json"
"""File in the folder of a combination: the settings of its runs."""
_RUN = re.compile(r"\.?\d+|\d+" + re.escape(trials.ANSWER))
"""Names of a combination's folders: records of runs, some incomplete, and answers."""
_LEFTOVER = re.compile(r"(\d+" + re.escape(trials.ANSWER) + r")\.(?:partial|replaced)-[\d.]+")
"""Names of folders of killed runs, and of wrong answers that are retained for inspection."""
TIGHT_BY = "work"
"""Measure whose interval must be tight."""


def run(
    study: Study,
    output: Path,
    environment: StudyEnvironment,
    observer: Observer,
    levels: Sequence[Factor] = (),
) -> tuple[Result, list[CombinationRuns]]:
    """Run the missing runs of the folder `output`; return and write its `study.json`.

    Each run has its own process, bound to as many cores as it may use, and a folder
    `runs/COMBINATION/REPEAT`, in which the record is saved. An existing run of the same settings is
    reused, so a stopped study continues; so are its inputs. Combinations for which this machine
    lacks something are left out, with the reason. With some `levels`, only these are run; earlier
    results of the other levels remain in the result.

    Errors: `InputError` for a wrong study or an input that cannot be made. The result reports
    failed runs; `result.complain` raises their errors.
    """
    began, started = time.monotonic(), time.gmtime(time.time())
    earlier = _same(study, _earlier(output))
    part = replace(study, factors=tuple(levels)) if levels else study
    runner, all_runs = prepare(part, output, environment, observer)
    runner.run(all_runs)
    seconds = time.monotonic() - began if runner.count or not earlier else 0.0
    if runner.reused:
        count = runner.reused + runner.count
        done = "nothing was run" if not runner.count else f"{runner.count} were run now"
        observer.note(f"{runner.reused} of {count} runs were here already; {done}")
    cells = result.to_cells(all_runs)
    if levels:
        cells = result.complete_cells(cells, combinations(study, environment.memory_bytes), earlier)
    records = result.records([place for cell in cells for place in cell["runs"]], output)
    study_result = result.to_result(
        study,
        cells,
        started=earlier.get("started") or time.strftime("%Y-%m-%dT%H:%M:%SZ", started),
        seconds=seconds + float(earlier.get("seconds") or 0.0),
        budget_spent=runner.is_budget_spent,
        machine=machine.describe({"output": output}),
        versions=_versions(records),
    )
    study_result["claims"] = judged(study_result)
    study_result["alarms"] = rules.alarms(study_result, records)
    result.write(study_result, output)
    return study_result, all_runs


def prepare(
    study: Study, output: Path, environment: StudyEnvironment, observer: Observer
) -> tuple[StudyRunner, list[CombinationRuns]]:
    """Make the inputs and list all combinations, before any run.

    Errors: as `run`.
    """
    combined = combinations(study, environment.memory_bytes)
    trust.require(study, combined, environment)
    # Changes of the machine by an earlier study, perhaps in folders of this one.
    machines.put_back()
    _claim(output, [item.source for item in study.inputs if item.kind == "path"])
    observer.note(estimate.sentence(study, combined, _earlier(output)))
    keys = {key for combination in combined if not combination.left_out for key in combination.keys}
    named = {source.name: source for source in study.inputs}
    # In the order of the file, which a waiting user reads.
    ordered_keys = sorted(keys, key=lambda key: (list(named).index(key[0]), key[1] or ""))
    wanted = {key: named[key[0]] for key in ordered_keys}
    places = inputs.prepare(study, wanted, output, environment.places, observer)
    all_runs = [
        CombinationRuns(
            combination=combination, left_out=refusals.refusal(combination, places, environment)
        )
        for combination in combined
    ]
    runner = StudyRunner(study, output, environment, observer, places)
    for results in all_runs:
        if results.left_out is None:
            runner.check_folder(results.combination)
    return runner, all_runs


def _claim(output: Path, paths: Sequence[str]) -> None:
    """Make the folder of a study, or reuse it. Errors: `InputError` for any other folder."""
    outputs.check_local(output)
    outputs.check_apart(output, paths)
    if not _is_study(output):
        if os.path.lexists(output) and (not output.is_dir() or any(output.iterdir())):
            raise InputError(f"{output} is not the folder of a study; give a new folder with -o")
        output.mkdir(parents=True, exist_ok=True)
        facts = json.dumps({"schema": FOLDER_SCHEMA})
        (output / FOLDER_MARK).write_text(f"{facts}\n", encoding="ascii")


def _is_study(output: Path) -> bool:
    """Whether a folder is of a study; folders of older versions have no mark."""
    mark = markers.read_marker(output, FOLDER_MARK)
    is_marked = mark.get("schema") == FOLDER_SCHEMA
    return is_marked or _earlier(output) is not None or any(output.glob(f"{RUNS}/*/{SETTINGS}"))


def _earlier(output: Path) -> Result | None:
    """Return the result of an earlier run in the folder, if there is one."""
    if not (output / result.FILE_NAME).is_file():  # A pipe would never be read to its end.
        return None
    try:
        return result.read(output)
    except InputError:
        return None


def _same(study: Study, earlier: Result | None) -> Result:
    """Return the earlier result if it is of the same study, else an empty one."""
    known = (earlier or {}).get("file"), (earlier or {}).get("smoke"), (earlier or {}).get("seed")
    is_same = earlier is not None and known == (as_json(study.file_table), study.smoke, study.seed)
    return earlier if earlier and is_same else {}


def as_json(value: object) -> object:
    """Convert a value as writing it to a file and reading it does."""
    return json.loads(json.dumps(value, default=str))


class StudyRunner:
    """Runner of a study, with its budget of time."""

    def __init__(
        self,
        study: Study,
        output: Path,
        environment: StudyEnvironment,
        observer: Observer,
        places: dict[Key, tuple[str, str]],
    ) -> None:
        self._study = study
        self._output = output
        self._environment = environment
        self._observer = observer
        self._places = places
        self._commands = CommandRunner(output, observer)
        self.seconds = 0.0
        self.is_budget_spent = False
        self.count = self.reused = 0

    def run(self, all_runs: Sequence[CombinationRuns]) -> None:
        """Run all combinations that are not left out."""
        able = {
            results.combination.name: results for results in all_runs if results.left_out is None
        }
        todo = [results.combination for results in able.values()]
        study = self._study

        def is_done(combination: Combination) -> bool:
            results = able[combination.name]
            samples = results.measures.get(TIGHT_BY, [])
            return bool(results.failed) or order.is_tight(samples, study.tight)

        total = len(todo) * study.repeats
        runs = order.rounds(todo, study.repeats, study.seed, is_done)
        for number, (combination, repeat) in enumerate(runs, 1):
            if self.is_out_of_time(list(able.values())):
                self.is_budget_spent = True
                self._observer.note("the budget of time is spent")
                break
            self.run_once(able[combination.name], repeat, f"{number} of {total}")
            if number == len(todo) and study.repeats > 1:
                self._report_remaining(list(able.values()), total - number)

    def _report_remaining(self, all_runs: Sequence[CombinationRuns], runs: int) -> None:
        seconds = estimate.remaining(all_runs, runs)
        if seconds is not None:
            remaining_seconds = min(seconds, max(0.0, self._study.minutes * 60 - self.seconds))
            self._observer.note(
                f"the first repeat of all is done; about {format_seconds(remaining_seconds)} more"
            )

    def is_out_of_time(self, all_runs: Sequence[CombinationRuns], part: float = 1.0) -> bool:
        """Whether the next run, at the mean time so far, would exceed the part of the budget."""
        expected = estimate.remaining(all_runs, 1) or 0.0
        return self.seconds + expected > part * self._study.minutes * 60

    def run_once(
        self, results: CombinationRuns, repeat: int, number: str
    ) -> dict[str, float] | None:
        """Make a run, or reuse its record, and return its measures; None if it failed."""
        combination = results.combination
        place = f"{RUNS}/{combination.name}/{repeat}"
        folder = self._output / place
        wrong_file = folder.parent / WRONG
        began = time.monotonic()
        if (failed := self._earlier_failure(combination, wrong_file)) is not None:
            results.failed.append(failed)
            return None
        try:
            run_record = self._earlier_record(combination, folder)
            if run_record is not None:
                self.reused += 1
            else:
                self.count += 1
                words = ", ".join(f"{name} {level}" for name, level in combination.levels.items())
                self._observer.note(f"{number}: {words or self._study.name}")
                run_record = self._run(combination, folder)
            measured = measures(run_record)
            results.add(place, run_record, measured)
        except CuestaError as error:
            measured = None
            wrong = isinstance(error, VerificationError)
            failed = {"repeat": repeat, "why": str(error), "wrong": wrong}
            results.fail(failed)
            if wrong:
                # A later attempt to continue the study must not be lucky.
                facts = failed | self._reference_of(combination, folder)
                wrong_file.write_text(json.dumps(facts), encoding="utf-8")
            self._observer.note(f"{combination.name} failed: {error}")
        elapsed = time.monotonic() - began
        typed = results.measures.get("typed", [])
        self.seconds += max(elapsed, typed[-1] if typed else 0.0)
        return measured

    def _run(self, combination: Combination, folder: Path) -> Record:
        """Make a run. Errors: as `trials.run`, or as `CommandRunner.run`."""
        if combination.settings.command:
            return self._commands.run(self._command_run(combination, folder))
        paths = [self._places[key][0] for key in combination.keys]
        return trials.run(combination.settings, paths, folder, self._environment, self._observer)

    def _earlier_record(self, combination: Combination, folder: Path) -> Record | None:
        """Return the record of an earlier run; None where a command's answer needs a comparison."""
        if not (folder / record.FILE_NAME).is_file():
            return None
        run_record = record.read(folder)
        judged_by = {"reference": run_record.get("program", {}).get("reference")}
        is_current = not combination.settings.command or judged_by == self._reference_of(
            combination, folder
        )
        return run_record if is_current else None

    def _earlier_failure(self, combination: Combination, file: Path) -> dict[str, Any] | None:
        """Return the wrong answer of an earlier run, unless its reference is another one by now."""
        if not file.is_file():
            return None
        failed: dict[str, Any] = read_json(file)
        judged_by = self._reference_of(combination, file)
        if judged_by and judged_by["reference"] != failed.pop("reference", None):
            file.unlink()
            return None
        return failed

    def _reference_of(self, combination: Combination, folder: Path) -> dict[str, str]:
        """The reference of a command's answer; nothing for a workload."""
        if not combination.settings.command:
            return {}
        return {"reference": self._commands.reference(self._command_run(combination, folder))}

    def _command_run(self, combination: Combination, folder: Path) -> CommandRun:
        places = [self._places[key] for key in combination.keys]
        return CommandRun(
            combination=combination,
            paths=[path for path, _ in places],
            made_from=[made_from for _, made_from in places],
            folder=folder,
        )

    def check_folder(self, combination: Combination) -> None:
        """Remove runs that were made with other settings or inputs."""
        folder = self._output.absolute() / RUNS / combination.name
        made_from = [self._places[key][1] for key in combination.keys]
        if command := combination.settings.command:
            steps = (*command.before, command.main, *command.after)
            made_from += script_digests(steps, Path(command.here))
        wanted = json.dumps([asdict(combination.settings), made_from], sort_keys=True, default=str)
        settings_file = folder / SETTINGS
        if not settings_file.is_file() or read_text(settings_file) != wanted:
            _clear(folder)
            folder.mkdir(parents=True, exist_ok=True)
            settings_file.write_text(wanted, encoding="utf-8")


def _clear(folder: Path) -> None:
    """Remove the runs of a combination. Errors: `InputError` if there are other files."""
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
            trials.remove_answer(folder / name)
        elif name not in (SETTINGS, WRONG):
            trials.clear_record(folder / name)
    # Last, so that a study that is stopped here clears the rest when it continues.
    (folder / WRONG).unlink(missing_ok=True)
    (folder / SETTINGS).unlink()


def _is_settings(file: Path) -> bool:
    """Whether a study wrote this file of the settings of the runs next to it."""
    try:
        facts = read_json(file) if file.is_file() else None
    except (OSError, ValueError):
        return False
    return isinstance(facts, list) and [*map(type, facts)] == [dict, list]


def _versions(records: Mapping[str, Record]) -> dict[str, str]:
    """Collect the versions of all components of the runs."""
    versions = {"cuesta": __version__}
    for run_record in records.values():
        versions |= run_record["versions"]
    return versions
