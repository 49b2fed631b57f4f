"""Files of read pairs, `-1` and `-2`, and of single reads, `-s`, as a workload takes them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from cuesta.errors import InputError
from cuesta.workloads import Workload


def inputs(
    workload: Workload,
    parameters: dict[str, object],
    plain: list[str],
    by_word: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return all inputs: files of pairs two by two, then files of single reads, with their number.

    Arguments: `plain` are inputs without a word, `by_word` those of `-1`, `-2` and `-s`; their
    meaning is added to `parameters`. Errors: `InputError`.
    """
    first, second, singles = (_listed(by_word[word]) for word in ("-1", "-2", "-s"))
    if first or second:
        plain = _two_by_two(workload, parameters, plain, first, second)
        parameters[workload.paired_parameter] = True
    if singles:
        plain = _with_singles(workload, parameters, plain, singles)
    return plain


def _two_by_two(
    workload: Workload,
    parameters: Mapping[str, object],
    plain: list[str],
    first: list[str],
    second: list[str],
) -> list[str]:
    """Files of read pairs as the workload takes them. Errors: `InputError`."""
    if plain:
        raise InputError(
            f"{plain[0]} is neither -1 nor -2; write one of them before every file of pairs, and "
            "-s before one of single reads"
        )
    if parameters.get(workload.interleaved_parameter):
        other = workload.option_of(workload.interleaved_parameter)
        raise InputError(f"-1 and -2 take read pairs in two files, {other} in one; give one")
    if len(first) != len(second):
        count = f"-1 has {_files(len(first))} and -2 {_files(len(second))}"
        raise InputError(f"{count}; give both files of every pair")
    return [path for pair in zip(first, second, strict=True) for path in pair]


def _listed(paths: Sequence[str]) -> list[str]:
    """The files of lists with commas, as other assemblers take them; a name may have commas."""
    return [
        file for path in paths for file in ([path] if os.path.lexists(path) else path.split(","))
    ]


def _with_singles(
    workload: Workload, parameters: dict[str, object], plain: list[str], singles: list[str]
) -> list[str]:
    """All inputs, those of single reads last. Errors: `InputError` where no others are pairs."""
    apart, in_turn = workload.paired_parameter, workload.interleaved_parameter
    if not parameters.get(apart) and not parameters.get(in_turn):
        pairs = f"-1 and -2, or {workload.option_of(in_turn)}"
        raise InputError(f"-s takes single reads beside pairs; give {pairs}, or leave -s out")
    parameters[workload.single_reads] = len(singles)
    return [*plain, *singles]


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count or 'no'} files"
