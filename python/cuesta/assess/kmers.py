"""K-mers of sequences as integers, the same on either strand, in NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.uint64]

K_MAX = 31
"""Longest odd k at two bits a base in 64 bits."""

BLOCK_BASES = 1 << 20
"""Bases that are processed at once, so that their arrays fit in a cache."""

PART_KMERS = 1 << 26
"""Most k-mers in memory; more are processed in parts, by their remainder."""


@dataclass(frozen=True, kw_only=True)
class SharedKmers:
    """Numbers of k-mers that two sets of sequences share.

    Attributes
    ----------
    solid
        Distinct k-mers of the first set.
    held
        Distinct k-mers of the first set that the second set has.
    kmers
        All k-mers of the second set, with multiplicity.
    strange
        K-mers of the second set, with multiplicity, that the first set lacks.
    """

    solid: int
    held: int
    kmers: int
    strange: int


def shared(
    first: Callable[[], Iterable[bytes]], second: Callable[[], Iterable[bytes]], k: int
) -> SharedKmers:
    """Compare the k-mers of two sets of sequences, each from a function that iterates anew.

    `k` is odd and at most `K_MAX`. Cost: O(n log n) for n k-mers, with a pass over both for each
    `PART_KMERS` of them.
    """
    import numpy as np

    total = sum(max(0, len(bases) - k + 1) for bases in first())
    parts = -(-total // PART_KMERS) or 1
    counts = [0, 0, 0, 0]
    for part in range(parts):
        # With counts NumPy sorts; without them it hashes, which takes ten times as long.
        solid, _ = np.unique(_part(first(), k, part, parts), return_counts=True)
        distinct, counts_of = np.unique(_part(second(), k, part, parts), return_counts=True)
        both = np.isin(distinct, solid, assume_unique=True)
        news = (solid.size, both.sum(), counts_of.sum(), counts_of[~both].sum())
        counts = [count + int(new) for count, new in zip(counts, news, strict=True)]
    return SharedKmers(solid=counts[0], held=counts[1], kmers=counts[2], strange=counts[3])


def _part(sequences: Iterable[bytes], k: int, part: int, parts: int) -> Codes:
    """Compute the k-mers whose remainder by `parts` is `part`."""
    import numpy as np

    made = [np.empty(0, dtype=np.uint64)]
    for block in _blocks(sequences, k):
        block_codes = codes(block, k)
        made.append(
            block_codes if parts == 1 else block_codes[block_codes % np.uint64(parts) == part]
        )
    return np.concatenate(made)


def codes(bases: bytes, k: int) -> Codes:
    """Compute the k-mers of capital letters, each as the smaller number of its two strands.

    K-mers with a letter other than A, C, G and T are left out.
    """
    import numpy as np

    table = np.full(256, 4, dtype=np.uint8)
    table[np.frombuffer(b"ACGT", dtype=np.uint8)] = range(4)
    letters = table[np.frombuffer(bases, dtype=np.uint8)]
    if letters.size < k:
        return np.empty(0, dtype=np.uint64)
    known = letters < 4
    forward = _joined((letters & 3).astype(np.uint64), k, turned=False)
    backward = _joined((3 - (letters & 3)).astype(np.uint64), k, turned=True)
    smaller: Codes = np.minimum(forward, backward)
    if known.all():
        return smaller
    before = np.concatenate([[0], np.cumsum(~known)])
    complete: Codes = smaller[before[k:] == before[:-k]]
    return complete


def _joined(letters: Codes, k: int, *, turned: bool) -> Codes:
    """Encode each k letters as a number, the first letter highest, or lowest if `turned`.

    It is composed of two halves, and a last letter if k is odd.
    """
    if k == 1:
        return letters
    half = _joined(letters, k // 2, turned=turned)
    both = _concatenated(half, half[k // 2 :], (k // 2, k // 2), turned)
    return _concatenated(both, letters[k - 1 :], (k - 1, 1), turned) if k % 2 else both


def _concatenated(left: Codes, right: Codes, lengths: tuple[int, int], turned: bool) -> Codes:
    """Concatenate the codes of stretches of `lengths` letters with those that follow them."""
    import numpy as np

    high, low, behind = left[: right.size], right, lengths[1]
    if turned:
        high, low, behind = low, high, lengths[0]
    both: Codes = (high << np.uint64(2 * behind)) | low
    return both


def _blocks(sequences: Iterable[bytes], k: int) -> Iterator[bytes]:
    """Join sequences with an N between two, in blocks that share k - 1 bases at a cut."""
    gathered: list[bytes] = []
    bases = 0
    for sequence in sequences:
        for begin in range(0, max(len(sequence) - k + 1, 0), BLOCK_BASES):
            gathered.append(sequence[begin : begin + BLOCK_BASES + k - 1])
            bases += len(gathered[-1])
            if bases >= BLOCK_BASES:
                yield b"N".join(gathered)
                gathered, bases = [], 0
    if gathered:
        yield b"N".join(gathered)
