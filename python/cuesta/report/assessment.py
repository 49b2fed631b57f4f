"""What `cuesta assess` found of an assembly: its measures in words, and its part of a section."""

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
    """How good the assembly is; None where nobody assessed it."""
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
        rows, others = read(fields), dict(read(scaffolds))
        if rows and others:
            yield Table(
                heading=heading,
                caption="",
                columns=_COLUMNS,
                rows=tuple(
                    Row(header=name, cells=(_cell(words), _cell(others.get(name, DASH))))
                    for name, words in rows
                ),
            )
        elif rows:
            yield _pairs(rows, heading)
    if scaffolds:
        yield _pairs(_themselves(scaffolds), "The scaffolds")


def _pairs(rows: Sequence[tuple[str, str]], heading: str) -> Pairs:
    return Pairs(items=tuple(Pair(name=name, text=words) for name, words in rows), heading=heading)


def _cell(words: str) -> Cell:
    """What is in brackets, or of how many it is, is a note."""
    figure, _, note = words.partition(" (")
    if not note:
        figure, of, note = words.partition(" of ")
        note = f"{of.lstrip()}{note}"
    return Cell(text=figure, note=note.removesuffix(")"))


def about(fields: Fields) -> tuple[str, ...]:
    """Sentences that say what was held against what."""
    reference, reads = mapping(fields.get("reference")), mapping(fields.get("reads"))
    sequences, bases = number(reference.get("sequences")), number(reference.get("bases"))
    k, min_count = number(reads.get("k")), number(reads.get("min_count"))
    least = n.count(int(number(fields.get("min_contig")) or 0))
    what = "Contigs and scaffolds" if fields.get("scaffolds") else "Contigs"
    said = [f"{what} of at least {least} bases."]
    if sequences is not None and bases is not None:
        shape = "circular" if reference.get("circular") is True else "linear"
        said.append(
            f"Beside {Path(text(reference.get('path'))).name} "
            f"({n.plural(int(sequences), f'{shape} sequence')}, {n.count(int(bases))} bases): "
            "aligned by minimap2, measured as QUAST does."
        )
    if k is not None and min_count is not None:
        said.append(
            f"Beside the reads: their {k:.0f}-mers seen at least "
            f"{n.plural(round(min_count), 'time')}, measured as Merqury does."
        )
    return tuple(said)


def measures(fields: Fields) -> list[tuple[str, str, str]]:
    """Names of all measures that are there, their values for contigs and those for scaffolds."""
    scaffolds = mapping(fields.get("scaffolds"))
    others = dict(_reference(scaffolds) + _reads(scaffolds))
    rows = [
        (name, words, others.get(name, "")) for name, words in _reference(fields) + _reads(fields)
    ]
    return rows + [(name, "", words) for name, words in _themselves(scaffolds)]


def _themselves(scaffolds: Fields) -> list[tuple[str, str]]:
    """What scaffolds say of themselves, and their gaps beside a reference."""
    rows = [
        (name, show(value))
        for name, key, show in _OF_SCAFFOLDS
        if not ("measures" in scaffolds and key in _SAID_BESIDE_THE_REFERENCE)
        and (value := number(scaffolds.get(key))) is not None
    ]
    found = mapping(scaffolds.get("measures"))
    wrong, off = number(found.get("gap_errors")), number(found.get("gap_off_median"))
    if wrong is not None and off is not None:
        words = f"{_whole(off)} in the median; by more than 1,000: {n.plural(round(wrong), 'gap')}"
        rows.append(("bases that gaps are off", words))
    return rows


def _reference(fields: Fields) -> list[tuple[str, str]]:
    """What the alignments say, the weightiest first."""
    found = mapping(fields.get("measures"))
    rows = []
    for name, key, show in _ROWS:
        if key in found:
            value = number(found[key])
            rows.append((name, DASH if value is None else show(value)))
    if "misassemblies" in found:
        rows.insert(2, ("misassemblies", _misassemblies(found)))
    return rows


def _reads(fields: Fields) -> list[tuple[str, str]]:
    """Completeness and quality by the k-mers of the reads."""
    found = mapping(fields.get("reads"))
    rows = []
    share, solid = number(found.get("completeness")), number(found.get("solid"))
    if share is not None and solid is not None:
        k = f"{number(found.get('k')) or 0:.0f}-mers"
        rows.append(("completeness", f"{_share(share)} of {_whole(solid)} {k} of the reads"))
    strange, kmers = number(found.get("strange")), number(found.get("kmers"))
    if strange is None or kmers is None:
        return rows
    qv, above = number(found.get("qv")), number(found.get("qv_above"))
    if qv is not None:
        words = f"{qv:.1f} ({_whole(strange)} of {_whole(kmers)} not among them)"
        rows.append(("QV", words))
    elif above is not None:
        words = f"above {math.floor(above)} (all {_whole(kmers)} among them)"
        rows.append(("QV", words))
    return rows


def _misassemblies(found: Fields) -> str:
    """How many there are, and of which kinds."""
    total = int(number(found.get("misassemblies")) or 0)
    counts = [(kind, int(number(found.get(f"{kind}s")) or 0)) for kind in _KINDS]
    kinds = ", ".join(n.plural(count, kind) for kind, count in counts if count)
    return f"{n.count(total)} ({kinds})" if kinds else n.count(total)


def _whole(value: float) -> str:
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
    ("local misassemblies", "local_misassemblies", _whole),
    ("mismatches", "mismatches_per_100_kbp", _rate),
    ("indels", "indels_per_100_kbp", _rate),
    ("duplication ratio", "duplication_ratio", lambda value: f"{value:.3f}"),
    ("unaligned bases", "unaligned_bases", _whole),
    ("unaligned contigs", "unaligned_contigs", _whole),
    ("largest alignment", "largest_alignment", _bases),
    ("auNGA", "aunga", _bases),
    ("NG50", "ng50", _bases),
    ("largest", "largest_contig", _bases),
    ("looked at", "contigs", _whole),
)
_SAID_BESIDE_THE_REFERENCE = ("scaffolds", "largest")
_OF_SCAFFOLDS: tuple[tuple[str, str, _Show], ...] = (
    ("looked at", "scaffolds", _whole),
    ("N50", "n50", _bases),
    ("largest", "largest", _bases),
    ("gaps", "gaps", _whole),
    ("N", "n_bases", _whole),
)
