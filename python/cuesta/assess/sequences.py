"""Reader of FASTA files, plain or gzipped."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path

from cuesta.errors import InputError, in_words
from cuesta.untrusted import open_regular

GZIP_MAGIC = b"\x1f\x8b"
GAP_MIN = 10
"""Least N in a row that form a gap, as in QUAST; fewer are unknown letters."""

_GAP = re.compile(b"N{%d,}" % GAP_MIN)
_SPACE = b" \t\r\n"
_LETTERS = b"ACGTUNRYSWKMBDHVacgtunryswkmbdhv-*."
"""Nucleotides, ambiguity codes, and gaps."""


def read(path: Path) -> dict[str, bytes]:
    """Read all sequences of a FASTA file by the first word of their heads, in capital letters.

    Errors: `InputError` if the file cannot be read, is damaged, is no FASTA of nucleotides, has
    no bases, or has a name twice.
    """
    text = _text(path)
    if not text.strip():
        raise InputError(f"{path} is empty; obtain it again")
    if not text.lstrip().startswith(b">"):
        raise InputError(f"{path}: not FASTA, it does not begin with '>'; give a FASTA file")
    sequences: dict[str, bytes] = {}
    for record in text.lstrip()[1:].split(b"\n>"):
        head, _, body = record.partition(b"\n")
        name = (head.split() or [b""])[0].decode("utf-8", "replace")
        bases = body.translate(None, _SPACE)
        wrong = bases.translate(None, _LETTERS)
        if wrong:
            letter = chr(wrong[0])
            raise InputError(
                f"{path}: sequence {name!r}: {letter!r} is no nucleotide; give a genome, no "
                "proteins"
            )
        if name in sequences:
            raise InputError(f"{path}: two sequences are called {name!r}; give each its own name")
        if bases:
            sequences[name] = bases.upper()
    if not sequences:
        raise InputError(f"{path} has no bases; obtain it again")
    return sequences


def circles(path: Path) -> set[str]:
    """Names of the sequences of a file whose heads mark them as circular."""
    with path.open("rb") as file:
        heads = (line.split() for line in file if line.startswith(b">"))
        return {head[0][1:].decode() for head in heads if head[-1] == b"circular=true"}


def gaps(bases: bytes) -> list[tuple[int, int]]:
    """Begin and end of runs of at least `GAP_MIN` N, 0-based and half open."""
    return [match.span() for match in _GAP.finditer(bases)]


def _text(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            text = file.read()
        return gzip.decompress(text) if text.startswith(GZIP_MAGIC) else text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: damaged ({str(error).lower()}); obtain it again") from None
    except OSError as error:
        raise InputError(f"{path}: {in_words(error)}") from None
