"""An assembly's assessment by `cuesta assess`: measures in words, and a section's part."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from cuesta import numerals as n
from cuesta.report import answer
from cuesta.report.blocks import Block, Cell, Column, Pair, Pairs, Part, Row, Table
from cuesta.report.findings import Finding
from cuesta.report.records import Fields, Group, mapping, number, text

_KINDS = ("relocation", "translocation", "inversion")
DASH = "\u2013"


def part(identifier: str, group: Group, finding: Finding) -> Part | None:
    """Part with the quality of the assembly; None where it was not assessed."""
    runs = (finding.best, *group.runs)
    fields = next((run.assessment for run in runs if run.assessment), None)
    if fields is None:
        return None
    blocks = list(lists(fields))
    blocks += answer.views(f"{identifier}-assessed", fields)
    return Part(title="How good it is", aside=about(fields), blocks=tuple(blocks))


def lists(fields: Fields) -> Iterator[Block]:
    """All measures as lists; as tables where scaffolds have them too."""
    scaffolds = mapping(fields.get("scaffolds"))
    for heading, read in (("Beside the reference", _reference), ("Beside the reads", _reads)):
        rows, of_scaffolds = read(fields), dict(read(scaffolds))
        if rows and of_scaffolds:
            yield Table(
                heading=heading,
                caption="",
                columns=_COLUMNS,
                rows=tuple(
                    Row(header=name, cells=(_cell(words), _cell(of_scaffolds.get(name, DASH))))
                    for name, words in rows
                ),
            )
        elif rows:
            yield _pairs(rows, heading)
    if scaffolds:
        yield _pairs(_scaffold_rows(scaffolds), "The scaffolds")


def _pairs(rows: Sequence[tuple[str, str]], heading: str) -> Pairs:
    return Pairs(items=tuple(Pair(name=name, text=words) for name, words in rows), heading=heading)


def _cell(words: str) -> Cell:
    """A cell whose bracketed words, or total, are its note."""
    figure, _, note = words.partition(" (")
    if not note:
        figure, of, note = words.partition(" of ")
        note = f"{of.lstrip()}{note}"
    return Cell(text=figure, note=note.removesuffix(")"))


def about(fields: Fields) -> tuple[str, ...]:
    """Sentences that name what was compared with what."""
    reference, reads = mapping(fields.get("reference")), mapping(fields.get("reads"))
    sequences, bases = number(reference.get("sequences")), number(reference.get("bases"))
    k, min_count = number(reads.get("k")), number(reads.get("min_count"))
    least = n.count(int(number(fields.get("min_contig")) or 0))
    what = "Contigs and scaffolds" if fields.get("scaffolds") else "Contigs"
    sentences = [f"{what} of at least {least} bases."]
    if sequences is not None and bases is not None:
        shape = "circular" if reference.get("circular") is True else "linear"
        sentences.append(
            f"Beside {Path(text(reference.get('path'))).name} "
            f"({n.plural(int(sequences), f'{shape} sequence')}, {n.count(int(bases))} bases): "
            "aligned by minimap2, measured as QUAST does."
        )
    if k is not None and min_count is not None:
        sentences.append(
            f"Beside the reads: their {k:.0f}-mers seen at least "
            f"{n.plural(round(min_count), 'time')}, measured as Merqury does."
        )
    return tuple(sentences)


def measures(fields: Fields) -> list[tuple[str, str, str]]:
    """Names of all measures that are there, their values for contigs and those for scaffolds."""
    scaffolds = mapping(fields.get("scaffolds"))
    of_scaffolds = dict(_reference(scaffolds) + _reads(scaffolds))
    rows = [
        (name, words, of_scaffolds.get(name, ""))
        for name, words in _reference(fields) + _reads(fields)
    ]
    return rows + [(name, "", words) for name, words in _scaffold_rows(scaffolds)]


def _scaffold_rows(scaffolds: Fields) -> list[tuple[str, str]]:
    """Measures of the scaffolds alone, and of their gaps compared with a reference."""
    rows = [
        (name, show(value))
        for name, key, show in _OF_SCAFFOLDS
        if not ("measures" in scaffolds and key in _SHOWN_WITH_THE_REFERENCE)
        and (value := number(scaffolds.get(key))) is not None
    ]
    values = mapping(scaffolds.get("measures"))
    wrong, off = (
        number(values.get("gap_errors")),
        number(values.get("gap_off_median")),
    )
    if wrong is not None and off is not None:
        words = (
            f"{_integer(off)} in the median; by more than 1,000: {n.plural(round(wrong), 'gap')}"
        )
        rows.append(("bases that gaps are off", words))
    return rows


def _reference(fields: Fields) -> list[tuple[str, str]]:
    """Measures of the alignments, the weightiest first."""
    values = mapping(fields.get("measures"))
    rows = []
    for name, key, show in _ROWS:
        if key in values:
            value = number(values[key])
            rows.append((name, DASH if value is None else show(value)))
    if "misassemblies" in values:
        rows.insert(2, ("misassemblies", _misassemblies(values)))
    return rows


def _reads(fields: Fields) -> list[tuple[str, str]]:
    """Completeness and quality by the k-mers of the reads."""
    values = mapping(fields.get("reads"))
    rows = []
    share, solid = number(values.get("completeness")), number(values.get("solid"))
    if share is not None and solid is not None:
        k = f"{number(values.get('k')) or 0:.0f}-mers"
        rows.append(("completeness", f"{_share(share)} of {_integer(solid)} {k} of the reads"))
    strange, kmers = number(values.get("strange")), number(values.get("kmers"))
    if strange is None or kmers is None:
        return rows
    qv, above = number(values.get("qv")), number(values.get("qv_above"))
    if qv is not None:
        words = f"{qv:.1f} ({_integer(strange)} of {_integer(kmers)} not among them)"
        rows.append(("QV", words))
    elif above is not None:
        words = f"above {math.floor(above)} (all {_integer(kmers)} among them)"
        rows.append(("QV", words))
    return rows


def _misassemblies(values: Fields) -> str:
    """Number of misassemblies, and by kind."""
    total = int(number(values.get("misassemblies")) or 0)
    counts = [(kind, int(number(values.get(f"{kind}s")) or 0)) for kind in _KINDS]
    kinds = ", ".join(n.plural(count, kind) for kind, count in counts if count)
    return f"{n.count(total)} ({kinds})" if kinds else n.count(total)


def _integer(value: float) -> str:
    return n.count(round(value))


def _bases(value: float) -> str:
    return n.plural(round(value), "base")


def _rate(value: float) -> str:
    return f"{value:,.2f} per 100{n.NBSP}kbp"


def _share(value: float) -> str:
    """Three decimals, as QUAST has them; never 100 % where it is not."""
    shown = 99.999 if 99.9995 <= value * 100 < 100 else value * 100
    return f"{shown:.3f}{n.NBSP}%"


_COLUMNS = (Column(title="measure", words=True), Column(title="contigs"), Column(title="scaffolds"))

_Show = Callable[[float], str]
_ROWS: tuple[tuple[str, str, _Show], ...] = (
    ("genome fraction", "genome_fraction", _share),
    ("NGA50", "nga50", _bases),
    ("local misassemblies", "local_misassemblies", _integer),
    ("mismatches", "mismatches_per_100_kbp", _rate),
    ("indels", "indels_per_100_kbp", _rate),
    ("duplication ratio", "duplication_ratio", lambda value: f"{value:.3f}"),
    ("unaligned bases", "unaligned_bases", _integer),
    ("unaligned contigs", "unaligned_contigs", _integer),
    ("largest alignment", "largest_alignment", _bases),
    ("auNGA", "aunga", _bases),
    ("NG50", "ng50", _bases),
    ("largest", "largest_contig", _bases),
    ("looked at", "contigs", _integer),
)
_SHOWN_WITH_THE_REFERENCE = ("scaffolds", "largest")
_OF_SCAFFOLDS: tuple[tuple[str, str, _Show], ...] = (
    ("looked at", "scaffolds", _integer),
    ("N50", "n50", _bases),
    ("largest", "largest", _bases),
    ("gaps", "gaps", _integer),
    ("N", "n_bases", _integer),
)
