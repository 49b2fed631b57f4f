"""Files of an assembly that programs of laboratories read.

`report.tsv` has the rows of QUAST without a reference, `assembly.fasta` the headers of Unicycler,
which Bakta, Prokka, Platon and MOB-suite read, `cuesta_mqc.json` a section of MultiQC's page, and
`replicons.tsv` the circular sequences with the numbers of their copies.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from cuesta.workloads.assembly.files import Contig, Files, records_of
from cuesta.workloads.assembly.summary import Lengths, summary

FASTA, REPLICONS, QUAST, MULTIQC = (
    "assembly.fasta", "replicons.tsv", "report.tsv", "cuesta_mqc.json",
)  # fmt: skip

LEAST_BASES = (0, 1000, 5000, 10_000, 25_000, 50_000)
"""Lengths from which on QUAST counts contigs in rows of their own."""
COUNTED_BASES_MIN = 500
"""Least length of the contigs in all other rows."""

_HEADERS: Mapping[str, Mapping[str, object]] = {
    "contigs": {"title": "Contigs", "description": "Contigs in contigs.fa", "format": "{:,.0f}"},
    "total_length": {"title": "Length", "suffix": " bp", "description": "Bases of all contigs",
                     "format": "{:,.0f}"},
    "n50": {"title": "N50", "suffix": " bp", "description": "N50 of the contigs",
            "format": "{:,.0f}"},
    "scaffold_n50": {"title": "Scaffold N50", "suffix": " bp", "description": "N50 of scaffolds",
                     "format": "{:,.0f}"},
    "gc_percent": {"title": "GC", "suffix": " %", "description": "G and C of all contigs",
                   "min": 0, "max": 100, "format": "{:,.2f}"},
    "depth": {"title": "Depth", "suffix": "x", "description": "Reads over most bases",
              "format": "{:,.1f}"},
    "genome_estimate": {"title": "Genome", "suffix": " bp", "format": "{:,.0f}",
                        "description": "Size of the genome by the spectrum of k-mers"},
    "error_percent": {"title": "Errors", "suffix": " %", "format": "{:,.3f}",
                      "description": "Wrong bases of the reads by the spectrum of k-mers"},
    "insert": {"title": "Insert", "suffix": " bp", "description": "Median insert of read pairs",
               "format": "{:,.0f}"},
    "circles": {"title": "Circles", "description": "Circular sequences", "format": "{:,.0f}"},
    "copies": {"title": "Copies", "description": "Circles below the longest: bases and copies"},
}  # fmt: skip
"""Columns of MultiQC's table, of the summary's columns."""


def contents(folder: Path, sample: str) -> Mapping[str, partial[Iterator[bytes]]]:
    """Return the contents of the files by name."""
    answer = Files(folder, 0)
    return {
        FASTA: partial(_fasta, answer),
        REPLICONS: partial(_replicons, answer),
        QUAST: partial(_quast, answer, sample),
        MULTIQC: partial(_multiqc, answer, sample),
    }


def _fasta(answer: Files) -> Iterator[bytes]:
    """Yield all sequences, numbered from 1, with depths relative to most bases.

    Platon takes no other words in a header, two decimals and a number for a name; the rest read
    `circular=true`.
    """
    usual = answer.usual_depth or 1.0
    path = answer.folder / answer.sequences_file
    for number, (sequence, bases) in enumerate(records_of(path), start=1):
        circular = " circular=true" if sequence.circular else ""
        copies = sequence.depth / usual
        head = f">{number} length={sequence.length} depth={copies:.2f}x{circular}\n"
        yield head.encode()
        yield bases


def _replicons(answer: Files) -> Iterator[bytes]:
    """Yield a row for each circular sequence of `assembly.fasta`."""
    usual = answer.usual_depth or 1.0
    yield b"id\tname\tlength\tdepth\tcopies\n"
    for number, sequence in enumerate(answer.sequences, start=1):
        if sequence.circular:
            fields = (
                str(number), sequence.name, str(sequence.length), f"{sequence.depth:.1f}",
                f"{sequence.depth / usual:.2f}",
            )  # fmt: skip
            yield ("\t".join(fields) + "\n").encode()


def _quast(answer: Files, sample: str) -> Iterator[bytes]:
    """Yield the rows of QUAST's `report.tsv` on the contigs."""
    rows = [("Assembly", sample), *quast_rows(answer)]
    for name, value in rows:
        yield f"{name}\t{value}\n".encode()


def quast_rows(answer: Files) -> list[tuple[str, str]]:
    """Return the names and values of QUAST's rows without a reference, in QUAST's order."""
    heads = answer.contigs
    rows = [
        (f"# contigs (>= {least} bp)", str(len(_at_least(heads, least)))) for least in LEAST_BASES
    ]
    rows += [
        (f"Total length (>= {least} bp)", str(sum(_at_least(heads, least))))
        for least in LEAST_BASES
    ]
    lengths = Lengths.of(_at_least(heads, COUNTED_BASES_MIN))
    if not lengths.total:
        return rows
    known, strong, unknown = _composition(answer)
    gc = f"{strong * 100.0 / known:.2f}" if known else "-"
    n50, l50 = lengths.covering(50)
    n90, l90 = lengths.covering(90)
    return [
        *rows,
        ("# contigs", str(len(lengths.values))),
        ("Largest contig", str(lengths.values[0])),
        ("Total length", str(lengths.total)),
        ("GC (%)", gc),
        ("N50", str(n50)),
        ("N90", str(n90)),
        ("auN", f"{lengths.aun:.1f}"),
        ("L50", str(l50)),
        ("L90", str(l90)),
        ("# N's per 100 kbp", f"{unknown * 100_000.0 / lengths.total:.2f}"),
    ]


def _at_least(heads: Sequence[Contig], bases: int) -> list[int]:
    return [contig.length for contig in heads if contig.length >= bases]


def _composition(answer: Files) -> tuple[int, int, int]:
    """Return how many bases of the counted contigs are letters, how many G or C, how many N."""
    known = strong = unknown = 0
    for contig, bases in records_of(answer.folder / "contigs.fa"):
        if contig.length >= COUNTED_BASES_MIN:
            strong += bases.count(b"G") + bases.count(b"C")
            known += contig.length - bases.count(b"N")
            unknown += bases.count(b"N")
    return known, strong, unknown


def _multiqc(answer: Files, sample: str) -> Iterator[bytes]:
    """Yield a table of MultiQC's custom content, which joins those of all samples by their `id`."""
    row = summary(answer)
    data = {name: row[name] for name in _HEADERS if row[name] is not None}
    section = {
        "id": "cuesta_assembly",
        "section_name": "Cuesta assembly",
        "description": "Contigs, verified by another method, and what the reads say of the genome.",
        "plot_type": "table",
        "pconfig": {"id": "cuesta_assembly_table", "title": "Cuesta: assembly"},
        "headers": _HEADERS,
        "data": {sample: data},
    }
    yield (json.dumps(section, indent=2) + "\n").encode()
