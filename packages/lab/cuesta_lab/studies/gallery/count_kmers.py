"""Count k-mers on both strands: `count_kmers.py TOOL READS ANSWER THREADS`.

The answer says how many different k-mers occur how often. `count_kmers.py write FILE READS` writes
packed FASTQ: reads of 100 bases of a random genome, a base in 200 of them wrong.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

K = 31
READ_BASES = 100
GENOME_BASES = 1_000_000
ERROR_RATE = 0.005
SEED = 7
COUNT_MAX = 10_000
"""Larger than any count here."""
READS_AT_ONCE = 100_000


def with_kmc(reads: str, answer: str, threads: str) -> None:
    """Count with KMC in at most 2 GB, which knows packed reads by their name."""
    Path("work").mkdir()
    packed = Path("reads.fastq.gz")
    packed.symlink_to(Path(reads).absolute())
    words = [f"-k{K}", "-ci1", f"-cs{COUNT_MAX}", f"-t{threads}", "-m2", str(packed)]
    subprocess.run(["kmc", *words, "counts", "work"], check=True)
    histogram = ["histogram", "histogram.txt", "-ci1", f"-cx{COUNT_MAX}"]
    subprocess.run(["kmc_tools", "transform", "counts", *histogram], check=True)
    _write(answer, _rows(Path("histogram.txt").read_text(encoding="ascii")))


def with_jellyfish(reads: str, answer: str, threads: str) -> None:
    """Count with Jellyfish, which reads what `gzip` unpacks."""
    words = ["-m", str(K), "-s", "100M", "-C", "-t", threads, "-o", "counts.jf", "/dev/stdin"]
    with subprocess.Popen(["gzip", "-dc", reads], stdout=subprocess.PIPE) as unpacked:
        subprocess.run(["jellyfish", "count", *words], stdin=unpacked.stdout, check=True)
    histogram = ["jellyfish", "histo", "-t", threads, "counts.jf"]
    done = subprocess.run(histogram, stdout=subprocess.PIPE, text=True, check=True)
    _write(answer, _rows(done.stdout))


def with_numpy(reads: str, answer: str, _threads: str) -> None:
    """Count by sorting all k-mers."""
    import numpy as np

    kmers = np.concatenate([_canonical(block) for block in _bases(reads)])
    kmers.sort()
    ends = np.flatnonzero(np.append(kmers[1:] != kmers[:-1], True))
    counts, numbers = np.unique(np.diff(ends, prepend=-1), return_counts=True)
    _write(answer, zip(counts.tolist(), numbers.tolist(), strict=True))


def _bases(reads: str) -> Iterator[Any]:
    """Yield blocks of reads as codes of bases, A, C, G and T as 0 to 3."""
    import numpy as np

    codes = np.zeros(256, np.uint64)
    codes[list(b"ACGT")] = range(4)
    with gzip.open(reads) as lines:
        while block := b"".join(_second_lines(lines)):
            yield codes[np.frombuffer(block, np.uint8).reshape(-1, READ_BASES)]


def _second_lines(lines: Iterator[bytes]) -> Iterator[bytes]:
    for _ in range(READS_AT_ONCE):
        record = [next(lines, b"") for _ in range(4)]
        yield record[1].rstrip()


def _canonical(bases: Any) -> Any:
    """Return each k-mer of reads, or its reverse complement where that is smaller."""
    import numpy as np

    width = READ_BASES - K + 1
    forward = np.zeros((len(bases), width), np.uint64)
    backward = np.zeros_like(forward)
    for place in range(K):
        window = bases[:, place : place + width]
        forward = forward << np.uint64(2) | window
        backward |= (np.uint64(3) - window) << np.uint64(2 * place)
    return np.minimum(forward, backward).ravel()


def _rows(histogram: str) -> Iterator[tuple[int, int]]:
    """Yield counts that occur, and how many k-mers have them."""
    for line in histogram.splitlines():
        count, kmers = map(int, line.split())
        if kmers:
            yield count, kmers


def _write(answer: str, rows: Iterable[tuple[int, int]]) -> None:
    lines = [f"{count}\t{kmers}\n" for count, kmers in rows]
    Path(answer).write_text("".join(["count\tkmers\n", *lines]), encoding="ascii")


def write(file: str, reads: int) -> None:
    """Write the reads, the same each time."""
    import numpy as np

    draw = np.random.default_rng(SEED)
    genome = draw.integers(4, size=GENOME_BASES, dtype=np.uint8)
    letters = np.frombuffer(b"ACGT", np.uint8)
    quality = b"I" * READ_BASES
    with Path(file).open("wb") as raw, gzip.GzipFile("", "wb", 1, raw, mtime=0) as packed:
        for first in range(0, reads, READS_AT_ONCE):
            count = min(READS_AT_ONCE, reads - first)
            starts = draw.integers(GENOME_BASES - READ_BASES, size=(count, 1))
            bases = genome[starts + np.arange(READ_BASES)]
            errors = draw.random(bases.shape) < ERROR_RATE
            bases = (bases + errors * draw.integers(1, 4, bases.shape, dtype=np.uint8)) % 4
            turned = draw.random(count) < 0.5
            bases[turned] = 3 - bases[turned, ::-1]
            for number, read in enumerate(letters[bases], first):
                packed.write(b"@read%d\n%b\n+\n%b\n" % (number, read.tobytes(), quality))


def main(tool: str, *words: str) -> None:
    """Write the reads, or count their k-mers with a tool."""
    if tool == "write":
        write(words[0], int(words[1]))
    else:
        TOOLS[tool](*words)


TOOLS = {"kmc": with_kmc, "jellyfish": with_jellyfish, "numpy": with_numpy}

if __name__ == "__main__":
    main(*sys.argv[1:])
