"""Run records as words and tables for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.lab.record import single_run_seconds
from cuesta.units import format_bytes, format_rate, format_seconds
from cuesta.untrusted import single_line
from cuesta.workloads import answers, doubts

if TYPE_CHECKING:
    from cuesta.api.console import Console

Record = dict[str, Any]

_COUNTS_SHOWN = 7
_ROWS_SHOWN = 3
_OF_GENES = ("degrees", "communities")


def print_run(console: Console, record: Record, output: Path) -> None:
    """Print the work, the answer, the time and the distance to the ceiling."""
    console.print(
        f"{console.bold(record['workload'])} on {record['engine']}: {verdict(console, record)}"
    )
    for title, text in (
        ("answer", counts_text(record)),
        ("first", first_text(record)),
        ("next", next_text(record)),
        ("time", time_text(record)),
        ("as typed", typed_text(record)),
        ("phases", phases_text(record)),
        ("ceiling", ceiling_text(record)),
        ("memory", memory_text(record)),
        ("read", read_text(record)),
        ("names", names_text(record)),
        *reads_texts(record, output),
        ("files", files_text(record, output)),
        *(("remark", text) for text in remarks(record, output)),
    ):
        if text:
            console.print(f"  {console.dim(f'{title:<10}')}{single_line(text)}")
    for sentence in doubts.shown(record["preview"]):
        console.print(f"  {console.dim('remark'.ljust(10))}{single_line(sentence)}")


def reads_texts(record: Record, output: Path) -> Iterator[tuple[str, str]]:
    """Yield titles and counts of the reads of an assembly: those taken, and what was cut."""
    if record["workload"] != "assemble":
        return
    from cuesta.workloads.assembly import sampling, trimming
    from cuesta.workloads.assembly.files import Files

    answer = Files(output, 0)
    for title, text in (("sampled", sampling.text), ("trimmed", trimming.text)):
        try:
            yield title, text(answer)
        except (OSError, ValueError, LookupError, TypeError):
            continue


def remarks(record: Record, output: Path) -> Iterator[str]:
    """Yield notes on inputs that were passed over; last, why an answer is empty."""
    if record["workload"] == "assemble":
        from cuesta.workloads.assembly import remarks

        paths = [facts["path"] for facts in record["inputs"]]
        yield from remarks.of_inputs(paths)
        yield from remarks.of_pairs(paths, record["parameters"])
        yield remarks.reason(output)


def verdict(console: Console, record: Record) -> str:
    """Whether the answer is verified, how much of it, and its digest."""
    if record["verified"] is None:
        return console.bad("NOT VERIFIED, nobody held it against its input")
    if not record["verified"]:
        return console.bad("wrong")
    part = " on a sample" if record["verification"]["level"] == "sample" else ""
    return f"{console.good(f'verified{part}')}, digest {record['answer']['digest']}"


def print_comparison(console: Console, records: list[Record]) -> None:
    """Print a column for each engine and a row for each measure: it fits narrow terminals."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", style="dim", no_wrap=True)
    for record in records:
        table.add_column(record["engine"])
    for title, text in _COMPARED.items():
        table.add_row(title, *(text(record) for record in records))
    verdicts = ("yes" if record["verified"] else Text("no", style="red") for record in records)
    table.add_row("verified", *verdicts)
    console.rich().print(table)


def print_assessment(console: Console, assessment: Record, path: Path) -> None:
    """Print what was compared with what, a line for each measure, and the place of the file."""
    from cuesta.report.assessment import about, measures

    console.print(" ".join(about(assessment)))
    rows = [*measures(assessment), ("file", str(path), "")]
    if assessment.get("scaffolds"):
        rows.insert(0, ("", "contigs", "scaffolds"))
    width = max(len(name) for name, _, _ in rows)
    wide = max((len(text) for _, text, other in rows if other), default=0)
    for name, text, other in rows:
        console.print(f"  {console.dim(f'{name:<{width}}')}  {text:<{wide}}  {other}".rstrip())


def counts_text(record: Record) -> str:
    """The engine's and the verifier's counts, the first few."""
    known = answers.known(record["answer"]["counts"], record["parameters"])
    counts = list(known.items())[:_COUNTS_SHOWN]
    texts = [f"{name.replace('_', ' ')} {value:,}" for name, value in counts]
    named = (record.get("names") or {}).get("genes", 0)
    genes = dict(counts).get("genes", named)
    if record["workload"] in _OF_GENES and named > genes:
        # The answer ends with the last gene that has an edge.
        count = f"genes {genes:,}"
        texts = [f"{count} of {named:,} named" if text == count else text for text in texts]
    return ", ".join(texts)


def next_text(record: Record) -> str:
    """The next steps of the preview, in a few words each; the report has the reasons."""
    lists = [view for view in record["preview"] if view["kind"] == "list"]
    items = [item for view in lists if view["title"] != doubts.TITLE for item in view["items"]]
    return "; ".join(str(name) for name, _ in items)


