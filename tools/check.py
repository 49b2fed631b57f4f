"""Run checks: `check.py lint`, `check.py test|test-engines|test-site [PYTEST OPTION...]`, `soak`.

`lint` runs all lints side by side and prints the output of those that fail. `test` runs the
Python tests that need no service and beside them the Rust tests; `test-engines` the Scala tests and
those of the engines; `test-site` those that need a scheduler, a file system, a browser or a wheel.
A group runs to its end even if a part of it fails. `soak` makes `MUTANTS` wrong answers of every
workload whose verifier is held to it, and prints how many were refused; then it kills a store at
every two steps of each scenario, and `STORE_KILLS` times under load, where it resumes after an
interruption (`build/store-kills.json`); it checks `STORE_HISTORIES` histories of a job of stores
(`build/store-histories.json`); it holds the store to Hadoop's contract in every mode of writing,
and every workload to its memory on Spark, tries more wrong answers by the command line, and runs
the tests that are marked `soak`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
SOURCES = os.pathsep.join(str(ROOT / name) for name in ("python", "packages/lab", "packages/store"))
"""Packages of this checkout, as a path of Python."""

CLIPPY = ("--workspace", "--all-targets", "--release", "--quiet")
LINTS: dict[str, list[str]] = {
    "clippy": ["cargo", "clippy", *CLIPPY, "--", "-Dwarnings"],
    "mypy": [str(BIN / "mypy")],
    "tidy": [str(BIN / "python"), "tools/tidy.py"],
    "papers": [str(BIN / "python"), "tools/papers.py", "--check"],
    "stub": [str(BIN / "python"), "tools/generate_api.py", "--check"],
    "supply chain": [str(BIN / "python"), "tools/supply_chain.py"],
    "cargo fmt": ["cargo", "fmt", "--all", "--check"],
    "ruff check": [str(BIN / "ruff"), "check", "--quiet"],
    "ruff format": [str(BIN / "ruff"), "format", "--check", "--quiet"],
}
LINTS_AT_ONCE = 2
CHECKED = {
    "CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS": "true",
    "CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS": "true",
}
"""For the Rust tests: release with the checks of a debug build in our crates. What they depend on
is not compiled once more."""
RUST_FLAGS = ("--release", "--quiet", "--no-fail-fast")
RUST_TESTS = ("cargo", "test", "--workspace", "--exclude", "cuesta-fuzz", *RUST_FLAGS)
CODE_IN_DOCS = re.compile(r"^\s*//[/!] ```$", re.MULTILINE)
"""Start of code in a doc comment; text has a word behind the marks."""
SIDE_BY_SIDE = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
"""Two files of tests at a time, in their order, since Spark and TileDB come last in a process."""
TEST_GROUPS = {
    "test": ("tests", "--ignore=tests/engines", "--ignore=tests/site"),
    "test-engines": ("tests/engines",),
    "test-site": ("tests/site",),
}
"""Paths of the Python tests of each group."""
MUTANTS = 10_000
MUTANT_TESTS = (
    ("cuesta-assembly", "assembly", "mutants::"),
    ("cuesta-network", "network", "mutants::"),
    ("cuesta-sort", "sort", "mutants::"),
    ("cuesta-dataflow", "dataflow", "mutants::"),
    ("cuesta-images", "images", "mutants::"),
    ("cuesta-kmeans", "kmeans", "no_mutant_of_an_answer_passes"),
    ("cuesta-pga", "pga", "no_wrong_answer_passes"),
)
"""Crate, its binary of tests and a filter."""
HANG_SECONDS = 40 * 60
"""Time, several times what a busy machine takes, after which the Rust tests are taken to hang;
pytest has a limit for each of its tests."""
STORE_KILLS = 10_000
STORE_HISTORIES = 1000
"""Runs of three stores, each with several histories."""
SOAKED = (
    "tests/site/test_store_hadoop_contract.py",
    "tests/engines/test_memory_limit.py",
    "tests/engines/test_lab_mutants.py",
    "tests/engines/test_conformance.py",
)
"""Tests that do more where `CUESTA_SOAK` is set."""
STORE_CRASHES = ("cargo", "test", "--package", "cuesta-store", "--release", "crash::")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Output of a lint, and how long it took."""

    name: str
    code: int
    seconds: float
    output: str


def main(arguments: Sequence[str]) -> int:
    """Run the checks named by the first argument."""
    if arguments[:1] == ["lint"]:
        return lint()
    if arguments and arguments[0] in TEST_GROUPS:
        return test(arguments[0], arguments[1:])
    if arguments == ["soak"]:
        return soak()
    print(__doc__, file=sys.stderr)
    return 2


