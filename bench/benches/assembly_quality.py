"""Contigs and scaffolds of isolates and a eukaryote, judged by QUAST, beside five assemblers.

Eight isolates at 2 x 150, three of them at 2 x 100 and 2 x 250 too; a tenth of the pairs is shorter
than a read, so adapters are read. We trim and verify in the time that counts. Peers' assemblies are
made once, for the same reads, version and command; two isolates are timed.

`--only` takes names of genomes (`ecoli`), of sets of reads (`ecoli-250`) and `batch`, `--peers`
names of peers, or `none`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benches import assembly_bars
from benches.assemble_command import CUESTA, Command, run
from benches.assembly_bars import COLUMNS, CONTIGS, PEERS, SCAFFOLDS, Judged
from benches.assembly_circles import circles
from harness import genomes, library, limits
from harness.answers import digest
from harness.genomes import Genome
from harness.library import Library
from harness.model import (
    THREADS,
    Bar,
    Case,
    Contestant,
    MemoryLimit,
    Ratio,
    Recorded,
    Sample,
    TimeLimit,
    Verdict,
)
from harness.reads import ReadPairs, plasmids
from harness.size import Size
from harness.tree import peak_below
from peers import assemblers, cached
from peers.cached import FOREIGN_PROCESSORS_MAX, Assembler, Assembly
from peers.quast import QUAST, cached_report

BATCH = "batch"
FILES = {CONTIGS: "contigs.fa", SCAFFOLDS: "scaffolds.fa"}
OTHER_LENGTHS = {100: ("ecoli", "saureus", "hs11286"), 250: ("ecoli", "saureus", "hs11286")}
TIMED = ("ecoli-150", "saureus-150")
TIMES_FASTER = {"skesa": 5.0, "shovill": 15.0, "spades tuned": 25.0, "megahit": None}
DEPTH, EUKARYOTE_DEPTH = 50, 30
BATCH_SECONDS = 360.0
BATCH_BYTES = 2 * 10**9


@dataclass(frozen=True, kw_only=True)
class ReadSet:
    """A set of reads that all programs assemble.

    Attributes
    ----------
    name, title
        For a run's selection, and for a table.
    genome
        Short name of the genome.
    make
        Makes the reads.
    missing
        Why they cannot be made here, or None.
    quast_words
        Further options of QUAST.
    """

    name: str
    title: str
    genome: str
    read_bases: int
    make: Callable[[], ReadPairs]
    missing: str | None = None
    quast_words: tuple[str, ...] = ()


Made = tuple[ReadSet, ReadPairs]
"""A set of reads, and its files."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Sets of reads that are judged together."""

    title: str
    sets: tuple[ReadSet, ...]
    bars: Callable[[Sequence[Judged]], Iterator[Verdict]]


def cases(size: Size) -> Iterator[Case]:
    """Every set of reads by itself, all isolates by one command, then what is judged of all."""
    judged: dict[str, Judged] = {}
    batch_digests: dict[str, str] = {}
    groups = list(_groups(size))
    _check(size, groups)
    for group in groups:
        for reads in group.sets:
            judged[reads.name] = Judged(name=reads.name)
            if size.takes(reads.name, reads.genome) and reads.missing is None:
                yield _case(size, reads, judged[reads.name])
    isolates = groups[0].sets
    if size.takes(BATCH):
        yield _batch(isolates, batch_digests)
    for group in groups:
        yield _summary(size, group, judged)
    yield _equal_bytes([judged[reads.name] for reads in isolates], batch_digests)


def _check(size: Size, groups: Sequence[Group]) -> None:
    """Refuse names that are no part and no peer. Errors: `ValueError`."""
    parts = {
        name for group in groups for reads in group.sets for name in (reads.name, reads.genome)
    }
    for option, names, known in (
        ("--only", size.only, {*parts, BATCH}),
        ("--peers", size.peers or frozenset(), {*PEERS, "none"}),
    ):
        if unknown := sorted(names - known):
            raise ValueError(f"{option}: no {', '.join(unknown)}; there are {sorted(known)}")


