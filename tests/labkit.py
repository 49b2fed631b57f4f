"""A small engine and verifier for tests of the lab without a kernel."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuesta import _native
from cuesta.engines import Engine
from cuesta.lab.audit import BESIDE_ANSWER
from cuesta.lab.plan import Plan
from cuesta.lab.verify import FULL, Verification
from cuesta.trial import Outcome, Phase, Trial
from cuesta.workloads import get_workload

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = json.loads((ROOT / "spec/formats/run-record.schema.json").read_text())


def nothing(_trial: Trial, _output: Path) -> None:
    """Do nothing besides writing the answer."""


def answer(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write an answer folder of these files by path, with a record that lists them."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    folder.mkdir(parents=True, exist_ok=True)
    rows = json.loads(_native.answer_checksums(folder, [], 1))
    record = {"schema": "cuesta.run/1", "answer": {"files": rows}}
    (folder / "run.json").write_text(json.dumps(record))
    return folder


@dataclass
class CopyEngine(Engine):
    """Engine whose answer is the first input, for an easy verifier; `before` may misbehave."""

    name: str = "copy"
    before: Callable[[Trial, Path], None] = nothing
    workloads: frozenset[str] = frozenset({"scan", "join"})
    lacking: str | None = None
    extra: str = ""
    runs: list[str] = field(default_factory=list)
    closed: int = 0

    def missing(self) -> str | None:
        return self.lacking

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        assert not any(output.iterdir())
        assert not any(scratch.iterdir())
        (scratch / "spill").write_text("x")
        text = Path(trial.inputs[0]).read_text() + self.extra
        (output / "pairs.txt").write_text(text)
        self.before(trial, output)
        self.runs.append(trial.engine)
        ceiling = "file_read_warm_bytes_per_s"
        reading = Phase(name="copy", seconds=0.5, bytes=len(text), rows=1, ceiling=ceiling)
        return Outcome(
            phases=(Phase(name="open", seconds=0.1), reading),
            counts={"rows_read": 3, "rows_kept": 1},
            versions={self.name: "1.2"},
        )

    def close(self) -> None:
        self.closed += 1


def run_apart(
    workload: str, folder: Path, *words: str, limit_bytes: int | None = None
) -> dict[str, Any]:
    """Return the record of a run in a process of its own, which has all of `--memory` for itself.

    With `limit_bytes`, the kernel limits the growth of its data.
    """

    def limit() -> None:
        if limit_bytes:
            resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))

    done = subprocess.run(
        [sys.executable, "-m", "cuesta", "run", workload, *words, "-o", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    assert done.returncode == 0, done.stderr
    return record_of(folder)


def record_of(folder: Path) -> dict[str, Any]:
    """Return the record of a run, which must be verified."""
    record: dict[str, Any] = json.loads((folder / "run.json").read_text())
    assert record["verified"]
    return record


def input_sizes(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the inputs of a record without the fingerprints of their content."""
    return [{name: row[name] for name in ("path", "bytes", "files")} for row in record["inputs"]]


def vector_files(folder: Path) -> list[str]:
    """Write three files of 238 3-vectors in all; some blocks of 50 span more than a single file."""
    draw = np.random.default_rng(5)
    for name, count, kind in [("a", 130, "f8"), ("b", 7, "f4"), ("c", 101, "f8")]:
        np.save(folder / f"{name}.npy", draw.normal(scale=100, size=(count, 3)).astype(kind))
    return [str(folder / f"{name}.npy") for name in "abc"]


def below(pid: int, word: str, other_than: str = "\0\0") -> list[int]:
    """Return the descendants of `pid` with `word` in their command.

    Those with `other_than` in it are left out.
    """
    pids = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().decode(errors="replace")
            parents = _parents(entry)
        except OSError:
            continue
        if pid in parents and word in command and other_than not in command:
            pids.append(int(entry.name))
    return sorted(pids)


def _parents(entry: Path) -> list[int]:
    pids = []
    while entry.name not in ("0", "1"):
        # The name in brackets may contain any character.
        entry = entry.with_name((entry / "stat").read_text().rpartition(")")[2].split()[1])
        pids.append(int(entry.name))
    return pids


def digest(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def same_as_input(trial: Trial, answer: Path, scratch: Path, **how: Any) -> Verification:
    """Verify an answer of `CopyEngine`."""
    answer_digest = digest((answer / "pairs.txt").read_text())
    expected = digest(Path(trial.inputs[0]).read_text())
    return Verification(
        verified=answer_digest == expected,
        digest=answer_digest,
        expected=expected,
        method="reading the input",
        seconds=0.25,
        counts={"rows": 1},
        level=how.get("level", FULL),
    )


def anything(trial: Trial, answer: Path, scratch: Path, **renamed: Any) -> Verification:
    """Accept any answer."""
    verification = same_as_input(trial, answer, scratch, **renamed)
    return replace(verification, verified=True, expected=verification.digest)


def scan_trial(folder: Path, **changes: Any) -> Trial:
    """Return a scan of a small file in `folder`."""
    pairs = folder / "input.txt"
    pairs.write_text("3\t1\n")
    trial = Trial(
        workload="scan",
        engine="copy",
        inputs=(str(pairs),),
        parameters=get_workload("scan").check({}),
        threads=1,
        memory_bytes=1 << 30,
    )
    return replace(trial, **changes)


def plan(folder: Path, **changes: Any) -> Plan:
    """Return a plan into `folder/answer`, verified by `same_as_input`."""
    return replace(Plan(output=folder / "answer", verifier=same_as_input), **changes)


def rewrite_checksums(folder: Path) -> None:
    """Write the checksums of the present files into the record of an answer folder."""
    record = json.loads((folder / "run.json").read_text())
    text = _native.answer_checksums(folder, list(BESIDE_ANSWER), 1)
    record["answer"]["files"] = json.loads(text)
    (folder / "run.json").write_text(json.dumps(record))


def names(folder: Path) -> set[str]:
    """Return the names in a folder."""
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Empty file system of 2 MiB; needs root."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("only root can mount a small file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
