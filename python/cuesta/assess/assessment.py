"""The assessment of an answer folder: made, and written beside the answer in one step.

The format is `spec/formats/assessment.md`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cuesta import __version__, generated
from cuesta.assess import reads, sequences, views
from cuesta.assess.reference import compare, n50
from cuesta.errors import InputError
from cuesta.lab import belief, record
from cuesta.lab.folder import disk_error

FILE_NAME = "assessment.json"
SCHEMA = "cuesta.assessment/1"
CONTIGS_FILE = "contigs.fa"
SCAFFOLDS_FILE = "scaffolds.fa"

Assessment = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What an assembly is held against.

    Attributes
    ----------
    reference
        FASTA file of the genome, plain or gzipped; None to do without.
    circular
        Whether the ends of each of its sequences are joined.
    reads
        Whether to hold it against its own reads.
    min_contig
        Shortest contig that is looked at, in bases.
    threads, memory_bytes
        For the index of the reference, and for counting k-mers.
    """

    reference: Path | None = None
    circular: bool = True
    reads: bool = True
    min_contig: int = 500
    threads: int = 1
    memory_bytes: int = 1 << 30


def assess(folder: Path, plan: Plan, stage: Callable[[str], None]) -> Assessment:
    """The assessment of the assembly in an answer folder; writes nothing.

    `stage` is told what is being done. Errors: `InputError` when the folder is no answer of
    `assemble` or has no contig that is long enough, or the reference or the reads cannot be read;
    `EngineMissing` when mappy or NumPy is not installed.
    """
    if plan.reference is None and not plan.reads:
        raise InputError("assess: --no-reads leaves nothing to hold it against; give --reference")
    found = record.read(folder)
    generated.check(folder / FILE_NAME)
    workload = found.get("workload")
    if workload != "assemble":
        raise InputError(f"{folder}: an answer of {workload}, not an assembly")
    sets = [_contigs(folder, plan.min_contig)]
    made: Assessment = {
        "schema": SCHEMA,
        "digest": found["answer"]["digest"],
        "min_contig": plan.min_contig,
        "versions": {"cuesta": __version__},
    }
    scaffolds: Assessment = {}
    if (folder / SCAFFOLDS_FILE).is_file():
        sets.append(_long(folder / SCAFFOLDS_FILE, plan.min_contig))
        scaffolds = _of_scaffolds(sets[1])
    if plan.reference is not None:
        stage("aligning")
        made |= _against_reference(sets, plan.reference, plan, scaffolds)
    if plan.reads:
        stage("counting k-mers")
        belief.check_shape(found, folder)
        trial = record.trial_of(found)
        # URIs are refused with words of its own.
        belief.check_reach(trial, may_fetch=True)
        trial = replace(trial, threads=plan.threads, memory_bytes=plan.memory_bytes)
        files = (CONTIGS_FILE, SCAFFOLDS_FILE)
        around = [_around_ends(folder / name, one) for name, one in zip(files, sets, strict=False)]
        made["reads"], *of_scaffolds = reads.compare(around, trial)
        if of_scaffolds:
            scaffolds["reads"] = of_scaffolds[0]
    return made | ({"scaffolds": scaffolds} if scaffolds else {})


def write(folder: Path, assessment: Assessment) -> Path:
    """Write the assessment into the answer folder, in one step or not at all.

    Errors: `InputError` when it cannot be written.
    """
    path = folder / FILE_NAME
    made = {"schema": SCHEMA, "generator": generated.mark("assessment"), **assessment}
    text = json.dumps(made, indent=2, ensure_ascii=False)
    try:
        generated.put(f"{text}\n", path)
    except OSError as error:
        raise disk_error(error, str(path)) from None
    return path


def _contigs(folder: Path, min_contig: int) -> Mapping[str, bytes]:
    path = folder / CONTIGS_FILE
    long = _long(path, min_contig)
    if not long:
        raise InputError(
            f"{path}: no contig has {min_contig:,} bases or more; give a smaller --min-contig"
        )
    return long


def _long(path: Path, least_bases: int) -> Mapping[str, bytes]:
    """The sequences of a file that are so long."""
    empty = path.is_file() and not path.stat().st_size
    found = {} if empty else sequences.read(path)
    return {name: bases for name, bases in found.items() if len(bases) >= least_bases}


def _around_ends(path: Path, found: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """The sequences of a file with all their k-mers in a row: circles go on over their ends."""
    circles = sequences.circles(path)
    more = reads.K - 1
    return {
        name: bases + bases[:more] if name in circles else bases for name, bases in found.items()
    }


def _of_scaffolds(scaffolds: Mapping[str, bytes]) -> Assessment:
    """What scaffolds say of themselves."""
    lengths = sorted(map(len, scaffolds.values()), reverse=True)
    gaps = [gap for bases in scaffolds.values() for gap in sequences.gaps(bases)]
    return {
        "scaffolds": len(lengths),
        "bases": sum(lengths),
        "largest": max(lengths, default=0),
        "n50": n50(lengths, sum(lengths)),
        "gaps": len(gaps),
        "n_bases": sum(bases.count(b"N") for bases in scaffolds.values()),
    }


def _against_reference(
    sets: Sequence[Mapping[str, bytes]], path: Path, plan: Plan, scaffolds: Assessment
) -> Assessment:
    """What a reference says of contigs; what it says of scaffolds is put with these."""
    compared, *rest = compare(sets, path, circular=plan.circular, threads=plan.threads)
    previews = views.of_blocks(compared) + views.of_misassemblies(compared)
    for one in rest:
        scaffolds |= {"measures": one.measures, "misassemblies": one.misassemblies}
        previews += views.of_misassemblies(one, "Misassemblies of scaffolds")
    return {
        "versions": {"cuesta": __version__, "mappy": version("mappy")},
        "reference": {
            "path": str(path),
            "bases": compared.size,
            "sequences": compared.sequences,
            "circular": plan.circular,
        },
        "measures": compared.measures,
        "misassemblies": compared.misassemblies,
        "preview": previews,
    }
