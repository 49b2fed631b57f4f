"""Run records: building, writing and reading; the format is `spec/formats/run-record.md`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cuesta import untrusted
from cuesta.config.layers import HIDDEN, is_secret
from cuesta.errors import InputError
from cuesta.lab import fingerprint
from cuesta.lab.inputs import CACHE_AS_IS, InputFacts
from cuesta.lab.names import Names, Naming
from cuesta.lab.probe import CountedUsage, Usage
from cuesta.lab.stats import median_interval, representative
from cuesta.lab.verify import Verification
from cuesta.trial import Outcome, Phase, RemoteUse, Stage, Trial

SCHEMA = "cuesta.run/1"
FILE_NAME = "run.json"

SETUP_PHASES = ("start", "load")
"""Phases that prepare an engine; all other phases are the work itself."""

Record = dict[str, Any]

_COLUMN = re.compile(r"\[\n[\s\d.,e+-]*\]")
"""Numbers of a column, a line each; a text has no line feed in JSON."""
_COLUMNS_IN = ("stages", "timeline")

_MEASURES = {"_bytes_per_s": "bytes", "_rows_per_s": "rows", "_flops_per_s": "flops"}
_WARM_READ = "file_read_warm_bytes_per_s"
_DEVICE_READ = "file_read_direct_bytes_per_s"
_TOTALS = (
    "wall_seconds",
    "cpu_seconds",
    "peak_resident_bytes",
    "read_bytes",
    "written_bytes",
    "device_read_bytes",
    "device_written_bytes",
)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A repeat: the engine's outcome, the measurements of the probe, and the engine's log.

    The starts of `stages` are in seconds since the start of the run; `timeline` has the columns of
    the record.
    """

    outcome: Outcome
    usage: Usage | CountedUsage
    log: Mapping[str, float] = field(default_factory=dict)
    stages: tuple[Stage, ...] = ()
    timeline: Mapping[str, Any] = field(default_factory=dict)
    remote: RemoteUse | None = None


@dataclass(frozen=True, kw_only=True)
class Context:
    """Circumstances of a trial for its record."""

    inputs: tuple[InputFacts, ...]
    machine: Mapping[str, object]
    versions: Mapping[str, str]
    ceilings: Mapping[str, float] | None
    cache: str
    warm_runs: int
    started: str
    command: tuple[str, ...]
    names: Names | None = None
    sample: str = ""
    settings: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Completion:
    """Verification and completion of an answer after the engine has ended.

    Attributes
    ----------
    files
        Name, bytes and checksum of each file.
    usage
        Usage of the verification, and of the work concurrent with it.
    disk_seconds
        Wait for the disk and the checksums after the verification.
    naming
        Cost of names of genes and a graph in the answer; None without these.
    """

    verification: Verification
    files: tuple[Mapping[str, object], ...]
    usage: Usage
    disk_seconds: float
    naming: Naming | None = None


def build(
    trial: Trial, context: Context, samples: Sequence[Sample], completion: Completion
) -> Record:
    """Build the record of `samples` of `trial`, whose last sample wrote the answer files."""
    walls = [sample.usage.wall_seconds for sample in samples]
    chosen = samples[representative(walls)]
    verification = completion.verification
    counts = {**chosen.outcome.counts, **verification.counts}
    usage = {name: getattr(chosen.usage, name) for name in _TOTALS}
    stretches = [chosen.usage, completion.usage]
    if completion.naming:
        stretches.append(completion.naming.usage)
        counts |= completion.naming.counts
    peaks = [stretch.peak_resident_bytes for stretch in stretches]
    known = [peak for peak in peaks if peak is not None]
    usage["peak_resident_bytes"] = max(known) if len(known) == len(peaks) else None
    return {
        "schema": SCHEMA,
        "workload": trial.workload,
        "engine": trial.engine,
        "parameters": dict(trial.parameters),
        "inputs": fingerprint.recorded(context.inputs, verification.inputs),
        "sample": context.sample,
        "names": None if context.names is None else asdict(context.names),
        "threads": trial.threads,
        "memory_bytes": trial.memory_bytes,
        "seed": trial.seed,
        "engine_options": _without_secrets(trial.engine_options),
        "answer": {
            "digest": verification.digest,
            "counts": counts,
            "files": list(completion.files),
        },
        "verified": verification.verified,
        "verification": {
            "level": verification.level,
            "method": verification.method or None,
            "expected": verification.expected,
            "fault": verification.fault if verification.verified is False else None,
            "seconds": verification.seconds,
            "cpu_seconds": completion.usage.cpu_seconds,
            "peak_resident_bytes": completion.usage.peak_resident_bytes,
        },
        "phases": _phase_rows(chosen, context),
        **_counted(usage),
        **({"remote": _counted(asdict(chosen.remote))} if chosen.remote else {}),
        "engine_log": dict(chosen.log),
        "stages": [asdict(stage) for stage in chosen.stages],
        "cache": context.cache,
        "repeats": len(samples),
        **({"session_runs": context.warm_runs} if context.warm_runs else {}),
        "samples": [
            {**_counted(asdict(sample.usage)), "phases": _phase_rows(sample, context)}
            for sample in samples
        ],
        "statistics": {"wall_seconds": asdict(median_interval(walls))},
        "ceilings": None if context.ceilings is None else dict(context.ceilings),
        "machine": dict(context.machine),
        "versions": {**context.versions, **chosen.outcome.versions},
        "started": context.started,
        "command": list(context.command),
        **({"settings": list(map(dict, context.settings))} if context.settings else {}),
        "preview": [],
        "timeline": dict(chosen.timeline),
    }


