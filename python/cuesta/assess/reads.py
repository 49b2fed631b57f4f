"""An assembly beside its own reads: completeness and consensus quality, without a reference.

The k-mers of the reads are counted anew, of a size of their own, so nothing that the assembly did
with them is believed. After Merqury (Rhie et al. 2020).
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
from cuesta.trial import Trial, is_remote
from cuesta.workloads import get_workload

K = 21
"""Of a genome of up to 4 billion bases, a wrong 21-mer is there by chance once in a thousand."""

Measures = dict[str, Any]


def compare(sets: Sequence[Mapping[str, bytes]], trial: Trial) -> list[Measures]:
    """Hold each set of contigs or scaffolds against the k-mers of the reads that `trial` assembled.

    Errors: `InputError` when the reads are not where they were, `EngineMissing` without NumPy.
    Cost: that of assembling with one size of k-mers; temporary files of about three bytes for each
    different k-mer, and of what memory cannot hold.
    """
    _require(trial)
    with removal.temporary_folder(prefix="cuesta-assess-") as scratch:
        place = Path(scratch)
        min_count = _count(trial, place)
        solid = partial(_sequences, place / "answer" / "unitigs.fa")
        found = [kmers.shared(solid, one.values, K) for one in sets]
    return [_measures(one, min_count) for one in found]


def _measures(found: kmers.Shared, min_count: int) -> Measures:
    return {
        "k": K,
        "min_count": min_count,
        "solid": found.solid,
        "held": found.held,
        "completeness": found.held / found.solid if found.solid else None,
        "kmers": found.kmers,
        "strange": found.strange,
        "qv": quality(found.strange, found.kmers),
        "qv_above": quality(1, found.kmers) if found.kmers and not found.strange else None,
    }


def quality(strange: int, total: int) -> float | None:
    """QV of sequences of whose `total` k-mers so many are strange; None where it has no bound.

    A k-mer is right when all its bases are, so a base is with the k-th root of that probability.
    """
    if not 0 < strange < total:
        return None if strange == 0 or not total else 0.0
    wrong = -math.expm1(math.log1p(-strange / total) / K)
    return -10 * math.log10(wrong)


def _require(trial: Trial) -> None:
    if find_spec("numpy") is None:
        raise EngineMissing("assess: NumPy is not installed; pip install 'cuesta[assess]'")
    hint = "leave the reads out with --no-reads"
    streams.refuse(trial, f"the reads that came from it were not kept; {hint}")
    hint = f"bring it back, or {hint}"
    for path in trial.inputs:
        if is_remote(path):
            raise InputError(f"{path}: the reads are no files of this machine; {hint}")
        if not Path(path).exists():
            raise InputError(f"{path}: the reads that were assembled are not there; {hint}")


def _count(trial: Trial, place: Path) -> int:
    """Count the reads' k-mers; return from which count on they are taken for real."""
    output, scratch = place / "answer", place / "scratch"
    output.mkdir()
    scratch.mkdir()
    dropped = bool(trial.parameters.get("drop_reads_with_n"))
    parameters = get_workload("assemble").check(
        {"kmer_sizes": str(K), "profile": "none", "drop_reads_with_n": dropped}
    )
    counting = replace(trial, engine="native", parameters=parameters, engine_options={})
    get_engine("native").run(counting, output, scratch)
    stats = json.loads((output / "stats.json").read_text("utf-8"))
    return int(stats["levels"][0]["min_count"])


def _sequences(path: Path) -> Iterator[bytes]:
    """The sequences of a file that has each on a line of its own."""
    with path.open("rb") as file:
        for line in file:
            if not line.startswith(b">"):
                yield line.rstrip()
