"""Write the skeleton of a workload: `python tools/new_workload.py NAME`.

It is a whole workload, which adds numbers of a file: it builds, verifies its answer, and runs on
the engines `native`, `spark` and `mpi`. Put the problem of your own in its place, file by file.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SKELETON = "skeleton"
_TEMPLATE = Path(__file__).resolve().parent / SKELETON
_TAG = '*b"skeleton"'
_TAG_BYTES = 8

CRATES = "crates/python/Cargo.toml"
OFFERS = "crates/python/src/workloads.rs"
STUB = "python/cuesta/__init__.pyi"
LOCK = "Cargo.lock"
LISTS = (CRATES, OFFERS, STUB, LOCK)
"""The files that list workloads; the last two are written by other tools."""


def main(arguments: Sequence[str]) -> int:
    """Write the skeleton and add it to the lists."""
    if len(arguments) != 1 or not re.fullmatch(r"[a-z][a-z0-9]+", arguments[0]):
        print("new_workload: give one name of lower-case letters and digits", file=sys.stderr)
        return 2
    name = arguments[0]
    folders = [ROOT / "crates" / name, ROOT / "spec" / "workloads" / name]
    for folder in folders:
        if folder.exists():
            print(f"new_workload: {folder} is there already; give another name", file=sys.stderr)
            return 2
    for part, folder in zip(("crate", "spec"), folders, strict=True):
        for path, text in _files(_TEMPLATE / part, name):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")
    _list(name)
    print(f"wrote crates/{name} and spec/workloads/{name}, listed in {', '.join(LISTS)}")
    print(f"next: make build, cargo test -p cuesta-{name}, cuesta run {name} FILE -o DIR")
    return 0


def _files(folder: Path, name: str) -> Iterator[tuple[Path, str]]:
    """Each file of the skeleton by its path, with the name of the workload in it."""
    padded = name[:_TAG_BYTES] + "\\0" * (_TAG_BYTES - len(name))
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            text = path.read_text("utf-8").replace(_TAG, f'*b"{padded}"')
            text = text.replace(SKELETON.title(), name.title()).replace(SKELETON, name)
            yield path.relative_to(folder), text


def _list(name: str) -> None:
    _add(CRATES, r"^cuesta-\w+ = \{ path = .*\}$", f'cuesta-{name} = {{ path = "../{name}" }}')
    check = f"cuesta_{name}::params::{name.title()}Params::check"
    _add(
        OFFERS,
        r"^    workload!\(.*\),$",
        f'    workload!("{name}", cuesta_{name}, {check}, PLANS),',
    )
    # The second one writes the lock file.
    for words in (["fmt", "--all"], ["metadata", "--format-version=1", "--offline"]):
        subprocess.run(["cargo", *words], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    generate = [sys.executable, str(ROOT / "tools" / "generate_api.py")]
    subprocess.run(generate, cwd=ROOT, env=environment, check=True)


def _add(path: str, like: str, line: str) -> None:
    """Add a line below the last one that is `like` those of the list."""
    file = ROOT / path
    text = file.read_text("utf-8")
    last = list(re.finditer(like, text, re.MULTILINE))[-1]
    file.write_text(f"{text[: last.end()]}\n{line}{text[last.end() :]}", "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
