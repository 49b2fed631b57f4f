"""A comparison of programs as a table in Markdown or LaTeX, and the data of its chart as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from cuesta import numerals as n
from cuesta.report.programs_words import case_of, ratio_text, sizes, timings
from cuesta.report.records import Fields, objects, text

SUFFIXES = (".md", ".tex", ".csv")
"""Suffixes of the formats."""

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    n.NBSP: "~", n.TIMES: r"$\times$", "µ": r"\textmu{}", "\u2013": "--",
}  # fmt: skip
_DASH = "\u2013"


def exported(record: Fields, suffix: str) -> str:
    """The record in the format of a suffix."""
    return {".md": markdown, ".tex": latex, ".csv": chart_data}[suffix](record)


def rows(record: Fields) -> list[dict[str, Any]]:
    """A row for each program and size; times are None without an equal answer."""
    result = []
    for size in sizes(record):
        known = {timing.name: timing for timing in timings(record, size)}
        for program in objects(record.get("programs")):
            name, case = text(program.get("name")), case_of(program, size)
            timing = known.get(name)
            result.append(
                {
                    "program": name,
                    "size": size,
                    "answer": text(case.get("verdict")),
                    "median_s": timing and timing.median,
                    "low_s": timing and timing.low,
                    "high_s": timing and timing.high,
                    "confidence": timing and timing.confidence,
                    "runs": len(timing.samples) if timing else 0,
                }
            )
    return result


def markdown(record: Fields) -> str:
    """A table in Markdown."""
    titles, lines = _cells(record)
    marks = ["---", "---", *["---:"] * (len(titles) - 2)]
    escaped = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    table = [titles, marks, *escaped]
    return "\n".join(f"| {' | '.join(line)} |" for line in table) + "\n"


def latex(record: Fields) -> str:
    """A table in LaTeX, for the package `booktabs`."""
    titles, lines = _cells(record)
    begin = f"\\begin{{tabular}}{{ll{'r' * (len(titles) - 2)}}}\n\\toprule\n"
    body = "".join(" & ".join(map(_latex_text, line)) + r" \\" + "\n" for line in lines)
    head = " & ".join(map(_latex_text, titles)) + r" \\" + "\n\\midrule\n"
    return f"{begin}{head}{body}\\bottomrule\n\\end{{tabular}}\n"


def chart_data(record: Fields) -> str:
    """A line for each run of a program with an equal answer, in seconds."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(("program", "size", "run", "wall_s", "median_s", "low_s", "high_s"))
    for size in sizes(record):
        for timing in timings(record, size):
            for index, sample in enumerate(timing.samples, start=1):
                interval = (timing.median, timing.low, timing.high)
                writer.writerow((timing.name, size, index, sample, *interval))
    return output.getvalue()


def _cells(record: Fields) -> tuple[list[str], list[list[str]]]:
    """Titles, and the cells of a line for each program and size."""
    several = len(sizes(record)) > 1
    titles = ["program", *["size"] * several, "answer", "time", "interval", "relative"]
    lines = []
    by_name = {text(program.get("name")): program for program in objects(record.get("programs"))}
    for row in rows(record):
        case = case_of(by_name[row["program"]], row["size"])
        line = [row["program"], *[row["size"]] * several, row["answer"]]
        if row["median_s"] is None:
            line += [_DASH] * 3
        else:
            interval = f"{n.duration(row['low_s'])} to {n.duration(row['high_s'])}"
            line += [
                n.duration(row["median_s"]),
                interval if row["runs"] > 1 else _DASH,
                ratio_text(record, row["program"], case) or _DASH,
            ]
        lines.append(line)
    return titles, lines


def _latex_text(words: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in words)
