"""Results of a bench as a JSON file: all samples, the bars, the machine, the versions."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cuesta import machine
from cuesta.lab.stats import CONFIDENCE, median_interval
from harness import packages, predictions
from harness.measure import Measured
from harness.model import (
    THREADS,
    Bar,
    MemoryLimit,
    PredictionError,
    PredictionShare,
    Quality,
    Ratio,
    Share,
    TimeLimit,
    Verdict,
)
from harness.shares import wilson
from harness.size import Size

SCHEMA = "cuesta.bench/1"
Json = dict[str, Any]


def head(bench: str, command: str, size: Size) -> Json:
    """The record of a bench that is about to begin, its `cases` to come."""
    return {
        "schema": SCHEMA,
        "bench": bench,
        "command": command,
        "smoke": size.smoke,
        "started": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "threads": THREADS,
        "machine": machine.describe({"data": size.folder}),
        "versions": packages.versions(),
        "cases": [],
    }


def of_case(measured: Measured) -> Json:
    """A case with its samples and bars."""
    case = measured.case
    return {
        "name": case.name,
        "inputs": [{"name": path.name, "bytes": _bytes(path)} for path in case.inputs],
        "amount": case.amount,
        "unit": case.unit,
        "contestants": [_contestant(measured, index) for index in range(len(case.contestants))],
        "absent": dict(case.absent),
        "bars": [_bar(measured, bar) for bar in case.bars],
        "notes": [*case.notes, *measured.remarks],
        "seconds_all": round(measured.seconds_all, 1),
    }


def write(record: Json, path: Path) -> None:
    """Write the record in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(record, indent=1) + "\n")
    partial.rename(path)


def read_all(folder: Path) -> list[Json]:
    """The records of a folder in the order of their names."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def _bytes(path: Path) -> int:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


def _contestant(measured: Measured, index: int) -> Json:
    contestant = measured.case.contestants[index]
    samples = measured.samples[contestant.name]
    answer = measured.answers.get(contestant.name)
    peaks = [
        sample.peak_resident_bytes for sample in samples if sample.peak_resident_bytes is not None
    ]
    predicted = contestant.recorded.predicted if contestant.recorded else None
    return {
        "name": contestant.name,
        "how": contestant.how,
        "amount": contestant.amount or measured.case.amount,
        "seconds": [float(f"{sample.seconds:.6g}") for sample in samples],
        **({"peak_resident_bytes": peaks} if peaks else {}),
        **({"figures": dict(samples[-1].figures)} if samples and samples[-1].figures else {}),
        **({"digest": answer.digest, "rows": answer.rows} if answer else {}),
        **({"prediction": predictions.to_row(predicted)} if predicted else {}),
    }


def _bar(measured: Measured, bar: Bar) -> Json:
    if isinstance(bar, Share):
        return _share(bar, measured)
    if isinstance(bar, Quality):
        return _quality(bar, measured)
    if isinstance(bar, Verdict):
        return _verdict(bar)
    if isinstance(bar, (PredictionError, PredictionShare)):
        return predictions.figure(bar, measured)
    if not isinstance(bar, Ratio):
        return _limit(bar, measured)
    row = {"ours": bar.ours, "theirs": bar.peer, "text": bar.text, "at_least": bar.at_least}
    missing = [name for name in (bar.ours, bar.peer) if name not in measured.samples]
    if missing:
        reason = measured.case.absent.get(missing[0], "not measured")
        return row | {"figure": None, "why": f"{missing[0]}: {reason}", "met": None}
    interval = median_interval(_ratios(measured, bar))
    met = None if bar.at_least is None else interval.median >= bar.at_least
    return row | {
        "figure": round(interval.median, 4),
        "low": round(interval.low, 4),
        "high": round(interval.high, 4),
        "confidence": round(interval.confidence, 3),
        "met": met,
    }


def _ratios(measured: Measured, bar: Ratio) -> list[float]:
    """Rate of ours divided by the rate of the peer, repeat by repeat."""
    amounts = {
        contestant.name: contestant.amount or measured.case.amount
        for contestant in measured.case.contestants
    }
    pairs = zip(measured.samples[bar.ours], measured.samples[bar.peer], strict=False)
    return [
        (amounts[bar.ours] / ours.seconds) / (amounts[bar.peer] / peer.seconds)
        for ours, peer in pairs
    ]


def _share(bar: Share, measured: Measured) -> Json:
    """The part, with the interval of Wilson."""
    counts = [sample.counts[bar.name] for sample in measured.samples[bar.ours]]
    counted, times = (sum(column) for column in zip(*counts, strict=True))
    part, (low, high) = counted / times, wilson(counted, times)
    bounded = bar.at_most is not None or bar.at_least is not None
    met = part <= (1.0 if bar.at_most is None else bar.at_most) and part >= (bar.at_least or 0.0)
    return {
        "ours": bar.ours,
        "text": bar.text,
        "counted": counted,
        "times": times,
        "figure": round(part, 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "confidence": CONFIDENCE,
        "met": met if bounded else None,
    }


def _quality(bar: Quality, measured: Measured) -> Json:
    row: Json = {"ours": bar.ours, "text": bar.text, "name": bar.name}
    figures = {}
    for name in (bar.ours, *bar.peers):
        samples = measured.samples.get(name)
        if not samples or bar.name not in samples[-1].figures:
            why = measured.case.absent.get(name, "not judged")
            return row | {"figure": None, "why": f"{name}: {why}", "met": None}
        figures[name] = samples[-1].figures[bar.name]
    ours = figures.pop(bar.ours)
    return row | {"figure": ours, "beside": figures, "met": bar.holds(ours, list(figures.values()))}


def _verdict(bar: Verdict) -> Json:
    row: Json = {"ours": bar.ours, "text": bar.text}
    if bar.figure is None:
        return row | {"figure": None, "why": bar.why, "met": None}
    figures = {name: round(figure, 4) for name, figure in bar.figures.items()}
    return row | {"figure": round(bar.figure, 4), "beside": figures, "met": bar.met}


def _limit(bar: MemoryLimit | TimeLimit, measured: Measured) -> Json:
    samples = measured.samples.get(bar.ours)
    row: Json = {"ours": bar.ours, "text": bar.text}
    if isinstance(bar, MemoryLimit):
        limit = float(bar.below_bytes)
        row["below_bytes"] = bar.below_bytes
        values = [float(sample.peak_resident_bytes or 0) for sample in samples or ()]
    else:
        limit = row["below_seconds"] = bar.below_seconds
        values = [sample.seconds for sample in samples or ()]
    if not values:
        reason = measured.case.absent.get(bar.ours, "not measured")
        return row | {"figure": None, "why": f"{bar.ours}: {reason}", "met": None}
    interval = median_interval(values)
    return row | {
        "figure": interval.median,
        "low": interval.low,
        "high": interval.high,
        "confidence": round(interval.confidence, 3),
        "met": interval.high < limit,
    }
