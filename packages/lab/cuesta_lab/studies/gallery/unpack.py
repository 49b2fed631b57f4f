"""Unpack a file of gzip: `unpack.py TOOL INPUT ANSWER`."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import copyfileobj

CHUNK_BYTES = 1 << 20


def with_python(packed: str, answer: str) -> None:
    """Unpack with the standard library."""
    import gzip

    with gzip.open(packed) as stream, Path(answer).open("wb") as written:
        copyfileobj(stream, written, CHUNK_BYTES)


def with_isal(packed: str, answer: str) -> None:
    """Unpack with ISA-L."""
    from isal import igzip

    with igzip.open(packed) as stream, Path(answer).open("wb") as written:
        copyfileobj(stream, written, CHUNK_BYTES)


def with_zlib_ng(packed: str, answer: str) -> None:
    """Unpack with zlib-ng."""
    from zlib_ng import gzip_ng

    with gzip_ng.open(packed) as stream, Path(answer).open("wb") as written:
        copyfileobj(stream, written, CHUNK_BYTES)


TOOLS = {"python": with_python, "isal": with_isal, "zlib-ng": with_zlib_ng}

if __name__ == "__main__":
    TOOLS[sys.argv[1]](sys.argv[2], sys.argv[3])
