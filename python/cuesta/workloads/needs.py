"""Estimates of a run's temporary files and time, by its workload, before it begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuesta.trial import Trial

_COMPRESSION_RATIO = 4
_PACKED_SUFFIXES = (".gz", ".bgz", ".bz2", ".xz", ".zst")
_BASES_A_BYTE = 0.5
"""Bases in a byte of FASTQ; a base takes a byte in super-k-mers, which have half the memory."""
_READS_BYTES_PER_S = 32e6
"""Bytes of reads that a thread assembles in a second, for a single k, on a server of 2023."""
_PAPER_BYTES_PER_S = 0.3e6
"""Bytes of reads that a thread assembles in a second with the vertex program of the paper."""
_SIZES_CHOSEN = 5


@dataclass(frozen=True, kw_only=True)
class Needs:
    """Estimated needs of a run.

    Attributes
    ----------
    temporary_bytes
        Largest total of temporary files, in bytes.
    seconds
        Estimated time of the work; None if unknown.
    checkpoints
        Folder for temporary files from which the run can resume; None if they are in scratch.
    """

    temporary_bytes: int = 0
    seconds: float | None = None
    checkpoints: Path | None = None


def nothing(_trial: Trial, _files: Sequence[tuple[str, int]]) -> Needs:
    """Return the needs of a workload without temporary files."""
    return Needs()


def input_once(trial: Trial, files: Sequence[tuple[str, int]]) -> Needs:
    """Return the needs of a workload that spills its input if that exceeds the memory."""
    size_bytes = sum(size for _, size in files)
    return Needs(temporary_bytes=size_bytes if size_bytes > trial.memory_bytes else 0)


def super_kmers(trial: Trial, files: Sequence[tuple[str, int]]) -> Needs:
    """Return the needs of an assembly: super-k-mers beyond half the memory, time of each k."""
    text = sum(
        size * (_COMPRESSION_RATIO if path.endswith(_PACKED_SUFFIXES) else 1)
        for path, size in files
    )
    sizes_option = trial.parameters.get("kmer_sizes") or "auto"
    rate = _READS_BYTES_PER_S
    if trial.parameters.get("profile") == "paper":
        sizes, rate = 1, _PAPER_BYTES_PER_S
    else:
        sizes = _SIZES_CHOSEN if sizes_option == "auto" else len(str(sizes_option).split(","))
    seconds = text * sizes / (rate * trial.threads)
    size_bytes = int(text * _BASES_A_BYTE)
    folder = trial.parameters.get("resume")
    if folder and trial.engine == "native":
        return Needs(temporary_bytes=size_bytes, seconds=seconds, checkpoints=Path(str(folder)))
    return Needs(temporary_bytes=max(0, size_bytes - trial.memory_bytes // 2), seconds=seconds)
