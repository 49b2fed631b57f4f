"""Fuzz the parsers with libFuzzer, on a stable compiler.

    python3 tools/fuzz.py [TARGET...] [--seconds N | --mutants N]

Targets are the files of `fuzz/targets`; all of them when none is named. The corpus grows in
`fuzz/corpus`; an input that breaks a target lies in `fuzz/artifacts` and fails the run. With
`--mutants` nothing is searched: each target gets N inputs that are the same in every run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import check
from fuzzseeds import mutants, seeds

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "fuzz"
MEMORY = Path("/dev/shm")
"""Folder of the files that targets read, if it exists: a disk would be slower."""

PACKAGE = "cuesta-fuzz"
FUZZING = "--cfg=fuzzing"
COVERAGE = (
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
    parser.add_argument("--mutants", type=int)
    options = parser.parse_args(arguments)
    targets = options.targets or known
    programs = build(searches=options.mutants is None)
    failed = [name for name in targets if fuzz(name, programs[name], options)]
    print(f"fuzz: {len(targets)} targets, {len(failed)} failed {' '.join(failed)}".rstrip())
    return 1 if failed else 0


def build(*, searches: bool) -> dict[str, Path]:
    """Compile, with coverage counters for a search; returns the program of each target."""
    command = ["cargo", "test", "--no-run", "--release", "--quiet", "--message-format=json"]
    environment = check.environment() | check.CHECKED
    if searches:
        triple = subprocess.run(TARGET_TRIPLE_COMMAND, check=True, capture_output=True, text=True)
        command += ["--package", PACKAGE, "--target", triple.stdout.strip()]
        flags = " ".join((FUZZING, *COVERAGE))
        environment |= {"CARGO_TARGET_DIR": str(FUZZ / "target"), "RUSTFLAGS": flags}
    else:
        # Inputs that are known need no counters: all but the targets is that of the other tests.
        command += ["--workspace"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        message["target"]["name"]: Path(message["executable"])
        for message in messages
        if message["reason"] == "compiler-artifact"
        and message["target"]["kind"] == ["test"]
        and Path(message["manifest_path"]).parent == FUZZ
    }


def fuzz(name: str, binary: Path, options: argparse.Namespace) -> bool:
    """Run a target; return whether it broke."""
    artifacts = FUZZ / "artifacts" / name
    artifacts.mkdir(parents=True, exist_ok=True)
    memory = MEMORY if MEMORY.is_dir() else None
    with TemporaryDirectory(prefix="cuesta-fuzz-", dir=memory) as scratch:
        if options.mutants is None:
            print(f"fuzz: {name} for {options.seconds} s", flush=True)
            corpus, extent = FUZZ / "corpus" / name, f"-max_total_time={options.seconds}"
        else:
            print(f"fuzz: {name}, {options.mutants} mutants of its seeds", flush=True)
            corpus, extent = Path(scratch, "corpus"), "-runs=0"
        inputs = seeds().get(name, ())
        write(corpus, "seed", inputs)
        write(corpus, "mutant", mutants(name, inputs, options.mutants or 0))
        limits = [extent, "-timeout=60", "-rss_limit_mb=2048", "-max_len=4096"]
        quiet = ["-print_final_stats=1", "-verbosity=0", f"-artifact_prefix={artifacts}/"]
        command = [str(binary), str(corpus), *limits, *quiet]
        done = subprocess.run(command, env=os.environ | {"TMPDIR": scratch}, check=False)
    return done.returncode != 0


def write(corpus: Path, prefix: str, inputs: Iterable[bytes]) -> None:
    """Write inputs to the folder of a corpus."""
    corpus.mkdir(parents=True, exist_ok=True)
    for index, content in enumerate(inputs):
        (corpus / f"{prefix}{index}").write_bytes(content)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