def lint() -> int:
    """Every lint; 1 when any failed."""
    failed = 0
    with ThreadPoolExecutor(LINTS_AT_ONCE) as pool:
        running = [pool.submit(run_lint, name) for name in LINTS]
        for future in as_completed(running):
            outcome = future.result()
            verdict = "failed" if outcome.code else "ok"
            print(f"lint: {outcome.name:12} {verdict:7} {outcome.seconds:6.1f} s", flush=True)
            if outcome.code:
                failed = 1
                print(outcome.output, flush=True)
    return failed


def run_lint(name: str) -> Outcome:
    """Run a lint; return its output."""
    started = time.monotonic()
    done = subprocess.run(
        LINTS[name],
        cwd=ROOT,
        # Lints come before the build, which installs the package.
        env=environment() | {"PYTHONPATH": SOURCES},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    seconds = time.monotonic() - started
    return Outcome(name=name, code=done.returncode, seconds=seconds, output=done.stdout)


def test(group: str, options: Sequence[str]) -> int:
    """Run all tests of a group; return the code of the first part that fails, 0 if none."""
    python = [str(BIN / "python"), "-m", "pytest", *SIDE_BY_SIDE, *TEST_GROUPS[group], *options]
    if group == "test":
        return test_with_rust(python)
    codes = []
    # ScalaTest comes by Maven.
    if group == "test-engines" and shutil.which("mvn"):
        codes.append(run([str(BIN / "python"), "tools/scala_jobs.py", "test"], environment()))
    codes.append(run(python, environment()))
    return next(filter(None, codes), 0)


def test_with_rust(python: Sequence[str]) -> int:
    """Compile the Rust tests, then run them beside those of Python; return as `test` does.

    Both wait often, so cores are free. The output of the Rust tests follows that of pytest.
    """
    checked = environment() | CHECKED
    compiled = run([*RUST_TESTS, "--tests", "--no-run"], checked)
    with TemporaryFile() as output, ThreadPoolExecutor() as pool:
        rust = pool.submit(run_limited, [*RUST_TESTS, "--tests"], checked, output)
        codes = [compiled, run(python, environment())]
        codes.append(rust.result())
        output.seek(0)
        shutil.copyfileobj(output, sys.stdout.buffer)
        sys.stdout.flush()
    for crate in crates_with_examples():
        codes.append(run([*RUST_TESTS[:2], "--package", crate, *RUST_FLAGS, "--doc"], checked))
    return next(filter(None, codes), 0)


def crates_with_examples() -> list[str]:
    """Return the crates whose docs have code, which only rustdoc compiles and runs."""
    with_code = (
        path.relative_to(ROOT / "crates").parts[0]
        for path in (ROOT / "crates").glob("*/src/**/*.rs")
        if CODE_IN_DOCS.search(path.read_text(encoding="utf-8"))
    )
    return [f"cuesta-{folder}" for folder in sorted(set(with_code))]


def run(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a command; return its code."""
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


def run_limited(command: Sequence[str], env: Mapping[str, str], output: IO[bytes]) -> int:
    """Run a command with its output in a file; return its code, 1 where it hangs.

    Then it and what it started are killed.
    """
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=output, stderr=output, start_new_session=True
    ) as process:
        try:
            return process.wait(HANG_SECONDS)
        except subprocess.TimeoutExpired:
            print(f"check: {command[0]} hangs; it is killed", file=sys.stderr, flush=True)
            return 1
        finally:
            # A test that hangs, or that an interruption leaves, outlives cargo.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def soak() -> int:
    """Wrong answers and kills of a store by the thousands; 1 when any passed."""
    failed = 0
    for crate, name, only in MUTANT_TESTS:
        words = ["cargo", "test", "--package", crate, "--release", "--quiet", "--test", name]
        counted = environment() | {"CUESTA_MUTANTS": str(MUTANTS)}
        failed |= int(run([*words, *filter(None, [only]), "--", "--nocapture"], counted) != 0)
    kills = [str(BIN / "python"), "tools/store_kills.py", "--kills", str(STORE_KILLS)]
    histories = [str(BIN / "python"), "tools/store_histories.py", "--group", "disk"]
    histories += ["--runs", str(STORE_HISTORIES)]
    pytest = [str(BIN / "python"), "-m", "pytest"]
    marked = ["-m", "soak", *(f"--ignore={path}" for path in SOAKED)]
    stores = (list(STORE_CRASHES), kills, histories)
    for command in (*stores, [*pytest, *SOAKED], [*pytest, *marked]):
        all_pairs = environment() | {"CUESTA_SOAK": "1"}
        failed |= int(run(command, all_pairs) != 0)
    return failed


def environment() -> dict[str, str]:
    """The caller's environment, with the interpreter that PyO3 builds against named."""
    return os.environ | {"PYO3_PYTHON": str(BIN / "python"), "VIRTUAL_ENV": str(BIN.parent)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
