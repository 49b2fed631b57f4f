"""Contigs and scaffolds of real genomes, judged by QUAST, compared with SPAdes and MEGAHIT.

Debian's packages bring the genomes, of which ART makes pairs of reads, and the reads of plasmids.
The whole commands are timed, ours with its verification, which the others do not have.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benches.assemble_command import CUESTA, Command, run
from benches.assembly_engines import with_peers
from harness.model import Bar, Case, Contestant, Quality, Ratio, Sample
from harness.reads import ART, GENOME, ReadPairs, plasmids, read_pairs, read_pairs_of
from harness.size import Size
from peers import assemblers
from peers.quast import QUAST, report

SPADES, MEGAHIT = "spades.py", "megahit"
FILES: Mapping[str, Mapping[str, str]] = {
    CUESTA: {"contigs": "answer/contigs.fa", "scaffolds": "answer/scaffolds.fa"},
    SPADES: {"contigs": "out/contigs.fasta", "scaffolds": "out/scaffolds.fasta"},
    MEGAHIT: {"contigs": "out/final.contigs.fa"},
}
NGA50, MISASSEMBLIES, FRACTION = "NGA50", "misassemblies", "genome fraction"
COLUMNS = {NGA50: "NGA50", MISASSEMBLIES: "# misassemblies", FRACTION: "Genome fraction (%)"}
"""QUAST's names of the measures."""
FRACTION_POINTS = 0.1
EXAMPLES = Path("/usr/share/doc")


@dataclass(frozen=True, kw_only=True)
class Genome:
    """A genome that is assembled from `depth` times its bases.

    Attributes
    ----------
    path
        A gzipped FASTA file that `package` of Debian brings.
    of_spades
        Least length of our contigs, by that of SPAdes's.
    last
        Number of its last sequences that are used; None for all.
    repeats
        Repeats of ours and MEGAHIT's; SPAdes takes over ten times as long, so it runs once.
    """

    name: str
    path: Path
    package: str
    depth: int
    of_spades: float
    last: int | None = None
    repeats: int = 3

    def missing(self) -> str | None:
        """Why its reads cannot be made, or None."""
        if shutil.which(ART) is None:
            return f"{self.name}: left out, {ART} is not installed"
        if not self.path.exists():
            return f"{self.name}: left out, Debian's {self.package} is not installed"
        return None


GENOMES = (
    Genome(
        name="E. coli 536",
        path=GENOME,
        package="bowtie-examples",
        depth=50,
        of_spades=1.0,
    ),
    Genome(
        name="S. aureus USA300",
        path=EXAMPLES / "ragout/examples/S.Aureus/references/USA300_FPR3757.fasta.gz",
        package="ragout-examples",
        depth=50,
        of_spades=0.95,
    ),
    Genome(
        name="P. falciparum 3D7, chromosomes 11 to 14",
        path=EXAMPLES / "smalt/test/data/genome_1.fa.gz",
        package="smalt-examples",
        depth=30,
        of_spades=0.95,
        last=4,
        repeats=1,
    ),
)
PLASMIDS_REPEATS = 5


def cases(size: Size) -> Iterator[Case]:
    """A bacterium, one with few G and C, a eukaryote with fewer, and plasmids.

    A small drawn genome for a smoke run, and for notes on missing genomes.
    """
    reasons = [why for genome in GENOMES if (why := genome.missing())]
    if size.smoke or reasons:
        drawn = _case(size, "drawn", read_pairs(size.folder, smoke=True), of_spades=1.0, repeats=1)
        yield drawn if size.smoke else replace(drawn, notes=(*drawn.notes, *reasons))
    if size.smoke:
        return
    for genome in GENOMES:
        if not genome.missing():
            reads = read_pairs_of(size.folder, genome.path, genome.depth, genome.last)
            yield _case(
                size, genome.name, reads, of_spades=genome.of_spades, repeats=genome.repeats
            )
    plasmid_reads = plasmids()
    if plasmid_reads:
        yield _case(size, "plasmids", plasmid_reads, of_spades=None, repeats=PLASMIDS_REPEATS)


