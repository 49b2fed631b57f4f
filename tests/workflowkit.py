"""Inputs for modules of workflow managers, and environments with the managers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pinned
from sampleskit import write_isolates

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = ROOT / "workflows"
MANAGERS = pinned.Environment(
    extra="workflows",
    folder=ROOT / "build" / "workflows-venv",
    lock_command="python tests/workflowkit.py",
)
GENES, SAMPLES, SEED = 30, 40, 1


def write_inputs(folder: Path) -> Path:
    """Write read pairs of two isolates, their sheet, and a matrix with two modules."""
    folder.mkdir(parents=True, exist_ok=True)
    write_isolates(folder, ("a", "b"))
    random = np.random.default_rng(SEED)
    factors = random.normal(size=(2, SAMPLES))
    rows = ["gene\t" + "\t".join(f"s{index}" for index in range(SAMPLES))]
    for gene in range(GENES):
        values = factors[gene % 2] + 0.3 * random.normal(size=SAMPLES) + 8
        rows.append(f"g{gene}\t" + "\t".join(f"{value:.4f}" for value in values))
    (folder / "matrix.tsv").write_text("\n".join(rows) + "\n")
    return folder


def manager(name: str) -> Path:
    """The command of a workflow manager; skips the test where its packages cannot be had."""
    try:
        MANAGERS.install()
    except subprocess.CalledProcessError:
        pytest.skip(f"{name} is not installed, and no index of packages is reached")
    return MANAGERS.folder / "bin" / name


def environment() -> dict[str, str]:
    """The environment with the `cuesta` of this checkout and the managers in reach."""
    places = (str(Path(sys.executable).parent), str(MANAGERS.folder / "bin"), os.environ["PATH"])
    return os.environ | {"PATH": os.pathsep.join(places)}


def run(words: list[str | Path], folder: Path) -> str:
    """Run a manager in a folder; return its output. Fails with what it printed."""
    done = subprocess.run(
        words, cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


if __name__ == "__main__":
    MANAGERS.lock()
