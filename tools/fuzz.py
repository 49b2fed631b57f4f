"""Fuzz the parsers with libFuzzer, on a stable compiler.

    python3 tools/fuzz.py [TARGET...] [--seconds N]

Targets are the files of `fuzz/targets`; all of them when none is named. The corpus grows in
`fuzz/corpus`; an input that breaks a target lies in `fuzz/artifacts` and fails the run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzzseeds import seeds

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "fuzz"
MEMORY = Path("/dev/shm")
"""Folder of the files that targets read, if it exists: a disk would be slower."""

COVERAGE = (
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
)
TARGET_TRIPLE_COMMAND = ("rustc", "--print", "host-tuple")


def main(arguments: Sequence[str]) -> int:
    """Build the targets, run each for a while; 1 when any found something."""
    known = sorted(path.stem for path in (FUZZ / "targets").glob("*.rs"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*known, []])
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args(arguments)
    targets = options.targets or known
    binaries = build()
    failed = [name for name in targets if fuzz(binaries / name, options.seconds)]
    print(f"fuzz: {len(targets)} targets, {len(failed)} failed {' '.join(failed)}".rstrip())
    return 1 if failed else 0


def build() -> Path:
    """Compile with coverage counters; returns the folder of the binaries."""
    listing = subprocess.run(TARGET_TRIPLE_COMMAND, check=True, capture_output=True, text=True)
    triple = listing.stdout.strip()
    command = ["cargo", "build", "--release", "--quiet", "--target", triple]
    environment = os.environ | {"RUSTFLAGS": " ".join(COVERAGE)}
    subprocess.run(command, cwd=FUZZ, env=environment, check=True)
    return FUZZ / "target" / triple / "release"


def fuzz(binary: Path, seconds: int) -> bool:
    """Run a target; return whether it broke."""
    name = binary.name
    corpus, artifacts = FUZZ / "corpus" / name, FUZZ / "artifacts" / name
    for folder in (corpus, artifacts):
        folder.mkdir(parents=True, exist_ok=True)
    for index, seed in enumerate(seeds().get(name, ())):
        (corpus / f"seed{index}").write_bytes(seed)
    limits = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", "-max_len=4096"]
    quiet = ["-print_final_stats=1", "-verbosity=0", f"-artifact_prefix={artifacts}/"]
    print(f"fuzz: {name} for {seconds} s", flush=True)
    memory = MEMORY if MEMORY.is_dir() else None
    with TemporaryDirectory(prefix="cuesta-fuzz-", dir=memory) as scratch:
        command = [str(binary), str(corpus), *limits, *quiet]
        done = subprocess.run(command, env=os.environ | {"TMPDIR": scratch}, check=False)
    return done.returncode != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
