"""What a run will need on the disk and of time, as far as its workload can say before it begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuesta.trial import Trial

_GZIP_TIMES = 4
_BASES_A_BYTE = 0.5
"""Of FASTQ; a base takes about a byte in super-k-mers, for which half of the memory is."""
_READS_BYTES_PER_S = 32e6
"""Text of reads that a thread assembles a second, for one size of k-mers, on a server of 2023."""
_PAPER_BYTES_PER_S = 0.3e6
"""The same with the vertex program of the paper."""
_SIZES_CHOSEN = 5


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a run will need.

    Attributes
    ----------
    temporary_bytes
        Most bytes of temporary files.
    seconds
        About how long the work takes; None where nobody knows.
    checkpoints
        The folder that temporary files stay in, to go on from; None where they are in scratch.
    """

    temporary_bytes: int = 0
    seconds: float | None = None
    checkpoints: Path | None = None


def nothing(_trial: Trial, _files: Sequence[tuple[str, int]]) -> Needs:
    """Of a workload that spills nothing."""
    return Needs()


def input_once(trial: Trial, files: Sequence[tuple[str, int]]) -> Needs:
    """Of a workload that spills its input where that is more than the memory."""
    size_bytes = sum(size for _, size in files)
    return Needs(temporary_bytes=size_bytes if size_bytes > trial.memory_bytes else 0)


def super_kmers(trial: Trial, files: Sequence[tuple[str, int]]) -> Needs:
    """Of an assembly: super-k-mers beyond half of the memory, and the time of each size of k."""
    text = sum(size * (_GZIP_TIMES if path.endswith(".gz") else 1) for path, size in files)
    given = trial.parameters.get("kmer_sizes") or "auto"
    rate = _READS_BYTES_PER_S
    if trial.parameters.get("profile") == "paper":
        sizes, rate = 1, _PAPER_BYTES_PER_S
    else:
        sizes = _SIZES_CHOSEN if given == "auto" else len(str(given).split(","))
    seconds = text * sizes / (rate * trial.threads)
    size_bytes = int(text * _BASES_A_BYTE)
    folder = trial.parameters.get("resume")
    if folder and trial.engine == "native":
        return Needs(temporary_bytes=size_bytes, seconds=seconds, checkpoints=Path(str(folder)))
    return Needs(temporary_bytes=max(0, size_bytes - trial.memory_bytes // 2), seconds=seconds)