def _case(
    size: Size, name: str, reads: ReadPairs, *, of_spades: float | None, repeats: int
) -> Case:
    spades = _contestant(SPADES, "spades.py --isolate -1 -2 -t 2", reads, assemblers.spades)
    megahit = partial(assemblers.megahit, pairs=True)
    peers = [
        replace(spades, repeats_max=repeats if of_spades is None else 1),
        _contestant(MEGAHIT, "megahit -1 -2 -t 2", reads, megahit),
    ]
    command = Command(files=reads.files, options=("--pairs",))
    ours = _contestant(CUESTA, f"{command.text}, verified", reads, partial(_our_sample, command))
    bars: list[Bar] = [
        Ratio(ours=CUESTA, peer=SPADES, at_least=10.0, text="10x SPAdes"),
        Ratio(ours=CUESTA, peer=MEGAHIT, at_least=6.0, text="6x MEGAHIT"),
        *(_plasmid_bars() if of_spades is None else _genome_bars(of_spades)),
    ]
    size_bytes = sum(path.stat().st_size for path in reads.files)
    made = Case(
        name=f"contigs and scaffolds of {name}, {size_bytes / 1e6:.0f} MB",
        contestants=(ours,),
        bars=tuple(bars),
        amount=float(size_bytes),
        unit="B",
        inputs=reads.files,
        repeats_max=repeats,
        notes=(f"{name}: reads: {reads.how}",),
    )
    why = assemblers.missing(QUAST)
    if why:
        made = replace(made, notes=(*made.notes, f"{name}: not judged, {why}"))
    return with_peers(size, made, peers)


def _genome_bars(of_spades: float) -> Iterator[Bar]:
    for kind in ("contigs", "scaffolds"):
        yield _quality(
            f"{kind} {NGA50}",
            (SPADES,),
            f"at least {of_spades:g} of SPAdes's",
            lambda ours, peers: ours >= of_spades * max(peers),
        )
        yield _quality(
            f"{kind} {MISASSEMBLIES}",
            (SPADES,),
            "not more than SPAdes",
            lambda ours, peers: ours <= min(peers),
        )
    yield _quality(
        f"contigs {FRACTION}",
        (SPADES, MEGAHIT),
        f"within {FRACTION_POINTS} points of the better one",
        lambda ours, peers: ours >= max(peers) - FRACTION_POINTS,
    )


def _plasmid_bars() -> Iterator[Bar]:
    yield _quality(
        f"contigs {FRACTION}",
        (SPADES,),
        "at least SPAdes's",
        lambda ours, peers: ours >= max(peers),
    )
    yield _quality(f"contigs {MISASSEMBLIES}", (SPADES,), "none", lambda ours, _: ours == 0)


def _quality(
    name: str,
    peers: tuple[str, ...],
    text: str,
    holds: Callable[[float, list[float]], bool],
) -> Quality:
    return Quality(ours=CUESTA, peers=peers, name=name, text=f"{name}: {text}", holds=holds)


def _contestant(
    name: str, how: str, reads: ReadPairs, work: Callable[[ReadPairs, Path], Sample]
) -> Contestant:
    """A contestant that is a complete process; its sequences are judged after it has ended."""

    def judged(folder: Path) -> Sample:
        sample = work(reads, folder)
        return replace(sample, figures=_judged(FILES[name], reads, folder))

    return Contestant(name=name, how=how, work=judged)


def _our_sample(command: Command, _: ReadPairs, folder: Path) -> Sample:
    done = run(command, folder)
    return Sample(seconds=done.seconds, peak_resident_bytes=done.record["peak_resident_bytes"])


def _judged(files: Mapping[str, str], reads: ReadPairs, folder: Path) -> dict[str, float]:
    """Measures of QUAST for each file, such as `contigs NGA50`; none without QUAST."""
    if assemblers.missing(QUAST):
        return {}
    figures = {}
    for kind, name in files.items():
        if (folder / name).exists():
            measured = report(folder / name, reads.genome, folder / f"quast-{kind}")
            # NGA50 is "-" where less than half of the genome is aligned.
            for ours, peers in COLUMNS.items():
                text = measured.get(peers, "-")
                figures[f"{kind} {ours}"] = 0.0 if text == "-" else float(text)
    return figures