def _without_secrets(options: Mapping[str, str]) -> Record:
    """Options of an engine; a password or a key is not for a record, which people hand on."""
    return {name: HIDDEN if is_secret(name) else value for name, value in options.items()}


def _counted(measures: Mapping[str, Any]) -> Record:
    """Drop measures that could not be counted."""
    return {name: value for name, value in measures.items() if value is not None}


def times(samples: Sequence[Sample], completion: Completion, as_typed_seconds: float) -> Record:
    """Split the time of a command by its parts; `as_typed_seconds` is the time until now."""
    seconds_of = {
        "work_seconds": sum(sample.usage.wall_seconds for sample in samples),
        "naming_seconds": completion.naming.usage.wall_seconds if completion.naming else 0.0,
        "verification_seconds": completion.verification.seconds,
        "disk_seconds": completion.disk_seconds,
    }
    rest = max(0.0, as_typed_seconds - sum(seconds_of.values()))
    return {**seconds_of, "rest_seconds": rest, "as_typed_seconds": as_typed_seconds}


def single_run_seconds(record: Record) -> float:
    """Time of a command of a single run as typed, with its work at the median of the repeats.

    A reused session is started, and an array loaded, in one of the repeats only.
    """
    durations = record["time"]
    outside = durations["as_typed_seconds"] - durations["work_seconds"]
    return float(outside + engine_seconds(record))


def engine_seconds(record: Record) -> float:
    """Time of the engine in a run by itself: its set-up once, and the median of its work."""
    setups = _setups(record)
    if not setups:
        return float(record["statistics"]["wall_seconds"]["median"])
    walls = [sample["wall_seconds"] for sample in record["samples"]]
    pairs = zip(walls, setups, strict=True)
    work = median_interval([wall - sum(setup.values()) for wall, setup in pairs]).median
    work += sum(max(setup.get(name, 0.0) for setup in setups) for name in SETUP_PHASES)
    return float(work)


def start_seconds(record: Record) -> float:
    """Time in which the engine started, in whichever repeat that was."""
    setups = _setups(record) or [_setup(record["phases"])]
    return max(setup.get("start", 0.0) for setup in setups)


def _setups(record: Record) -> list[dict[str, float]]:
    """Seconds of the phases of set-up, of each sample."""
    return [_setup(sample["phases"]) for sample in record.get("samples", ())]


def _setup(phases: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    return {row["name"]: row["seconds"] for row in phases if row["name"] in SETUP_PHASES}


def phase_row(phase: Phase, ceilings: Mapping[str, float] | None) -> Record:
    """Row of a phase in the record, with its fraction of the ceiling if that is known."""
    row = {name: value for name, value in asdict(phase).items() if value is not None}
    ceiling = (ceilings or {}).get(phase.ceiling or "")
    measure = next((row.get(_MEASURES[end]) for end in _MEASURES if _ends(phase, end)), None)
    if ceiling and measure is not None and phase.seconds > 0:
        rate = measure / phase.seconds
        row |= {"ceiling_per_s": ceiling, "rate_per_s": rate, "fraction_of_ceiling": rate / ceiling}
    return row


def write(record: Record, folder: Path) -> None:
    """Write the record into an answer folder.

    Each column of its time line and tasks, and each view of its preview, is on a line.
    """
    apart = {name: record[name] for name in ("preview", *_COLUMNS_IN) if name in record}
    fields = {name: value for name, value in record.items() if name not in apart}
    text = json.dumps(fields, indent=2, ensure_ascii=False).removesuffix("\n}")
    for name, value in apart.items():
        if name == "preview":
            views = (json.dumps(view, ensure_ascii=False) for view in value)
            shown = "[" + ",".join(f"\n    {view}" for view in views) + "\n  ]"
        else:
            columns = json.dumps(value, indent=2, ensure_ascii=False)
            shown = _COLUMN.sub(_join_lines, columns)
        text += f',\n  "{name}": {shown}'
    (folder / FILE_NAME).write_text(f"{text}\n}}\n", encoding="utf-8")


def read(path: Path) -> Record:
    """Read the record of an answer folder, or in a file. Errors: `InputError` if there is none."""
    file = path / FILE_NAME if path.is_dir() else path
    return untrusted.read_record(file, "run record", SCHEMA)


def trial_of(record: Record) -> Trial:
    """Return the trial of a record, without its engine options: these could name code.

    Errors: `InputError` for an incomplete record.
    """
    try:
        return Trial(
            workload=record["workload"],
            engine=record["engine"],
            inputs=tuple(entry["path"] for entry in record["inputs"]),
            parameters=record["parameters"],
            threads=record["threads"],
            memory_bytes=record["memory_bytes"],
            seed=record["seed"],
            names=(record.get("names") or {}).get("path"),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{FILE_NAME} is not a whole record of a run ({error}); run it again"
        ) from None


def _join_lines(column: re.Match[str]) -> str:
    return "".join(column[0].split())


def _ends(phase: Phase, end: str) -> bool:
    return phase.ceiling is not None and phase.ceiling.endswith(end)


def _phase_rows(sample: Sample, context: Context) -> list[Record]:
    """Rows of all phases; if the cache was dropped, reading is compared with the device."""
    cold = context.cache != CACHE_AS_IS
    phases = (
        replace(phase, ceiling=_DEVICE_READ) if cold and phase.ceiling == _WARM_READ else phase
        for phase in sample.outcome.phases
    )
    return [phase_row(phase, context.ceilings) for phase in phases]
