"""From reads to unitigs and contigs, against unitig builders and assemblers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from cuesta.engines import get_engine
from harness import limits
from harness.answers import digest
from harness.model import (
    MEMORY_BYTES,
    THREADS,
    Answer,
    Case,
    Contestant,
    MemoryLimit,
    Ratio,
    Sample,
)
from harness.reads import Mates, mates
from harness.size import Size
from peers import assemblers

CUESTA = "cuesta"
K = 31
PLACES = bytes.maketrans(b"ACGT", b"TGCA")
LIMIT_BYTES = 512 << 20
ENGINES = {"mpi": ["--ranks", str(THREADS)], "spark": ["--memory", str(MEMORY_BYTES)]}
"""Besides native, with what they are told."""
CUTTLEFISH_BYTES = 620 << 20
"""Peak of Cuttlefish 3 on 50x of E. coli; the bar for ours is 0.7 of it."""


def cases(size: Size) -> Iterator[Case]:
    """Unitigs beside BCALM, contigs of one and of several sizes of k-mers beside assemblers."""
    reads = mates(size.folder, smoke=size.smoke)
    first = unitigs(size, reads)
    yield replace(first, notes=(f"reads: {reads.how}",))
    yield engines(size, reads)
    yield beyond_memory(size, reads)
    yield contigs(size, reads)
    for pairs in (False, True):
        yield several(size, reads, pairs=pairs)


def unitigs(size: Size, reads: Mates) -> Case:
    """Exactly BCALM's unitigs, at the speed of Cuttlefish."""
    peers = {
        "bcalm": Contestant(
            name="bcalm",
            how="bcalm -kmer-size 31 -abundance-min 3 -nb-cores 2",
            work=lambda folder: assemblers.bcalm(reads, folder),
            answer=lambda folder: _unitigs(folder / "out.unitigs.fa"),
            repeats_max=3,
        ),
        "cuttlefish": Contestant(
            name="cuttlefish",
            how="cuttlefish build --read -k 31 -c 3 -t 2, which cuts by (k+1)-mers",
            work=lambda folder: assemblers.cuttlefish(reads, folder),
            repeats_max=5,
        ),
    }
    return _case(
        size,
        reads,
        f"unitigs, k = {K}",
        (
            cuesta(reads, ["-k", str(K), "--min-count", "3"], _unitigs_of),
            peers,
        ),
        (
            Ratio(ours=CUESTA, theirs="cuttlefish", at_least=1.0, text="1.0x Cuttlefish's time"),
            Ratio(ours=CUESTA, theirs="bcalm", at_least=None, text="beside BCALM, equal unitigs"),
            MemoryLimit(
                ours=CUESTA,
                below_bytes=CUTTLEFISH_BYTES * 7 // 10,
                text="under 0.7 of Cuttlefish's memory",
            ),
        ),
    )


def engines(size: Size, reads: Mates) -> Case:
    """The same unitigs on ranks and on Spark, without the start of Spark."""
    ours = [
        _engine(reads, "native", []),
        *(_engine(reads, name, more) for name, more in ENGINES.items() if _is_there(name)),
    ]
    case = _case(size, reads, f"engines, k = {K}", (ours[0], {}), ())
    bars = tuple(
        Ratio(ours="cuesta", theirs=one.name, at_least=None, text=f"beside {one.name}, shown")
        for one in ours[1:]
    )
    case = replace(case, contestants=tuple(ours), bars=bars, repeats_max=3)
    return replace(case, notes=(_shuffle(size, reads),)) if _is_there("spark") else case


