"""The calls: `cuesta.run`, `cuesta.compare`, `cuesta.assess` and `cuesta.report`.

`cuesta/__init__.pyi` has their types for each workload; it is written from the specification.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from cuesta.api.answer import Answer, Assessment, Comparison, PathText
from cuesta.api.jobs import Assess, Compare, Run
from cuesta.api.keywords import Input, Request, in_words_of_python, read
from cuesta.api.matrices import with_files
from cuesta.api.notebook import observer_here
from cuesta.api.process import call
from cuesta.api.temporary import TemporaryFolder
from cuesta.api.wording import add_keywords, describe
from cuesta.errors import InputError, VerificationError
from cuesta.workloads import get_workload


def run(
    workload: str, *inputs: Input | Sequence[Input], progress: bool = True, **words: Any
) -> Answer:
    """Run a workload on one engine; return its verified answer.

    `inputs` are paths, answers (of which the main file is read), or lists of them; an expression
    matrix may also be a data frame, an array or an AnnData object. Without `output`
    the answer is in a temporary folder that is removed with the returned object. Ctrl-C stops the
    run, which leaves nothing behind. Errors are subclasses of `cuesta.CuestaError`.
    """
    return Answer(*_answered(Run, workload, inputs, words, progress))


def compare(
    workload: str, *inputs: Input | Sequence[Input], progress: bool = True, **words: Any
) -> Comparison:
    """Run a workload on several engines, each in a process of its own; their answers are equal.

    All is as for `cuesta.run`; `engines` names the engines. Errors: `cuesta.VerificationError` when
    two answers differ.
    """
    return Comparison(*_answered(Compare, workload, inputs, words, progress))


def assess(
    answer: Answer | PathText,
    reference: PathText | None = None,
    *,
    progress: bool = True,
    **words: Any,
) -> Assessment:
    """Measure an assembly beside its reads and a reference genome.

    The assessment is written into the answer folder, where a report finds it.

    Parameters
    ----------
    answer
        What `run("assemble", ...)` returned, or its folder.
    reference
        A genome to hold the contigs against: FASTA, plain or gzipped.
    min_contig
        Shortest contig that is looked at, in bases.
    linear
        The reference's sequences are linear; else a contig may run over their ends.
    no_reads
        Do not count the k-mers of the reads anew.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.

    Errors: as `cuesta assess`.
    """
    for word in words:
        if word not in ASSESS_DEFAULTS:
            raise InputError(f"assess has no keyword {word!r}; it has {', '.join(ASSESS_DEFAULTS)}")
    job = Assess(
        folder=_folder(answer),
        reference=Path(reference).absolute() if reference is not None else None,
        **(ASSESS_DEFAULTS | words),
    )
    with closing(observer_here(progress)) as observer:
        call(job, observer)
    return Assessment(job.folder / "assessment.json", answer)


ASSESS_DEFAULTS: dict[str, Any] = {"min_contig": 500, "linear": False, "no_reads": False}
"""Keywords of `assess` besides its reference."""


def report(*runs: Answer | Comparison | PathText, output: PathText = "report.html") -> Path:
    """Write one self-contained HTML page out of run records; return its path.

    Parameters
    ----------
    runs
        Answers and comparisons, or folders of them; or the folder of a study.
    output
        The page to write.
    """
    from cuesta.report import write_any

    return write_any([_folder(run_or_folder) for run_or_folder in runs], Path(output))


def _folder(run: Answer | Comparison | PathText) -> Path:
    return run.output if isinstance(run, Answer | Comparison) else Path(run).absolute()


def _answered(
    kind: type[Run] | type[Compare],
    workload: str,
    inputs: tuple[object, ...],
    words: Mapping[str, Any],
    progress: bool,
) -> tuple[Path, TemporaryFolder | None]:
    """The answer folder of a job, and the owner of the folder where it is a temporary one."""
    declared = get_workload(workload)
    inputs, words, matrices = with_files(declared, inputs, dict(words))
    holds = TemporaryFolder() if words.get("output") is None else None
    try:
        request = _request(kind, workload, {**words, "inputs": inputs}, holds)
        with (
            in_words_of_python(declared, kind.engines),
            closing(observer_here(progress)) as observer,
        ):
            call(kind(request=request), observer)
    except BaseException as error:
        if holds and not isinstance(error, VerificationError):  # which leaves the files to look at
            holds.remove()
        elif holds:
            holds.remove.detach()
        raise
    finally:
        if matrices:
            matrices.remove()
    return request.common.output, holds


def _request(
    kind: type[Run] | type[Compare],
    workload: str,
    keywords: Mapping[str, object],
    holds: TemporaryFolder | None,
) -> Request:
    """The request of a call; an answer without a place goes to a temporary folder."""
    declared = get_workload(workload)
    if holds is None:
        return read(kind.command, declared, kind.engines, keywords)
    output = holds.path / workload
    request = read(kind.command, declared, kind.engines, {**keywords, "output": output})
    # Users who repeat the command line give the answer a place of their own.
    words = (workload if word == os.fspath(output) else word for word in request.command)
    return replace(request, command=tuple(words))


describe(run, Run.engines)
describe(compare, Compare.engines)
add_keywords(assess, ASSESS_DEFAULTS)
