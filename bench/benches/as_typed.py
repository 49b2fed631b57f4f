"""Complete commands as a user types them, verified, compared with what would be run instead."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benches import kmeans as kmeans_bench
from benches import rows
from benches import sort as sort_bench
from benches.typed import (
    COMPUTED_MOST,
    UNLIMITED_BYTES,
    Peer,
    Typed,
    against,
    process,
    record,
    recorded,
)
from harness import limits, reads
from harness.data import (
    Pairs,
    Points,
    images_stack,
    pairs_text,
    points_array,
    tera_bytes,
    tera_columns,
    tera_records,
)
from harness.model import Answer, Case
from harness.size import Size
from peers import assemblers

ONE_LINE = "2\t1\t1\t1\t3\t0\t0\t0\t0\t0.9\t111\n"
START_MOST = 1.2
SHAPE = ("-k", "31", "--min-count", "3")
READER_NAMES = {
    ("degrees", "duckdb"): "duckdb + numpy",
    ("load", "duckdb"): "duckdb to parquet",
    ("load", "polars"): "polars to parquet",
    ("load", "chdb"): "chdb to parquet",
    ("load", "datafusion"): "datafusion to parquet",
}
"""Names of contestants that do a job in another way than the package alone."""


def cases(size: Size) -> Iterator[Case]:
    """Cases of the network, of computation, of assembly, and of the start alone."""
    yield from network(size)
    yield sort(size)
    yield from kmeans(size)
    yield dataflow(size)
    yield images(size)
    yield from assembly(size)
    yield start(size)


def network(size: Size) -> Iterator[Case]:
    """1 GB of gene-pair text, compared with what reads such text: DuckDB and three others."""
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
            *readers(2.5, ("scan", one), (score,), lambda folder: rows.pairs(
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
        *readers(2.2, ("join", one, other), ("0.5",), lambda folder: rows.joined(
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
        *readers(2.5, ("degrees", one), ("0.5",), lambda folder: rows.degrees(
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
        *readers(2.0, ("load", one), (), _rows_of_parquet),
    )


def readers(
    at_least: float,
    job: tuple[str | Path, ...],
    words: Sequence[object],
    answer: Callable[[Path], Answer],
) -> Iterator[Peer]:
    """A job by each of four packages that read text in columns; `load` is to Parquet."""
    kind, *inputs = job
    for package in ("duckdb", "polars", "chdb", "datafusion"):
        name = READER_NAMES.get((str(kind), package), package)
        job_name = str(kind) if package == "duckdb" else f"{kind}_{package}"
        yield process(name, at_least, (job_name, *inputs), words, answer)


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
    columns = tera_columns(path)
    as_columns = [
        process(f"{package}, of columns", 3.0, (f"sort_{package}", columns), (),
                _content_of_columns)
        for package in ("duckdb", "polars")
    ]  # fmt: skip
    copied = process("read + write + fsync", None, ("copy", path), ())
    return against(size, ours, numpy, *as_columns, copied)


def kmeans(size: Size) -> Iterator[Case]:
    """Few and many centres, compared with scikit-learn, oneDAL and FAISS."""
    few = Points(rows=size.pick(20_000, 4_000_000))
    many = Points(rows=size.pick(5_000, 1_000_000), dimensions=128)
    yield kmeans_of(size, few, kmeans_bench.SHAPE, 2.0)
    yield kmeans_of(size, many, (size.pick(20, 1000), size.pick(3, 20)), 1.5)


def kmeans_of(size: Size, points: Points, shape: tuple[int, int], at_least: float) -> Case:
    """So many clusters and iterations, from the first points."""
    path = points_array(size.folder, points)
    clusters, iterations = map(str, shape)
    ours = Typed(
        name=f"kmeans, {points.rows / 1e6:g} M x {points.dimensions}, k = {clusters}",
        words=("kmeans", str(path), "--clusters", clusters, "--iterations", iterations),
        inputs=(path,),
        answer=kmeans_bench.our_centres,
        most=COMPUTED_MOST,
    )
    peers = [
        process(name, at_least, (job, path), shape, kmeans_bench.their_centres)
        for name, job in (
            ("scikit-learn", "kmeans"),
            ("oneDAL", "kmeans_onedal"),
            ("FAISS", "kmeans_faiss"),
        )
    ]
    made = against(size, ours, *peers)
    return Case(**{**vars(made), "same": partial(kmeans_bench.same_clustering, path)})


def dataflow(size: Size) -> Case:
    """Generated vectors, in one pass; no peer, MPI in C is that of bench `dataflow`."""
    blocks, vectors = 96, size.pick(1 << 12, 1 << 20)
    ours = Typed(
        name=f"dataflow, {blocks} x {vectors} vectors",
        words=("dataflow", "--blocks", str(blocks), "--block-vectors", str(vectors)),
        inputs=(),
        answer=recorded,
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
        answer=recorded,
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
            answer=recorded,
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


def _rows_loaded(answer: Path) -> Answer:
    rows_loaded = int(record(answer)["answer"]["counts"]["rows"])
    return Answer(digest=f"{rows_loaded} rows", rows=rows_loaded)


def _content_of_columns(folder: Path) -> Answer:
    """The records of `sorted.parquet`, as bytes."""
    return sort_bench.content([tera_bytes(folder / "sorted.parquet")])


def _rows_of_parquet(folder: Path) -> Answer:
    import pyarrow.parquet

    rows_written = pyarrow.parquet.read_metadata(folder / "pairs.parquet").num_rows
    return Answer(digest=f"{rows_written} rows", rows=rows_written)
