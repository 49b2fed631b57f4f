"""The keywords of Python are the words of the command line, in all places that list them."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

import cuesta
from apikit import CASES, Case
from cuesta.api.jobs import Compare, Run
from cuesta.api.keywords import keywords, read
from cuesta.cli import commands
from cuesta.errors import CuestaError, InputError
from cuesta.workloads import WORKLOAD_NAMES, get_workload
from labkit import ROOT

JOBS: tuple[type[Run] | type[Compare], ...] = (Run, Compare)
STUB = ROOT / "python" / "cuesta" / "__init__.pyi"
ONLY_TYPED = {"json", "help", "samples", "quiet", "verbose", "log_file", "timestamps"}
"""Options that print, where a call returns and logs by `logging`, and a sheet of samples, where
calls are in a loop."""


def typed_words(command: str, workload: str) -> set[str]:
    """Return the options of Typer as keywords; letters only if they have no long form."""
    group: Any = typer.main.get_command(commands.build([command]))
    names = set()
    for parameter in group.commands[command].commands[workload].params:
        longs = {word for word in parameter.opts if word.startswith("--")}
        names |= {word[2:].replace("-", "_") for word in longs}
    return names - ONLY_TYPED


@pytest.mark.parametrize("workload", WORKLOAD_NAMES)
@pytest.mark.parametrize("job", JOBS)
def test_the_keywords_are_the_words_of_the_command_line(
    job: type[Run] | type[Compare], workload: str
) -> None:
    parameters_by_name = keywords(get_workload(workload), job.engines)
    letters = {"k"} if workload == "assemble" else set()
    words = {name.rstrip("_") for name in parameters_by_name}
    assert words == typed_words(job.command, workload) | letters


@pytest.mark.parametrize("workload", WORKLOAD_NAMES)
@pytest.mark.parametrize("job", JOBS)
def test_the_stub_has_each_keyword_with_its_default_and_an_explanation(
    job: type[Run] | type[Compare], workload: str
) -> None:
    (function,) = [
        node
        for node in ast.parse(STUB.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name == job.command and _of(node) == workload
    ]
    parameters_by_name = keywords(get_workload(workload), job.engines)
    assert [argument.arg for argument in function.args.kwonlyargs] == [
        *parameters_by_name,
        "progress",
    ]
    defaults = [ast.literal_eval(default) for default in function.args.kw_defaults if default]
    expected = [
        False if name == "cold" else parameter.default
        for name, parameter in parameters_by_name.items()
    ]
    assert defaults == [*expected, True]
    explained = ast.get_docstring(function) or ""
    assert all(
        f"\n{name}\n    " in explained for name in ("inputs", *parameters_by_name, "progress")
    )
    assert "--" not in explained.replace("----------", "")


def _of(function: ast.FunctionDef) -> str:
    """Return the workload of an overload."""
    return ast.unparse(function.args.args[0].annotation or function).split("'")[1]


def test_the_stub_is_what_its_generator_writes() -> None:
    done = subprocess.run([sys.executable, "tools/generate_api.py", "--check"], cwd=ROOT)
    assert done.returncode == 0


@pytest.mark.parametrize("call", [cuesta.run, cuesta.compare])
def test_help_and_completion_know_the_keywords_of_all_workloads(call: Any) -> None:
    job = Run if call is cuesta.run else Compare
    all_keywords = {
        name
        for workload in WORKLOAD_NAMES
        for name in keywords(get_workload(workload), job.engines)
    }
    parameters = inspect.signature(call).parameters
    assert set(parameters) == all_keywords | {"workload", "inputs", "progress"}
    assert all(f"{name}" in call.__doc__ for name in (*all_keywords, *WORKLOAD_NAMES))


def test_the_keywords_of_an_assessment_are_the_words_of_the_command_line() -> None:
    group: Any = typer.main.get_command(commands.build(["assess"]))
    parameters = group.commands["assess"].params if hasattr(group, "commands") else group.params
    typed = {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.name not in ("folder", "help")
    }
    called = dict(inspect.signature(cuesta.assess).parameters)
    assert list(called) == ["answer", "reference", "progress", *list(typed)[1:]]
    assert {name: called[name].default for name in typed} == typed
    (function,) = [
        node
        for node in ast.parse(STUB.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name == "assess"
    ]
    assert {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)} == set(
        called
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_command_in_the_record_requests_the_same(case: Case) -> None:
    arguments = {**case.keywords, "inputs": case.inputs, "output": "out"}
    request = read("run", get_workload(case.workload), Run.engines, arguments)
    letters = {"--kmer-sizes": "-k"}
    words = [letters.get(word, word) for word in request.command]
    assert words == ["cuesta", "run", case.workload, *case.inputs, *case.words, "--output", "out"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"min_abs_score": 2}, "min_abs_score is 2, give a number from 0 to 1"),
        ({"min_abs_score": "high"}, "min_abs_score is high, give a number from 0 to 1"),
        ({"min_score": 0.8}, "scan has no keyword 'min_score'; did you mean min_abs_score?"),
        ({"zzz": 1}, "scan has no keyword 'zzz'; it has graph, min_abs_score, "),
        ({"min-abs-score": 1}, "scan has no keyword 'min-abs-score'; did you mean"),
        ({"json": True}, "scan has no keyword 'json'"),
        ({"memory": 1000}, "memory is 1000, give at least 16 MiB"),
        ({"memory": "8 gigs"}, "memory is '8 gigs', give a size such as 8GiB"),
        ({"memory": True}, "memory is True, give a size such as '8GiB', or bytes"),
        ({"threads": 0}, "threads is 0, give at least 1"),
        ({"threads": 1.5}, "threads is 1.5, give a whole number"),
        ({"threads": True}, "threads is True, give a whole number"),
        ({"overwrite": 1}, "overwrite is 1, give True or False"),
        ({"output": 3}, "output is 3, give a path"),
        ({"scratch": "nowhere/at/all"}, "scratch nowhere/at/all: no such folder"),
        ({"engine": "native,spark"}, "engine takes one engine"),
        ({"engine": "fortran"}, "engine 'fortran' is not known; choose from native, "),
        ({"engine": 1}, "engine is 1, give a name, or a list of names"),
        ({"engine_option": "tile=3"}, "engine_option is 'tile=3', give a mapping"),
        ({"ranks": 2}, "ranks is for engine mpi only"),
        ({"repeat": 0}, "repeat is 0, give 1 to 1000"),
        ({"cold": "maybe"}, "cold is 'maybe', give "),
        ({"inputs": ()}, "scan takes at least 1 input "),
        ({"genes": ["a", ["b"]]}, "genes is ['a', ['b']], give a path"),
        ({"genes": {"a": "b" * 100}}, "genes is of type dict, give a path"),
        ({"inputs": (3,)}, "input 3 is no path; give text"),
    ],
)
def test_a_bad_keyword_is_refused_in_words_of_python(
    words: dict[str, Any], message: str, tmp_path: Path
) -> None:
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("3\t1\t1\t1\t4\t0\t0\t0\t0\t0.900000\t1111\n")
    inputs = words.pop("inputs", (pairs,))
    with pytest.raises(InputError) as raised:
        cuesta.run("scan", *inputs, progress=False, **words)
    assert isinstance(raised.value, CuestaError)
    assert message in str(raised.value)
    assert "--" not in str(raised.value)


def test_an_unknown_workload_is_refused() -> None:
    with pytest.raises(InputError, match="workload 'scam' is not known"):
        cuesta.run("scam", "x")  # type: ignore[call-overload]


def test_values_of_numpy_and_paths_are_taken_and_none_is_the_default(tmp_path: Path) -> None:
    import numpy as np

    arguments = {
        "inputs": [[tmp_path / "a", "b"], "hdfs://c/d"],
        "min_abs_score": np.float64(0.5),
        "score_index": np.int64(1),
        "threads": np.int32(2),
        "seed": None,
        "memory": 1 << 30,
        "scratch": tmp_path,
        "engine": "spark",
        "engine_option": {"cores": 3},
        "cold": True,
        "output": tmp_path / "out",
    }
    request = read("run", get_workload("scan"), Run.engines, arguments)
    assert request.inputs == (str(tmp_path / "a"), str(Path("b").absolute()), "hdfs://c/d")
    assert request.parameters["min_abs_score"] == 0.5
    assert request.parameters["score_index"] == 1
    assert request.common.threads == 2
    assert request.common.seed == 0
    assert request.common.memory_bytes == 1 << 30
    assert request.common.scratch == tmp_path
    assert request.common.engine_options == {"cores": "3"}
    assert request.common.cache == "input-dropped"
