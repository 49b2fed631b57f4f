"""Answer folders of `assemble` with known contigs, and references to compare them with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import reportkit
from cuesta.cli.app import call


def write_fasta(path: Path, sequences: Mapping[str, str]) -> Path:
    """Write sequences in lines of 70 bases."""
    with path.open("w") as out:
        for name, bases in sequences.items():
            lines = [bases[at : at + 70] for at in range(0, len(bases), 70)]
            out.write("\n".join([f">{name} made up", *lines]) + "\n")
    return path


def write_answer(folder: Path, *contigs: str) -> Path:
    """Write an answer folder with these contigs."""
    reportkit.write_run(folder, reportkit.assembly())
    with (folder / "contigs.fa").open("w") as out:
        for number, bases in enumerate(contigs, start=1):
            out.write(f">contig_{number} length={len(bases)} depth=20.0\n{bases}\n")
    return folder


def assessed(folder: Path, *words: str) -> dict[str, Any]:
    """Return the assessment that `cuesta assess` writes into the answer folder."""
    assert call(["assess", str(folder), *words]) == 0
    assessment: dict[str, Any] = json.loads((folder / "assessment.json").read_text())
    return assessment
