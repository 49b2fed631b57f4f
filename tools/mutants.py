"""Change the crates in small ways and see whether their tests find out, with cargo-mutants.

    python3 tools/mutants.py [CRATE...] [--mutants N]

About N changes a crate, always the same ones, are made in a copy of the tree, one at a time; the
crate's own tests run for each. What no test found is listed, and lies in
`target/mutants/CRATE/mutants.out/missed.txt`. Half a minute a change. Needs
`cargo install cargo-mutants --locked`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = {"testkit"}
"""Serves tests, has none."""
MISSED_MAX = 5
COMMAND = ("cargo", "mutants", "--colors", "never", "--no-times")


def main(arguments: Sequence[str]) -> int:
    """Try each crate; 1 when the tests of any miss more than a few changes."""
    known = sorted(path.name for path in (ROOT / "crates").iterdir() if path.name not in OUTSIDE)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("crates", nargs="*", choices=[*known, []], metavar="CRATE")
    parser.add_argument("--mutants", type=int, default=100)
    options = parser.parse_args(arguments)
    missed = {crate: tried(crate, options.mutants) for crate in options.crates or known}
    for crate, count in missed.items():
        print(f"mutants: {crate}: {count} missed")
    return 1 if max(missed.values()) > MISSED_MAX else 0


def tried(crate: str, mutants: int) -> int:
    """Test an evenly drawn sample of a crate's changes; return how many its tests missed."""
    package = ("--package", f"cuesta-{crate}")
    listing = subprocess.run(
        [*COMMAND, "--list", *package], cwd=ROOT, check=True, capture_output=True, text=True
    )
    shards = max(1, round(len(listing.stdout.splitlines()) / mutants))
    output = ROOT / "target" / "mutants" / crate
    output.mkdir(parents=True, exist_ok=True)
    command = [*COMMAND, *package, "--shard", f"0/{shards}", "--sharding", "round-robin"]
    subprocess.run([*command, "--output", str(output)], cwd=ROOT, check=False)
    return len((output / "mutants.out" / "missed.txt").read_text().splitlines())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
