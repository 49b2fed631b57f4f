"""The first difference of files of no known format."""

from __future__ import annotations

from pathlib import Path

from cuesta.programs.answers.formats import files_of

_CHUNK_BYTES = 1 << 20
_SHOWN_BYTES = 24
_REMEDY = "; for rows in any order give --format csv, tsv, jsonl or lines"


def first_difference(answer: Path, reference: Path) -> str:
    """Return the first difference in words, empty if the bytes are equal.

    Errors: `UnreadableAnswer`.
    """
    files, expected = files_of(answer), files_of(reference)
    if len(files) != len(expected):
        return f"its answer has {len(files):,} files, the reference has {len(expected):,}"
    for file, partner in zip(files, expected, strict=True):
        names = [str(path.relative_to(top)) for path, top in
                 ((file, answer), (partner, reference))]  # fmt: skip
        if file != answer and names[0] != names[1]:
            return f"its answer has the file {names[0]}, the reference has {names[1]}"
        sentence = _of_files(file, partner)
        if sentence:
            return sentence
    return ""


def _of_files(file: Path, partner: Path) -> str:
    begin, line = 0, 1
    with file.open("rb") as first, partner.open("rb") as second:
        while True:
            chunks = first.read(_CHUNK_BYTES), second.read(_CHUNK_BYTES)
            if chunks[0] == chunks[1]:
                if not chunks[0]:
                    return ""
                line += chunks[0].count(b"\n")
                begin += len(chunks[0])
                continue
            least = min(map(len, chunks))
            at = next((i for i in range(least) if chunks[0][i] != chunks[1][i]), least)
            line += chunks[0][:at].count(b"\n")
            texts = [_shown(chunk[at : at + _SHOWN_BYTES]) for chunk in chunks]
            return (
                f"from byte {begin + at:,} on (line {line:,}) it has {texts[0]}, the reference "
                f"{texts[1]}{_REMEDY}"
            )


def _shown(content: bytes) -> str:
    if not content:
        return "no more bytes"
    try:
        return repr(content.decode())
    except UnicodeDecodeError:
        return content.hex(" ")