def _groups(size: Size) -> Iterator[Group]:
    """The groups; the first has the isolates of the batch."""
    drawn = genomes.isolates(size)
    lengths = {150: tuple(genome.name for genome in drawn)}
    for read_bases, names in (lengths | ({} if size.smoke else OTHER_LENGTHS)).items():
        sets = [_drawn(size, genome, read_bases, DEPTH) for genome in drawn if genome.name in names]
        title = f"{len(sets)} isolates, 2 x {read_bases}, {DEPTH}x"
        yield Group(title=title, sets=tuple(sets), bars=assembly_bars.isolates)
    if size.smoke:
        return
    eukaryote = _drawn(size, genomes.FALCIPARUM, 150, EUKARYOTE_DEPTH)
    yield Group(title=eukaryote.title, sets=(eukaryote,), bars=assembly_bars.eukaryotes)
    sample = ReadSet(
        name="plasmids",
        title="plasmids, 2 x 125",
        genome="plasmids",
        read_bases=125,
        make=lambda: plasmids() or _no_plasmids(),
        missing=None if plasmids() else "plasmids: left out, Debian's unicycler-data is missing",
    )
    yield Group(title=sample.title, sets=(sample,), bars=assembly_bars.plasmids)


def _no_plasmids() -> ReadPairs:
    raise FileNotFoundError("Debian's unicycler-data is not installed")


def _drawn(size: Size, genome: Genome, read_bases: int, depth: int) -> ReadSet:
    made = Library(genome=genome, read_bases=read_bases, depth=depth)
    return ReadSet(
        name=made.name,
        title=f"{genome.title}, 2 x {read_bases}, {depth}x",
        genome=genome.name,
        read_bases=read_bases,
        make=partial(library.draw, size, made),
        missing=genome.missing() or library.missing(size),
        quast_words=() if genome.is_circular else ("--eukaryote",),
    )


def _case(size: Size, reads: ReadSet, judged: Judged) -> Case:
    made = reads.make()
    command = Command(files=made.files, options=("--pairs",))
    ours = Contestant(
        name=CUESTA,
        how=f"{command.text}, trimmed and verified",
        work=partial(_our_sample, size, command, (reads, made), judged),
    )
    contestants, absent, bars = [ours], {}, []
    for program in cached.programs(reads.read_bases):
        why, assembly = _assembly(size, program, made)
        if assembly is None:
            absent[program.name] = why or "failed"
        else:
            files = {kind: assembly.folder / f"{kind}.fa" for kind in program.files}
            figures = _figures(size, files, reads, made)
            judged.figures[program.name] = figures
            sample = replace(assembly.sample, figures=figures)
            recorded = Recorded(samples=(sample,))
            contestants.append(Contestant(name=program.name, how=program.how, recorded=recorded))
        if reads.name in TIMED and program.name in TIMES_FASTER:
            bars.append(_speed(program.name, assembly))
    notes = [f"{reads.name}: {made.how}"]
    if why := assemblers.missing(QUAST):
        notes.append(f"{reads.name}: not judged, {why}")
    size_bytes = sum(path.stat().st_size for path in made.files)
    return Case(
        name=reads.title,
        contestants=tuple(contestants),
        bars=tuple(bars),
        amount=float(size_bytes),
        unit="B",
        inputs=made.files,
        absent=absent,
        repeats_max=1,
        notes=tuple(notes),
    )


def _assembly(
    size: Size, program: Assembler, reads: ReadPairs
) -> tuple[str | None, Assembly | None]:
    """The assembly of a peer, or why there is none.

    One that was made before takes part even where the peer is not one of `--peers`.
    """
    folder = size.folder / "assemblies"
    why = size.left_out(program.name)
    never = program.missing() or (why if program.name in size.without else None)
    if never or (why and not cached.is_made(program, reads, folder)):
        return never or why, None
    try:
        return None, cached.assembled(program, reads, folder)
    except RuntimeError as error:
        return f"failed: {str(error).strip().splitlines()[-1][:200]}", None


def _speed(peer: str, assembly: Assembly | None) -> Bar:
    at_least = TIMES_FASTER[peer]
    text = f"{at_least:g}x {peer}" if at_least else f"beside {peer}, shown"
    if assembly is not None and assembly.foreign_processors > FOREIGN_PROCESSORS_MAX:
        why = (
            f"{peer} was timed while other programs used {assembly.foreign_processors:.1f} "
            f"processors; remove {assembly.folder.name} from the assemblies to make it anew"
        )
        return Verdict(ours=CUESTA, text=text, figure=None, why=why)
    return Ratio(ours=CUESTA, peer=peer, at_least=at_least, text=text)


def _our_sample(size: Size, command: Command, reads: Made, judged: Judged, folder: Path) -> Sample:
    done = run(command, folder)
    files = {kind: folder / "answer" / name for kind, name in FILES.items()}
    figures = _figures(size, files, *reads)
    judged.figures[CUESTA] = figures
    judged.digest = _digest(folder / "answer")
    judged.circles = circles(folder / "answer", reads[1].genome)
    peak = done.record["peak_resident_bytes"]
    return Sample(seconds=done.seconds, peak_resident_bytes=peak, figures=figures)


