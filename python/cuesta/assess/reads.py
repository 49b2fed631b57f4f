"""Comparison of an assembly with its reads: completeness and consensus quality.

It needs no reference. The k-mers of the reads are counted anew, at another size, so the result is
independent of the assembly's counts. After Merqury (Rhie et al. 2020).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cuesta import removal
from cuesta.assess import kmers
from cuesta.engines import get_engine
from cuesta.errors import EngineMissing, InputError
from cuesta.lab import streams
from cuesta.plugins import remedy
from cuesta.trial import Trial, is_remote
from cuesta.workloads import get_workload

K = 21
"""Size of k-mers: a genome of up to 4 billion bases has a given wrong 21-mer by chance once in a
thousand."""

TAKEN = (
    "drop_reads_with_n", "trim", "depth", "pairs", "interleaved", "singles", "unchecked_mates",
)  # fmt: skip
"""Parameters of a run that tell which reads, and which bases of them, were assembled."""

Measures = dict[str, Any]


def compare(sets: Sequence[Mapping[str, bytes]], trial: Trial) -> list[Measures]:
    """Compare sets of contigs or scaffolds with the k-mers of the reads that `trial` assembled.

    Errors: `InputError` if the reads are not in their place, `EngineMissing` without NumPy.
    Cost: that of an assembly with one k-mer size; temporary files of about three bytes for each
    different k-mer, and of what memory cannot hold.
    """
    _require(trial)
    with removal.temporary_folder(prefix="cuesta-assess-") as scratch:
        place = Path(scratch)
        min_count = _count(trial, place)
        solid = partial(_sequences, place / "answer" / "unitigs.fa")
        shared_kmers = [kmers.shared(solid, bases_of.values, K) for bases_of in sets]
    return [_measures(counts, min_count) for counts in shared_kmers]


def _measures(counts: kmers.SharedKmers, min_count: int) -> Measures:
    return {
        "k": K,
        "min_count": min_count,
        "solid": counts.solid,
        "held": counts.held,
        "completeness": counts.held / counts.solid if counts.solid else None,
        "kmers": counts.kmers,
        "strange": counts.strange,
        "qv": quality(counts.strange, counts.kmers),
        "qv_above": quality(1, counts.kmers) if counts.kmers and not counts.strange else None,
    }


def quality(strange: int, total: int) -> float | None:
    """QV of sequences with `strange` of `total` k-mers; None if it is unbounded.

    A k-mer is right if all its bases are, so the chance of a right base is the k-th root.
    """
    if not 0 < strange < total:
        return None if strange == 0 or not total else 0.0
    wrong = -math.expm1(math.log1p(-strange / total) / K)
    return -10 * math.log10(wrong)


def _require(trial: Trial) -> None:
    if find_spec("numpy") is None:
        raise EngineMissing(f"assess: NumPy is not installed; {remedy('assess')}")
    hint = "leave the reads out with --no-reads"
    streams.refuse(trial, f"the reads that came from it were not kept; {hint}")
    hint = f"bring it back, or {hint}"
    for path in trial.inputs:
        if is_remote(path):
            raise InputError(f"{path}: the reads are no files of this machine; {hint}")
        if not Path(path).exists():
            raise InputError(f"{path}: the reads that were assembled are not there; {hint}")


def _count(trial: Trial, place: Path) -> int:
    """Count the reads' k-mers; return the least count of those that are considered real."""
    output, scratch = place / "answer", place / "scratch"
    output.mkdir()
    scratch.mkdir()
    taken = {name: trial.parameters[name] for name in TAKEN if name in trial.parameters}
    if trial.parameters.get("profile") == "paper":
        taken["trim"] = "none"
    parameters = get_workload("assemble").check({**taken, "kmer_sizes": str(K), "profile": "none"})
    counting = replace(trial, engine="native", parameters=parameters, engine_options={})
    get_engine("native").run(counting, output, scratch)
    stats = json.loads((output / "stats.json").read_text("utf-8"))
    return int(stats["levels"][0]["min_count"])


def _sequences(path: Path) -> Iterator[bytes]:
    """Yield the sequences of a file with each sequence on a line."""
    with path.open("rb") as file:
        for line in file:
            if not line.startswith(b">"):
                yield line.rstrip()
