"""Comparison of programs: all runs in a drawn order, and the folder of the result."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

from cuesta import machine, removal
from cuesta.lab import inputs, leftovers
from cuesta.lab.folder import AnswerFolder
from cuesta.lab.observer import Observer, Silent
from cuesta.native import native_module
from cuesta.programs import execution, judging, record, sizes
from cuesta.programs.commands import Program, Values
from cuesta.programs.execution import Place, Step
from cuesta.programs.plan import ProgramsPlan, check_plan
from cuesta.programs.verdicts import Case

Record = dict[str, object]


def compare_programs(
    programs: Sequence[Program], plan: ProgramsPlan, observer: Observer | None = None
) -> Record:
    """Run all programs as often as the plan repeats, and compare their answers; return the record.

    `plan.output` becomes a folder with `programs.json`, and for each program a folder with its
    answer and its output. A program that fails, or whose answer differs, does not run again; the
    others go on. Errors: `InputError` for what is refused before anything runs.
    """
    check_plan(plan, tuple(programs))
    observer = observer or Silent()
    for sentence in leftovers.sweep(plan.output.resolve(), plan.scratch):
        observer.note(sentence)
    with AnswerFolder(
        plan.output, overwrite=plan.overwrite, scratch=plan.scratch, inputs=plan.inputs
    ) as folder:
        comparison = _Comparison(programs, plan, folder, observer)
        result = comparison.result()
        for sentence in folder.finish():
            observer.note(sentence)
    return result


class _Comparison:
    """All cases of a comparison, and the folders of their runs."""

    def __init__(
        self,
        programs: Sequence[Program],
        plan: ProgramsPlan,
        folder: AnswerFolder,
        observer: Observer,
    ) -> None:
        self._programs = {program.name: program for program in programs}
        self._plan = plan
        self._folder = folder
        self._observer = observer
        self._sizes = [sizes.shown(part) for part in plan.parts]
        self._inputs: dict[str, Path | None] = {}
        self._references: dict[str, judging.Reference | None] = {}
        self._order: list[list[str]] = []
        self._cases = [
            Case(name=program.name, size=size) for program in programs for size in self._sizes
        ]
        cores = sorted(os.sched_getaffinity(0))[: plan.threads]
        self._cores = tuple(cores)

    def result(self) -> Record:
        """Make all runs and write the record."""
        self._prepare()
        draw = random.Random(self._plan.seed)
        for number in range(1, self._plan.repeats + 1):
            cases = [case for case in self._cases if case.is_open]
            draw.shuffle(cases)
            self._order.append([f"{case.name} {case.size}" for case in cases])
            self._round(number, cases)
        for case in self._cases:
            self._keep(case)
        facts = record.Facts(
            plan=self._plan,
            programs=list(self._programs.values()),
            cases=self._cases,
            order=self._order,
            cores=self._cores,
            inputs={size: str(path) for size, path in self._inputs.items() if path},
        )
        answer = self._folder.answer
        checksums = native_module().answer_checksums(answer, [], machine.cores_usable())
        result = record.build(facts, json.loads(checksums))
        record.write(result, answer)
        return result

    def _prepare(self) -> None:
        """Make the parts of the input, and read the expected answer."""
        plan, scratch = self._plan, self._folder.scratch
        for part, size in zip(plan.parts, self._sizes, strict=True):
            path = plan.input and plan.input.resolve()
            if path and part != 1:
                self._observer.stage(f"{size} of {path.name}")
                made = scratch / "parts" / size.replace("/", "-of-") / path.name
                made.parent.mkdir(parents=True)
                sizes.write_part(path, made, part)
                path = made
            self._inputs[size] = path
            if path and plan.cache == inputs.CACHE_AS_IS:
                _read(path)
            self._references[size] = None
        if plan.expected:
            self._references[self._sizes[-1]] = judging.expected(
                plan.expected.resolve(), plan.form, plan.rules, scratch
            )

    def _round(self, number: int, cases: Sequence[Case]) -> None:
        """Run each case once, then compare their answers."""
        written: dict[str, list[judging.Written]] = {size: [] for size in self._sizes}
        for case in cases:
            place = self._place(case, number)
            title = case.name if len(self._sizes) == 1 else f"{case.name} at {case.size}"
            self._observer.stage(f"run {number} of {self._plan.repeats}: {title}")
            if self._run(case, place):
                answer = place.folder / self._plan.answer_name
                if self._plan.is_printed:
                    answer = place.output / self._plan.answer_name
                written[case.size].append(judging.Written(case=case, answer=answer))
        for size, items in written.items():
            if items:
                ordered = sorted(items, key=lambda item: self._cases.index(item.case))
                self._references[size] = judging.judge(
                    judging.Question(
                        written=ordered,
                        reference=self._references[size],
                        form=self._plan.form,
                        rules=self._plan.rules,
                    ),
                    self._folder.scratch,
                )
        for case in cases:
            self._tidy(case, number)

    def _run(self, case: Case, place: Place) -> bool:
        """Make a run; return whether there may be an answer."""
        plan = self._plan
        values = Values(
            here=plan.here,
            input=str(self._inputs[case.size] or ""),
            answer="" if plan.is_printed else str(place.folder / plan.answer_name),
            threads=len(self._cores),
            memory_bytes=plan.memory_bytes,
        )
        step = Step(
            program=self._programs[case.name],
            values=values,
            answer=plan.answer_name,
            is_printed=plan.is_printed,
            cores=self._cores,
            time_limit_seconds=plan.time_limit_seconds,
            cache=plan.cache,
        )
        return execution.run(step, case, place)

    def _place(self, case: Case, number: int) -> Place:
        return execution.make_place(self._root(case, number), self._plan.answer_name)

    def _root(self, case: Case, number: int) -> Path:
        size = case.size.replace("/", "-of-")
        return self._folder.scratch / "runs" / f"{case.name}-{size}-{number}"

    def _tidy(self, case: Case, number: int) -> None:
        """Remove the files of a run, but not those of the first and the last one."""
        if number > 2:
            removal.discard(self._root(case, number - 1))

    def _keep(self, case: Case) -> None:
        """Put the answer and the output of the last run of a case into the result."""
        if not case.runs:
            return
        root = self._root(case, len(case.runs))
        target = self._folder.answer / case.name
        if len(self._sizes) > 1:
            target /= f"size-{case.size.replace('/', '-of-')}"
        target.mkdir(parents=True)
        for name in ("stdout.txt", "stderr.txt"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(root / "output" / name, target / name)
        answer = root / "run" / self._plan.answer_name
        if not self._plan.is_printed and answer.is_file() and not answer.is_symlink():
            _move(answer, target / self._plan.answer_name)
        elif not self._plan.is_printed and answer.is_dir() and not answer.is_symlink():
            for file in answer.rglob("*"):
                if file.is_file() and not file.is_symlink():
                    _move(file, target / self._plan.answer_name / file.relative_to(answer))


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        removal.put_new(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _read(path: Path) -> None:
    """Read an input once, so that the first program does not read it from the disk alone."""
    for file in inputs.files_of(str(path)):
        with file.open("rb") as stream:
            while stream.read(1 << 22):
                pass