def first_text(record: Record) -> str:
    """The first rows of the preview's last table, where it has genes by name; else empty."""
    tables = [view for view in record["preview"] if view["kind"] == "table"]
    if not tables or record["workload"] not in ("correlate", "scan", "join", *_OF_GENES):
        return ""
    columns, rows = tables[-1]["columns"], tables[-1]["rows"][:_ROWS_SHOWN]
    if record["workload"] == "communities":
        named = columns[-1].startswith("its")
        rows_text = [f"{row[0]} ({row[-1]})" for row in rows] if named else []
    else:
        genes = 1 if record["workload"] in _OF_GENES else 2
        rows_text = [" \u2013 ".join(row[:genes]) for row in rows if row[0].endswith(")")]
        if record["workload"] == "degrees":
            # The number behind a name would be taken for its degree.
            rows_text[:] = [
                f"{row[0].rpartition(' (')[0]}: {row[-1]} edges" for row in rows if rows_text
            ]
    return f"{tables[-1]['title'].lower()}: {', '.join(rows_text)}" if rows_text else ""


def time_text(record: Record) -> str:
    """The median with its interval, and CPU time."""
    wall = record["statistics"]["wall_seconds"]
    text = format_seconds(wall["median"])
    if record["repeats"] > 1:
        low, high = format_seconds(wall["low"]), format_seconds(wall["high"])
        share = f"{100 * wall['confidence']:.0f} %"
        text += f" ({low} to {high} with {share} confidence, {record['repeats']} runs)"
    seconds = record.get("cpu_seconds")
    return text if seconds is None else f"{text}, CPU {format_seconds(seconds)}"


def typed_text(record: Record) -> str:
    """Time of the command, and its parts besides the work."""
    times = record["time"]
    parts = ", ".join(
        f"{name} {format_seconds(times[key])}"
        for name, key in (
            ("names and graph", "naming_seconds"),
            ("verification", "verification_seconds"),
            ("disk", "disk_seconds"),
            ("rest", "rest_seconds"),
        )
        if times.get(key, 0.0) > 0
    )
    return f"{format_seconds(times['as_typed_seconds'])}, of it {parts}"


def phases_text(record: Record) -> str:
    """Every phase with its time."""
    return ", ".join(
        f"{phase['name']} {format_seconds(phase['seconds'])}" for phase in record["phases"]
    )


def throughput_text(record: Record) -> str:
    """Bytes of input by the time of the run, as shown next to it; without input what it processes.

    Without either it is a dash.
    """
    seconds = record["statistics"]["wall_seconds"]["median"]
    if seconds <= 0:
        return "\u2013"
    total = sum(item["bytes"] for item in record["inputs"])
    total = total or max((phase.get("bytes") or 0 for phase in record["phases"]), default=0)
    if total:
        return format_rate(total / seconds)
    rows = max((phase.get("rows") or 0 for phase in record["phases"]), default=0)
    return f"{rows / seconds / 1e6:,.3g} M rows/s" if rows else "\u2013"


def limiting_phase(record: Record) -> Record | None:
    """The longest phase that is compared with a ceiling."""
    compared = [phase for phase in record["phases"] if "fraction_of_ceiling" in phase]
    return max(compared, key=lambda one: float(one["seconds"]), default=None)


def fraction_text(record: Record) -> str:
    """Fraction of the ceiling; a dash where no ceiling is known."""
    phase = limiting_phase(record)
    return "\u2013" if phase is None else f"{phase['fraction_of_ceiling']:.2f}"


def ceiling_text(record: Record) -> str:
    """Ceiling that the longest phase was compared with, and the fraction that it reached."""
    phase = limiting_phase(record)
    if phase is None:
        unmeasured = record["ceilings"] is None
        return "not measured on this machine; see `cuesta doctor --ceilings`" if unmeasured else ""
    return f"{phase['name']} ran at {phase['fraction_of_ceiling']:.2f} of {phase['ceiling']}"


def read_text(record: Record) -> str:
    """Bytes that were read, and the part of them from a device."""
    if "read_bytes" not in record or "device_read_bytes" not in record:
        return ""
    device = format_bytes(record["device_read_bytes"])
    return f"{format_bytes(record['read_bytes'])}, {device} of it from a device"


def memory_text(record: Record) -> str:
    """The most memory that all processes held, or why it is unknown."""
    if "peak_resident_bytes" not in record:
        return "not counted, like CPU and bytes read: workers ran on other nodes"
    return f"{format_bytes(record['peak_resident_bytes'])} at the peak"


def _size_of(name: str) -> Callable[[Record], str]:
    """A column of sizes, where they were counted."""
    return lambda record: format_bytes(record[name]) if name in record else "not counted"


def names_text(record: Record) -> str:
    """Source of the names of the genes; empty where they have none."""
    names = record.get("names")
    return f"of {names['genes']:,} genes from {names['path']}" if names else ""


def files_text(record: Record, output: Path) -> str:
    """The answer's files with their sizes."""
    names = (
        f"{single_line(output / file['name'])} ({format_bytes(file['bytes'])})"
        for file in record["answer"]["files"]
        if file["name"] != "run.json"
    )
    return ", ".join(names)


_COMPARED: dict[str, Callable[[Record], str]] = {
    "time": lambda record: format_seconds(record["statistics"]["wall_seconds"]["median"]),
    "as typed": lambda record: format_seconds(single_run_seconds(record)),
    "phases": lambda record: phases_text(record).replace(", ", "\n"),
    "throughput": throughput_text,
    "of ceiling": fraction_text,
    "peak memory": _size_of("peak_resident_bytes"),
    "bytes read": _size_of("read_bytes"),
    "digest": lambda record: record["answer"]["digest"][:12],
}
