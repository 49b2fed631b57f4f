"""Golden cases with an installed Cuesta: run by the Python that has it, without anything else.

    python golden.py

Each case of the specification is run as a user would, and verified; its digest has to be that of
the case. Prints how many there were. It imports nothing but Cuesta and Python's library, so that a
bare system and an emulated processor can run it.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

import cuesta

SPECIFICATION = Path(cuesta.__file__).parent / "spec"
CASES_MIN = 25


def main() -> int:
    """Run all cases; 1 where a digest differs."""
    began = time.monotonic()
    files = sorted(SPECIFICATION.glob("workloads/*/cases/*.json"))
    wrong = [line for file in files if (line := fault(file))]
    for line in wrong:
        print(f"golden: {line}", file=sys.stderr)
    version, machine = cuesta.__version__, platform.machine()
    seconds = time.monotonic() - began
    print(f"golden: {len(files)} cases, {len(wrong)} differ, {version}, {machine}, {seconds:.0f} s")
    return int(bool(wrong) or len(files) < CASES_MIN)


def fault(file: Path) -> str:
    """Run a case; return how its answer differs, or an empty text."""
    case = json.loads(file.read_text(encoding="utf-8"))
    inputs = [str(SPECIFICATION / "cases" / name) for name in case["inputs"]]
    workload = file.parent.parent.name
    run: Any = cuesta.run
    answer = run(workload, *inputs, seed=case["seed"], threads=2, **case["parameters"])
    if answer.digest == case["digest"]:
        return ""
    return f"{workload}, {file.stem}: {answer.digest} instead of {case['digest']}"


if __name__ == "__main__":
    sys.exit(main())
