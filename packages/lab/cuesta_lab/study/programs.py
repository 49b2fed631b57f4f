"""Runs of commands in a study: in a folder of their own, with their answers compared.

The executor and the comparison are those of `cuesta compare`.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from cuesta import __version__, machine, removal
from cuesta.errors import CuestaError, EngineError, InputError, VerificationError
from cuesta.lab import inputs, record
from cuesta.lab.observer import Observer
from cuesta.lab.record import Record
from cuesta.lab.stats import median_interval
from cuesta.programs import execution, judging, verdicts
from cuesta.programs.answers.tables import Form
from cuesta.programs.commands import Program, Values
from cuesta.programs.execution import Place, Step
from cuesta.programs.plan import TIME_LIMIT_SECONDS
from cuesta.programs.tree import Ended
from cuesta.programs.verdicts import Case
from cuesta_lab.study.cells import Combination
from cuesta_lab.study.commands import COMMAND, CommandSettings, check_input_command, in_settings
from cuesta_lab.study.model import StudyInput
from cuesta_lab.study.references import KnownReference, References
from cuesta_lab.study.trials import save_record

_SCRATCH = ".scratch-"
"""Prefix of the folder of a run, in the folder of the study."""
_USAGE = (
    "read_bytes",
    "written_bytes",
    "device_read_bytes",
    "device_written_bytes",
)


@dataclass(frozen=True, kw_only=True)
class CommandRun:
    """A run of a combination: the paths of its inputs, and what these were made from."""

    combination: Combination
    paths: Sequence[str]
    made_from: list[str]
    folder: Path

    @property
    def command(self) -> CommandSettings:
        """Settings of the command. Errors: `InputError` for a combination without one."""
        if self.combination.settings.command is None:
            raise InputError(f"{self.combination.name} has no command; give command")
        return self.combination.settings.command


class CommandRunner:
    """Runner of a study's commands; `output` is the folder of the study."""

    def __init__(self, output: Path, observer: Observer) -> None:
        self._output = output.absolute()
        self._observer = observer
        self._references = References(output)
        for folder in self._output.glob(f"{_SCRATCH}*"):
            if removal.is_idle(folder):
                removal.remove_marked(folder)

    def reference(self, run: CommandRun) -> str:
        """Identifier of the reference by which a run is judged now; empty without one."""
        question = self._references.question(run.combination, run.made_from)
        known = self._references.current(run.combination, question)
        return known.identifier if known else ""

    def run(self, run: CommandRun) -> Record:
        """Run the command, compare its answer, and save the record of the run.

        Errors: `VerificationError` for another answer; `EngineError` if a step fails.
        """
        with removal.held_folder(_SCRATCH, self._output) as scratch:
            result = _Run(run, scratch, self._references).record()
        for remark in result["program"]["remarks"]:
            self._observer.note(f"{run.combination.name}: {remark}")
        run.folder.parent.mkdir(parents=True, exist_ok=True)
        save_record(result, run.folder)
        return result


