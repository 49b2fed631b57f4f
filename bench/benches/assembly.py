"""From reads to unitigs and contigs, against unitig builders and assemblers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from benches import assembly_engines
from benches.assemble_command import CUESTA, Command, K, typed_command, unitig_set, unitigs
from benches.assembly_engines import SHAPE, case, with_peers
from benches.assembly_genome import genome
from harness.model import Case, Contestant, MemoryLimit, Ratio
from harness.reads import ReadPairs, read_pairs
from harness.size import Size
from peers import assemblers
from peers.quast import QUAST, report

CUTTLEFISH_BYTES = 620 << 20
"""Peak of Cuttlefish 3 on 50x of E. coli; the bar for ours is 0.7 of it."""


def cases(size: Size) -> Iterator[Case]:
    """Unitigs compared with BCALM, contigs of one and of several k compared with assemblers."""
    reads = read_pairs(size.folder, smoke=size.smoke)
    first = unitigs_of_31(size, reads)
    yield replace(first, notes=(f"reads: {reads.how}",))
    yield genome(size, reads)
    yield assembly_engines.engines(size, reads)
    yield assembly_engines.identical(size, reads)
    yield assembly_engines.beyond_memory(reads)
    yield contigs(size, reads)
    yield several(size, reads)


def unitigs_of_31(size: Size, reads: ReadPairs) -> Case:
    """Exactly BCALM's unitigs, at the speed of Cuttlefish."""
    peers = [
        Contestant(
            name="bcalm",
            how="bcalm -kmer-size 31 -abundance-min 3 -nb-cores 2",
            work=lambda folder: assemblers.bcalm(reads, folder),
            answer=lambda folder: unitig_set(folder / "out.unitigs.fa"),
            repeats_max=3,
        ),
        Contestant(
            name="cuttlefish",
            how="cuttlefish build --read -k 31 -c 3 -t 2, which cuts by (k+1)-mers",
            work=lambda folder: assemblers.cuttlefish(reads, folder),
            repeats_max=5,
        ),
    ]
    ours = typed_command(Command(files=reads.files, options=SHAPE), unitigs)
    bars = (
        Ratio(ours=CUESTA, peer="cuttlefish", at_least=1.0, text="1.0x Cuttlefish's time"),
        Ratio(ours=CUESTA, peer="bcalm", at_least=None, text="beside BCALM, equal unitigs"),
        MemoryLimit(
            ours=CUESTA,
            below_bytes=CUTTLEFISH_BYTES * 7 // 10,
            text="under 0.7 of Cuttlefish's memory",
        ),
    )
    return with_peers(size, case(f"unitigs, k = {K}", reads.files, (ours,), bars), peers)


def contigs(size: Size, reads: ReadPairs) -> Case:
    """Contigs of 31-mers, compared with Minia."""
    how = "minia -kmer-size 31 -abundance-min 3 -nb-cores 2"
    peer = Contestant(
        name="minia", how=how, work=lambda folder: assemblers.minia(reads, folder), repeats_max=3
    )
    ours = typed_command(Command(files=reads.files, options=SHAPE))
    bar = Ratio(ours=CUESTA, peer="minia", at_least=1.0, text="as fast as Minia")
    made = with_peers(size, case(f"contigs, k = {K}", reads.files, (ours,), (bar,)), [peer])
    return _judged(size, made, reads, {"minia": ("out.contigs.fa",)})


def several(size: Size, reads: ReadPairs) -> Case:
    """Contigs of several sizes of k-mers, compared with MEGAHIT, which has five times as long."""
    peer = Contestant(
        name="megahit",
        how="megahit -r -t 2",
        work=lambda folder: assemblers.megahit(reads, folder, pairs=False),
        repeats_max=1,
    )
    ours = typed_command(Command(files=reads.files))
    bar = Ratio(ours=CUESTA, peer="megahit", at_least=5.0, text="5x MEGAHIT")
    made = case("contigs, k chosen, single reads", reads.files, (ours,), (bar,))
    sequences = {"megahit": ("out/final.contigs.fa",)}
    return _judged(size, with_peers(size, made, [peer]), reads, sequences)


def _judged(size: Size, case: Case, reads: ReadPairs, peers: Mapping[str, tuple[str, ...]]) -> Case:
    """The case with notes on how good the sequences of its last repeats are, by QUAST."""
    why = assemblers.missing(QUAST)
    if size.smoke or why:
        note = f"{case.name}: not judged by QUAST{f', {why}' if why else ''}"
        return replace(case, notes=(*case.notes, note))
    sequences = {CUESTA: ("answer/contigs.fa",), **peers}

    def judged(contestant: Contestant) -> Contestant:
        def remark(folder: Path) -> str:
            paths = [folder / name for name in sequences[contestant.name]]
            qualities = [
                f"{path.stem} {_quality(path, reads, folder)}" for path in paths if path.exists()
            ]
            return f"{case.name}, QUAST of {contestant.name}: {'; '.join(qualities)}"

        return replace(contestant, remark=remark)

    return replace(case, contestants=tuple(map(judged, case.contestants)))


def _quality(path: Path, reads: ReadPairs, folder: Path) -> str:
    """NGA50, misassemblies and genome fraction."""
    measures = report(path, reads.genome, folder / "quast")
    return (
        f"NGA50 {int(measures['NGA50']):,}, misassemblies {measures['# misassemblies']}, "
        f"genome fraction {measures['Genome fraction (%)']} %"
    )
