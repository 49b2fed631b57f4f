"""Remarks on a test of the differences of a join, and its preview."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

from cuesta.trial import Trial
from cuesta.workloads import named, origins

FILE_NAME = "differences.tsv"

_REMEDY = "make the pairs of both groups by correlate without --min-abs-score and --top"
_METHODS = {"pearson": "Pearson's correlations", "spearman": "Spearman's correlations",
            "bicor": "biweight midcorrelations"}  # fmt: skip


def before(trial: Trial) -> list[str]:
    """Return warnings before the work: lists that lack weak pairs, another correlation."""
    return [*_cuts(trial), *_methods(trial)] if is_requested(trial) else []


def sentences(trial: Trial, counts: Mapping[str, int]) -> Iterator[str]:
    """Yield reasons for pairs that are not tested, and assumptions of a test."""
    if not is_requested(trial):
        return
    cuts = _cuts(trial)
    yield from cuts
    both = counts.get("both", 0)
    alone = counts.get("rows_kept", 0) - 2 * both
    if alone > 0 and not cuts:
        text = "1 pair is" if alone == 1 else f"{alone:,} pairs are"
        yield (
            f"{text} in one list only, and not tested; where a threshold cut the lists, "
            f"correlations that are gained or lost are missing: {_REMEDY}"
        )
    if untested := counts.get("pairs_not_tested"):
        text = "1 pair of both lists is" if untested == 1 else f"{untested:,} pairs of both are"
        yield f"{text} not tested: |score| is 1 or more, or a group has fewer than 4 samples"
    if both and counts.get("pairs_tested") == 0:
        yield "0 pairs tested; edge lists have no numbers of samples: give pairs of correlate"
    yield from _methods(trial)


def views(folder: Path, rows: int) -> list[dict[str, object]]:
    """Return a table of the pairs whose correlation differs most; none without a test."""
    path = folder / FILE_NAME
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = [line.rstrip("\n").split("\t") for line in itertools.islice(file, 1, rows + 1)]
    shown = [
        [*(named.gene(*gene) for gene in zip(row[:2], row[13:] or ("", ""), strict=True)),
         row[2], row[3], row[6], row[9], row[11], row[12]]
        for row in lines
        if float(row[9]) != 0
    ]  # fmt: skip
    columns = ["gene 1", "gene 2", "cluster", "r in the first", "r in the second", "z", "q",
               "class"]  # fmt: skip
    title = "Pairs whose correlation differs most"
    return [{"kind": "table", "title": title, "columns": columns, "rows": shown}] if shown else []


def is_requested(trial: Trial) -> bool:
    """Whether the differences of a join are tested."""
    return trial.workload == "join" and trial.parameters.get("test") is True


def _cuts(trial: Trial) -> list[str]:
    """Return a sentence for each threshold that hides pairs from the test."""
    missing = "correlations that are gained or lost are missing"
    threshold = origins.threshold_of(trial.parameters)
    lists = [(path, origins.cut_of(path)) for path in trial.inputs]
    texts = [
        f"{path} has only pairs with |score| of at least {cut:g}, by its record, so that "
        f"{missing} from the test: {_REMEDY}"
        for path, cut in lists
        if cut > 0
    ]
    if threshold > 0:
        texts.append(
            f"--min-abs-score {threshold:g} leaves out pairs that are weak in one group, so that "
            f"{missing} from the test; test without it"
        )
    return texts


def _methods(trial: Trial) -> Iterator[str]:
    """Yield a sentence for each list whose scores are not those of --method."""
    assumed = str(trial.parameters.get("method"))
    methods = [origins.method_of(path) for path in trial.inputs]
    known = [_METHODS[method] for method in methods if method in _METHODS]
    if len(set(known)) > 1:
        yield (
            f"{trial.inputs[0]} has {known[0]} and {trial.inputs[1]} {known[1]}, by their records; "
            "make both by the same method of correlate"
        )
        return
    for path, method in zip(trial.inputs, methods, strict=True):
        if method == assumed:
            continue
        if method in ("pearson", "spearman"):
            yield f"{path} has {_METHODS[method]}, by its record; give --method {method}"
        elif method in _METHODS:
            yield (
                f"{path} has {_METHODS[method]}, by its record; they are tested as "
                f"{_METHODS[assumed]}, and z is approximate"
            )
        else:
            yield (
                f"{path} has no record of its correlation; {_METHODS[assumed]} are assumed "
                "(--method)"
            )
