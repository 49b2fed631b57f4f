"""`cuesta model fit` and `cuesta model predict`: from runs to a model file, from it to times."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuesta.cli.echo import echo
from cuesta.errors import in_words
from cuesta.plugins import remedy

if TYPE_CHECKING:
    from cuesta_lab.model.predict import Prediction
    from cuesta_lab.model.table import Table

Runs = Annotated[
    list[Path],
    typer.Argument(
        metavar="CSV|RUNS...",
        help="CSV files of runs, run records, or folders of them.",
        show_default=False,
    ),
]

HEADER_BYTES_MAX = 1 << 20
ADDED = ("predicted_s", "low_s", "high_s", "refused")


def fit(
    paths: Runs,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL.json", help="The model to write.")
    ],
    seed: Annotated[int, typer.Option(help="Of the draws behind intervals.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the model.")] = False,
) -> None:
    """Fit a model to runs; say how well it predicts those that it was not given."""
    needs_numpy()
    from cuesta import generated, outputs
    from cuesta_lab.model import fit as fits
    from cuesta_lab.model import records

    outputs.check_local(output)
    outputs.check_apart(output, map(str, paths))
    generated.check(output)
    left_out: list[str] = []
    model = fits.fit(records.observed(paths, left_out), [path.name for path in paths], seed)
    for reason in left_out:
        echo(f"left out: {reason}", err=True)
    marked = {"schema": model["schema"], "generator": generated.mark("model"), **model}
    generated.put(f"{json.dumps(marked, indent=1)}\n", output)
    text = json.dumps(model, indent=1)
    if as_json:
        echo(text)
        return
    for group in model["groups"]:
        _print_group(group)


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL.json", help="What `model fit` wrote.")],
    questions: Annotated[
        Path,
        typer.Argument(
            metavar="CSV|RUNS", help="A line for each run to predict; or run records to compare."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT.csv", help="The CSV with predictions.")
    ],
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what each follows from: forms, terms, runs.")
    ] = False,
) -> None:
    """Predict the time of each line of a CSV, with an interval of 90 %, or say why not.

    Adds the columns predicted_s, low_s, high_s and refused. Where lines have the time that was
    measured, says how near the predictions came.
    """
    needs_numpy()
    from cuesta_lab.model import predict as predictions
    from cuesta_lab.model import table

    _check_output(output, [model, questions])
    known = predictions.read(model)
    question_table = _questions(questions)
    predicted = [predictions.predict(known, question) for question in question_table.observed]
    columns = [*(name for name in question_table.columns if name not in ADDED), *ADDED]
    lines = (
        {**{name: row[name] for name in columns if name in row}, **_cells(prediction)}
        for row, prediction in zip(question_table.rows, predicted, strict=True)
    )
    table.write(output, columns, lines)
    echo(_summary(question_table, predicted), err=True)
    if explain:
        from cuesta_lab.cli.model_explain import explained

        for question, prediction in zip(question_table.observed, predicted, strict=True):
            for line in explained(known, question, prediction):
                echo(line)


def _check_output(output: Path, inputs: Sequence[Path]) -> None:
    """Refuse a file that no `model predict` wrote, by its last columns. Errors: `InputError`."""
    from cuesta import outputs
    from cuesta.errors import InputError

    outputs.check_local(output)
    outputs.check_apart(output, map(str, inputs))
    if not os.path.lexists(output):
        return
    try:
        with output.open("rb") as file:
            header = file.readline(HEADER_BYTES_MAX)
    except OSError as error:
        raise InputError(f"{output}: {in_words(error)}") from None
    columns = header.decode("utf-8", "replace").rstrip("\r\n").split(",")
    if tuple(columns[-len(ADDED) :]) != ADDED:
        raise InputError(
            f"{output} is not a file that `cuesta model predict` wrote; move it away, or give "
            "another -o"
        )


def _questions(path: Path) -> Table:
    """The lines of a CSV; of run records, a line for each."""
    from cuesta_lab.model import records, table

    if path.suffix == ".csv":
        return table.read(path, timed=False)
    return table.from_runs(records.observed([path]))


def needs_numpy() -> None:
    """Require NumPy, which is not in the core package."""
    try:
        import numpy  # noqa: F401
    except ImportError:
        from cuesta.errors import EngineMissing

        raise EngineMissing(f"models need NumPy: {remedy('model')}") from None


def _cells(prediction: Prediction) -> dict[str, str]:
    if prediction.refused:
        return {"predicted_s": "", "low_s": "", "high_s": "", "refused": prediction.refused}
    times = (prediction.predicted_s, prediction.low_s, prediction.high_s)
    return {
        **{name: f"{value:.6g}" for name, value in zip(ADDED, times, strict=False)},
        "refused": "",
    }


def _summary(question_table: Table, predicted: Sequence[Prediction]) -> str:
    """Sentence with the number of predictions, and their errors against measured times."""
    from statistics import median

    refused = sum(bool(prediction.refused) for prediction in predicted)
    text = f"{len(predicted)} asked, {len(predicted) - refused} predicted, {refused} refused"
    pairs = [
        (question.seconds, prediction)
        for question, prediction in zip(question_table.observed, predicted, strict=True)
        if question.seconds and not prediction.refused
    ]
    if not pairs:
        return text
    errors = [abs((prediction.predicted_s or 0.0) / seconds - 1) for seconds, prediction in pairs]
    within = sum(
        (prediction.low_s or 0.0) <= seconds <= (prediction.high_s or 0.0)
        for seconds, prediction in pairs
    )
    return (
        f"{text}; beside the times measured: median error {100 * median(errors):.1f} %,"
        f" {within} of {len(pairs)} in their intervals"
    )


def _print_group(group: Mapping[str, Any]) -> None:
    """Print the number of runs, the parts of the time, the fit, and oddities."""
    from cuesta.units import format_count

    nodes = sorted({run["nodes"] for run in group["runs"]})
    span = format_count(nodes[-1], "node")
    if len(nodes) > 1:
        span = f"{nodes[0]} to {span}"
    echo(f"{group['name']}: {format_count(len(group['runs']), 'run')} on {span}")
    if group["refused"]:
        echo(f"  refuses: {group['refused']}")
    if "views" not in group:
        return
    for line in (_form(group), *_checks(group["check"]), *_laws(group["laws"])):
        echo(f"  {line}")
    for warning in group["warnings"]:
        echo(f"  look at it: {warning}")


def _form(group: Mapping[str, Any]) -> str:
    """The likeliest sum of terms, with their units."""
    from cuesta.units import format_count
    from cuesta_lab.model.terms import term

    likeliest = group["views"]["overall"][0]
    unit = group["unit"].rstrip("s").replace("_", " ")
    parts = (
        f"{coefficient:.3g} {term(name).unit.format(unit=unit)} ({name})"
        for name, coefficient in zip(likeliest["terms"], likeliest["coefficients"], strict=True)
    )
    share = 100 * likeliest["weight"]
    other_forms = format_count(len(group["views"]["overall"]) - 1, "other form")
    return f"likeliest: {' + '.join(parts)}; weight {share:.0f} %, {other_forms}"


def _checks(check: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    titles = {"left_out": "each run left out", "largest_left_out": "most nodes left out"}
    for name, title in titles.items():
        entry = check[name]
        if entry["median_error"] is None:
            yield f"{title}: nothing can be predicted from the rest"
            continue
        yield (
            f"{title}: median error {100 * entry['median_error']:.1f} %,"
            f" {100 * entry['within']:.0f} % in their intervals, {entry['refused']} refused"
        )


def _laws(laws: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for law in laws:
        words = (
            f"{name} {_number(one['value'])} ({_number(one['low'])} to {_number(one['high'])})"
            for name, one in law["parameters"].items()
        )
        yield f"{law['name']}: {', '.join(words)}"


def _number(value: float | None) -> str:
    return "unlimited" if value is None else f"{value:.3g}"
