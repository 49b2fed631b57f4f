"""Run the tests of crates with `unsafe` under the sanitizers of addresses and of threads.

    python3 tools/sanitize.py [address] [thread] [--crate NAME]...

The compiler is the stable one (`RUSTC_BOOTSTRAP`). The sanitizer of threads wants the standard
library built with it, which takes the component `rust-src`: `rustup component add rust-src`. What
cannot run here is named, and fails the run. The crate `python` needs an interpreter in its process
and is left out; Miri needs a nightly compiler.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SANITIZERS = ("address", "thread")
LEFT_OUT = ("bindings", "python")
ALLOWED = re.compile(r"#!?\[allow\(unsafe_code\)\]")
PASSED = re.compile(r"^test result: ok\. (\d+) passed", re.MULTILINE)
OPTIONS = {
    # Memory that lives as long as the process is no leak.
    "address": ("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=1"),
    "thread": ("TSAN_OPTIONS", "halt_on_error=1:second_deadlock_stack=1"),
}


def main(arguments: Sequence[str]) -> int:
    """Test each crate under each sanitizer; 1 when any failed or could not run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sanitizers", nargs="*", choices=[*SANITIZERS, []])
    parser.add_argument("--crate", action="append", choices=unsafe_crates())
    options = parser.parse_args(arguments)
    failures = [
        failure
        for sanitizer in options.sanitizers or SANITIZERS
        for failure in run(sanitizer, options.crate or unsafe_crates())
    ]
    for failure in failures:
        print(f"sanitize: {failure}")
    return 1 if failures else 0


def unsafe_crates() -> list[str]:
    """Names of the crates where a file allows `unsafe`."""
    folders = (path for path in (ROOT / "crates").iterdir() if path.name not in LEFT_OUT)
    return sorted(
        folder.name
        for folder in folders
        if any(ALLOWED.search(path.read_text()) for path in folder.glob("src/**/*.rs"))
    )


def run(sanitizer: str, crates: Sequence[str]) -> list[str]:
    """Run one sanitizer; a line for each crate that failed."""
    if sanitizer == "thread" and not sources().is_dir():
        return [f"thread: no {sources()}; rustup component add rust-src"]
    failures = []
    for crate in crates:
        done = subprocess.run(
            command(sanitizer, crate),
            cwd=ROOT,
            env=environment(sanitizer),
            check=False,
            stdout=subprocess.PIPE,
            text=True,
        )
        count = sum(map(int, PASSED.findall(done.stdout)))
        print(f"sanitize: {sanitizer} {crate}: {count} tests, exit code {done.returncode}")
        if done.returncode != 0 or count == 0:
            print(done.stdout)
            failures.append(f"{sanitizer}: {crate} failed")
    return failures


def command(sanitizer: str, crate: str) -> list[str]:
    """Return the command that tests a crate, in a folder for builds with this sanitizer."""
    words = ["cargo", "test", "--quiet", "--lib", "--tests", "--target", triple()]
    if sanitizer == "thread":
        words.append("-Zbuild-std")
    return [*words, "--target-dir", f"target/sanitize-{sanitizer}", "-p", f"cuesta-{crate}"]


def environment(sanitizer: str) -> dict[str, str]:
    """Return the variables under which cargo builds and runs with this sanitizer."""
    name, value = OPTIONS[sanitizer]
    flags = f"-Zsanitizer={sanitizer} -Cunsafe-allow-abi-mismatch=sanitizer"
    return {**os.environ, "RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": flags, name: value}


def sources() -> Path:
    """Return the folder of the sources of the standard library."""
    return Path(_output_of("rustc", "--print", "sysroot")) / "lib/rustlib/src/rust/library"


def triple() -> str:
    """Return the name of this machine for the compiler."""
    return _output_of("rustc", "--print", "host-tuple")


def _output_of(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