class _Run:
    """A run from its first step to its record."""

    def __init__(self, run: CommandRun, scratch: Path, references: References) -> None:
        self._run = run
        self._command = run.command
        self._scratch = scratch
        self._references = references
        settings = run.combination.settings
        self._settings = settings
        self._cores = tuple(sorted(os.sched_getaffinity(0))[: settings.cores])
        self._place = execution.make_place(scratch / "program", self._command.answer_name)
        self._started = time.gmtime()
        self._load = os.getloadavg()[0]

    def record(self) -> Record:
        """Run all steps and build the record. Errors: as `CommandRunner.run`."""
        command, case = self._command, Case(name=self._run.combination.name, size="1")
        for program in command.before:
            self._other_step(program, EngineError)
        step = self._step(command.main, is_printed=command.is_printed)
        if not execution.run(step, case, self._place):
            raise _error(case)
        began = time.monotonic()
        for program in command.after:
            self._other_step(program, VerificationError)
        reference = self._judge(case, self._place.answer(step))
        return self._built(case, reference, time.monotonic() - began)

    def _other_step(self, program: Program, error: type[CuestaError]) -> None:
        """Run a step before or after the command. Errors: `error` with its exit code, or others."""
        output = self._scratch / program.name
        output.mkdir()
        place = Place(folder=self._place.folder, temporary=self._place.temporary, output=output)
        case = Case(name=program.name, size="1")
        step = self._step(program, is_printed=False)
        if not execution.run(step, case, place):
            kind = error if case.verdict == verdicts.FAILED else EngineError
            raise kind(f"{program.where}: {in_settings(case.sentence)}")

    def _step(self, program: Program, *, is_printed: bool) -> Step:
        command = self._command
        folder = self._place.output if command.is_printed else self._place.folder
        values = Values(
            here=Path(command.here),
            input=next(iter(self._run.paths), ""),
            further_inputs=tuple(self._run.paths[1:]),
            answer="" if is_printed else str(folder / command.answer_name),
            threads=len(self._cores),
            memory_bytes=self._settings.memory_bytes,
            levels=command.levels,
        )
        return Step(
            program=program,
            values=values,
            answer=command.answer_name,
            is_printed=is_printed,
            cores=self._cores,
            time_limit_seconds=command.time_limit_seconds,
            cache=self._settings.cache,
        )

    def _judge(self, case: Case, answer: Path) -> KnownReference:
        """Compare the answer with the reference, which it becomes if there is none."""
        run, command = self._run, self._command
        question = self._references.question(run.combination, run.made_from)
        known = self._references.current(run.combination, question)
        if known:
            case.digests = _earlier_digests(run.folder, known.identifier)
        reference = judging.judge(
            judging.Question(
                written=[judging.Written(case=case, answer=answer)],
                reference=known.reference if known else None,
                form=Form(kind=command.kind, header=command.header),
                rules=command.rules,
            ),
            self._scratch,
        )
        if case.verdict not in verdicts.TIMED or reference is None:
            by = f" from the answer of {known.by}" if known and known.by else ""
            raise _error(case, f"its answer differs{by}: ")
        if known is None:
            self._references.store(run.combination, question, reference)
            known = self._references.current(run.combination, question)
        if known is None:
            raise InputError(f"{run.folder}: its reference vanished while it ran; run it again")
        return known

    def _built(self, case: Case, reference: KnownReference, judge_seconds: float) -> Record:
        ended = case.runs[-1]
        settings, command = self._settings, self._command
        summary = case.summary or {}
        times = {"wall_seconds": ended.wall_seconds, **_usage(ended)}
        phases = [{"name": "run", "seconds": ended.wall_seconds}]
        counts = {} if summary.get("rows") is None else {"rows": summary["rows"]}
        method = "equal to the expected answer"
        if reference.by:
            method = f"equal to the answer of {reference.by}"
        return {
            "schema": record.SCHEMA,
            "workload": COMMAND,
            "engine": COMMAND,
            "parameters": {COMMAND: command.command, **command.levels},
            "inputs": [asdict(inputs.describe(path)) for path in self._run.paths],
            "threads": len(self._cores),
            "memory_bytes": settings.memory_bytes,
            "seed": 0,
            "engine_options": {},
            "answer": {"digest": summary.get("exact_digest"), "counts": counts, "files": []},
            "verified": True,
            "verification": {
                "level": "full",
                "method": method,
                "expected": None,
                "fault": None,
                "seconds": judge_seconds,
            },
            "time": {
                "work_seconds": ended.wall_seconds,
                "verification_seconds": judge_seconds,
                "disk_seconds": 0.0,
                "rest_seconds": 0.0,
                "as_typed_seconds": ended.wall_seconds,
            },
            "phases": phases,
            **times,
            "cache": settings.cache,
            "repeats": 1,
            "samples": [
                {**times, "resident_before_bytes": 0, "load_average": self._load, "phases": phases}
            ],
            "statistics": {"wall_seconds": asdict(median_interval([ended.wall_seconds]))},
            "ceilings": None,
            "machine": machine.describe({"output": self._run.folder.parent.parent.parent}),
            "versions": _versions(command),
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", self._started),
            "command": list(case.words),
            "preview": [],
            "timeline": dict(ended.timeline),
            "program": {
                "verdict": case.verdict,
                "digest": summary.get("digest"),
                "reference": reference.identifier,
                "by": reference.by,
                "checks": len(command.after),
                "resolved": dict(case.resolved),
                "remarks": list(map(in_settings, case.remarks)),
            },
        }


