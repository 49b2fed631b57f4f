"""Complete commands as a user types them, verified, compared with what would be run instead."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benches import kmeans as kmeans_bench
from benches import rows
from benches import sort as sort_bench
from harness import limits, reads
from harness.data import (
    Pairs,
    Points,
    images_stack,
    pairs_text,
    points_array,
    tera_records,
)
from harness.model import THREADS, Answer, Case, Contestant, DifferentAnswer, Ratio, Sample
from harness.size import Size
from peers import assemblers, whole_process

CUESTA = "cuesta"
WORK = "cuesta's work"
VERIFICATION = "cuesta's verification"
PEER_SCRIPT = whole_process.__file__
COMMAND = Path(sys.executable).with_name("cuesta")
UNLIMITED_BYTES = assemblers.UNLIMITED_BYTES
ONE_LINE = "2\t1\t1\t1\t3\t0\t0\t0\t0\t0.9\t111\n"
START_MOST = 1.2
TEXT_MOST, COMPUTED_MOST = 3.0, 1.0
"""Most time of the verification, by the time of the work: of a pass over text, of the rest."""
SHAPE = ("-k", "31", "--min-count", "3")


@dataclass(frozen=True, kw_only=True)
class Typed:
    """A command of ours and its limits.

    Attributes
    ----------
    name
        Name of the case.
    words
        After `cuesta run`, without threads and output.
    inputs
        Files it reads.
    answer
        Reads its answer folder.
    most
        Most time of the verification, by the time of the work.
    made_bytes
        Bytes of the computed data, where nothing is read.
    """

    name: str
    words: tuple[str, ...]
    inputs: tuple[Path, ...]
    answer: Callable[[Path], Answer] | None = None
    most: float = TEXT_MOST
    made_bytes: float = 0.0

    @property
    def amount(self) -> float:
        """Bytes of the inputs, or of the generated data."""
        return self.made_bytes or float(sum(path.stat().st_size for path in self.inputs))


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A program that a user would run instead, and the least ratio of ours to its speed."""

    name: str
    how: str
    work: Callable[[Path], Sample]
    at_least: float | None
    answer: Callable[[Path], Answer] | None = None
    absent: str | None = None
    repeats_max: int | None = None


@dataclass
class _Last:
    """The run record of the last repeat of our command."""

    record: dict[str, Any] = field(default_factory=dict)

    def work_seconds(self, _: Path) -> Sample:
        return Sample(seconds=float(self.record["wall_seconds"]))

    def verification_seconds(self, _: Path) -> Sample:
        return Sample(seconds=float(self.record["verification"]["seconds"]))


def cases(size: Size) -> Iterator[Case]:
    """Cases of the network, of computation, of assembly, and of the start alone."""
    yield from network(size)
    yield sort(size)
    yield kmeans(size)
    yield dataflow(size)
    yield images(size)
    yield from assembly(size)
    yield start(size)


def network(size: Size) -> Iterator[Case]:
    """1 GB of gene-pair text, compared with DuckDB with NumPy and NetworKit."""
    genes = size.pick(200, 2000)
    one, other = (pairs_text(size.folder, Pairs(genes=genes, variant=index)) for index in (0, 1))
    for score in ("0.95", "0.8"):
        yield against(
            size,
            Typed(
                name=f"scan, |score| >= {score}",
                words=("scan", str(one), "--min-abs-score", score),
                inputs=(one,),
                answer=lambda folder: rows.pairs(folder / "pairs.txt"),
            ),
            process("duckdb", 2.0, ("scan", one), (score,), lambda folder: rows.pairs(
                folder / "pairs.txt")),
        )  # fmt: skip
    yield against(
        size,
        Typed(
            name="join, inner, |score| >= 0.5",
            words=("join", str(one), str(other), "--min-abs-score", "0.5"),
            inputs=(one, other),
            answer=lambda folder: rows.joined(folder / "pairs.tsv", header=True),
        ),
        process("duckdb", 2.0, ("join", one, other), ("0.5",), lambda folder: rows.joined(
            folder / "pairs.tsv")),
    )  # fmt: skip
    yield against(
        size,
        Typed(
            name="degrees, |score| >= 0.5",
            words=("degrees", str(one), "--min-abs-score", "0.5"),
            inputs=(one,),
            answer=lambda folder: rows.degrees(folder / "degrees.tsv", header=True),
        ),
        process("duckdb + numpy", 2.0, ("degrees", one), ("0.5",), lambda folder: rows.degrees(
            folder / "degrees.tsv")),
    )  # fmt: skip
    yield against(
        size,
        Typed(
            name="communities, |score| >= 0.8",
            words=("communities", str(one), "--min-abs-score", "0.8"),
            inputs=(one,),
            answer=lambda folder: rows.communities(folder / "communities.tsv", header=True),
        ),
        process("duckdb + networkit", 2.0, ("components", one), ("0.8",), lambda folder:
            rows.communities(folder / "communities.tsv")),
    )  # fmt: skip
    yield against(
        size,
        Typed(name="load", words=("load", str(one)), inputs=(one,), answer=_rows_loaded),
        process("duckdb to parquet", 3.0, ("load", one), (), _rows_of_parquet),
    )


