"""Names of genes: given with `--genes FILE`, or found beside the inputs; put into an answer.

Found are the array of a pair matrix, an edge list, and a `genes.tsv` such as runs write, in the
folder of an input. Names that were found change nothing that is computed; a file that was given
also says how many genes there are, where a workload has that number and nobody gave it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cuesta.errors import InputError
from cuesta.lab.observer import Observer
from cuesta.lab.probe import Probe, Usage
from cuesta.native import from_response, native_module, to_request
from cuesta.trial import Trial, is_remote
from cuesta.workloads import GENES, edges, get_workload

FILE_NAME = "genes.tsv"
HEADER = b"gene\tname\n"
"""The first line of that file; without it a file of that name is another program's."""

NO_GRAPH = "none"


@dataclass(frozen=True, kw_only=True)
class Names:
    """Names as a record has them.

    Attributes
    ----------
    path
        The file, or the pair matrix.
    genes
        How many genes it names.
    sha256
        Of the names in the order of the genes, a line feed behind each.
    """

    path: str
    genes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Naming:
    """What names and a graph in an answer took, and counts of them."""

    usage: Usage
    counts: Mapping[str, int]


def read(path: str) -> Names:
    """The facts of a file that names genes. Errors: `InputError`."""
    return _facts(path, _list(path))


def resolve(trial: Trial) -> tuple[Trial, Names | None]:
    """The trial with its names, given or found, and with the number of genes that they tell.

    Errors: `InputError` when a file can't be read, or two inputs name genes differently.
    """
    workload = get_workload(trial.workload)
    if not workload.names:
        return trial, None
    if trial.names is None:
        found = _agreed(_found(trial.inputs))
        return (replace(trial, names=found.path) if found else trial), found
    if not Path(trial.names).exists():
        count = ", or how many there are" if GENES in trial.parameters else ""
        raise InputError(f"--genes {trial.names}: no such file; give one that names genes{count}")
    given = read(trial.names)
    if trial.parameters.get(GENES, 0) is not None:
        return trial, given
    parameters = workload.check({**trial.parameters, GENES: given.genes})
    return replace(trial, parameters=parameters), given


def hold(recorded: Mapping[str, object]) -> None:
    """Errors: `InputError` when the names of a record are not what they were."""
    path = str(recorded["path"])
    if read(path).sha256 != recorded["sha256"]:
        raise InputError(
            f"{path}: its names of genes are not those that the answer was made with; verify with "
            "those names"
        )


def annotate(trial: Trial, answer: Path, scratch: Path, observer: Observer) -> Naming | None:
    """Put names, and a graph where one is asked for, into the answer of any engine.

    None where there was nothing to do. Errors: `InputError`, such as for a gene without a name.
    """
    if not get_workload(trial.workload).names or not (trial.names or wants_graph(trial)):
        return None
    observer.stage("naming genes" if trial.names else "writing the graph")
    with Probe() as probe:
        readable, _ = get_workload(trial.workload).readable(trial, scratch)
        request = to_request(readable, answer, scratch)
        response = native_module().annotate(trial.workload, request, observer.progress)
    return Naming(usage=probe.usage, counts=from_response(response)["counts"])


def wants_graph(trial: Trial) -> bool:
    """Whether the answer shall have its network in a file."""
    return trial.parameters.get("graph", NO_GRAPH) != NO_GRAPH


def _found(inputs: Iterable[str]) -> list[str]:
    """What names the genes of the inputs, each once."""
    places = (_beside(Path(path)) for path in inputs if not is_remote(path))
    return list(dict.fromkeys(str(place) for place in places if place))


def _beside(path: Path) -> Path | None:
    """The pair matrix or edge list that has names, else the file in its folder, if there is one."""
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
    """The names of all places, which must be the same. Errors: `InputError`."""
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
    found = next(((gene, one, two) for gene, (one, two) in pairs if one != two), None)
    if found is None:
        return f" ({len(first):,} and {len(other):,} genes)"
    return f" (gene {found[0]} is {found[1]} and {found[2]})"


def _facts(path: str, names: Sequence[str]) -> Names:
    from hashlib import sha256

    text = "".join(f"{name}\n" for name in names)
    return Names(path=path, genes=len(names), sha256=sha256(text.encode()).hexdigest())


def _list(path: str) -> list[str]:
    """The names, that of gene 1 first."""
    names: list[str] = native_module().gene_names(path)
    return names
