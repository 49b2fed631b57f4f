"""Record histories of a job of stores under faults, and check them against the promise.

    python3 tools/store_histories.py [--runs N] [--seconds S] [--seed SEED] [--state FILE]
                                     [--group GROUP...]

Three hosts are network namespaces of this machine, each with a store of the job; see
`tests/historykit.py` for what clients and faults do, and `tests/historymodel.py` for the promise.
Counts are added to those of the state file, until it says N runs or S seconds are over. Exit code 1
where a history breaks the promise; it is then beside the state file. Only root can run it.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
STATE = ROOT / "build" / "store-histories.json"
RUNS_PER_JOB = 20
"""Runs until the stores are stopped and new ones begin with an empty memory."""
FAULTS_MAX = 4

if TYPE_CHECKING:
    from historykit import Counts, Run


def main(arguments: Sequence[str]) -> int:
    """Run until the state file says so many runs; 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", type=Path, default=STATE)
    parser.add_argument("--group", action="append", choices=["disk", "memory", "back", "mixed"])
    options = parser.parse_args(arguments)
    sys.path.append(str(ROOT / "tests"))
    from historykit import GROUPS, Counts, Run, clocked_job
    from historystate import NODES
    from hostkit import hosts

    counts = Counts()
    if options.state.exists():
        counts = Counts(**json.loads(options.state.read_text()))
    started = time.monotonic()
    with hosts(len(NODES)) as obstacle:
        if obstacle:
            print(f"store_histories: {obstacle}")
            return 3
        while counts.runs < options.runs and time.monotonic() - started < options.seconds:
            with ExitStack() as stack:
                under = Path(stack.enter_context(TemporaryDirectory(prefix="cuesta-under-")))
                job = stack.enter_context(clocked_job(under))
                for _ in range(min(RUNS_PER_JOB, options.runs - counts.runs)):
                    number = counts.runs + counts.disturbed
                    seed = options.seed + number
                    run = Run(job, number, seed, options.group or tuple(GROUPS))
                    run.play(random.Random(seed).randint(1, FAULTS_MAX))
                    broken = report(run, options.state, seed)
                    add(counts, run.counts)
                    save(options.state, counts)
                    if broken:
                        return 1
                    if time.monotonic() - started > options.seconds:
                        break
    print(f"store_histories: {json.dumps(asdict(counts))}; no history breaks the promise")
    return 0


def report(run: Run, state: Path, seed: int) -> bool:
    """Check a run; whether it breaks the promise, which is then explained in a file."""
    broken = False
    for history, verdict in run.violations():
        file = state.with_name(f"{state.stem}-{seed}-{history.group}.txt")
        file.parent.mkdir(parents=True, exist_ok=True)
        first = min(operation.start for operation in history.operations)
        at = verdict.operation.start if verdict.operation else None
        lines = [
            f"{'*' if operation.start == at else ' '} {operation.start - first:8.4f} "
            f"{operation.end - first:8.4f} {json.dumps(operation.request)} {operation.result}\n"
            for operation in sorted(history.operations, key=lambda operation: operation.start)
        ]
        file.write_text("".join(lines))
        print(f"store_histories: seed {seed}, {history.group}: {verdict.operation}; see {file}")
        broken = True
    return broken


def add(counts: Counts, run: Counts) -> None:
    """Add the counts of a run."""
    for entry in fields(counts):
        setattr(counts, entry.name, getattr(counts, entry.name) + getattr(run, entry.name))


def save(state: Path, counts: Counts) -> None:
    """Write the state file in one step."""
    state.parent.mkdir(parents=True, exist_ok=True)
    unfinished = state.with_suffix(".part")
    unfinished.write_text(json.dumps(asdict(counts), indent=2) + "\n")
    unfinished.replace(state)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
