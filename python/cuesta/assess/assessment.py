"""Assessment of an answer folder, written atomically next to the answer.

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
from cuesta.errors import InputError, disk_error
from cuesta.lab import record, trust

FILE_NAME = "assessment.json"
SCHEMA = "cuesta.assessment/1"
CONTIGS_FILE = "contigs.fa"
SCAFFOLDS_FILE = "scaffolds.fa"

Assessment = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """References with which an assembly is compared.

    Attributes
    ----------
    reference
        FASTA file of the genome, plain or gzipped; None to do without.
    circular
        Whether the ends of each of its sequences are joined.
    reads
        Whether to compare it with its own reads.
    min_contig
        Length of the shortest contig that is assessed, in bases.
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
    """Assess the assembly in an answer folder; writes nothing.

    `stage` gets the name of each stage. Errors: `InputError` if the folder is no answer of
    `assemble` or has no contig that is long enough, or the reference or the reads cannot be read;
    `EngineMissing` if mappy or NumPy is not installed.
    """
    if plan.reference is None and not plan.reads:
        raise InputError("assess: --no-reads leaves nothing to hold it against; give --reference")
    fields = record.read(folder)
    generated.check(folder / FILE_NAME)
    workload = fields.get("workload")
    if workload != "assemble":
        raise InputError(
            f"{folder}: an answer of {workload}, not an assembly; give one of assemble"
        )
    sets = [_contigs(folder, plan.min_contig)]
    result: Assessment = {
        "schema": SCHEMA,
        "digest": fields["answer"]["digest"],
        "min_contig": plan.min_contig,
        "versions": {"cuesta": __version__},
    }
    scaffolds: Assessment = {}
    if (folder / SCAFFOLDS_FILE).is_file():
        sets.append(_read_long(folder / SCAFFOLDS_FILE, plan.min_contig))
        scaffolds = _of_scaffolds(sets[1])
    if plan.reference is not None:
        stage("aligning")
        result |= _against_reference(sets, plan.reference, plan, scaffolds)
    if plan.reads:
        stage("counting k-mers")
        trust.check_shape(fields, folder)
        trial = record.trial_of(fields)
        # `reads.compare` refuses URIs with its own message.
        trust.check_reach(trial, may_fetch=True)
        trial = replace(trial, threads=plan.threads, memory_bytes=plan.memory_bytes)
        files = (CONTIGS_FILE, SCAFFOLDS_FILE)
        around = [
            _around_ends(folder / name, bases_of)
            for name, bases_of in zip(files, sets, strict=False)
        ]
        result["reads"], *of_scaffolds = reads.compare(around, trial)
        if of_scaffolds:
            scaffolds["reads"] = of_scaffolds[0]
    return result | ({"scaffolds": scaffolds} if scaffolds else {})


def write(folder: Path, assessment: Assessment) -> Path:
    """Write the assessment into the answer folder, atomically.

    Errors: `InputError` if it cannot be written.
    """
    path = folder / FILE_NAME
    content = {"schema": SCHEMA, "generator": generated.mark("assessment"), **assessment}
    text = json.dumps(content, indent=2, ensure_ascii=False)
    try:
        generated.put(f"{text}\n", path)
    except OSError as error:
        raise disk_error(error, str(path)) from None
    return path


def _contigs(folder: Path, min_contig: int) -> Mapping[str, bytes]:
    path = folder / CONTIGS_FILE
    long = _read_long(path, min_contig)
    if not long:
        raise InputError(
            f"{path}: no contig has {min_contig:,} bases or more; give a smaller --min-contig"
        )
    return long


def _read_long(path: Path, least_bases: int) -> Mapping[str, bytes]:
    """Read the sequences of a file with at least `least_bases` bases."""
    empty = path.is_file() and not path.stat().st_size
    all_bases = {} if empty else sequences.read(path)
    return {name: bases for name, bases in all_bases.items() if len(bases) >= least_bases}


def _around_ends(path: Path, bases_of: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Extend circular sequences over their ends, so that they contain all their k-mers."""
    circles = sequences.circles(path)
    more = reads.K - 1
    return {
        name: bases + bases[:more] if name in circles else bases for name, bases in bases_of.items()
    }


def _of_scaffolds(scaffolds: Mapping[str, bytes]) -> Assessment:
    """Measures of scaffolds without a reference."""
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
    """Measures of contigs by a reference; those of scaffolds are added to `scaffolds`."""
    compared, *rest = compare(sets, path, circular=plan.circular, threads=plan.threads)
    previews = views.of_blocks(compared) + views.of_misassemblies(compared)
    for comparison in rest:
        scaffolds |= {"measures": comparison.measures, "misassemblies": comparison.misassemblies}
        previews += views.of_misassemblies(comparison, "Misassemblies of scaffolds")
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
