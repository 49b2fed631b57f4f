"""An assembly through Slurm on two nodes that are this machine, and its report.

    python tools/cluster_demo.py [FOLDER] [--bases N]

Slurm comes from Debian's packages, unpacked under `build/` and not installed; no root is needed. It
is ended afterwards. Every command is shown before it runs. Answers go to `answers/cluster-demo`, or
to FOLDER. Ends with the time to the first task, and where the report is.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import testbed_slurm
from testbed_service import TestbedError
from testbed_slurm import SlurmBed

ROOT = Path(__file__).resolve().parent.parent
SLURM = ROOT / "build" / "testbed" / "slurm-demo"
BASES = 1_000_000
NODE_MEMORY = "3GiB"


class StepFailed(Exception):
    """A command of the demo ended with another code than 0."""


def main(arguments: Sequence[str]) -> int:
    """Run the demo; the exit code of the command that failed, 3 where there is no Slurm."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "answers" / "cluster-demo")
    parser.add_argument("--bases", type=int, default=BASES, help="of the genome")
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()
    try:
        print("Slurm, with two nodes that are this machine", flush=True)
        bed = testbed_slurm.up(SLURM)
        try:
            report = demo(bed, folder, options.bases)
        finally:
            testbed_slurm.down(SLURM)
    except TestbedError as error:
        print(f"cluster-demo: {error}", file=sys.stderr)
        return 3
    except StepFailed as failed:
        print(f"cluster-demo: this command failed: {failed.args[0]}", file=sys.stderr)
        return int(failed.args[1])
    for line in findings(folder):
        print(f"cluster-demo: {line}")
    print(f"cluster-demo: open file://{report}")
    return 0


def demo(bed: SlurmBed, folder: Path, bases: int) -> Path:
    """Every step, in order; returns the report."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    reads, job, contigs = folder / "reads.fastq", folder / "job", folder / "assemble"
    announce("Reads of a drawn genome, in pairs, with errors")
    repeats = ("--repeats", "0.02", "--seed", "1")
    drawn = ("--bases", str(bases), "--coverage", "30", "--fragment", "400")
    cuesta(bed, "data", "make", "reads", *drawn, *repeats, "-o", str(reads))
    announce("What will be handed in?")
    run = ("run", "assemble", str(reads), "-k", "31", "--engine", "spark", "-o", str(contigs))
    allocation = ("--scheduler", "slurm", "--nodes", "2", "--time", "15", "--memory", NODE_MEMORY)
    cuesta(bed, "cluster", "plan", *allocation, "--cores", "1", "-o", str(job), "--", *run)
    announce("An assembly on Spark, on both nodes of a job")
    cuesta(
        bed, "cluster", "submit", *allocation, "--cores", "1", "--wait", "-o", str(job), "--", *run
    )
    announce("Its page")
    report = folder / "report.html"
    cuesta(bed, "report", str(contigs), "-o", str(report))
    return report


def findings(folder: Path) -> list[str]:
    """Results of the demo, a sentence a number."""
    state = json.loads((folder / "job" / "cluster.json").read_text())
    record = json.loads((folder / "assemble" / "run.json").read_text())
    first, counts = state["first_task"], record["answer"]["counts"]
    parts = ", ".join(f"{name} {first[name]:.1f} s" for name in ("scheduler", "ours", "Spark"))
    return [
        f"the first task began {first['whole']:.1f} s after handing in: {parts}",
        f"{counts['contigs']:,} contigs, the longest of {counts['largest']:,} bases, verified: "
        f"{record['verified']}",
    ]


def cuesta(bed: SlurmBed, *words: str) -> None:
    """Show a command and run it, with Slurm's commands on the path."""
    print(f"$ cuesta {shlex.join(words)}", flush=True)
    command = [sys.executable, "-m", "cuesta", *words]
    code = subprocess.run(command, check=False, env=os.environ | bed.environment()).returncode
    if code:
        raise StepFailed(f"cuesta {shlex.join(words)}", code)


def announce(text: str) -> None:
    """Print a sentence before a step."""
    print(f"\n{text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
