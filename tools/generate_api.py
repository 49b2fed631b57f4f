"""Write `python/cuesta/__init__.pyi`: the calls of Python, typed for each workload.

    python tools/generate_api.py [--check]

The keywords, their types, defaults and explanations come from `spec/workloads` and from the shared
options of the command line. With `--check` nothing is written; 1 when the file is not current.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from cuesta import api
from cuesta.api import calls
from cuesta.api.declared import Option
from cuesta.api.jobs import Compare, Run
from cuesta.api.keywords import keywords
from cuesta.api.wording import PROGRESS, default_text, help_text, type_text
from cuesta.workloads import WORKLOAD_NAMES, Workload, get_workload

STUB = Path(api.__file__).parent.parent / "__init__.pyi"
COLUMNS_MAX = 100

_HEAD = '''\
# Written by `python tools/generate_api.py` from spec/workloads; change that instead.
"""Data-intensive science at hardware speed, verified and measured against the machine's ceilings.

`run`, `compare`, `assess` and `report` are the commands of the same names, and the keywords are the
words of the command line.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, overload

from cuesta import data as data
from cuesta import tl as tl
from cuesta.api.answer import Answer as Answer
from cuesta.api.answer import Assessment as Assessment
from cuesta.api.answer import Comparison as Comparison
from cuesta.api.calls import report as report
from cuesta.errors import CuestaError as CuestaError
from cuesta.errors import Defect as Defect
from cuesta.errors import EngineError as EngineError
from cuesta.errors import EngineMissing as EngineMissing
from cuesta.errors import InputError as InputError
from cuesta.errors import VerificationError as VerificationError

PathText = str | PathLike[str]
Input = PathText | Answer | Any

__version__: str
'''


def main(arguments: Sequence[str]) -> int:
    """Write the stub, or check it."""
    current = STUB.read_text(encoding="utf-8") if STUB.exists() else ""
    text = formatted(stub())
    if arguments == ["--check"]:
        if text != current:
            print(f"{STUB} is not current: run `python tools/generate_api.py`", file=sys.stderr)
        return int(text != current)
    STUB.write_text(text, encoding="utf-8")
    return 0


def stub() -> str:
    """The text of the stub, before it is formatted."""
    parts = [_HEAD, _assess()]
    for job, result in ((Run, "Answer"), (Compare, "Comparison")):
        for name in WORKLOAD_NAMES:
            parts.append(_overload(job, get_workload(name), result))
    return "\n".join(parts)


def _assess() -> str:
    """The call that has no workload."""
    lines = [
        "def assess(",
        "    answer: Answer | PathText,",
        "    reference: PathText | None = None,",
        "    *,",
        *(f"    {name}: {type(value).__name__} = {value}," for name, value in _assess_words()),
        ") -> Assessment:",
        f'    """{inspect.getdoc(calls.assess)}\n"""',
    ]
    return "\n".join(lines)


def _assess_words() -> Iterator[tuple[str, object]]:
    yield from calls.ASSESS_DEFAULTS.items()
    yield "progress", True


def _overload(job: type[Run] | type[Compare], workload: Workload, result: str) -> str:
    """Overload of a call for a workload."""
    known = keywords(workload, job.engines)
    taken = [
        f"{keyword}: {type_text(keyword, option)} = {default_text(option)},"
        for keyword, option in known.items()
    ]
    lines = [
        "@overload",
        f"def {job.command}(",
        f'    workload: Literal["{workload.name}"],',
        "    *inputs: Input | Sequence[Input],",
        *(f"    {line}" for line in taken),
        "    progress: bool = True,",
        f") -> {result}:",
        *(f"    {line}".rstrip() for line in _docstring(workload, known)),
    ]
    return "\n".join(lines)


def _docstring(workload: Workload, known: dict[str, Option]) -> Iterator[str]:
    """Docstring of a workload: its task and all keywords, in numpydoc."""
    yield f'"""{workload.summary}'
    yield ""
    yield "Parameters"
    yield "----------"
    yield "inputs"
    yield from _explained(workload.inputs_help)
    for keyword, option in known.items():
        yield keyword
        yield from _explained(help_text(option, known))
    yield "progress"
    yield from _explained(PROGRESS)
    yield '"""'


def _explained(text: str) -> Iterator[str]:
    for line in textwrap.wrap(text, COLUMNS_MAX - 8, break_long_words=False):
        yield f"    {line}"


def formatted(text: str) -> str:
    """The text as the linter of this repository wants it."""
    ruff = Path(sys.executable).parent / "ruff"
    command = [str(ruff), "format", "--stdin-filename", str(STUB), "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
