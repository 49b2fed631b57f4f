"""`join`: two versions matched by their dimensions.

Both arrays are read in the order of the coordinates, slab by slab: their sorted keys are merged up
to the last key that both have reached; later rows wait for the next slab. So a gene with any number
of rows takes bounded memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuesta.engines.array.filters import Filter
from cuesta.engines.array.keys import Keys, row_keys, split_keys
from cuesta.engines.array.runs import FILE_READ, Run
from cuesta.engines.array.sizes import CHUNK_ROWS
from cuesta.engines.array.store import DIMENSIONS, Batch
from cuesta.engines.array.table import Lines
from cuesta.errors import InputError

PAIRS_FILE = "pairs.tsv"
HEADER = b"gene1\tgene2\tcluster\tside\tscore_a\tscore_b\tdifference\n"
SIDES = (b"both", b"left", b"right")

Scores = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class Slab:
    """Sorted rows of one version."""

    keys: Keys
    scores: Scores

    def until(self, place: int) -> tuple[Slab, Slab]:
        """Split the rows at index `place`."""
        before = Slab(keys=self.keys[:place], scores=self.scores[:place])
        return before, Slab(keys=self.keys[place:], scores=self.scores[place:])


@dataclass(frozen=True, kw_only=True)
class Joined:
    """Sorted rows of the answer; `side` indexes `SIDES`, an absent score is 0."""

    keys: Keys
    side: NDArray[np.int8]
    left: Scores
    right: Scores


EMPTY = Slab(keys=np.empty(0, np.uint64), scores=np.empty(0, np.int32))


def run(run: Run) -> None:
    """Merge the versions, and write the answer file."""
    how = str(run.trial.parameters.get("how") or "inner")
    columns = (*DIMENSIONS, run.filter.score)
    tally = np.zeros(3, np.int64)
    with (
        run.clock.timed("join", FILE_READ) as measure,
        run.session(run.sizes.narrow),
        (run.output / PAIRS_FILE).open("wb") as file,
    ):
        versions = [
            slabs(run.sorted_batches(loaded, columns), run.filter, name)
            for loaded, name in zip(run.arrays, "ab", strict=True)
        ]
        row_counts = [0, 0]
        file.write(HEADER)
        for left, right in aligned(*versions):
            row_counts = [row_counts[0] + len(left.keys), row_counts[1] + len(right.keys)]
            rows = merge(left, right, how)
            tally += np.bincount(rows.side, minlength=3)
            for start in range(0, len(rows.keys), CHUNK_ROWS):
                file.write(lines(rows, slice(start, start + CHUNK_ROWS)))
        measure.bytes = sum(run.stored_bytes(loaded, columns) for loaded in run.arrays)
        measure.rows = sum(loaded.facts.rows for loaded in run.arrays)
        run.counts["answer_bytes"] = file.tell()
    run.counts["rows_kept"] = sum(row_counts)
    for name, count in zip(("both", "left_only", "right_only"), tally, strict=True):
        run.counts[name] = int(count)


def slabs(batches: Iterator[Batch], row_filter: Filter, version: str) -> Iterator[Slab]:
    """Yield sorted rows, slab by slab. Errors: `InputError` for a duplicate row."""
    last: Keys = EMPTY.keys
    for batch in batches:
        keys = row_keys(batch)
        if not len(keys):
            continue
        chain = np.concatenate([last, keys])
        repeated = np.flatnonzero(chain[1:] == chain[:-1])
        if len(repeated):
            gene1, gene2, cluster = split_keys(chain[repeated[:1]])
            raise InputError(
                f"join: version {version} has gene pair {gene1[0]} {gene2[0]} cluster "
                f"{cluster[0]} twice; remove one of them"
            )
        last = keys[-1:]
        yield Slab(keys=keys, scores=batch[row_filter.score])


def aligned(left: Iterator[Slab], right: Iterator[Slab]) -> Iterator[tuple[Slab, Slab]]:
    """Yield pairs of slabs that end at the same key, from slabs with any ends."""
    streams = (left, right)
    pending = [EMPTY, EMPTY]
    while True:
        ended = [False, False]
        for version, stream in enumerate(streams):
            if not len(pending[version].keys):
                pending[version] = next(stream, EMPTY)
                ended[version] = pending[version] is EMPTY
        if all(ended):
            return
        lasts = [slab.keys[-1] for slab in pending if len(slab.keys)]
        end = min(lasts)
        places = [int(np.searchsorted(slab.keys, end, side="right")) for slab in pending]
        (before_left, pending[0]), (before_right, pending[1]) = (
            slab.until(place) for slab, place in zip(pending, places, strict=True)
        )
        yield before_left, before_right


def merge(left: Slab, right: Slab, how: str) -> Joined:
    """Match sorted rows without duplicate keys: `inner`, `left` or `outer`."""
    places = np.searchsorted(right.keys, left.keys)
    inside = np.minimum(places, max(len(right.keys) - 1, 0))
    matched = np.zeros(len(left.keys), np.bool_)
    if len(right.keys):
        matched = right.keys[inside] == left.keys
    score_b = np.zeros(len(left.keys), np.int32)
    score_b[matched] = right.scores[inside[matched]]
    side = np.where(matched, 0, 1).astype(np.int8)
    if how == "inner":
        return Joined(
            keys=left.keys[matched],
            side=side[matched],
            left=left.scores[matched],
            right=score_b[matched],
        )
    rows = Joined(keys=left.keys, side=side, left=left.scores, right=score_b)
    return rows if how == "left" else _with_rest(rows, right, inside[matched])


def _with_rest(rows: Joined, right: Slab, matched: NDArray[Any]) -> Joined:
    """Add the rows of `right` without a match, in order."""
    alone = np.ones(len(right.keys), np.bool_)
    alone[matched] = False
    keys = np.concatenate([rows.keys, right.keys[alone]])
    # Two sorted runs: a stable sort merges them.
    order = np.argsort(keys, kind="stable")
    count = len(keys) - len(rows.keys)
    return Joined(
        keys=keys[order],
        side=np.concatenate([rows.side, np.full(count, 2, np.int8)])[order],
        left=np.concatenate([rows.left, np.zeros(count, np.int32)])[order],
        right=np.concatenate([rows.right, right.scores[alone]])[order],
    )


def lines(rows: Joined, part: slice) -> bytes:
    """Format some rows of the answer."""
    keys, side = rows.keys[part], rows.side[part]
    left, right = rows.left[part].astype(np.int64), rows.right[part].astype(np.int64)
    output = Lines(len(keys))
    for number in split_keys(keys):
        output.integers(number)
        output.text(b"\t")
    output.words(SIDES, side)
    output.text(b"\t")
    output.scores(left, side != 2)
    output.text(b"\t")
    output.scores(right, side != 1)
    output.text(b"\t")
    output.scores(right - left, side == 0)
    output.text(b"\n")
    return output.finish()
