"""Remarks on an empty answer, and on inputs that were skipped."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import IO

from cuesta.trial import is_remote
from cuesta.workloads.assembly import mates, trimming
from cuesta.workloads.assembly.files import Files

_BGZIP_HEADER = b"\x1f\x8b\x08\x04"
_BGZIP_EXTRA = b"\x06\x00BC\x02\x00"
_END_MARK = b"\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff\x06\x00BC\x02\x00\x1b\x00\x03"
"""The empty block at the end of a file of bgzip, without its final zeros."""
_OPENERS: Mapping[bytes, Callable[[str], IO[bytes]]] = {
    b"\x1f\x8b": gzip.open,  # type: ignore[dict-item]
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}

_NAMES_IN_TURN = 4
"""Names that show whether the reads of a file are pairs in turn."""
_FILES_COMPARED = 32
"""Files of single reads that are compared with each other."""
_NAMES_BYTES = 64 << 10
"""Bytes of text in which the first names of reads are searched."""


def reason(folder: Path) -> str:
    """Return why there is no contig; empty if there is one, or the reason is unknown."""
    try:
        return _reason(Files(folder, 0))
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def _reason(answer: Files) -> str:
    stats = answer.stats
    if stats["contigs"]:
        return ""
    first = stats["levels"][0]
    k, min_count = first["k"], first["min_count"]
    if not first["distinct"]:
        return f"no contig: no read has {k} known bases in a row; give a smaller -k"
    if not first["solid"]:
        if max(answer.spectrum) == 1:
            return (
                f"no contig: every {k}-mer occurs once; are these assembled sequences? Give the "
                "reads, or --min-count 1"
            )
        return (
            f"no contig: no {k}-mer occurs {min_count} times; give more reads, or a smaller "
            "--min-count"
        )
    longest = max(answer.graph.lengths, default=0)
    if not longest:
        if trimming.is_half(answer):
            return (
                f"no contig: trimming left little of the reads ({trimming.text(answer)}); "
                "--trim none takes them as they are"
            )
        return "no contig: all paths look like errors; --profile none removes nothing"
    least = stats["min_contig"]
    return (
        f"no contig of at least {least:,} bases: the longest has {longest:,}; graph.gfa has all, "
        "and --min-contig may be smaller"
    )


def of_pairs(paths: Sequence[str], parameters: Mapping[str, object]) -> Iterator[str]:
    """Yield a sentence about each file of interleaved pairs whose names only count the reads."""
    if not parameters.get("interleaved") or parameters.get("unchecked_mates"):
        return
    singles = parameters.get("singles")
    count = len(paths) - (singles if isinstance(singles, int) else 0)
    for path in paths[:count]:
        if is_remote(path):
            continue
        try:
            names = _first_names(path)[:_NAMES_IN_TURN]
        except (OSError, EOFError, lzma.LZMAError, zlib.error):
            continue
        pairs = list(zip(names[::2], names[1::2], strict=False))
        if not pairs or mates.are_pairs(pairs) or not mates.are_consecutive(*pairs[-1]):
            continue
        first, second = map(_shown, pairs[-1])
        yield (
            f"{path}: names only count the reads ({first}, {second}), so that no name shows "
            "which are a pair; each two in turn were taken for a pair"
        )


def of_singles(paths: Sequence[str], parameters: Mapping[str, object]) -> Iterator[str]:
    """Yield a sentence about files of single reads that are pairs by the names of their reads."""
    count = len(paths)
    if parameters.get("pairs") or parameters.get("interleaved"):
        singles = parameters.get("singles")
        count = singles if isinstance(singles, int) else 0
    files: list[tuple[str, list[mates.ReadName]]] = []
    for path in paths[len(paths) - count :][:_FILES_COMPARED]:
        if is_remote(path):
            continue
        try:
            names = _first_names(path)
        except (OSError, EOFError, lzma.LZMAError, zlib.error):
            continue
        if mates.are_in_turn(names[:_NAMES_IN_TURN]):
            yield (
                f"{path}: its reads are first and second reads of pairs in turn "
                f"({_shown(names[0])}, {_shown(names[1])}), assembled as single reads; give "
                "--interleaved, and contigs get longer"
            )
        else:
            files.append((path, names))
    for (first, names1), (second, names2) in permutations(files, 2):
        if mates.are_paired_files((first, names1), (second, names2)):
            yield (
                f"{first} and {second}: their reads are first and second reads of pairs "
                f"({_shown(names1[0])}, {_shown(names2[0])}), assembled as single reads; give -1 "
                f"{first} -2 {second}, and contigs get longer"
            )


def _shown(name: mates.ReadName) -> str:
    return name.text.decode(errors="replace")


def _first_names(path: str) -> list[mates.ReadName]:
    """Return the names of reads at the beginning of a file, an even number of them."""
    if not os.path.isfile(path):  # noqa: PTH113
        return []
    with open(path, "rb") as file:  # noqa: PTH123
        start = file.read(6)
    opener = next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), None)
    with opener(path) if opener else open(path, "rb") as text:  # noqa: PTH123
        lines = text.read(_NAMES_BYTES).removeprefix(b"\xef\xbb\xbf").splitlines()
    if not lines or lines[0][:1] not in (b">", b"@"):
        return []
    if lines[0].startswith(b">"):
        lines = [line for line in lines if line.startswith(b">")]
    else:
        lines = lines[::4]
    names = [mates.parsed(line[1:]) for line in lines if line[1:].split()]
    return names[: len(names) // 2 * 2]


def of_inputs(paths: Iterable[str]) -> Iterator[str]:
    """Yield a sentence about each input of this machine that is empty or may be cut short."""
    for path in paths:
        if is_remote(path):
            continue
        try:
            remark = _of_file(path)
        except (OSError, EOFError, lzma.LZMAError):
            continue
        if remark:
            yield f"{path} {remark}"


def _of_file(path: str) -> str:
    if not os.path.isfile(path):  # noqa: PTH113
        return ""
    with open(path, "rb") as file:  # noqa: PTH123
        start = file.read(18)
        file.seek(-min(os.fstat(file.fileno()).st_size, 1 << 16), os.SEEK_END)
        end = file.read()
    opener = next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), None)
    if not start:
        return "is empty, and was passed over"
    if opener:
        with opener(path) as text:
            if not text.read(1):
                return "holds nothing, and was passed over"
    is_bgzip = start.startswith(_BGZIP_HEADER) and start[10:16] == _BGZIP_EXTRA
    if is_bgzip and not end.rstrip(b"\0").endswith(_END_MARK):
        return "has no end mark of bgzip: it may be cut short"
    return ""
