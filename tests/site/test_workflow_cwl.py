"""CWL: the tools of `workflows/cwl` run by cwltool, and their answers are those of a command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workflowkit import WORKFLOWS, manager, run, write_inputs

TOOLS = WORKFLOWS / "cwl"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_inputs(tmp_path_factory.mktemp("inputs"))


def cwltool(tool: str, job: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run a tool; return its outputs."""
    (folder / "job.json").write_text(json.dumps(job))
    words: list[str | Path] = [manager("cwltool"), "--no-container", "--quiet", "--outdir", "out"]
    outputs: dict[str, Any] = json.loads(run([*words, TOOLS / tool, "job.json"], folder))
    return outputs


def file(path: Path) -> dict[str, str]:
    return {"class": "File", "path": str(path)}


@pytest.mark.parametrize("tool", sorted(path.name for path in TOOLS.glob("*.cwl")))
def test_a_tool_is_valid(tool: str, tmp_path: Path) -> None:
    run([manager("cwltool"), "--validate", "--quiet", TOOLS / tool], tmp_path)


def test_a_sample_is_assembled(inputs: Path, tmp_path: Path) -> None:
    reads = {"forward": file(inputs / "a_1.fq"), "reverse": file(inputs / "a_2.fq")}
    outputs = cwltool("assemble.cwl", {"sample": "a", **reads}, tmp_path)
    assert Path(outputs["contigs"]["path"]).read_text().startswith(">contig_1 length=5000")
    record = json.loads((tmp_path / "out" / "a" / "run.json").read_text())
    assert record["verified"] is True


def test_all_samples_of_a_sheet_are_assembled(inputs: Path, tmp_path: Path) -> None:
    reads = [file(path) for path in sorted(inputs.glob("*.fq"))]
    job = {"sheet": file(inputs / "sheet.csv"), "reads": reads}
    outputs = cwltool("assemble_samples.cwl", job, tmp_path)
    rows = Path(outputs["table"]["path"]).read_text().splitlines()
    assert {row.split("\t")[0] for row in rows[1:]} >= {"a", "b"}


def test_a_matrix_becomes_pairs_and_modules(inputs: Path, tmp_path: Path) -> None:
    job = {"matrix": file(inputs / "matrix.tsv"), "min_abs_score": 0.5, "min_module_size": 5}
    outputs = cwltool("matrix_to_modules.cwl", job, tmp_path)
    assert len(Path(outputs["pairs"]["path"]).read_text().splitlines()) > 100
    assert len(Path(outputs["gene_sets"]["path"]).read_text().splitlines()) == 2