def sort(size: Size) -> Case:
    """1 GB of records, compared with NumPy, and with reading and writing alone."""
    path = tera_records(size.folder, size.pick(100_000, 10_000_000))
    ours = Typed(
        name=f"sort, {path.stat().st_size / 1e9:.2g} GB",
        words=("sort", str(path)),
        inputs=(path,),
        answer=lambda folder: sort_bench.content([folder / "sorted.dat"]),
        most=COMPUTED_MOST,
    )
    numpy = process("numpy", 1.5, ("sort", path), (), lambda folder: sort_bench.content(
        [folder / "sorted.dat"]))  # fmt: skip
    return against(size, ours, numpy, process("read + write + fsync", None, ("copy", path), ()))


def kmeans(size: Size) -> Case:
    """Ten iterations on 4 M points, compared with scikit-learn."""
    path = points_array(size.folder, Points(rows=size.pick(20_000, 4_000_000)))
    clusters, iterations = map(str, kmeans_bench.SHAPE)
    ours = Typed(
        name="kmeans, 4 M x 27, k = 10" if not size.smoke else "kmeans",
        words=("kmeans", str(path), "--clusters", clusters, "--iterations", iterations),
        inputs=(path,),
        answer=kmeans_bench.our_centres,
        most=COMPUTED_MOST,
    )
    peer = process(
        "scikit-learn", 1.5, ("kmeans", path), kmeans_bench.SHAPE, kmeans_bench.their_centres
    )
    made = against(size, ours, peer)
    return Case(**{**vars(made), "same": kmeans_bench.same_centres})


def dataflow(size: Size) -> Case:
    """Generated vectors, in one pass; no peer, MPI in C is that of bench `dataflow`."""
    blocks, vectors = 96, size.pick(1 << 12, 1 << 20)
    ours = Typed(
        name=f"dataflow, {blocks} x {vectors} vectors",
        words=("dataflow", "--blocks", str(blocks), "--block-vectors", str(vectors)),
        inputs=(),
        answer=_recorded,
        most=COMPUTED_MOST,
        made_bytes=24.0 * blocks * vectors,
    )
    return against(size, ours)


def images(size: Size) -> Case:
    """A stack of grey images; no peer."""
    path = images_stack(size.folder, size.pick(4, 256))
    ours = Typed(
        name=f"images, {path.stat().st_size / 1e6:.0f} MB",
        words=("images", str(path)),
        inputs=(path,),
        answer=_recorded,
        most=COMPUTED_MOST,
    )
    return against(size, ours)


def assembly(size: Size) -> Iterator[Case]:
    """Unitigs, contigs and graph of reads, compared with Cuttlefish, which stops at unitigs."""
    genomes = (reads.read_pairs(size.folder, smoke=size.smoke), reads.with_repeats(size))
    for name, made in zip(("E. coli", "26 Mbp with repeats"), genomes, strict=True):
        ours = Typed(
            name=f"assemble, {name}" if not size.smoke else f"assemble, small, {made.first.stem}",
            words=("assemble", *map(str, made.files), *SHAPE),
            inputs=made.files,
            answer=_recorded,
            most=COMPUTED_MOST,
        )
        peer = Peer(
            name="cuttlefish",
            how="cuttlefish build --read -k 31 -c 3 -t 2: unitigs alone, not verified",
            work=partial(assemblers.cuttlefish, made),
            at_least=2.0,
            absent=assemblers.missing("cuttlefish"),
            repeats_max=3,
        )
        case = against(size, ours, peer)
        yield Case(**{**vars(case), "notes": (f"reads: {made.how}",), "repeats_max": 3})


