"""The record of a comparison of programs; its fields are in `spec/formats/programs.md`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cuesta import __version__, machine, untrusted
from cuesta.errors import CuestaError, EngineError, VerificationError
from cuesta.lab import inputs
from cuesta.lab.stats import median_interval, representative
from cuesta.programs.commands import Program
from cuesta.programs.plan import ProgramsPlan
from cuesta.programs.tree import Ended
from cuesta.programs.verdicts import TIMED, WRONG, Case

SCHEMA = "cuesta.programs/1"
FILE_NAME = "programs.json"

Record = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A comparison that has ended; `inputs` are paths by size."""

    plan: ProgramsPlan
    programs: Sequence[Program]
    cases: Sequence[Case]
    order: Sequence[Sequence[str]]
    cores: Sequence[int]
    inputs: Mapping[str, str]


def build(facts: Facts, files: Sequence[Mapping[str, object]]) -> Record:
    """Build the record; `files` are names, bytes and checksums of the files in the folder."""
    plan = facts.plan
    return {
        "schema": SCHEMA,
        "equal": all(case.verdict in TIMED for case in facts.cases),
        "comparison": _comparison(facts),
        "programs": [_program(program, facts) for program in facts.programs],
        "inputs": [
            {"size": size, **asdict(inputs.describe(path))}
            | {"path": str(plan.input) if size == "1" else f"{size} of {plan.input}"}
            for size, path in facts.inputs.items()
        ],
        "threads": len(facts.cores),
        "cores": list(facts.cores),
        "memory_bytes": plan.memory_bytes,
        "memory_by": next(
            (run.memory_by for case in facts.cases for run in case.runs if run.memory_by), ""
        ),
        "time_limit_seconds": plan.time_limit_seconds,
        "cache": plan.cache,
        "repeats": plan.repeats,
        "seed": plan.seed,
        "order": [list(names) for names in facts.order],
        "machine": machine.describe({"output": plan.output.parent}),
        "versions": {"cuesta": __version__, "python": ".".join(map(str, sys.version_info[:3]))},
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(plan.started)),
        "folder": str(plan.here),
        "command": list(plan.command),
        "answer": {"files": [dict(row) for row in files]},
    }


def write(record: Record, folder: Path) -> None:
    """Write the record into a folder."""
    text = json.dumps(record, indent=2, ensure_ascii=True)
    (folder / FILE_NAME).write_text(f"{text}\n", encoding="utf-8")


def read(path: Path) -> Record:
    """Read the record of a folder, or in a file. Errors: `InputError` if there is none."""
    file = path / FILE_NAME if path.is_dir() else path
    return untrusted.read_record(file, "comparison record", SCHEMA)


def error_of(record: Record) -> CuestaError | None:
    """The error with which a comparison ends: a different answer first, then a failed program."""
    wrong = _sentences(record, lambda verdict: verdict in WRONG)
    if wrong:
        return VerificationError(f"answers differ: {'; '.join(wrong)}")
    failed = _sentences(record, lambda verdict: verdict not in TIMED)
    if failed:
        return EngineError(f"not all programs gave an answer: {'; '.join(failed)}")
    return None


def _sentences(record: Record, matches: Callable[[str], bool]) -> list[str]:
    """A sentence for each program with such a verdict, at the largest size that has it."""
    sentences = []
    for program in record["programs"]:
        cases = [case for case in program["cases"] if matches(case["verdict"])]
        if cases:
            place = "" if len(program["cases"]) == 1 else f" at size {cases[-1]['size']}"
            sentences.append(f"{program['name']}{place}: {cases[-1]['sentence']}")
    return sentences


def _comparison(facts: Facts) -> Record:
    plan = facts.plan
    summaries = [case.summary for case in facts.cases if case.summary]
    return {
        "answer": plan.answer,
        "format": plan.form.kind,
        "key": list(plan.rules.key),
        "tolerances": {
            name: {"relative": tolerance.relative, "absolute": tolerance.absolute}
            for name, tolerance in plan.rules.tolerances.items()
        },
        "rows": "in-order" if any(one["is_ordered"] for one in summaries) else "any",
        "expected": str(plan.expected) if plan.expected else None,
        "sizes": [str(part) for part in plan.parts],
    }


def _program(program: Program, facts: Facts) -> Record:
    cases = [case for case in facts.cases if case.name == program.name]
    return {
        "name": program.name,
        "command": program.text,
        "words": list(cases[-1].words),
        "resolved": dict(cases[-1].resolved),
        "cases": [_case(case) for case in cases],
    }


def _case(case: Case) -> Record:
    walls = [run.wall_seconds for run in case.runs]
    timed = case.verdict in TIMED
    chosen = case.runs[representative(walls)] if case.runs else None
    last = case.runs[-1] if case.runs else None
    return {
        "size": case.size,
        "verdict": case.verdict,
        "sentence": case.sentence,
        "remarks": list(case.remarks),
        "difference": dict(case.difference) if case.difference else None,
        "summary": dict(case.summary) if case.summary else None,
        "digests": list(case.digests),
        "statistics": {"wall_seconds": asdict(median_interval(walls))} if timed else None,
        "runs": [_run(run) for run in case.runs],
        "stdout": _stream(last, "stdout"),
        "stderr": _stream(last, "stderr"),
        "timeline": dict(chosen.timeline) if chosen and timed else {},
    }


_RUN_FIELDS = (
    "wall_seconds", "exit_code", "reason", "user_seconds", "system_seconds",
    "peak_resident_bytes", "read_bytes", "written_bytes", "device_read_bytes",
    "device_written_bytes", "major_faults", "waits", "preemptions", "processes", "leftovers",
    "written",
)  # fmt: skip


def _run(run: Ended) -> Record:
    fields = {name: getattr(run, name) for name in _RUN_FIELDS}
    # A run that is shorter than the interval of samples has no sample.
    if not run.peak_resident_bytes:
        fields["peak_resident_bytes"] = None
    return {**fields, "leftovers": list(run.leftovers), "written": list(run.written)}


def _stream(run: Ended | None, name: str) -> Record | None:
    stream = getattr(run, name) if run else None
    if stream is None:
        return None
    return {**asdict(stream), "tail": untrusted.harmless(stream.tail.replace("\0", "?"))}
