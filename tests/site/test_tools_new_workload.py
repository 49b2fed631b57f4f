"""The recipe for a workload: the tool's skeleton builds, and runs on three engines."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import tidy
from cuesta.engines import get_engine
from labkit import ROOT

NAME = "toy"
COMPILED_SUFFIXES = frozenset({".rlib", ".rmeta", ".so", ".d"})
"""Suffixes of cargo's build outputs to copy: all but programs."""
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
FILES_TOUCHED_MAX = 4

pytestmark = [
    pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo"),
    pytest.mark.skipif(not (TARGET / "release" / "deps").is_dir(), reason="nothing is built yet"),
    pytest.mark.timeout(1500),
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy of the repository with its time stamps, so that cargo reuses its build."""
    copy = tmp_path_factory.mktemp("copy")
    for path in tidy.repository_paths(ROOT):
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, copy / path, follow_symlinks=False)
    for link in ("spec",):
        if not (copy / "python" / "cuesta" / link).is_symlink():
            (copy / "python" / "cuesta" / link).symlink_to(f"../../{link}")
    return copy


def output_of(words: list[str], cwd: Path, variables: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        words, cwd=cwd, env=os.environ | dict(variables or {}), text=True, check=False,
        capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if not path.is_relative_to(folder / "target") and "__pycache__" not in path.parts
    }


def with_toy(tree: Path) -> list[str]:
    """Run the tool; return the existing files that it changed."""
    before = digests(tree)
    output_of([sys.executable, "tools/new_workload.py", NAME], tree)
    after = digests(tree)
    assert before.keys() <= after.keys()
    return sorted(path for path, digest in before.items() if after[path] != digest)


def built(tree: Path) -> None:
    """Build the native module with the toy, on the existing build."""
    target = tree / "target"
    for part in ("deps", "build", ".fingerprint"):
        for path in (TARGET / "release" / part).rglob("*"):
            if path.is_file() and (part != "deps" or path.suffix in COMPILED_SUFFIXES):
                copy = target / path.relative_to(TARGET)
                copy.parent.mkdir(parents=True, exist_ok=True)
                # Another cargo may be running, which replaces its outputs.
                with contextlib.suppress(FileNotFoundError):
                    shutil.copy2(path, copy)
    words = ["cargo", "build", "--release", "--quiet", "--offline", "--package", "cuesta-python"]
    variables = {"CARGO_TARGET_DIR": str(target)} | (
        {} if "PYO3_PYTHON" in os.environ else {"PYO3_PYTHON": sys.executable}
    )
    output_of(words, tree, variables)
    module = target / "release" / "libcuesta_native.so"
    shutil.copy(module, tree / "python" / "cuesta" / "_native.abi3.so")


def test_the_skeleton_touches_four_lists_and_runs_on_three_engines(
    tree: Path, tmp_path: Path
) -> None:
    touched = with_toy(tree)
    assert len(touched) <= FILES_TOUCHED_MAX, touched
    assert touched == sorted(
        ["Cargo.lock", "crates/python/Cargo.toml", "crates/python/src/workloads.rs",
         "python/cuesta/__init__.pyi"]
    )  # fmt: skip
    output_of([sys.executable, "tools/tidy.py", *_new(tree)], tree)
    built(tree)
    numbers = [0, 1, 2**64 - 1, 7, 2**63] * 1000
    data = tmp_path / "numbers.bin"
    data.write_bytes(b"".join(number.to_bytes(8, "little") for number in numbers))
    engines = [name for name in ("native", "mpi", "spark") if not get_engine(name).missing()]
    records = {}
    for engine in engines:
        output = tmp_path / engine
        words = ["-m", "cuesta", "run", NAME, str(data), "--least", "2", "--engine", engine]
        output_of([sys.executable, *words, "--threads", "2", "-o", str(output)], tmp_path,
            {"PYTHONPATH": str(tree / "python")})  # fmt: skip
        taken = [number for number in numbers if number >= 2]
        text = (output / "total.tsv").read_text("ascii")
        assert text == f"count\tsum\n{len(taken)}\t{sum(taken)}\n"
        records[engine] = json.loads((output / "run.json").read_text("utf-8"))
    assert {record["verified"] for record in records.values()} == {True}
    assert len({record["answer"]["digest"] for record in records.values()}) == 1
    phases = {phase["name"]: phase for phase in records["native"]["samples"][0]["phases"]}
    assert phases["sum"]["ceiling"] == "file_read_warm_bytes_per_s"
    page = tmp_path / "report.html"
    output_of([sys.executable, "-m", "cuesta", "report", *map(str, (tmp_path / e for e in engines)),
         "-o", str(page)], tmp_path, {"PYTHONPATH": str(tree / "python")})  # fmt: skip
    assert NAME in page.read_text("utf-8")


def _new(tree: Path) -> list[str]:
    folders = (tree / "crates" / NAME, tree / "spec" / "workloads" / NAME)
    return [str(path.relative_to(tree)) for folder in folders for path in folder.rglob("*.*")]


@pytest.mark.parametrize("name", ["", "Toy", "to-y", "sort", "a b"])
def test_a_name_that_is_taken_or_is_none_is_refused(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "tools/new_workload.py", name], cwd=ROOT, text=True, check=False,
        capture_output=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("new_workload: ")
    assert done.stderr.count("\n") == 1