def make_input(study_input: StudyInput, target: Path, here: Path) -> None:
    """Write an input by its command. Errors: `InputError` if that fails or writes nothing."""
    program = check_input_command(study_input.source)
    with removal.held_folder(_SCRATCH, target.parent) as scratch:
        place = execution.make_place(scratch / "program", "answer")
        cores = tuple(sorted(os.sched_getaffinity(0)))
        step = Step(
            program=program,
            values=Values(
                here=here.absolute(),
                input="",
                answer=str(target),
                threads=len(cores),
                memory_bytes=machine.memory_bytes() // 2,
            ),
            answer="answer",
            is_printed=False,
            cores=cores,
            time_limit_seconds=TIME_LIMIT_SECONDS,
        )
        case = Case(name=study_input.name, size="1")
        if not execution.run(step, case, place):
            sentence = in_settings(case.sentence)
            raise InputError(f"input {study_input.name}: its command: {sentence}; correct it")
    if not os.path.lexists(target):
        raise InputError(
            f"input {study_input.name}: its command wrote nothing to {{answer}}; correct it"
        )


def script_digests(texts: Sequence[Program], here: Path) -> list[str]:
    """Digests of the files beside the study file that commands name, such as scripts."""
    files = {
        file
        for program in texts
        for word in program.words
        for file in [here / word.replace("{here}/", "")]
        if "\0" not in word and _is_file(file)
    }
    digests = []
    for file in sorted(files):
        with file.open("rb") as stream:
            digests.append(f"{file.name} {hashlib.file_digest(stream, 'blake2b').hexdigest()[:32]}")
    return digests


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:  # A word that is too long is no path.
        return False


def _error(case: Case, words: str = "") -> CuestaError:
    """The error of a case that has no time."""
    if case.verdict in verdicts.WRONG:
        prefix = "" if case.verdict == verdicts.UNSTABLE else words
        return VerificationError(f"{prefix}{in_settings(case.sentence)}")
    return EngineError(in_settings(case.sentence))


def _earlier_digests(folder: Path, reference: str) -> list[str | None]:
    """Digests of the answers of a combination's runs that were judged by this reference."""
    files = sorted(folder.parent.glob(f"[0-9]*/{record.FILE_NAME}"))
    programs = [record.read(file).get("program", {}) for file in files]
    return [facts["digest"] for facts in programs if facts.get("reference") == reference]


def _usage(ended: Ended) -> dict[str, Any]:
    counted = {name: getattr(ended, name) for name in _USAGE}
    counted["cpu_seconds"] = ended.user_seconds + ended.system_seconds
    # A run that is shorter than the interval of samples has no sample.
    if ended.peak_resident_bytes:
        counted["peak_resident_bytes"] = ended.peak_resident_bytes
    return counted


def _versions(command: CommandSettings) -> dict[str, str]:
    versions = {"cuesta": __version__, "python": ".".join(map(str, sys.version_info[:3]))}
    packages = metadata.packages_distributions() if command.needs_python else {}
    for module in command.needs_python:
        for package in packages.get(module, [])[:1]:
            versions[package] = metadata.version(package)
    return versions
