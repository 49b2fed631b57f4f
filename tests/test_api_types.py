"""The calls as a type checker and a completion see them."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from labkit import ROOT

RIGHT = """
import cuesta
from pathlib import Path

answer = cuesta.run("communities", Path("pairs.txt"), min_abs_score=0.8, method="louvain",
                    memory="8GiB", threads=2, engine="spark", engine_option={"cores": 2})
reveal_type(answer)
reveal_type(answer.table())
reveal_type(answer.table("communities", as_="numpy"))
reveal_type(answer.table(as_="python", columns=["gene"]))
reveal_type(answer.counts)
compared = cuesta.compare("sort", "a", ["b", "c"], engines=["native", "mpi"], ranks=2)
reveal_type(compared.answers)
reveal_type(cuesta.report(answer, compared, "folder", output=Path("page.html")))
reveal_type(cuesta.assess(answer, reference="genome.fa", min_contig=1000))
reveal_type(cuesta.data.get("nci60"))
"""
REVEALED = [
    "cuesta.api.answer.Answer",
    "Any",
    "numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.void]]",
    "dict[str, list[Any]]",
    "typing.Mapping[str, int]",
    "typing.Mapping[str, cuesta.api.answer.Answer]",
    "pathlib.Path",
    "cuesta.api.answer.Assessment",
    "tuple[pathlib.Path, ...]",
]
WRONG = [
    'cuesta.run("communities", "x", min_score=0.8)',
    'cuesta.run("communities", "x", method="walktrap")',
    'cuesta.run("sort", "x", min_abs_score=0.8)',
    'cuesta.run("scan", "x", engine="fortran")',
    'cuesta.run("scan", "x", memory=0.5)',
    'cuesta.run("scam", "x")',
    'cuesta.compare("scan", "x", engine="native")',
    'cuesta.run("scan", "x").table(as_="duckdb")',
    'cuesta.assess("x", circular=True)',
    "cuesta.nothing",
]


def checked(path: Path, program: str) -> list[tuple[int, str]]:
    """Return the messages of mypy on a program: line and text."""
    path.write_text(program)
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--no-pretty", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    # For a program it knows, mypy reports the place where it first saw it.
    messages = re.findall(rf"{path.name}:(\d+): (.*)", done.stdout)
    return [(int(line), message) for line, message in messages]


def test_right_calls_pass_a_type_checker_and_have_types(tmp_path: Path) -> None:
    messages = checked(tmp_path / "right_calls.py", RIGHT)
    assert [message for message in messages if message[1].startswith("error: ")] == []
    assert [
        message.split('"')[1] for _, message in messages if "Revealed type" in message
    ] == REVEALED


def test_wrong_calls_do_not_pass_a_type_checker(tmp_path: Path) -> None:
    messages = checked(tmp_path / "wrong_calls.py", "\n".join(["import cuesta", *WRONG, ""]))
    errors = {line for line, message in messages if message.startswith("error: ")}
    assert errors == set(range(2, 2 + len(WRONG)))


COMPLETED = [
    ("cuesta.ru", "run"),
    ("cuesta.run('scan', 'x', min_abs", "min_abs_score="),
    ("cuesta.run('scan', 'x', memo", "memory="),
    ("cuesta.run('assemble', 'x', kmer", "kmer_sizes="),
    ("cuesta.compare('scan', 'x', engi", "engines="),
    ("cuesta.assess('x', no_", "no_reads="),
    ("cuesta.data.ge", "get"),
]


@pytest.mark.parametrize(("begun", "ending"), [*COMPLETED, ("cuesta.run('sort').tab", "table")])
def test_an_editor_completes_the_calls(begun: str, ending: str) -> None:
    jedi: Any = pytest.importorskip("jedi")
    project = jedi.Project(str(ROOT / "python"))
    completions = jedi.Script(f"import cuesta\n{begun}", project=project).complete()
    assert ending in [completion.name_with_symbols for completion in completions]


@pytest.mark.parametrize("use_jedi", [True, False])
@pytest.mark.parametrize(("begun", "ending"), COMPLETED)
def test_a_notebook_completes_the_calls(begun: str, ending: str, use_jedi: bool) -> None:
    pytest.importorskip("IPython")
    from IPython.core import interactiveshell
    from IPython.core.completer import provisionalcompleter

    make_shell: Any = interactiveshell.InteractiveShell
    with warnings.catch_warnings(), provisionalcompleter():
        warnings.simplefilter("ignore")
        shell = make_shell()
        shell.run_cell("import cuesta")
        shell.Completer.use_jedi = use_jedi
        completions = shell.Completer.completions(begun, len(begun))
        assert ending in [completion.text.lstrip(".") for completion in completions]
