"""Snakemake: the wrappers of `workflows/snakemake` make answers, and a second call makes none."""

from __future__ import annotations

import json
from pathlib import Path

from workflowkit import WORKFLOWS, manager, run, write_inputs

WRAPPERS = (WORKFLOWS / "snakemake").as_uri() + "/"
SNAKEFILE = """
rule all:
    input: "assembly", "samples", "correlation", "modules"

rule assemble:
    input: reads=["in/a_1.fq", "in/a_2.fq"]
    output: directory("assembly")
    log: "logs/assemble.log"
    params: extra="--kmer-sizes 31,55"
    threads: 1
    resources: mem_mb=1000
    wrapper: "bio/cuesta/assemble"

rule assemble_samples:
    input: sheet="in/sheet.csv"
    output: directory("samples")
    wrapper: "bio/cuesta/assemble_samples"

rule correlate:
    input: matrix="in/matrix.tsv"
    output: directory("correlation")
    params: extra="--min-abs-score 0.5"
    wrapper: "bio/cuesta/correlate"

rule modules:
    input: matrix="in/matrix.tsv"
    output: directory("modules")
    params: extra="--min-module-size 5"
    wrapper: "bio/cuesta/modules"
"""


def test_all_wrappers_make_verified_answers_once(tmp_path: Path) -> None:
    write_inputs(tmp_path / "in")
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    words: list[str | Path] = [manager("snakemake"), "--cores", "2"]
    run([*words, "--wrapper-prefix", WRAPPERS], tmp_path)
    records = sorted(tmp_path.glob("*/run.json"))
    assert [path.parent.name for path in records] == ["assembly", "correlation", "modules"]
    assert all(json.loads(path.read_text())["verified"] is True for path in records)
    assert (tmp_path / "samples" / "isolates.tsv").is_file()
    assert (tmp_path / "logs" / "assemble.log").stat().st_size > 0
    before = {path: path.stat().st_mtime_ns for path in records}
    run([*words, "--wrapper-prefix", WRAPPERS], tmp_path)
    assert before == {path: path.stat().st_mtime_ns for path in records}
