"""Tables of text are read right in any notation, or refused in a single line; never misread."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import lzma
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cuesta import _native
from cuesta.errors import InputError
from tablekit import DELIMITERS, NUMBERS, Notation, notations

WORDS = {value: word for word, value in DELIMITERS.items()}

quick = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def request(path: Path, parameters: Mapping[str, object]) -> str:
    """Return a request that writes into the folder of the input."""
    out = path.parent / "out"
    out.mkdir(exist_ok=True)
    return json.dumps(
        {
            "inputs": [str(path)], "parameters": dict(parameters), "output": str(out),
            "threads": 2, "memory_bytes": 1 << 28, "scratch": str(path.parent),
        }
    )  # fmt: skip


def points(path: Path, **options: object) -> np.ndarray:
    """Return the points that `kmeans` reads, as it writes them to scratch."""
    _native.run("kmeans", request(path, {"clusters": 1, **options}))
    points_read: np.ndarray = np.load(path.parent / "points-0.npy")
    return points_read


def matrix(path: Path, **options: object) -> tuple[list[str], list[tuple[int, int, str]]]:
    """Return the gene names that `correlate` reads, and its pairs with their scores."""
    _native.run("correlate", request(path, {"min_samples": 2, **options}))
    rows = (path.parent / "out" / "pairs.txt").read_text().splitlines()
    names = (path.parent / "out" / "genes.tsv").read_text().splitlines()[1:]
    cells = [row.split("\t") for row in rows]
    return [name.split("\t")[1] for name in names], [(int(c[0]), int(c[1]), c[9]) for c in cells]


def by_pandas(data: bytes, notation: Notation) -> pd.DataFrame:
    """Read a table with explicit parameters."""
    text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    header = None if notation.header == "absent" else 0
    frame = pd.read_csv(
        io.StringIO(text), sep=notation.delimiter, decimal=notation.decimal, header=header,
        index_col=False,
    )  # fmt: skip
    return frame.dropna(axis="columns", how="all")


@quick
@given(
    notation=notations(("label", "absent")),
    rows=st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(NUMBERS, min_size=width, max_size=width), min_size=2, max_size=8
        )
    ),
)
def test_points_in_any_notation_are_read_right_or_refused(
    tmp_path: Path, notation: Notation, rows: list[list[float]]
) -> None:
    assume(all(abs(value) < 1e150 for row in rows for value in row))
    names = [notation.text(f"dim{number}") for number in range(len(rows[0]))]
    lines = [names] if notation.header == "label" else []
    lines += [[notation.number(value) for value in row] for row in rows]
    path = tmp_path / "p.txt"
    path.write_bytes(data := notation.file(lines))
    try:
        values = points(path)
    except InputError:
        options: dict[str, object] = {
            "decimal": "comma" if notation.decimal == "," else "point",
            "header": "present" if notation.header == "label" else "absent",
            "columns": f"1-{len(rows[0])}",
        }
        if len(rows[0]) > 1 or notation.trailing:
            options["delimiter"] = WORDS[notation.delimiter]
        values = points(path, **options)
    assert values.tolist() == rows, data
    if len(rows[0]) > 1:
        assert values.tolist() == by_pandas(data, notation).to_numpy(dtype=float).tolist()


@quick
@given(
    notation=notations(("label", "short", "blank")),
    samples=st.integers(3, 6),
    data=st.data(),
    missing=st.booleans(),
)
def test_matrices_in_any_notation_are_read_right_or_refused(
    tmp_path: Path, notation: Notation, samples: int, data: st.DataObject, missing: bool
) -> None:
    row = st.lists(NUMBERS, min_size=samples, max_size=samples)
    rows = data.draw(st.lists(row, min_size=2, max_size=6))
    plain = Notation(
        delimiter="\t", decimal=".", quotes=False, header="label", end="\n", mark=False, trailing=0
    )
    path, canonical = tmp_path / "m.txt", tmp_path / "c.txt"
    path.write_bytes(text := as_matrix(notation, rows, missing=missing))
    canonical.write_bytes(as_matrix(plain, rows, missing=missing))
    expected = matrix(canonical)
    try:
        values = matrix(path)
    except InputError:
        assume(notation.trailing != 1 or notation.header != "short")
        decimal = "comma" if notation.decimal == "," else "point"
        values = matrix(
            path, decimal=decimal, delimiter=WORDS[notation.delimiter], header="present"
        )
    assert values == expected, text


def as_matrix(notation: Notation, rows: list[list[float]], *, missing: bool) -> bytes:
    """Write a matrix, optionally with a missing value."""
    names = [notation.text(f"s{number}") for number in range(len(rows[0]))]
    label = {"label": [notation.text("gene")], "blank": [notation.text("")], "short": []}
    if notation.header == "blank" and notation.delimiter == " ":
        label["blank"] = ['""']
    lines = [[*label[notation.header], *names]]
    for gene, row in enumerate(rows):
        fields = [notation.number(value) for value in row]
        if missing and gene == 1:
            fields[1] = "NA"
        lines.append([notation.text(f"g{gene}"), *fields])
    return notation.file(lines)


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("1,5;2,25\n3;4\n", {}, [[1.5, 2.25], [3, 4]]),
        ("1,5 2,25\n3 4\n", {}, [[1.5, 2.25], [3, 4]]),
        ("1.5,2,\n3,4,\n", {}, [[1.5, 2], [3, 4]]),
        ("x,y\n1,5\n2,6\n", {}, [[1, 5], [2, 6]]),
        (",x,y\n0,1.5,2\n1,3,4\n", {}, [[1.5, 2], [3, 4]]),
        ("Unnamed: 0,x\n0,1.5\n1,3.5\n", {}, [[1.5], [3.5]]),
        ("name\tx\ty\na\t1\t2\nb\t3\t4\n", {}, [[1, 2], [3, 4]]),
        ("x y\n1 2 3\n2 4 5\n", {}, [[2, 3], [4, 5]]),
        ("\ufeff1.5;2\n3;4\n", {}, [[1.5, 2], [3, 4]]),
        ("1.5,2\r3,4\r", {}, [[1.5, 2], [3, 4]]),
        ("1.5,2\n,\n3,4\n,\n", {}, [[1.5, 2], [3, 4]]),
        ("# note\n1 2.5\n\n3 4\n", {}, [[1, 2.5], [3, 4]]),
        ('"1,5","2,5"\n"3","4,5"\n', {}, [[1.5, 2.5], [3, 4.5]]),
        ("1,5\n2,25\n", {"decimal": "comma"}, [[1.5], [2.25]]),
        ("1,5\n2,25\n", {"delimiter": "comma"}, [[1, 5], [2, 25]]),
        ("0,1\n.5,.25\n", {"header": "absent"}, [[0, 1], [0.5, 0.25]]),
        ("0,1\n.5,.25\n", {"header": "present"}, [[0.5, 0.25]]),
        ("id,x,k\n1,.5,a\n2,.25,b\n", {"columns": "x"}, [[0.5], [0.25]]),
    ],
)
def test_points_of_other_programs(
    tmp_path: Path, text: str, options: dict[str, object], expected: list[list[float]]
) -> None:
    path = tmp_path / "p.txt"
    path.write_bytes(text.encode())
    assert points(path, **options).tolist() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,5\n2,25\n", "may hold 2 numbers separated by commas or 1 number with a decimal comma"),
        ("0,1,2\n.5,.25,3\n", "may be a header of numbers, or a point"),
        ("1,,3\n4,5,6\n", "line 1 of"),
        ("4,5,6\n1,,3\n7,8,9\n", "empty field 2"),
        ("1;2\n3;4\n1,5;2\n5.5;6\n", "no number"),
        ("id,x\n1,.5\n2,.25\n", "numbers that count the lines, or coordinates"),
        ("x,y,kind\n1,2,a\n3,4,b\n", "holds text"),
        ("1\t2\n3 4\n5\t6\n", "line 2 of"),
        ("1,234\t5,678\n2,345\t6,789\n", "--decimal comma"),
    ],
)
def test_points_that_can_be_read_twice_are_refused(
    tmp_path: Path, text: str, expected: str
) -> None:
    path = tmp_path / "p.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=expected):
        points(path)


def values(rows: int, columns: int) -> list[list[str]]:
    """Return numbers as text."""
    draw = np.random.default_rng(5).normal(8, 2, (rows, columns))
    return [[f"{value:.3f}" for value in row] for row in draw]


def lines(*rows: list[str]) -> str:
    """Join rows to text with tabs."""
    return "".join("\t".join(row) + "\n" for row in rows)


def forms() -> dict[str, str]:
    """Return a matrix of three genes and four samples in the forms of many programs."""
    cells, samples = values(3, 4), ["s1", "s2", "s3", "s4"]
    named = [[f"g{gene}", *row] for gene, row in enumerate(cells)]
    described = [[row[0], "text, more", *row[1:]] for row in named]
    gct = lines(["Name", "Description", *samples], *described)
    about = lines(["id", "symbol", "kind", *samples], ["group", "na", "na", "a", "a", "b", "b"])
    wide = lines(*([row[0], "x", "y", *row[1:]] for row in named))
    series = lines(['"ID_REF"', *(f'"{name}"' for name in samples)], *named)
    quoted = "".join(" ".join([f'"{row[0]}"', *row[1:]]) + "\n" for row in named)
    turned = list(zip(*named, strict=True))
    counted = lines(["", "gene", *samples], *([str(at), *row] for at, row in enumerate(named)))
    return {
        "tsv": lines(["gene", *samples], *named),
        "short": lines(samples, *named),
        "R": " ".join(f'"{name}"' for name in samples) + "\n" + quoted,
        "csv2": lines(["", *samples], *named).replace(".", ",").replace("\t", ";"),
        "comments": "# by a program\n" + lines(["Geneid", *samples], *named),
        "hash": lines(["#gene", *samples], *named),
        "gct2": "#1.2\n3\t4\n" + gct,
        "gct2 of a spreadsheet": "#1.2\t\t\t\t\t\n3\t4\t\t\t\t\n" + gct,
        "gct3": "#1.3\n3\t4\t2\t1\n" + about + wide,
        "series": f'!Series_title\t"x"\n\n!series_matrix_table_begin\n{series}'
                  "!series_matrix_table_end\n",
        "returns": lines(["gene", *samples], *named).replace("\n", "\r"),
        "trailing": lines(["gene", *samples, ""], *([*row, ""] for row in named)),
        "trailing rows": lines(["gene", *samples], *([*row, ""] for row in named)),
        "blank rows": lines(["gene", *samples], *named, [""] * 5),
        "index": counted,
        "turned": lines(["sample", *turned[0]],
                        *([name, *row] for name, row in zip(samples, turned[1:], strict=True))),
    }  # fmt: skip


@pytest.mark.parametrize("form", sorted(forms()))
def test_a_matrix_in_the_form_of_any_program_is_the_same(tmp_path: Path, form: str) -> None:
    written = forms()
    (tmp_path / "plain.tsv").write_text(written["tsv"])
    path = tmp_path / "m.txt"
    path.write_bytes(written[form].encode())
    options = {"transpose": True} if form == "turned" else {}
    assert matrix(path, **options) == matrix(tmp_path / "plain.tsv")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#1.2\n9\t4\n" + forms()["gct2"].split("\n", 2)[2], "has 3 rows, its second line says 9"),
        (forms()["series"].replace("!series_matrix_table_end\n", ""), "was cut short"),
        ("!Series_title\t1\n!series_matrix_table_begin\nID_REF\ta\n!series_matrix_table_end\n",
         "without values"),
        ("a\ts1\ts2\ng\t1\t2\t\nh\t3\t4\t\n", "nothing behind the last field"),
        ("g\tChr\ts1\na\tchr1\t1.5\nb\tchr2\t2.5\n", "--columns"),
        ("g\tLength\ts1\na\t100\t1.5\nb\t200\t2.5\n", "no sample by its name"),
        ("g\tEntrez_Gene_Id\ts1\na\t100\t1.5\nb\t7\t2.5\n", "no sample by its name"),
        ("g\ts1\ts2\na\t1,234\t5,678\nb\t2,345\t6,789\n", "between thousands"),
        ("g\ts1\ts2\na\t1\t2\nb\t1,5\t2.5\n", "decimal comma"),
        ("s1\na 1,5\nb 2,5\n", "give --delimiter"),
        ("^DATABASE = x\n", "SOFT"),
    ],
)  # fmt: skip
def test_a_matrix_that_is_doubtful_or_cut_is_refused(
    tmp_path: Path, text: str, expected: str
) -> None:
    path = tmp_path / "m.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=expected):
        matrix(path)


KINDS = {
    "h5ad": (b"\x89HDF\r\n\x1a\n", "HDF5"), "xlsx": (b"PK\x03\x04", "Excel"),
    "xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Excel"),
    "rds": (b"X\n\0\0\0\3", "R data"), "utf16": ("\ufeffg\ts1\n".encode("utf-16-le"), "UTF-16"),
    "html": (b"<!DOCTYPE html><html>", "HTML"), "feather": (b"ARROW1\0\0", "Arrow"),
    "zeros": (b"gene\ts1\na\t1\n\0\1\0", "zero byte"),
    "padded": (b"gene\ts1\na\t1\n\0\0\0", "contains NUL bytes; it was not written whole, copy"),
    "lzma": (lzma.compress(b"gene\ts1\n", lzma.FORMAT_ALONE), "xz --format=lzma -d"),
}  # fmt: skip


@pytest.mark.parametrize("workload", ["correlate", "kmeans", "communities"])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_files_of_another_kind_are_named(tmp_path: Path, workload: str, kind: str) -> None:
    start, expected = KINDS[kind]
    path = tmp_path / "x.txt"
    is_complete = kind in ("zeros", "padded", "utf16")
    path.write_bytes(start if is_complete else start + bytes(200))
    parameters = {"clusters": 1} if workload == "kmeans" else {}
    with pytest.raises(InputError, match=expected) as refusal:
        _native.run(workload, request(path, parameters))
    assert "\n" not in str(refusal.value)


def test_a_packed_array_is_to_be_unpacked_first(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    path = tmp_path / "x.npy.gz"
    path.write_bytes(gzip.compress((tmp_path / "x.npy").read_bytes()))
    with pytest.raises(InputError, match="a NumPy array, compressed by gzip; unpack it first"):
        points(path)


def test_recognised_layouts_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("sample;ENSG1;ENSG2;ENSG3\np1;1,5;2;3\np2;2,5;4;5\n")
    sentences = _native.recognised("correlate", request(path, {}))
    assert sentences[0].endswith(
        "2 genes in rows (p1, p2), 3 samples (ENSG1, ENSG2, ...), separated by semicolons, decimal "
        "commas, a header"
    )
    assert sentences[1].endswith(
        "its samples are named like genes (ENSG1, ENSG2, ...); if rows are samples, give "
        "--transpose"
    )
    assert len(_native.recognised("correlate", request(path, {"transpose": True}))) == 1


@quick
@given(text=st.text(st.sampled_from('ag1.,;\t\n\r "#-'), max_size=60))
def test_any_text_is_read_or_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(text.encode())
    for read in (points, matrix):
        with contextlib.suppress(InputError):
            read(path)
        assert path.read_bytes() == text.encode()
