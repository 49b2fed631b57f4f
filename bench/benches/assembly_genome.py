"""Unitigs of a genome itself: input without errors, where every definition counts the same k-mers.

Cuttlefish joins two k-mers only where the input has the (k+1)-mer of both; BCALM and we join them
wherever no third one shares their k - 1 bases. So a unitig of Cuttlefish may pass a place where
another k-mer begins or ends with the same k - 1 bases: cut there, its set has to be ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from benches.assemble_command import CUESTA, Command, K, form, typed_command, unitig_set, unitigs
from benches.assembly_engines import case, with_peers
from harness.answers import digest
from harness.model import Answer, Case, Contestant, Ratio
from harness.reads import ReadPairs
from harness.size import Size
from peers import assemblers

SHARED = K - 1


def genome(size: Size, reads: ReadPairs) -> Case:
    """Unitigs of a genome, equal to BCALM's, and to Cuttlefish's where the definitions meet."""
    peers = [
        Contestant(
            name="bcalm",
            how="bcalm -kmer-size 31 -abundance-min 1 -nb-cores 2",
            work=lambda folder: assemblers.bcalm_of(reads.genome, folder, times=1),
            answer=lambda folder: unitig_set(folder / "out.unitigs.fa"),
        ),
        Contestant(
            name="cuttlefish",
            how="cuttlefish build --ref -k 31 -t 2, its unitigs cut where other k-mers branch off",
            work=lambda folder: assemblers.cuttlefish_of(reads.genome, folder),
            answer=lambda folder: cut_set(folder / "out.fa"),
        ),
    ]
    options = ("-k", str(K), "--min-count", "1", "--profile", "none")
    ours = typed_command(Command(files=(reads.genome,), options=options), unitigs)
    bars = [
        Ratio(ours=CUESTA, peer=peer.name, at_least=None, text=f"beside {peer.name}, equal unitigs")
        for peer in peers
    ]
    made = case(f"unitigs of the genome, k = {K}", (reads.genome,), (ours,), bars)
    return replace(with_peers(size, made, peers), repeats_max=3)


def cut_set(path: Path) -> Answer:
    """The set of unitigs, cut inside where k - 1 bases are there more than once."""
    return digest(form(piece) for piece in _pieces(path.read_bytes()))


def _pieces(fasta: bytes) -> Iterator[bytes]:
    sequences = re.findall(rb"^[ACGT]+$", fasta, flags=re.MULTILINE)
    branches = _branches(b"\n".join([*sequences, b""]))
    begin = 0
    for sequence in sequences:
        inside = (begin + 1, begin + len(sequence) - SHARED)
        first, last = np.searchsorted(branches, inside)
        start = 0
        for place in branches[first:last] - begin:
            yield sequence[start : place + SHARED]
            start = place
        yield sequence[start:]
        begin += len(sequence) + 1


def _branches(lines: bytes) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Places where k - 1 bases begin that occur more than once, on either strand, or are their own
    reverse complement."""
    text = np.frombuffer(lines, dtype=np.uint8)
    codes = np.searchsorted(np.frombuffer(b"ACGT", dtype=np.uint8), text).astype(np.uint64)
    count = len(text) - SHARED + 1
    forward, backward = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    for place in range(SHARED):
        code = codes[place : place + count]
        forward = forward << np.uint64(2) | code
        backward |= (np.uint64(3) - code) << np.uint64(2 * place)
    ends = np.cumsum(text == ord("\n"))
    places: np.ndarray[tuple[int], np.dtype[np.intp]]
    places = np.flatnonzero(ends[SHARED - 1 :] == np.concatenate([[0], ends])[:count])
    canonical = np.minimum(forward, backward)[places]
    _, which, times = np.unique(canonical, return_inverse=True, return_counts=True)
    places = places[(times[which] > 1) | (forward[places] == backward[places])]
    return places
