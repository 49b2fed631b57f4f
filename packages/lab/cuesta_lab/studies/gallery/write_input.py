"""Write an input of the gallery: `write_input.py KIND ROWS FILE`, the same bytes each time."""

from __future__ import annotations

import gzip
import random
import sys
from collections.abc import Iterator
from pathlib import Path

GROUPS = 1000
SEED = 7


def groups(rows: int) -> Iterator[str]:
    """Rows of a group and a value."""
    draw = random.Random(SEED)
    yield "group,value\n"
    for _ in range(rows):
        yield f"g{draw.randrange(GROUPS)},{draw.randrange(1_000_000) / 100}\n"


def left(rows: int) -> Iterator[str]:
    """Rows with a key, of which some occur twice."""
    draw = random.Random(SEED)
    yield "key,a\n"
    for number in range(rows):
        yield f"{draw.randrange(2 * rows)},{number}\n"


def right(rows: int) -> Iterator[str]:
    """Every second key once, in random order."""
    keys = list(range(0, 2 * rows, 2))
    random.Random(SEED + 1).shuffle(keys)
    yield "key,b\n"
    for key in keys:
        yield f"{key},{key * 31 % 1009}\n"


def words(rows: int) -> Iterator[str]:
    """Lines of a random key of letters and a number."""
    draw = random.Random(SEED)
    letters = "abcdefghijklmnopqrstuvwxyz"
    for number in range(rows):
        yield f"{''.join(draw.choices(letters, k=12))} {number}\n"


def reads(rows: int) -> Iterator[str]:
    """Records of FASTQ."""
    draw = random.Random(SEED)
    for number in range(rows):
        bases = "".join(draw.choices("ACGT", k=100))
        yield f"@read{number}\n{bases}\n+\n{'I' * 90}{'F' * 10}\n"


KINDS = {"groups": groups, "left": left, "right": right, "words": words, "reads": reads}


def write(kind: str, rows: int, file: Path) -> None:
    """Write the rows; those of `reads` are compressed by gzip."""
    if kind == "reads":
        with file.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
            packed.writelines(line.encode() for line in reads(rows))
    else:
        with file.open("w", encoding="ascii", newline="") as stream:
            stream.writelines(KINDS[kind](rows))


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
