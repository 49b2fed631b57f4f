"""Names of genes in an answer, from `--genes FILE` or from files next to the inputs.

Sources are the array of a pair matrix, an edge list, and a `genes.tsv` as runs write it, in the
folder of an input. Names from these do not change the computation; a file of `--genes` also sets
the number of genes, if the workload has that parameter and the user did not set it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
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
    if trial.names is None:
        adjacent = _agreed(_sources(trial.inputs))
        return (replace(trial, names=adjacent.path) if adjacent else trial), adjacent
    if not Path(trial.names).exists():
        count = ", or how many there are" if GENES in trial.parameters else ""
        raise InputError(f"--genes {trial.names}: no such file; give one that names genes{count}")
    chosen = read(trial.names)
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
    if not get_workload(trial.workload).names or not (trial.names or reads_inputs(trial)):
        return None
    stage = "naming genes" if trial.names else "writing the graph"
    observer.stage("testing differences" if wants_test(trial) else stage)
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
    return trial.parameters.get("test") is True


def _sources(inputs: Iterable[str]) -> list[str]:
    """List the distinct sources of names of the inputs' genes."""
    places = (_source(Path(path)) for path in inputs if not is_remote(path))
    return list(dict.fromkeys(str(place) for place in places if place))


def _source(path: Path) -> Path | None:
    """Source of names for an input: itself, the file in its folder, or None."""
    if _is_named_matrix(path) or edges.layout(str(path)) is not None:
        return path
    file = path.parent / FILE_NAME
    try:
        with file.open("rb") as text:
            return file if text.read(len(HEADER)) == HEADER else None
    except OSError:
        return None


def _is_named_matrix(path: Path) -> bool:
    try:
        attributes = json.loads((path / "zarr.json").read_bytes())["attributes"]
        return attributes["gene_names"] is True
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _agreed(places: Sequence[str]) -> Names | None:
    """Read the names of all sources, which must be the same. Errors: `InputError`."""
    if not places:
        return None
    first = _list(places[0])
    for place in places[1:]:
        other = _list(place)
        if other != first:
            raise InputError(
                f"{places[0]} and {place} name genes differently{_difference(first, other)}; say "
                "which names to take with --genes FILE"
            )
    return _facts(places[0], first)


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
