"""Views of modules and thresholds of gene networks, and remarks on their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from cuesta.numerals import shortened

View = dict[str, object]

FIT = 0.85
"""Coefficient of determination that the fit of a recommended network exceeds."""

_FEW_SAMPLES = 15
_NAMES_SHOWN = 3
_LEAST_SAMPLES = 3
"""Samples with a value, fewer of which have no correlation of a trait."""
_POINTS_MAX = 200


def views(workload: str, folder: Path, rows_max: int) -> list[View]:
    """Return the views of an answer. Errors: `OSError`, `ValueError`, `IndexError`."""
    powers = _powers(folder)
    if workload == "threshold":
        return [*_cut_offs(folder), *powers]
    sizes: Counter[int] = Counter()
    hubs: dict[int, tuple[float, str]] = {}
    for _, gene, module, kme in _rows(folder / "modules.tsv"):
        label = int(module)
        sizes[label] += 1
        if label:
            hubs[label] = max(hubs.get(label, (-1.0, "")), (float(kme), gene))
    colours = _colours(folder)
    modules = [(label, f"{label} {colours[label]}") for label in sorted(sizes) if label]
    items = [[name, sizes[label]] for label, name in modules]
    rows = [
        [name, sizes[label], hubs[label][1], f"{hubs[label][0]:.3f}"]
        for label, name in modules[:rows_max]
    ]
    overview: list[View] = [
        {"kind": "bars", "title": "Modules", "x": "genes", "items": items[:rows_max]},
        {"kind": "table", "title": "Largest modules",
         "columns": ["module", "genes", "gene nearest to the eigengene", "its correlation"],
         "rows": rows},
    ]  # fmt: skip
    return [*powers, *_traits(folder, rows_max), *(overview if modules else [])]


def _colours(folder: Path) -> dict[int, str]:
    """Return the colour of each module, the name of its gene set."""
    with (folder / "modules.gmt").open(encoding="utf-8") as file:
        return {label: line.split("\t", 1)[0] for label, line in enumerate(file, start=1)}


def _traits(folder: Path, rows_max: int) -> list[View]:
    """Return the strongest associations of modules and traits."""
    path = folder / "traits.tsv"
    rows = [row for row in _rows(path) if row[2] != "NA"] if path.is_file() else []
    if not rows:
        return []
    rows.sort(key=lambda row: (float(row[3]), -abs(float(row[2]))))
    shown = [
        [row[0], row[1], f"{float(row[2]):.3f}", f"{float(row[3]):.2g}", f"{float(row[4]):.2g}",
         int(row[5])]
        for row in rows[:rows_max]
    ]  # fmt: skip
    columns = ["module", "trait", "r", "p", "q", "samples"]
    return [{"kind": "table", "title": "Strongest traits", "columns": columns, "rows": shown}]


def _powers(folder: Path) -> list[View]:
    path = folder / "powers.tsv"
    if not path.is_file():
        return []
    rows = [[row[0], _short(row[1]), _short(row[2]), _short(row[4])] for row in _rows(path)]
    columns = ["power", "fit to a power law (R^2)", "slope", "mean connectivity"]
    points = [(float(row[0]), _positive(row[4])) for row in _rows(path)]
    return [
        {"kind": "table", "title": "Powers", "columns": columns, "rows": rows},
        _curve("Mean connectivity by power", ("power", "mean connectivity"), points),
    ]


def _curve(title: str, axes: tuple[str, str], points: list[tuple[float, float]]) -> View:
    """Return a picture of points whose axis up is logarithmic; those of 0 are left out."""
    drawn = [[x, y, 1, 0] for x, y in points if y > 0]
    panels = [{"title": "", "x": axes[0], "points": drawn}]
    return {"kind": "scatter", "title": title, "y": axes[1], "groups": [axes[1]], "panels": panels}


def _positive(cell: str) -> float:
    return 0.0 if cell == "NA" else float(cell)


def _cut_offs(folder: Path) -> list[View]:
    all_rows = list(_rows(folder / "thresholds.tsv"))
    step = max(1, len(all_rows) // 14)
    rows = [
        [row[0], int(row[1]), int(row[3]), int(row[5]), _short(row[9]), _short(row[12])]
        for row in all_rows[::step]
    ]
    columns = ["|r| at least", "edges", "genes", "largest component", "R^2", "by chance"]
    sampled = all_rows[:: max(1, len(all_rows) // _POINTS_MAX)]
    points = [(float(row[0]), float(row[1])) for row in sampled]
    return [
        {"kind": "table", "title": "Cut-offs", "columns": columns, "rows": rows},
        _curve("Edges by cut-off", ("cut-off of |r|", "edges"), points),
    ]


def _short(cell: str) -> str:
    return cell if cell == "NA" else f"{float(cell):.3g}"


def _rows(path: Path) -> Iterator[list[str]]:
    """Yield the rows below the header of a table."""
    with path.open(encoding="utf-8") as file:
        for line in islice(file, 1, None):
            yield line.rstrip("\n").split("\t")


def sentences(
    workload: str, parameters: Mapping[str, object], answer: Path, counts: Mapping[str, int]
) -> Iterator[str]:
    """Yield the reasons of choices, and what an answer lacks."""
    try:
        if workload == "threshold":
            yield from _of_thresholds(answer, counts)
        else:
            yield _of_power(parameters, answer, counts)
            yield from _of_modules(parameters, counts)
            yield from _of_traits(answer)
        yield from _of_left_out(answer)
    except (OSError, ValueError, IndexError):
        return
    samples = counts.get("samples_used", 0)
    if samples < _FEW_SAMPLES:
        yield (
            f"{samples} samples: many correlations are chance; the authors of WGCNA advise at "
            f"least {_FEW_SAMPLES}"
        )


def _of_power(parameters: Mapping[str, object], answer: Path, counts: Mapping[str, int]) -> str:
    power, samples = counts.get("power", 0), counts.get("samples_used", 0)
    if parameters.get("power") is not None:
        return f"power {power}, as given"
    path = answer / "powers.tsv"
    if not path.is_file():
        return f"power {power}, the default of WGCNA's blockwiseModules"
    fits = {int(row[0]): _number(row[1]) for row in _rows(path)}
    if fits.get(power, 0.0) > FIT:
        return (
            f"power {power}: the smallest whose fit to a power law has R^2 over {FIT} "
            f"({fits[power]:.3f}){_rising(path, power, '--power')}"
        )
    best = max(fits, key=lambda each: fits[each] if fits[each] == fits[each] else -1.0)
    return (
        f"power {power}, by the number of samples ({samples}): no power has a fit with R^2 over "
        f"{FIT}, the best is {best} ({fits[best]:.3f}); a strong difference between samples, such "
        "as a batch, may be the cause"
    )


def _rising(path: Path, power: int, option: str) -> str:
    """Return the doubt about a fit with a rising slope, and the power to take in its place."""
    rows = [(int(row[0]), _number(row[1]), _number(row[2])) for row in _rows(path)]
    if not any(each == power and slope > 0 for each, _, slope in rows):
        return ""
    falling = next((each for each, fit, slope in rows if fit > FIT and slope < 0), None)
    advice = f"{option} {falling} is the smallest that falls" if falling else f"set {option}"
    return f"; but it rises: most genes have many partners, which is no power law; {advice}"


def _number(text: str) -> float:
    return float("nan" if text == "NA" else text)


def _of_modules(parameters: Mapping[str, object], counts: Mapping[str, int]) -> Iterator[str]:
    if counts.get("modules"):
        return
    of_r = min(20, counts.get("genes_used", 0) // 2)
    is_of_r = str(parameters.get("as")).startswith("wgcna")
    size = parameters.get("min_module_size") or (of_r if is_of_r else 30)
    if counts.get("branches"):
        yield "no module: genes of the branches correlate too little with their eigengenes"
    else:
        yield (
            f"no module: no branch of the tree has --min-module-size {size} genes and is tight "
            "enough; give fewer, or a larger --deep-split"
        )


def _of_traits(answer: Path) -> Iterator[str]:
    """Yield the traits without a correlation, by reason."""
    path = answer / "traits.tsv"
    related: set[str] = set()
    samples: dict[str, int] = {}
    for _, trait, r, _, _, count in _rows(path) if path.is_file() else ():
        samples[trait] = int(count)
        if r != "NA":
            related.add(trait)
    unrelated = [trait for trait in samples if trait not in related]
    few = [trait for trait in unrelated if samples[trait] < _LEAST_SAMPLES]
    constant = [trait for trait in unrelated if trait not in few]
    for names, has, have in (
        (constant, "has the same value in all samples", "have the same value in all samples"),
        (few, "has values in too few samples", "have values in too few samples"),
    ):
        if names:
            noun = f"1 trait {has}" if len(names) == 1 else f"{len(names):,} traits {have}"
            yield f"{noun}, so without correlation: {shortened(names, _NAMES_SHOWN)}"


def _of_thresholds(answer: Path, counts: Mapping[str, int]) -> Iterator[str]:
    if (millionths := counts.get("recommended_millionths")) is not None:
        edges = counts.get("edges", 0)
        yield (
            f"threshold {millionths / 1e6:g}: the smallest whose degrees fit a falling power law "
            f"with R^2 over {FIT}; {edges:,} edges"
        )
    else:
        rows = [row for row in _rows(answer / "thresholds.tsv") if row[9] != "NA"]
        best = max(rows, key=lambda row: float(row[9]), default=None)
        more = f"; the best R^2 is {float(best[9]):.3f} at {best[0]}" if best else ""
        yield f"no threshold fits a falling power law with R^2 over {FIT}{more}"
    if (power := counts.get("recommended_power")) is not None:
        yield (
            f"power {power}: the smallest whose fit to a power law has R^2 over {FIT}"
            f"{_rising(answer / 'powers.tsv', power, '--power of modules')}"
        )
    else:
        yield f"no power has a fit with R^2 over {FIT}; modules takes one by the number of samples"
    yield from _of_random_matrix(answer, counts)


def _of_random_matrix(answer: Path, counts: Mapping[str, int]) -> Iterator[str]:
    if (is_confirmed := counts.get("threshold_by_random_matrix_confirmed")) is None:
        return
    if (millionths := counts.get("threshold_by_random_matrix_millionths")) is not None:
        yield f"threshold {millionths / 1e6:g} by random matrix theory" + (
            ""
            if is_confirmed
            else ", not confirmed: the chi-square is nowhere 200 or more below it, so the true one "
            "may be smaller"
        )
    elif all(row[3] == "NA" for row in _rows(answer / "random_matrix.tsv")):
        yield "no threshold by random matrix theory: no network has 50 distinct eigenvalues"
    else:
        yield "no threshold by random matrix theory: no chi-square is below 99.607"


def _of_left_out(answer: Path) -> Iterator[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for kind, name, reason in _rows(answer / "left_out.tsv"):
        groups.setdefault((kind, reason), []).append(name)
    for (kind, reason), names in groups.items():
        count = f"1 {kind}" if len(names) == 1 else f"{len(names):,} {kind}s"
        yield f"{count} ({shortened(names, _NAMES_SHOWN)}): {reason}"
