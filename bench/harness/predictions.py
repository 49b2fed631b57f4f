"""How near what was predicted of a case's contestants came to what they took."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from cuesta.lab.stats import CONFIDENCE, median_interval
from cuesta.model.predict import Prediction
from cuesta.units import format_seconds
from harness.measure import Measured
from harness.model import REFUSED, PredictionError, PredictionShare, Recorded
from harness.shares import wilson

Json = dict[str, Any]


def words(recorded: Recorded) -> str:
    """What was predicted, and how far the median repeat was from it."""
    one = recorded.predicted
    if one is None:
        return ""
    if one.refused:
        return f"refused: {one.refused}"
    away = error(one, recorded)
    where = "inside" if is_inside(one, recorded) else "outside"
    return (
        f"predicted {format_seconds(one.predicted_s or 0.0)} ({format_seconds(one.low_s or 0.0)} to"
        f" {format_seconds(one.high_s or 0.0)}), {100 * away:+.0f} %, {where}"
    )


def error(prediction: Prediction, recorded: Recorded) -> float:
    """Predicted by measured seconds, less 1."""
    return (prediction.predicted_s or 0.0) / _seconds(recorded) - 1


def is_inside(prediction: Prediction, recorded: Recorded) -> bool:
    """Whether the median repeat is in the interval."""
    return (prediction.low_s or 0.0) <= _seconds(recorded) <= (prediction.high_s or 0.0)


def figure(bar: PredictionError | PredictionShare, measured: Measured) -> Json:
    """The row of a bar, over all contestants of whom something was predicted."""
    pairs = list(_pairs(measured))
    given = [(one, recorded) for one, recorded in pairs if not one.refused]
    row: Json = {"text": bar.text}
    if isinstance(bar, PredictionError):
        row["at_most"] = bar.at_most
        errors = [abs(error(one, recorded)) for one, recorded in given]
        if not errors:
            return row | {"figure": None, "why": "nothing was predicted", "met": None}
        interval = median_interval(errors)
        return row | {
            "figure": round(median(errors), 4),
            "low": round(interval.low, 4),
            "high": round(interval.high, 4),
            "confidence": round(interval.confidence, 3),
            "met": None if bar.at_most is None else median(errors) <= bar.at_most,
        }
    if bar.which == REFUSED:
        found, times = len(pairs) - len(given), len(pairs)
    else:
        found, times = sum(is_inside(one, recorded) for one, recorded in given), len(given)
    if not times:
        return row | {"figure": None, "why": "nothing was predicted", "met": None}
    low, high = wilson(found, times)
    return row | {
        "counted": found,
        "times": times,
        "figure": round(found / times, 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "confidence": CONFIDENCE,
        "met": None,
    }


def to_row(prediction: Prediction) -> Json:
    """As a record of a bench has it."""
    if prediction.refused:
        return {"refused": prediction.refused}
    return {
        "predicted_s": prediction.predicted_s,
        "low_s": prediction.low_s,
        "high_s": prediction.high_s,
    }


def _pairs(measured: Measured) -> Iterator[tuple[Prediction, Recorded]]:
    for contestant in measured.case.contestants:
        if contestant.recorded and contestant.recorded.predicted:
            yield contestant.recorded.predicted, contestant.recorded


def _seconds(recorded: Recorded) -> float:
    return median(sample.seconds for sample in recorded.samples)
