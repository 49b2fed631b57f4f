"""The main jobs on real data: a gene network on several engines, and a genome from its reads.

    python tools/demo.py [FOLDER]

Every command is shown before it runs, so that you can run it yourself. Answers go to
`answers/demo`, or to FOLDER. Ends with three numbers and how to look at the report.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CUESTA = ROOT / ".venv" / "bin" / "cuesta"

CORRELATE_AT = "0.4"
COMPARE_AT = "0.7"
ENGINES = "native,spark,array"
REPEATS = "3"
WORKLOADS = ("scan", "degrees", "communities")


class StepFailed(Exception):
    """A command of the demo ended with another code than 0."""


def main(arguments: Sequence[str]) -> int:
    """Run the demo in a folder; the exit code of the first command that failed."""
    folder = Path(arguments[0]) if arguments else Path("answers") / "demo"
    os.chdir(ROOT)
    try:
        report = demo(folder)
    except StepFailed as failed:
        print(f"demo: this command failed: {failed.args[0]}", file=sys.stderr)
        return int(failed.args[1])
    for sentence in findings(folder):
        print(f"demo: {sentence}")
    print(f"demo: open file://{report.resolve()}")
    print("demo: in a browser; the page is that one file, so it can be copied to another machine")
    return 0


def demo(folder: Path) -> Path:
    """Every step, in order; returns the report."""
    announce("What does this machine have, and what can it do at most?")
    cuesta("doctor")
    if not ceilings_known():
        cuesta("doctor", "--ceilings")
    announce("Real data: expression of 6,830 genes in 64 tumour cell lines")
    matrix = cuesta("data", "get", "nci60", "-o", str(folder / "data")).strip()
    announce(f"Which genes vary together? Pairs with |Pearson| of at least {CORRELATE_AT}")
    pairs = folder / "correlate"
    cuesta("run", "correlate", matrix, "--min-abs-score", CORRELATE_AT, *into(pairs))
    text = str(pairs / "pairs.txt")
    for workload in WORKLOADS:
        announce(f"{workload} at {COMPARE_AT}, on three engines, answers held equal")
        options = ("--min-abs-score", COMPARE_AT, "--engines", ENGINES, "--repeat", REPEATS)
        cuesta("compare", workload, text, *options, *into(folder / workload))
    contigs = assemble(folder)
    announce("Everything on one page")
    report = folder / "report.html"
    answers = [str(pairs), *(str(folder / workload) for workload in WORKLOADS), str(contigs)]
    cuesta("report", *answers, "-o", str(report))
    return report


def assemble(folder: Path) -> Path:
    """The genome that real reads come from; returns the answer's folder."""
    announce("Real data: 28,160 pairs of reads of E. coli, of 10,000 bases of its genome")
    reads = cuesta("data", "get", "ecoli", "-o", str(folder / "data")).splitlines()
    announce("Which genome do they come from? Mates are in two files")
    contigs = folder / "assemble"
    cuesta("run", "assemble", *reads[:2], "--pairs", *into(contigs))
    return contigs


def findings(folder: Path) -> tuple[str, str, str]:
    """Results of the demo, a sentence a number."""
    compared = [read(folder / workload / "compare.json") for workload in WORKLOADS]
    seconds = compared[0]["as_typed_seconds"]
    slowest = max(seconds, key=seconds.__getitem__)
    named = ", ".join(f"{name} {taken:.1f} s" for name, taken in seconds.items())
    answers = [path.parent for path in folder.rglob("run.json")]
    verified = sum(read(path / "run.json")["verified"] is True for path in answers)
    assembled = read(folder / "assemble" / "run.json")
    contigs = assembled["answer"]["counts"]
    return (
        f"{slowest} takes {seconds[slowest] / seconds['native']:.0f} times as long as native for "
        f"the same {WORKLOADS[0]}, start to end: {named}",
        f"{verified} of {len(answers)} answers are verified by another method; those of "
        f"{len(seconds)} engines are equal",
        f"the longest contig has {contigs['largest']:,} of {contigs['bases']:,} bases assembled, "
        f"in {assembled['time']['as_typed_seconds']:.1f} s",
    )


def read(path: Path) -> dict[str, Any]:
    """A JSON object from a file."""
    fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return fields


def into(folder: Path) -> tuple[str, ...]:
    """Options that put the answer into `folder`, also when an earlier demo left one."""
    return ("-o", str(folder), "--overwrite")


def ceilings_known() -> bool:
    """Whether this machine's ceilings were measured before."""
    code = "import sys; from cuesta.lab import ceilings; sys.exit(ceilings.load() is None)"
    done = subprocess.run([str(CUESTA.with_name("python")), "-c", code], check=False)
    return done.returncode == 0


def cuesta(*words: str) -> str:
    """Show a command and run it; show and return its output."""
    print(f"$ cuesta {shlex.join(words)}", flush=True)
    done = subprocess.run([str(CUESTA), *words], stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="", flush=True)
    if done.returncode:
        raise StepFailed(f"cuesta {shlex.join(words)}", done.returncode)
    return done.stdout


def announce(text: str) -> None:
    """Print a sentence before a step."""
    print(f"\n{text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
