"""Files of any origin become the same kind of matrix; damage is a single line with its place."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from cuesta.data.convert import convert
from cuesta.errors import InputError

SERIES = """!Series_title "x"
!series_matrix_table_begin
"ID_REF"\t"GSM1"\t"GSM2"
"1007_s_at"\t1.5\tnull
"117_at"\t\t2
!series_matrix_table_end
"""
GCT = "#1.2\n2\t2\nName\tDescription\tA\tB\nE1\tg one\t0\t1.25\nE2\tg two\tNaN\t3\n"


def converted(tmp_path: Path, how: str, contents: Sequence[bytes | str]) -> str:
    parts = []
    for index, content in enumerate(contents):
        part = tmp_path / f"part{index}"
        part.write_bytes(content.encode() if isinstance(content, str) else content)
        parts.append(part)
    genes, samples = convert(how, parts, tmp_path / "out")
    text = (tmp_path / "out").read_text()
    lines = text.splitlines()
    assert (genes, samples) == (len(lines) - 1, len(lines[0].split("\t")))
    return text


def npy(tmp_path: Path, values: np.ndarray) -> bytes:
    np.save(tmp_path / "a.npy", values)
    return (tmp_path / "a.npy").read_bytes()


@pytest.mark.parametrize("content", [GCT.encode(), gzip.compress(GCT.encode(), mtime=0)])
def test_a_gct_file_loses_its_description_column(tmp_path: Path, content: bytes) -> None:
    text = converted(tmp_path, "gct", [content])
    assert text == "A\tB\nE1\t0\t1.25\nE2\tNA\t3\n"


def test_a_series_matrix_is_the_table_between_its_marks(tmp_path: Path) -> None:
    text = converted(tmp_path, "series-matrix", [SERIES.replace("\n", "\r\n")])
    assert text == "GSM1\tGSM2\n1007_s_at\t1.5\tNA\n117_at\tNA\t2\n"


def test_samples_in_rows_become_columns_with_numbered_labels(tmp_path: Path) -> None:
    values = npy(tmp_path, np.array([[0.1, 2.0, 3.0], [4.0, 1e-7, 6.0]]))
    text = converted(tmp_path, "nci60", [values, 'label\n"CNS"\n"CNS"\n'])
    assert text == "CNS.1\tCNS.2\ng1\t0.1\t4.0\ng2\t2.0\t1e-07\ng3\t3.0\t6.0\n"


def test_training_and_test_sets_stand_side_by_side(tmp_path: Path) -> None:
    train, test = '"V1","V2"\n1,2\n3,4\n', '"V1","V2"\n5,6\n'
    text = converted(tmp_path, "khan", [train, '"x"\n2\n1\n', test, '"x"\n3\n'])
    assert text == "train1.class2\ttrain2.class1\ttest1.class3\ng1\t1\t3\t5\ng2\t2\t4\t6\n"


@pytest.mark.parametrize(
    ("how", "content", "message"),
    [
        ("gct", "#1.2\n2\t2\nName\tDescription\tA\tB\nE1\tx\t0\n", "row 1 .* has 1 values"),
        ("gct", "Name\n", "does not begin like a GCT file"),
        ("series-matrix", "x\n", "holds no !series_matrix_table_begin"),
        ("gct", gzip.compress(GCT.encode(), mtime=0)[:-12], "is damaged"),
        ("gct", b"#1.2\n\xff\xfe", "is damaged"),
        ("nci60", b"PK", "not a NumPy file"),
    ],
)
def test_damage_is_reported_in_a_single_line(
    tmp_path: Path, how: str, content: bytes | str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        converted(tmp_path, how, [content, "label\n"])
    assert "\n" not in str(caught.value)


def test_a_truncated_numpy_file_is_detected(tmp_path: Path) -> None:
    content = npy(tmp_path, np.zeros((2, 3)))[:-8]
    with pytest.raises(InputError, match="cut short"):
        converted(tmp_path, "nci60", [content, "label\na\nb\n"])


def test_a_numpy_file_of_another_type_is_refused(tmp_path: Path) -> None:
    content = npy(tmp_path, np.zeros((2, 3), dtype=np.float32))
    with pytest.raises(InputError, match="no matrix of f64"):
        converted(tmp_path, "nci60", [content, "label\na\nb\n"])
