"""Distance between the predicted and the measured times of a case's contestants."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from cuesta.lab.stats import CONFIDENCE, median_interval
from cuesta.units import format_seconds
from cuesta_lab.model.predict import Prediction
from harness.measure import Measured
from harness.model import REFUSED, PredictionError, PredictionShare, Recorded
from harness.shares import wilson

Json = dict[str, Any]


def words(recorded: Recorded) -> str:
    """The prediction in words, and its distance from the median repeat."""
    prediction = recorded.predicted
    if prediction is None:
        return ""
    if prediction.refused:
        return f"refused: {prediction.refused}"
    away = error(prediction, recorded)
    where = "inside" if is_inside(prediction, recorded) else "outside"
    times = (prediction.predicted_s, prediction.low_s, prediction.high_s)
    middle, low, high = (format_seconds(seconds or 0.0) for seconds in times)
    return f"predicted {middle} ({low} to {high}), {100 * away:+.0f} %, {where}"


def error(prediction: Prediction, recorded: Recorded) -> float:
    """Predicted by measured seconds, less 1."""
    return (prediction.predicted_s or 0.0) / _seconds(recorded) - 1


def is_inside(prediction: Prediction, recorded: Recorded) -> bool:
    """Whether the median repeat is in the interval."""
    return (prediction.low_s or 0.0) <= _seconds(recorded) <= (prediction.high_s or 0.0)


def figure(bar: PredictionError | PredictionShare, measured: Measured) -> Json:
    """The row of a bar, over all contestants that have a prediction."""
    pairs = list(_pairs(measured))
    predicted = [(each, recorded) for each, recorded in pairs if not each.refused]
    row: Json = {"text": bar.text}
    if isinstance(bar, PredictionError):
        row["at_most"] = bar.at_most
        errors = [abs(error(each, recorded)) for each, recorded in predicted]
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
        counted, times = len(pairs) - len(predicted), len(pairs)
    else:
        counted, times = (
            sum(is_inside(each, recorded) for each, recorded in predicted),
            len(predicted),
        )
    if not times:
        return row | {"figure": None, "why": "nothing was predicted", "met": None}
    low, high = wilson(counted, times)
    return row | {
        "counted": counted,
        "times": times,
        "figure": round(counted / times, 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "confidence": CONFIDENCE,
        "met": None,
    }


def to_row(prediction: Prediction) -> Json:
    """The prediction in the form of a record of a bench."""
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
