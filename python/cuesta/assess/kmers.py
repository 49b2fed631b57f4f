"""K-mers of sequences as whole numbers, many at once, the same on either strand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.uint64]

K_MAX = 31
"""Two bits a base: what fits in 64 bits."""

BLOCK_BASES = 1 << 20
"""So many bases are looked at at once, so that what is made of them stays in a cache."""

PART_KMERS = 1 << 26
"""So many k-mers are held at once; more are gone through in parts, by their remainder."""


@dataclass(frozen=True, kw_only=True)
class Shared:
    """K-mers that two sets of sequences have.

    Attributes
    ----------
    solid
        Different k-mers of the first set.
    held
        Those of them that the second set has.
    kmers
        All k-mers of the second set, as often as they are there.
    strange
        Those of them that the first set does not have.
    """

    solid: int
    held: int
    kmers: int
    strange: int


def shared(
    first: Callable[[], Iterable[bytes]], second: Callable[[], Iterable[bytes]], k: int
) -> Shared:
    """Compare the k-mers of two sets of sequences, each given anew whenever it is asked for.

    `k` is odd and at most `K_MAX`. Cost: O(n log n) for n k-mers, both gone through once for each
    `PART_KMERS` of them.
    """
    import numpy as np

    total = sum(max(0, len(bases) - k + 1) for bases in first())
    parts = -(-total // PART_KMERS) or 1
    counts = [0, 0, 0, 0]
    for part in range(parts):
        # With counts NumPy sorts; without them it hashes, which takes ten times as long.
        solid, _ = np.unique(_part(first(), k, part, parts), return_counts=True)
        found, often = np.unique(_part(second(), k, part, parts), return_counts=True)
        both = np.isin(found, solid, assume_unique=True)
        news = (solid.size, both.sum(), often.sum(), often[~both].sum())
        counts = [count + int(new) for count, new in zip(counts, news, strict=True)]
    return Shared(solid=counts[0], held=counts[1], kmers=counts[2], strange=counts[3])


def _part(sequences: Iterable[bytes], k: int, part: int, parts: int) -> Codes:
    """The k-mers whose remainder by `parts` is `part`."""
    import numpy as np

    made = [np.empty(0, dtype=np.uint64)]
    for block in _blocks(sequences, k):
        found = codes(block, k)
        made.append(found if parts == 1 else found[found % np.uint64(parts) == part])
    return np.concatenate(made)


def codes(bases: bytes, k: int) -> Codes:
    """The k-mers of capital letters, each as the smaller number of its two strands.

    Those with a letter other than A, C, G and T are left out.
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
    whole: Codes = smaller[before[k:] == before[:-k]]
    return whole


def _joined(letters: Codes, k: int, *, turned: bool) -> Codes:
    """Every k letters as one number, the first one highest, or lowest when `turned`.

    Made of two halves, and a last letter where k is odd.
    """
    if k == 1:
        return letters
    half = _joined(letters, k // 2, turned=turned)
    both = _beside(half, half[k // 2 :], (k // 2, k // 2), turned)
    return _beside(both, letters[k - 1 :], (k - 1, 1), turned) if k % 2 else both


def _beside(left: Codes, right: Codes, lengths: tuple[int, int], turned: bool) -> Codes:
    """Stretches and those that follow them, of `lengths` letters, as one number each."""
    import numpy as np

    high, low, behind = left[: right.size], right, lengths[1]
    if turned:
        high, low, behind = low, high, lengths[0]
    both: Codes = (high << np.uint64(2 * behind)) | low
    return both


def _blocks(sequences: Iterable[bytes], k: int) -> Iterator[bytes]:
    """Sequences with an N between two, in blocks that share k - 1 bases where one is cut."""
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
