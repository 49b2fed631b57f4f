"""Order-free digests of answers.

The digest of a table is that of its column names, the number of its rows and the sum of the digests
of its rows, modulo 2^128: rows count as often as they occur, in any order. The columns of a table
with names are taken in the order of their names. A table whose rows have places has the place of
each row in front of its cells.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuesta.programs.answers import formats
from cuesta.programs.answers.cells import Row, encoded, shown
from cuesta.programs.answers.rules import IN_ORDER, Rules
from cuesta.programs.answers.tables import Form, Table, UnreadableAnswer, aligned

_MODULUS = 1 << 128
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Summary:
    """An answer in short: its digest and what it consists of; no columns for plain bytes.

    `exact_digest` is that of the columns without a tolerance, so that equal answers share it.
    """

    digest: str
    size_bytes: int
    exact_digest: str = ""
    columns: tuple[str, ...] = ()
    rows: int | None = None
    is_ordered: bool = False


def summary(answer: Path, form: Form, rules: Rules) -> Summary:
    """Digest an answer and check its keys. Errors: `UnreadableAnswer`."""
    files = formats.files_of(answer)
    size_bytes = sum(file.stat().st_size for file in files)
    if form.kind == formats.BYTES:
        digest = _digest_of_bytes(answer, files)
        return Summary(digest=digest, size_bytes=size_bytes, exact_digest=digest)
    table = formats.read(answer, form)
    check_columns(table, rules)
    ordered = is_ordered(table, rules)
    digest, count = digest_of(table, ordered=ordered, key=rules.key)
    return Summary(
        digest=digest,
        size_bytes=size_bytes,
        exact_digest=_exact_digest(table, digest, rules, ordered=ordered),
        columns=table.columns,
        rows=count,
        is_ordered=ordered,
    )


def _exact_digest(table: Table, digest: str, rules: Rules, *, ordered: bool) -> str:
    """The digest of the columns without a tolerance; `digest` is that of all columns."""
    if not rules.tolerances:
        return digest
    names = [name for name in table.columns if name not in rules.tolerances]
    rows = aligned(table, names)
    exact = Table(
        columns=tuple(names), is_named=table.is_named, is_ordered=table.is_ordered, rows=rows
    )
    return digest_of(exact, ordered=ordered)[0]


def is_ordered(table: Table, rules: Rules) -> bool:
    """Whether the places of rows count."""
    return rules.order == IN_ORDER if rules.order else table.is_ordered and not rules.key


def check_columns(table: Table, rules: Rules) -> None:
    """Refuse keys and tolerances of columns that do not exist. Errors: `UnreadableAnswer`."""
    for option, names in (("--key", rules.key), ("--tolerance", tuple(rules.tolerances))):
        for name in names:
            if name not in table.columns:
                columns = ", ".join(table.columns[:20])
                raise UnreadableAnswer(
                    f"its answer has no column {name!r} for {option}; it has {columns}"
                )


def digest_of(table: Table, *, ordered: bool, key: Sequence[str] = ()) -> tuple[str, int]:
    """The digest of a table and the number of its rows.

    Errors: `UnreadableAnswer`, also where two rows have the same `key`.
    """
    columns = sorted(table.columns) if table.is_named else list(table.columns)
    places = [columns.index(name) for name in key]
    keys: set[bytes] = set()
    total, count = 0, 0
    for row in aligned(table, columns)():
        text = "".join(map(encoded, row))
        if ordered:
            text = f"{count}:{text}"
        total += int.from_bytes(_hash(text), "big")
        count += 1
        if places:
            _check_key(row, places, key, keys)
    names = [encoded(name) for name in columns] if table.is_named else [f"{len(columns)} columns"]
    text = f"{''.join(names)}|{count}|{total % _MODULUS}"
    return _hash(text).hex(), count


def _check_key(row: Row, places: Sequence[int], key: Sequence[str], keys: set[bytes]) -> None:
    hashed = _hash("".join(encoded(row[place]) for place in places))
    if hashed in keys:
        cells = ", ".join(
            f"{name} = {shown(row[place])}" for name, place in zip(key, places, strict=True)
        )
        raise UnreadableAnswer(
            f"two rows of its answer have the key {cells}; give --key columns that differ in "
            "every row"
        )
    keys.add(hashed)


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _digest_of_bytes(answer: Path, files: Sequence[Path]) -> str:
    state = hashlib.blake2b(digest_size=16)
    for file in files:
        if file != answer:
            state.update(encoded(str(file.relative_to(answer))).encode("utf-8", "surrogateescape"))
        for chunk in _chunks(file):
            state.update(chunk)
    return state.hexdigest()


def _chunks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            yield chunk
