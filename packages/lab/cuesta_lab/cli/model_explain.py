"""`cuesta model predict --explain`: the grounds of a prediction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cuesta_lab.model.observed import Observation
    from cuesta_lab.model.predict import Prediction

FORMS_MAX = 3
"""Most forms that are printed, the likeliest first."""
WEIGHT_LEAST = 0.02
LINE = ": line "
"""Separator of the file and the line number in the source of a run of a CSV."""


def explained(
    model: Mapping[str, Any], question: Observation, prediction: Prediction
) -> Iterator[str]:
    """The question with its answer; below it the sums of its likeliest forms, and the runs."""
    from cuesta.units import format_count
    from cuesta_lab.model import factors
    from cuesta_lab.model.predict import group_of

    nodes = format_count(question.nodes, "node")
    unit = question.unit.replace("_", " ")
    text = f"{question.key}, {nodes}, {question.amount:,.15g} {unit}"
    if prediction.refused:
        yield f"{text}: refused: {prediction.refused}"
        return
    yield f"{text}: {_seconds(prediction.predicted_s)} ({_low_high(prediction)})"
    group, _ = group_of(model, question)
    assert group is not None
    with_common_limits = factors.with_common_limits(group["range"].get("factors", {}), question)
    yield from (f"   {line}" for line in _forms(group["views"]["overall"], with_common_limits))
    phases = [name for name in group["views"] if name != "overall"]
    if phases:
        yield f"   half of it by forms of each phase, added up: {', '.join(phases)}"
    yield f"   rests on {_sources(group['runs'])}"


def _forms(forms: Sequence[Mapping[str, Any]], question: Observation) -> Iterator[str]:
    """Each likely form with the seconds of its terms."""
    from cuesta.units import format_count
    from cuesta_lab.model.terms import term, values

    row = values(question)
    likely = [form for form in forms if form["weight"] >= WEIGHT_LEAST][:FORMS_MAX]
    for form in likely:
        parts = {
            name: coefficient * row.get(name, 0.0)
            for name, coefficient in zip(form["terms"], form["coefficients"], strict=True)
        }
        words = [f"{_seconds(seconds)} {name}" for name, seconds in parts.items() if seconds]
        yield f"{100 * form['weight']:.0f} %: {' + '.join(words)} = {_seconds(sum(parts.values()))}"
    if len(forms) > len(likely):
        yield f"and {format_count(len(forms) - len(likely), 'form')} of less weight"
    for name in dict.fromkeys(name for form in likely for name in form["terms"]):
        yield f"{name}: {term(name).why}"


def _sources(runs: Sequence[Mapping[str, Any]]) -> str:
    """Number of runs, their nodes and their sources."""
    from cuesta.units import format_count

    nodes = sorted({run["nodes"] for run in runs})
    span = f"{nodes[0]}" if len(nodes) == 1 else f"{nodes[0]} to {nodes[-1]}"
    files: dict[str, list[str]] = {}
    for run in runs:
        file, _, line = str(run["source"]).partition(LINE)
        files.setdefault(file, []).append(line)
    named = "; ".join(
        f"{file}{LINE if any(lines) else ''}{', '.join(filter(None, lines))}"
        for file, lines in files.items()
    )
    return f"{format_count(len(runs), 'run')} on {span} nodes: {named}"


def _low_high(prediction: Prediction) -> str:
    return f"{_seconds(prediction.low_s)} to {_seconds(prediction.high_s)} with 90 %"


def _seconds(value: float | None) -> str:
    from cuesta.units import format_seconds

    return format_seconds(value or 0.0)