def _digest(answer: Path) -> str:
    return digest((answer / name).read_bytes() for name in FILES.values()).digest


def _figures(
    size: Size, files: Mapping[str, Path], reads: ReadSet, made: ReadPairs
) -> dict[str, float]:
    """Measures of QUAST for each file, such as `contigs NGA50`; none without QUAST."""
    if assemblers.missing(QUAST):
        return {}
    figures = {}
    for kind, path in files.items():
        if path.exists() and path.stat().st_size:
            cache = size.folder / "assemblies"
            measured = cached_report(path, made.genome, cache, reads.quast_words)
            for ours, theirs in COLUMNS.items():
                # NGA50 is "-" where less than half of the genome is aligned.
                text = measured.get(theirs, "-")
                figures[f"{kind} {ours}"] = 0.0 if text == "-" else float(text)
    return figures


def _batch(sets: Sequence[ReadSet], digests: dict[str, str]) -> Case:
    """All isolates by one command."""
    words = ["run", "assemble", "--samples", "SHEET", "--threads", str(THREADS)]
    bars = (
        TimeLimit(ours=CUESTA, below_seconds=BATCH_SECONDS, text="at most 6 minutes"),
        MemoryLimit(ours=CUESTA, below_bytes=BATCH_BYTES, text="peak of all processes below 2 GB"),
    )
    missing = [reads.missing for reads in sets if reads.missing]
    made = {} if missing else {reads.name: reads.make() for reads in sets}
    files = tuple(path for pairs in made.values() for path in pairs.files)
    contestant = Contestant(
        name=CUESTA,
        how=f"cuesta {' '.join(words)}, trimmed and verified",
        work=partial(_batch_sample, made, digests),
    )
    return Case(
        name=f"{len(sets)} isolates by one command",
        contestants=() if missing else (contestant,),
        bars=bars,
        amount=float(sum(path.stat().st_size for path in files)) or 1.0,
        unit="B",
        inputs=files,
        absent={CUESTA: "; ".join(missing)} if missing else {},
        repeats_max=1,
    )


def _batch_sample(made: Mapping[str, ReadPairs], digests: dict[str, str], folder: Path) -> Sample:
    sheet, output = folder / "sheet.tsv", folder / "answers"
    lines = [f"{name}\t{pairs.first}\t{pairs.second}" for name, pairs in made.items()]
    sheet.write_text("\n".join(["sample\tfastq_1\tfastq_2", *lines, ""]))
    words = ["run", "assemble", "--samples", str(sheet), "--threads", str(THREADS)]
    with peak_below() as peak:
        sample = limits.run(
            [sys.executable, "-m", "cuesta", *words, "-o", str(output)], assemblers.UNLIMITED_BYTES
        )
    digests |= {name: _digest(output / name) for name in made}
    return replace(sample, peak_resident_bytes=max(peak[0], sample.peak_resident_bytes or 0))


def _summary(size: Size, group: Group, judged: Mapping[str, Judged]) -> Case:
    sets = [judged[reads.name] for reads in group.sets]
    absent = [
        reads.missing or f"{reads.name}: not one of --only"
        for reads in group.sets
        if reads.missing or not size.takes(reads.name, reads.genome)
    ]
    return Case(
        name=f"{group.title}, judged" if len(sets) == 1 else f"{group.title}, all judged",
        contestants=(),
        bars=tuple(group.bars(sets)),
        amount=1.0,
        unit="sets",
        notes=(*absent, *assembly_bars.notes(sets)),
    )


def _equal_bytes(sets: Sequence[Judged], digests: Mapping[str, str]) -> Case:
    """The answers of the batch, beside those of a command each."""
    text = "samples of the batch with the bytes of a command each: all"
    pairs = {item.name: (item.digest, digests.get(item.name, "")) for item in sets}
    missing = [name for name, both in pairs.items() if not all(both)]
    bar = Verdict(ours=CUESTA, text=text, figure=None, why=f"missing: {', '.join(missing)}")
    if not missing:
        equal = sum(alone == together for alone, together in pairs.values())
        bar = replace(bar, figure=float(equal), met=equal == len(pairs), why="")
    return Case(
        name=f"{len(sets)} isolates, one by one and by one command",
        contestants=(),
        bars=(bar,),
        amount=1.0,
        unit="sets",
    )


assert set(PEERS) == {program.name for program in cached.programs(150)}