def beyond_memory(size: Size, reads: Mates) -> Case:
    """Three times the reads within a limit that holds a part of them, and without one."""
    more = [str(path) for path in (reads.one, reads.two) * 2]
    options = ["-k", str(K), "--min-count", "9"]
    unitigs_of = _unitigs_of
    limited = cuesta(
        reads, [*more, *options, "--memory", str(LIMIT_BYTES)], unitigs_of, LIMIT_BYTES
    )
    free = cuesta(reads, [*more, *options], unitigs_of)
    case = _case(size, reads, f"three times the reads in {LIMIT_BYTES >> 20} MiB", (free, {}), ())
    return replace(
        case,
        name=case.name.replace(
            f"{reads.size_bytes / 1e6:.0f}", f"{reads.size_bytes * 3 / 1e6:.0f}"
        ),
        contestants=(free, replace(limited, name="cuesta limited")),
        bars=(
            Ratio(
                ours="cuesta limited",
                theirs=CUESTA,
                at_least=1 / 1.6,
                text="1.6 times as long as without a limit",
            ),
            MemoryLimit(ours="cuesta limited", below_bytes=LIMIT_BYTES, text="within the limit"),
        ),
        amount=3.0 * reads.size_bytes,
    )


def _engine(reads: Mates, engine: str, more: list[str]) -> Contestant:
    words = [sys.executable, "-m", "cuesta", "run", "assemble", str(reads.one), str(reads.two)]
    words += ["-k", str(K), "--min-count", "3", "--engine", engine, *more]

    def work(folder: Path) -> Sample:
        output = folder / "answer"
        ran = limits.run([*words, "-o", str(output)], assemblers.UNLIMITED_BYTES)
        record = json.loads((output / "run.json").read_text())
        work = [one["seconds"] for one in record["phases"] if one["name"] != "start"]
        return Sample(seconds=sum(work), peak_resident_bytes=ran.peak_resident_bytes)

    return Contestant(
        name=CUESTA if engine == "native" else f"cuesta {engine}",
        how=f"--engine {' '.join([engine, *more])}, its phases but `start`",
        work=work,
        answer=lambda folder: _unitigs(_unitigs_of(folder / "answer")),
    )


def _shuffle(size: Size, reads: Mates) -> str:
    """What Spark's event log says of the shuffle."""
    with tempfile.TemporaryDirectory(dir=size.folder) as name:
        folder = Path(name)
        _engine(reads, "spark", ENGINES["spark"]).work(folder)
        record = json.loads((folder / "answer" / "run.json").read_text())
    written = record["engine_log"]["shuffle_write_bytes"]
    # A record has its bases twice, as bases and as qualities, and some 40 bytes of names.
    with reads.one.open("rb") as file:
        lines = [len(next(file)) for _ in range(4)]
    bases = reads.size_bytes * (lines[1] - 1) / sum(lines)
    return f"spark writes {written / bases:.2f} bytes of shuffle a base of the reads"


def _is_there(engine: str) -> bool:
    return get_engine(engine).missing() is None


def _unitigs_of(answer: Path) -> Path:
    return answer / "unitigs.fa"


def contigs(size: Size, reads: Mates) -> Case:
    """Contigs of 31-mers, beside Minia."""
    how = "minia -kmer-size 31 -abundance-min 3 -nb-cores 2"
    peer = Contestant(
        name="minia", how=how, work=lambda folder: assemblers.minia(reads, folder), repeats_max=3
    )
    ours = ["-k", str(K), "--min-count", "3"]
    case = _case(
        size,
        reads,
        f"contigs, k = {K}",
        (cuesta(reads, ours), {"minia": peer}),
        (Ratio(ours=CUESTA, theirs="minia", at_least=1.0, text="as fast as Minia"),),
    )
    return _judged(size, case, reads, {"minia": "out.contigs.fa"})


def several(size: Size, reads: Mates, *, pairs: bool) -> Case:
    """Contigs of several sizes of k-mers, beside MEGAHIT, which has five times as long."""
    how = "megahit -1 -2 -t 2" if pairs else "megahit -r -t 2"
    peer = Contestant(
        name="megahit",
        how=how,
        work=lambda folder: assemblers.megahit(reads, folder, pairs=pairs),
        repeats_max=1,
    )
    ours = ["--pairs"] if pairs else []
    case = _case(
        size,
        reads,
        f"contigs, k chosen, {'mates' if pairs else 'single reads'}",
        (cuesta(reads, ours), {"megahit": peer}),
        (Ratio(ours=CUESTA, theirs="megahit", at_least=5.0, text="5x MEGAHIT"),),
    )
    return _judged(size, case, reads, {"megahit": "out/final.contigs.fa"})


