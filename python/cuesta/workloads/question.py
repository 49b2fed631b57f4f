"""The question of a run in a sentence, from workload, parameters and inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from cuesta.trial import STANDARD_INPUT

NAME_CHARACTERS_MAX = 60
"""Length above which a file name is shortened in its middle."""


def question(workload: str, parameters: Mapping[str, object], inputs: Sequence[str]) -> str:
    """Return the question of a run; for an unknown workload, a general one."""
    names = _distinct_names(inputs)
    first = names[0] if names else "the input"
    second = names[1] if len(names) > 1 else "the other"
    condition = _filter(parameters)
    match workload:
        case "scan":
            return (
                f"Which gene pairs of {first} {f'have {condition}' if condition else 'are there'}?"
            )
        case "join":
            how = "test" if parameters.get("test") is True else str(parameters.get("how", ""))
            return _join(first, second, how, condition)
        case "degrees":
            return f"How many partners has each gene in the network of {first}{_edges(condition)}?"
        case "communities":
            how = _METHODS.get(str(parameters.get("method", "")), "")
            return f"Which genes of {first} belong together{how}{_edges(condition)}?"
        case "correlate":
            return _correlate(first, parameters, condition)
        case "load" | "sort" | "assemble" | "ioread" | "modules" | "threshold":
            return _PLAIN[workload].format(first)
        case "dataflow":
            return _dataflow(first if names else None, parameters)
        case "kmeans":
            clusters = _plain(_number(parameters, "clusters"))
            return f"Which points of {first} belong together, in {clusters} clusters?"
        case "images":
            return _images(first, parameters)
    return f"What does {workload} say about {' and '.join(names) or 'its input'}?"


def short_name(path: str) -> str:
    """Return the last part of a path or URI, shortened in the middle if it is very long."""
    if path == STANDARD_INPUT:
        return "standard input"
    if path.startswith(_PIPES):
        return f"pipe {path.removeprefix(_PIPES)}"
    name = PurePosixPath(re.sub(r"[?#].*$", "", path.rstrip("/"))).name or path
    if len(name) <= NAME_CHARACTERS_MAX:
        return name
    half = NAME_CHARACTERS_MAX // 2 - 1
    return f"{name[:half]}…{name[-half:]}"


def _distinct_names(inputs: Sequence[str]) -> list[str]:
    """Return short names, with folders where several inputs have the same name."""
    names = [short_name(path) for path in inputs]
    if len(set(names)) == len(set(inputs)):
        return names
    folders = (short_name(str(PurePosixPath(path).parent)) for path in inputs)
    return [f"{folder}/{name}" for folder, name in zip(folders, names, strict=True)]


_PIPES = "/dev/fd/"
"""Folder of the pipes that a shell passes as files."""

_PLAIN = {
    "load": "How long does it take to turn {} into a binary pair matrix?",
    "sort": "How long does it take to sort the records of {}?",
    "assemble": "Which genome do the reads of {} come from?",
    "ioread": "How fast is {} read?",
    "modules": "Which genes of {} form modules, and what is the profile of each?",
    "threshold": "Which threshold or power suits the gene network of {}?",
}

_METHODS = {
    "components": ", as connected components",
    "label-propagation": ", by label propagation",
    "louvain": ", by modularity (Louvain)",
    "leiden": ", by the Leiden method",
}


def _join(first: str, second: str, how: str, condition: str) -> str:
    among = f", among those with {condition}" if condition else ""
    if how == "test":
        return f"Which gene pairs are correlated differently in {first} and {second}{among}?"
    if how == "inner":
        return f"How do the scores of the gene pairs that {first} and {second} share differ{among}?"
    if how == "left":
        return f"Which gene pairs of {first} does {second} have too, and how do they differ{among}?"
    return (
        f"Which gene pairs do {first} and {second} share, how do their scores differ, "
        f"and which are in one only{among}?"
    )


def _correlate(first: str, parameters: Mapping[str, object], condition: str) -> str:
    method = str(parameters.get("method", "")).capitalize()
    by = f" ({method})" if method else ""
    minimum = _number(parameters, "min_samples", "min_common_samples")
    samples = f" over at least {_plain(minimum)} common samples" if minimum > 1 else ""
    if top := _number(parameters, "top"):
        pairs = f"{top:,.0f} pairs of genes" if top > 1 else "pair of genes"
        verb = "are" if top > 1 else "is"
        which = f", with {condition}" if condition else ""
        return f"Which {pairs} of {first} {verb} correlated most{by}{samples}{which}?"
    if condition:
        return f"Which genes of {first} are correlated{by}{samples}, with {condition}?"
    return f"How are the genes of {first} correlated{by}{samples}?"


def _dataflow(first: str | None, parameters: Mapping[str, object]) -> str:
    blocks, vectors = (_number(parameters, name) for name in ("blocks", "block_vectors"))
    how = {
        ("fused", "none"): "as one loop",
        ("separate", "none"): "stage by stage, nothing kept",
        ("separate", "memory"): "stage by stage, kept in memory",
        ("separate", "disk"): "stage by stage, kept on disk",
    }.get((str(parameters.get("stages")), str(parameters.get("keep"))), "")
    tail = f", {how}" if how else ""
    if first:
        each = f"the vectors of {first} in blocks of {_plain(vectors)}"
        return f"What does it cost to read, shift and average {each}{tail}?"
    of = f"{_plain(blocks)} blocks of {_plain(vectors)} vectors"
    return f"What does it cost to generate, shift and average {of}{tail}?"


def _images(first: str, parameters: Mapping[str, object]) -> str:
    dark = parameters.get("objects") == "dark"
    least = _number(parameters, "min_pixels")
    large = f" of at least {_plain(least)} pixels" if least > 1 else ""
    return f"How many {'dark' if dark else 'bright'} objects{large} do the images of {first} show?"


def _edges(condition: str) -> str:
    return f", when an edge has {condition}" if condition else ""


def _filter(parameters: Mapping[str, object]) -> str:
    """Describe the condition of a filter: `an absolute score of at least 0.8 and ...`."""
    low = _number(parameters, "min_abs_score")
    high = _number(parameters, "max_abs_score")
    samples = _number(parameters, "min_cluster_samples")
    missing = parameters.get("max_missing")
    clauses: list[str] = []
    if low > 0 and high > 0:
        clauses.append(f"an absolute score from {_plain(low)} to {_plain(high)}")
    elif low > 0:
        clauses.append(f"an absolute score of at least {_plain(low)}")
    elif high > 0:
        clauses.append(f"an absolute score of at most {_plain(high)}")
    if samples > 0:
        clauses.append(f"a cluster of at least {_plain(samples)} samples")
    if isinstance(missing, int | float) and not isinstance(missing, bool):
        clauses.append(f"at most {_plain(missing)} missing samples")
    return _listed(clauses)


def _listed(clauses: Sequence[str]) -> str:
    if len(clauses) < 2:
        return "".join(clauses)
    return f"{', '.join(clauses[:-1])} and {clauses[-1]}"


def _number(parameters: Mapping[str, object], *names: str) -> float:
    """Return the first of these parameters that is a number, else 0."""
    for name in names:
        value = parameters.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return 0.0


def _plain(value: float) -> str:
    return f"{value:,.10g}"
