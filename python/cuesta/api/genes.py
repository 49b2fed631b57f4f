"""The option `--genes`: the number of genes, or a file that names them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cuesta.workloads import GENES, Parameter, Workload

_FORMS = "genes.tsv, a list with a name a line, an expression matrix or a pair matrix"
_NAMES_OF_INPUT = "the names beside the input, if any"

METAVARS = {"file": "FILE", "names": "FILE", "number or names": "N|FILE"}
"""Forms of a value in help, by the types that only options have."""


def parameters_of(workload: Workload) -> Iterator[Parameter]:
    """Parameters of a workload's options: its own, and names where it may have them."""
    counted = GENES in (each.name for each in workload.parameters)
    for parameter in workload.parameters:
        yield _or_names(parameter) if workload.names and parameter.name == GENES else parameter
    if workload.names and not counted:
        text = f"File that names the genes: {_FORMS}."
        yield Parameter(name=GENES, type="names", help=text, none=_NAMES_OF_INPUT)


def _or_names(count: Parameter) -> Parameter:
    return replace(
        count,
        type="number or names",
        help=f"{count.help} A number, or a file that names them: {_FORMS}.",
        none=f"{count.none}, and {_NAMES_OF_INPUT}",
    )
