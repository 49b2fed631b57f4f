"""Galaxy: the tools of `workflows/galaxy` pass its lint, and the command that each writes runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workflowkit import WORKFLOWS, manager, run, write_inputs

TOOLS = WORKFLOWS / "galaxy"
LINT = """
import sys
from galaxy.tool_util.lint import NETWORK_LINTERS, lint_tool_source
from galaxy.tool_util.parser import get_tool_source
source = get_tool_source(sys.argv[1])
sys.exit(not lint_tool_source(source, skip_types=list(NETWORK_LINTERS), name=sys.argv[1]))
"""
"""Fails for a warning; identifiers that are looked up on a server are left out."""
RENDER = """
import json
import sys
from galaxy.tool_util.loader import load_tool
from galaxy.util.template import fill_template
values = json.loads(sys.argv[2])
command = load_tool(sys.argv[1]).getroot().find("command").text
print(fill_template(command, context=values, python_template_version="3.11"))
"""
"""Writes the command of a tool for values of its parameters, as a server does."""


@pytest.mark.parametrize("name", sorted(path.name for path in TOOLS.glob("cuesta_*.xml")))
def test_a_tool_passes_the_lint(name: str, tmp_path: Path) -> None:
    run([manager("python"), "-c", LINT, TOOLS / name], tmp_path)


@pytest.mark.parametrize(
    ("name", "values", "output"),
    [
        ("assemble", {"reads": {"forward": "a_1.fq", "reverse": "a_2.fq"}}, "contigs.fa"),
        ("modules", {"matrix": "matrix.tsv", "traits": "", "min_module_size": 5}, "modules.gmt"),
        ("correlate", {"matrix": "matrix.tsv", "min_abs_score": 0.5}, "pairs.txt"),
    ],
)
def test_the_command_of_a_tool_makes_a_verified_answer(
    name: str, values: dict[str, object], output: str, tmp_path: Path
) -> None:
    write_inputs(tmp_path)
    python = manager("python")
    context = json.dumps({"kmer_sizes": "", **values})
    words: list[str | Path] = [python, "-c", RENDER, TOOLS / f"cuesta_{name}.xml", context]
    command = run(words, tmp_path)
    run(["bash", "-c", command.replace("\n", " ")], tmp_path)
    assert (tmp_path / "answer" / output).stat().st_size > 0
    assert json.loads((tmp_path / "answer" / "run.json").read_text())["verified"] is True
