"""Names of genes in an answer, from `--genes FILE` or from files next to the inputs.

Sources are the array of a pair matrix, an edge list, and a `genes.tsv` as runs write it, in the
folder of an input. Names from these do not change the computation; a file of `--genes` also sets
the number of genes, if the workload has that parameter and the user did not set it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cuesta.errors import InputError
from cuesta.lab.observer import Observer
from cuesta.lab.probe import Probe, Usage
from cuesta.native import from_response, native_module, to_request
from cuesta.trial import Trial, is_remote
from cuesta.workloads import GENES, edges, get_workload

FILE_NAME = "genes.tsv"
HEADER = b"gene\tname\n"
"""First line of that file; without it the file is of another program."""

NO_GRAPH = "none"

_TESTS = ("test", "p_values")
"""Parameters that request a test of an answer."""


@dataclass(frozen=True, kw_only=True)
class Names:
    """Names of genes as in a record.

    Attributes
    ----------
    path
        Path of the file, or of the pair matrix.
    genes
        Number of genes that it names.
    sha256
        Hash of the names in the order of the genes, each followed by a line feed.
    """

    path: str
    genes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class _Origin:
    """Input of a trial, and the file that names its genes, if any.

    Genes of an edge list go by their names, those of other inputs by numbers.
    """

    path: str
    names: str | None
    is_edge_list: bool


@dataclass(frozen=True, kw_only=True)
class Naming:
    """Cost of the names and the graph in an answer, and their counts."""

    usage: Usage
    counts: Mapping[str, int]


def read(path: str) -> Names:
    """Read the facts of a file that names genes. Errors: `InputError`."""
    return _facts(path, _list(path))


def resolve(trial: Trial) -> tuple[Trial, Names | None]:
    """Return the trial with its names of genes, and their number if the names set it.

    Errors: `InputError` if a file cannot be read, or two inputs name genes differently.
    """
    workload = get_workload(trial.workload)
    if not workload.names:
        return trial, None
    origins = [_origin(path) for path in trial.inputs]
    if trial.names is None:
        _check_numbers(origins)
        adjacent = _agreed(origins)
        return (replace(trial, names=adjacent.path) if adjacent else trial), adjacent
    if not Path(trial.names).exists():
        count = ", or how many there are" if GENES in trial.parameters else ""
        raise InputError(f"--genes {trial.names}: no such file; give one that names genes{count}")
    names = _list(trial.names)
    _check_chosen(trial.names, names, origins)
    chosen = _facts(trial.names, names)
    if trial.parameters.get(GENES, 0) is not None:
        return trial, chosen
    return replace(trial, parameters=_with_genes(trial, chosen)), chosen


def _with_genes(trial: Trial, chosen: Names) -> dict[str, Any]:
    """Return the parameters with the number of names. Errors: `InputError`."""
    workload = get_workload(trial.workload)
    try:
        return dict(workload.check({**trial.parameters, GENES: chosen.genes}))
    except InputError:
        accepted = next(row.range for row in workload.parameters if row.name == GENES)
        noun = "gene" if chosen.genes == 1 else "genes"
        raise InputError(
            f"--genes {trial.names}: names {chosen.genes:,} {noun}; give a list of {accepted}"
        ) from None


def remarks(trial: Trial) -> list[str]:
    """Return a sentence where the list of names that the user gave has a name twice."""
    # An input that names its genes has each name once.
    if trial.names is None or trial.names in trial.inputs:
        return []
    numbers: dict[str, int] = {}
    repeated = [
        (name, numbers[name], gene)
        for gene, name in enumerate(_list(trial.names), start=1)
        if numbers.setdefault(name, gene) != gene
    ]
    if not repeated:
        return []
    name, first, second = repeated[0]
    more = f", and {len(repeated) - 1:,} more names twice" if len(repeated) > 1 else ""
    return [f"{trial.names} names gene {first} and gene {second} {name}{more}; they stay two genes"]


def check(recorded: Mapping[str, object]) -> None:
    """Raise `InputError` if the names of a record have changed."""
    path = str(recorded["path"])
    if read(path).sha256 != recorded["sha256"]:
        raise InputError(
            f"{path}: its names of genes are not those that the answer was made with; verify with "
            "those names"
        )


def annotate(trial: Trial, answer: Path, scratch: Path, observer: Observer) -> Naming | None:
    """Add names, a graph and a test that the trial requests to the answer of any engine.

    Return None if there is nothing to do. Errors: `InputError`, e.g. for a gene without a name.
    """
    if not (trial.names and get_workload(trial.workload).names) and not reads_inputs(trial):
        return None
    stage = "naming genes" if trial.names else "writing the graph"
    observer.stage("testing" if wants_test(trial) else stage)
    with Probe() as probe:
        readable, _ = get_workload(trial.workload).readable(trial, scratch)
        request = to_request(readable, answer, scratch)
        response = native_module().annotate(trial.workload, request, observer.progress)
    return Naming(usage=probe.usage, counts=from_response(response)["counts"])


def reads_inputs(trial: Trial) -> bool:
    """Whether a file of the network or a test is requested, which take the inputs."""
    return trial.parameters.get("graph", NO_GRAPH) != NO_GRAPH or wants_test(trial)


def wants_test(trial: Trial) -> bool:
    """Whether the trial requests a test of its answer."""
    return any(trial.parameters.get(name) is True for name in _TESTS)


def _origin(path: str) -> _Origin:
    """Return where the names of an input's genes are: in it, in its folder, or nowhere."""
    if is_remote(path):
        return _Origin(path=path, names=None, is_edge_list=False)
    if edges.layout(path) is not None:
        return _Origin(path=path, names=path, is_edge_list=True)
    if _is_named_matrix(Path(path)):
        return _Origin(path=path, names=path, is_edge_list=False)
    file = Path(path).parent / FILE_NAME
    try:
        with file.open("rb") as text:
            has_names = text.read(len(HEADER)) == HEADER
    except OSError:
        has_names = False
    return _Origin(path=path, names=str(file) if has_names else None, is_edge_list=False)