def start(size: Size) -> Case:
    """A file of one line, compared with the import of DuckDB."""
    path = size.folder / "one-line.txt"
    path.write_text(ONE_LINE)
    ours = Typed(
        name="scan of one line",
        words=("scan", str(path)),
        inputs=(path,),
        answer=lambda folder: rows.pairs(folder / "pairs.txt"),
    )
    peer = Peer(
        name="import duckdb",
        how="python -c 'import duckdb'",
        work=lambda _: limits.run([sys.executable, "-c", "import duckdb"], UNLIMITED_BYTES),
        at_least=1 / START_MOST,
    )
    made = against(size, ours, peer)
    # Its verification takes less than a millisecond, which is no rate.
    return Case(**{**vars(made), "bars": made.bars[:1]})


def against(size: Size, ours: Typed, *peers: Peer) -> Case:
    """A command and its peers; the parts of its time take part, from the same repeats."""
    last = _Last()
    present = [peer for peer in peers if not (peer.absent or size.left_out(peer.name))]
    parts = ((WORK, last.work_seconds), (VERIFICATION, last.verification_seconds))
    return Case(
        name=ours.name,
        contestants=(
            Contestant(
                name=CUESTA,
                how=f"cuesta run {_shown(ours)}: the whole process, verified",
                work=lambda folder: _typed(ours, folder, last),
                answer=_in_answer(ours.answer),
            ),
            *(Contestant(name=name, how="of its record", work=work) for name, work in parts),
            *(
                Contestant(
                    name=peer.name, how=peer.how, work=peer.work, answer=peer.answer,
                    repeats_max=peer.repeats_max,
                )
                for peer in present
            ),
        ),
        bars=(
            *(
                Ratio(ours=CUESTA, peer=peer.name, at_least=peer.at_least, text=_bar(peer))
                for peer in peers
            ),
            Ratio(
                ours=VERIFICATION, peer=WORK, at_least=1 / ours.most,
                text=f"verification takes at most {ours.most:g} times the work",
            ),
        ),
        amount=ours.amount,
        unit="B",
        inputs=ours.inputs,
        absent={peer.name: why for peer in peers
                if (why := peer.absent or size.left_out(peer.name))},
    )  # fmt: skip


def process(
    name: str,
    at_least: float | None,
    job: tuple[str | Path, ...],
    words: Sequence[object],
    answer: Callable[[Path], Answer] | None = None,
) -> Peer:
    """A job of `peers/whole_process.py`."""
    shown = " ".join(["whole_process.py", str(job[0]), *map(str, words)])

    def work(folder: Path) -> Sample:
        command = [sys.executable, PEER_SCRIPT, *map(str, job), str(folder), *map(str, words)]
        return limits.run(command, UNLIMITED_BYTES)

    return Peer(name=name, how=f"python {shown}", work=work, at_least=at_least, answer=answer)


def _typed(ours: Typed, folder: Path, last: _Last) -> Sample:
    """Run the command into `folder/answer`. Errors: `DifferentAnswer` when it is not verified."""
    output = folder / "answer"
    words = [str(COMMAND), "run", *ours.words, "--threads", str(THREADS), "-o", str(output)]
    sample = limits.run(words, UNLIMITED_BYTES)
    last.record = _record(output)
    if last.record["verified"] is not True:
        raise DifferentAnswer(f"{ours.name}: not verified")
    return sample


def _in_answer(answer: Callable[[Path], Answer] | None) -> Callable[[Path], Answer] | None:
    return None if answer is None else lambda folder: answer(folder / "answer")


def _record(answer: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((answer / "run.json").read_text())
    return record


def _recorded(answer: Path) -> Answer:
    """The digest that the verification found: others have no answer like it."""
    return Answer(digest=_record(answer)["answer"]["digest"], rows=0)


def _rows_loaded(answer: Path) -> Answer:
    rows_loaded = int(_record(answer)["answer"]["counts"]["rows"])
    return Answer(digest=f"{rows_loaded} rows", rows=rows_loaded)


def _rows_of_parquet(folder: Path) -> Answer:
    import pyarrow.parquet

    rows_written = pyarrow.parquet.read_metadata(folder / "pairs.parquet").num_rows
    return Answer(digest=f"{rows_written} rows", rows=rows_written)


def _bar(peer: Peer) -> str:
    if peer.at_least is None:
        return f"beside {peer.name}, shown"
    if peer.at_least < 1:
        return f"at most {1 / peer.at_least:g} times {peer.name}"
    return f"{peer.at_least:.3g}x {peer.name}, whole processes"


def _shown(ours: Typed) -> str:
    names = {str(path): path.name for path in ours.inputs}
    return " ".join(names.get(word, word) for word in ours.words)
