"""Reasons for an answer that is empty or doubtful, for the end of a run and its record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cuesta.trial import Trial
from cuesta.workloads import differential, origins

TITLE = "Remarks"
"""Title of the view of these reasons in a record."""

SAMPLES_ENOUGH = 30
"""Samples of a matrix from which on a pair needs just so many in common by default."""

_LINE_BYTES = 2048
"""More bytes than a line of a table of genes has."""

_EDGES = ("scan", "join", "degrees", "communities")


def views(
    trial: Trial, answer: Path, counts: Mapping[str, int], remarks: Sequence[str] = ()
) -> list[dict[str, object]]:
    """Return a view with all reasons, `remarks` first; none where there is nothing to remark."""
    items = [[sentence, ""] for sentence in [*remarks, *_sentences(trial, answer, counts)]]
    return [{"kind": "list", "title": TITLE, "items": items}] if items else []


def shown(previews: object) -> list[str]:
    """Return the reasons that the previews of a record have."""
    views = previews if isinstance(previews, list) else []
    rows = [view["items"] for view in views if view.get("title") == TITLE]
    return [str(item[0]) for items in rows for item in items]


def before(trial: Trial) -> list[str]:
    """Return warnings before the work: thresholds of inputs above that of the question."""
    return [f"warning: {sentence}" for sentence in [*_cuts(trial), *differential.before(trial)]]


def _sentences(trial: Trial, answer: Path, counts: Mapping[str, int]) -> Iterator[str]:
    yield from _cuts(trial)
    match trial.workload:
        case "assemble":
            from cuesta.workloads.assembly import remarks, trimming

            yield from remarks.of_singles([str(path) for path in trial.inputs], trial.parameters)
            yield from trimming.uncut(counts, trial.parameters.get("profile"))
        case "correlate":
            yield from _of_matrix(trial.parameters, counts)
            yield from _of_pairs(trial.parameters, counts)
        case "scan" if counts.get("rows_kept") == 0:
            yield f"0 pairs: none of {counts.get('rows_read', 0):,} passes the filter"
        case "join":
            yield from differential.sentences(trial, counts)
        case "degrees" | "communities":
            yield from _of_degrees(trial, answer, counts)
        case "sort" if counts.get("records") == 0:
            yield "0 records: the input is empty"
        case "kmeans":
            yield from _of_clusters(answer)
        case "images":
            from cuesta.workloads import image_doubts

            yield from image_doubts.sentences(answer, trial.parameters)
        case "modules" | "threshold":
            yield from _of_matrix(trial.parameters, counts)
            from cuesta.workloads import modules

            yield from modules.sentences(trial.workload, trial.parameters, answer, counts)


def _of_matrix(parameters: Mapping[str, object], counts: Mapping[str, int]) -> Iterator[str]:
    if parameters.get("method") != "spearman":
        yield from _of_scale(counts)
    if dates := counts.get("names_like_dates"):
        text = "1 gene is" if dates == 1 else f"{dates:,} genes are"
        yield f"{text} named like a date, such as 1-Mar: a spreadsheet has changed their names"
    if rows := counts.get("summary_rows"):
        text = "1 row that counts" if rows == 1 else f"{rows:,} rows that count"
        yield f"{text} reads of no gene, such as __no_feature or N_unmapped, left out"
    if repeated := counts.get("repeated_samples"):
        text = "1 sample has" if repeated == 1 else f"{repeated:,} samples have"
        yield (
            f"{text} the name of another, and each counts; if one is a copy, leave it out with "
            "--columns"
        )


def _of_scale(counts: Mapping[str, int]) -> Iterator[str]:
    few = "a few large ones decide correlations"
    if largest := counts.get("value_largest_raw_count"):
        yield (
            f"all values are whole numbers, up to {largest:,}, as raw counts are: {few}; normalise "
            "them before, or give --log2"
        )
    if largest := counts.get("value_largest_unlogged"):
        yield f"values are up to {largest:,}, and no logarithms: {few}; give --log2"
    if largest := counts.get("value_largest_logged"):
        yield f"values are at most {largest}, as logarithms are already; leave --log2 out"


def _of_pairs(parameters: Mapping[str, object], counts: Mapping[str, int]) -> Iterator[str]:
    pairs, kept = counts.get("pairs", 0), counts.get("rows_kept", 0)
    few, undefined = counts.get("pairs_too_few_samples", 0), counts.get("pairs_undefined", 0)
    samples, least = counts.get("samples", 0), counts.get("min_samples", 0)
    number = f"{kept:,} pair" if kept == 1 else f"{kept:,} pairs"
    if kept and parameters.get("min_samples") is None and least < SAMPLES_ENOUGH:
        yield (
            f"{samples:,} samples: a pair needs {least} in common (--min-samples); among so few, "
            "chance makes large scores"
            + ("" if parameters.get("p_values") else ", which --p-values tests")
        )
    if pairs == 0:
        yield "0 pairs: the matrix has one gene"
    elif few == pairs and samples < least:
        noun = "sample" if samples == 1 else "samples"
        yield f"0 pairs: {samples:,} {noun}, fewer than --min-samples {least}"
    elif few == pairs:
        yield f"0 pairs: no two genes have --min-samples {least} samples in common"
    elif kept == 0 and undefined + few == pairs:
        yield "0 pairs: no two genes vary over the samples that both have"
    elif kept == 0:
        yield f"0 pairs: no |score| reaches --min-abs-score {parameters.get('min_abs_score')}"
    elif kept < (_integer(parameters.get("top")) or 0):
        yield f"{number}: that are all, fewer than --top {parameters.get('top')}"
    elif 2 * (few + undefined) > pairs:
        yield (
            f"{number}: {few:,} of {pairs:,} have fewer than --min-samples {least} samples in "
            f"common, {undefined:,} have a gene that does not vary"
        )


def _of_degrees(trial: Trial, answer: Path, counts: Mapping[str, int]) -> Iterator[str]:
    if counts.get("edges") == 0:
        yield f"0 edges: none of {counts.get('rows_read', 0):,} pairs passes the filter"
    elif (
        trial.workload == "degrees"
        and trial.names
        and counts.get("genes") == counts.get("genes_with_edges", 0) + 1
    ):
        yield from _of_names(answer)


def _of_names(answer: Path) -> Iterator[str]:
    """Yield a doubt where all genes but the last have edges: a header may be among the names."""
    try:
        with (answer / "degrees.tsv").open("rb") as table:
            table.readline()
            first = table.readline().decode("utf-8").rstrip("\n").split("\t")
            table.seek(max(0, table.seek(0, 2) - _LINE_BYTES))
            last = table.read().splitlines()[-1].decode("utf-8").split("\t")
        total, name = int(last[3]), first[4]
    except (OSError, ValueError, IndexError):
        return
    if total == 0:
        yield (
            f"all genes have edges but the last, {last[4]}: if the first name, {name}, is the "
            "header of the list, remove it: else each gene has the name of the gene before it"
        )


def _of_clusters(answer: Path) -> Iterator[str]:
    try:
        lines = (answer / "centres.tsv").read_text("utf-8").splitlines()[1:]
        sizes = [int(line.split("\t")[1]) for line in lines]
    except (OSError, ValueError, IndexError):
        return
    if empty := sizes.count(0):
        verb = "is" if empty == 1 else "are"
        yield (
            f"{empty:,} of {len(sizes):,} clusters {verb} empty: there are fewer distinct points "
            "near the first centres; give fewer --clusters or another --init"
        )


def _cuts(trial: Trial) -> Iterator[str]:
    """Yield a sentence for each input that lacks pairs which the question is about."""
    if trial.workload not in _EDGES or differential.is_requested(trial):
        return
    threshold = origins.threshold_of(trial.parameters)
    for path in trial.inputs:
        cut = origins.cut_of(path)
        # Without a threshold, a question is about the existing pairs.
        if cut > threshold > 0:
            yield (
                f"{path} has only pairs with |score| of at least {cut:g}, by its record; "
                f"those from {threshold:g} to {cut:g} are not in this answer"
            )


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) else None