def _check_numbers(origins: Sequence[_Origin]) -> None:
    """Refuse an edge list with numbered genes, unless these have names. Errors: `InputError`."""
    lists = [origin.path for origin in origins if origin.is_edge_list]
    # A folder that holds the list is refused later, as the list is then given twice.
    places = [Path(path).resolve() for path in lists]
    numbered = [
        origin.path
        for origin in origins
        if origin.names is None
        and not any(place.is_relative_to(Path(origin.path).resolve()) for place in places)
    ]
    if lists and numbered:
        raise InputError(
            f"{lists[0]} has names of genes, {numbered[0]} numbers without names; give --genes "
            f"FILE, the names of genes 1, 2, ... of {numbered[0]}, one a line"
        )


def _check_chosen(chosen: str, names: Sequence[str], origins: Sequence[_Origin]) -> None:
    """Refuse a list of names that would match different genes. Errors: `InputError`."""
    numbered = [origin.names for origin in origins if origin.names and not origin.is_edge_list]
    places = list(dict.fromkeys(numbered))
    lists = {place: _list(place) for place in places}
    for place in places[1:]:
        if difference := _conflict(lists[places[0]], lists[place]):
            raise InputError(
                f"{places[0]} and {place} name genes differently{difference}, so the same number "
                "is another gene and --genes cannot help; make both inputs from matrices with the "
                "same genes in the same order"
            )
    if not any(origin.is_edge_list for origin in origins):
        return
    for place in places:
        if difference := _conflict(lists[place], names):
            raise InputError(
                f"--genes {chosen}: {place} names genes differently{difference}, and the edge list "
                f"is matched by name; give --genes {shlex.quote(place)}"
            )


def _conflict(first: Sequence[str], other: Sequence[str]) -> str:
    """Return the first number that has two names; nothing where a list continues the other."""
    is_same = all(left == right for left, right in zip(first, other, strict=False))
    return "" if is_same else _difference(first, other)


def _is_named_matrix(path: Path) -> bool:
    try:
        attributes = json.loads((path / "zarr.json").read_bytes())["attributes"]
        return attributes["gene_names"] is True
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _agreed(origins: Sequence[_Origin]) -> Names | None:
    """Read the names of all inputs, which must be the same. Errors: `InputError`."""
    named = {origin.names: origin for origin in origins if origin.names}
    if not named:
        return None
    first, *others = named
    names = _list(first)
    for place in others:
        other = _list(place)
        if other != names:
            remedy = _remedy(named[first], named[place], is_longer=not _conflict(names, other))
            raise InputError(
                f"{first} and {place} name genes differently{_difference(names, other)}; {remedy}"
            )
    return _facts(first, names)


def _remedy(first: _Origin, other: _Origin, *, is_longer: bool) -> str:
    """Return what to do about two inputs that name genes differently."""
    numbered = [origin.names for origin in (first, other) if not origin.is_edge_list]
    if not numbered:
        return "give --genes FILE, a list of all genes of both, one a line"
    if len(numbered) == 1:
        place = shlex.quote(str(numbered[0]))
        return f"give --genes {place}, if it names all genes of the edge list"
    if is_longer:
        return "give the longer list with --genes FILE"
    return "make both from matrices with the same genes in the same order"


def _difference(first: Sequence[str], other: Sequence[str]) -> str:
    pairs = enumerate(zip(first, other, strict=False), start=1)
    difference = next(((gene, left, right) for gene, (left, right) in pairs if left != right), None)
    if difference is None:
        return f" ({len(first):,} and {len(other):,} genes)"
    return f" (gene {difference[0]} is {difference[1]} and {difference[2]})"


def _facts(path: str, names: Sequence[str]) -> Names:
    from hashlib import sha256

    text = "".join(f"{name}\n" for name in names)
    return Names(path=path, genes=len(names), sha256=sha256(text.encode()).hexdigest())


def _list(path: str) -> list[str]:
    """Read the names, that of gene 1 first."""
    names: list[str] = native_module().gene_names(path)
    return names