def cuesta(
    reads: Mates,
    options: list[str],
    unitigs_of: Callable[[Path], Path] | None = None,
    limit_bytes: int = assemblers.UNLIMITED_BYTES,
) -> Contestant:
    """The whole process but for the verification, which the others do not have."""
    words = [sys.executable, "-m", "cuesta", "run", "assemble", str(reads.one), str(reads.two)]
    words += [*options, "--threads", str(THREADS)]

    def work(folder: Path) -> Sample:
        output = folder / "answer"
        ran = limits.run([*words, "-o", str(output)], limit_bytes)
        record = json.loads((output / "run.json").read_text())
        seconds = ran.seconds - record["verification"]["seconds"]
        return Sample(seconds=seconds, peak_resident_bytes=record["peak_resident_bytes"])

    def answer(folder: Path) -> Answer:
        path = unitigs_of(folder / "answer") if unitigs_of else folder / "answer" / "contigs.fa"
        return _unitigs(path)

    return Contestant(
        name=CUESTA,
        how=f"{' '.join(['cuesta run assemble', *_shown(options)])}, less its verification",
        work=work,
        answer=answer if unitigs_of else None,
    )


def _shown(options: list[str]) -> list[str]:
    return [one for one in options if not one.startswith("/")]


def _case(
    size: Size,
    reads: Mates,
    name: str,
    everybody: tuple[Contestant, dict[str, Contestant]],
    bars: tuple[Ratio | MemoryLimit, ...],
) -> Case:
    ours, peers = everybody
    reasons = {peer: size.left_out(peer) or assemblers.missing(peer) for peer in peers}
    return Case(
        name=f"{name}, {reads.size_bytes / 1e6:.0f} MB",
        contestants=(ours, *(peers[peer] for peer, why in reasons.items() if why is None)),
        bars=bars,
        amount=float(reads.size_bytes),
        unit="B",
        inputs=(reads.one, reads.two),
        absent={peer: why for peer, why in reasons.items() if why},
        repeats_max=5,
    )


def _judged(size: Size, case: Case, reads: Mates, peers: dict[str, str]) -> Case:
    """The case with a note on how good the contigs are, by QUAST, once each."""
    why = assemblers.missing("quast.py")
    if size.smoke or why:
        note = f"{case.name}: not judged by QUAST{f', {why}' if why else ''}"
        return replace(case, notes=(*case.notes, note))
    lines = []
    contigs = {CUESTA: "answer/contigs.fa", **peers}
    for one in case.contestants:
        with tempfile.TemporaryDirectory(dir=size.folder) as name:
            folder = Path(name)
            one.work(folder)
            lines.append(f"{one.name} {_quality(folder / contigs[one.name], reads, folder)}")
    return replace(case, notes=(*case.notes, f"{case.name}, QUAST: {'; '.join(lines)}"))


def _quality(path: Path, reads: Mates, folder: Path) -> str:
    """NGA50, misassemblies and genome fraction."""
    words = ["quast.py", "--fast", "-t", str(THREADS), "-r", str(reads.genome), "--min-contig"]
    subprocess.run(
        [*words, "500", "-o", str(folder / "quast"), str(path)], check=True, capture_output=True
    )
    text = (folder / "quast" / "report.tsv").read_text()
    found = dict(line.split("\t", 1) for line in text.splitlines())
    return (
        f"NGA50 {int(found['NGA50']):,}, misassemblies {found['# misassemblies']}, "
        f"genome fraction {found['Genome fraction (%)']} %"
    )


def _unitigs(path: Path) -> Answer:
    """The set of unitigs, each on the strand and, where circular, in the rotation that is least."""
    sequences = re.findall(rb"^[ACGT]+$", path.read_bytes(), flags=re.MULTILINE)
    return digest(_form(sequence) for sequence in sequences)


def _form(sequence: bytes) -> bytes:
    turned = sequence.translate(PLACES)[::-1]
    if len(sequence) > K - 1 and sequence[: K - 1] == sequence[1 - K :]:
        circles = [one[: 1 - K] for one in (sequence, turned)]
        return min(one[at:] + one[:at] for one in circles for at in range(len(one)))
    return min(sequence, turned)
