"""Tables in any compression give the answers of their text; what is damaged is named."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from cuesta import _native
from cuesta.errors import InputError
from packkit import PACKERS
from test_tables import request

DRAW = random.Random(5)
NUMBERS = [[DRAW.random() for _ in range(6)] for _ in range(400)]
TEXTS = {
    "correlate": "gene\t" + "\t".join(f"s{sample}" for sample in range(6)) + "\n"
    + "".join(
        f"g{gene}\t" + "\t".join(f"{number:.4f}" for number in row) + "\n"
        for gene, row in enumerate(NUMBERS[:40])
    ),
    "kmeans": "".join(",".join(f"{number:.5f}" for number in row) + "\n" for row in NUMBERS),
    "scan": "".join(
        f"{gene}\t1\t1\t1\t5\t0\t0\t0\t0\t{row[0]:.6f}\t11111\n"
        for gene, row in enumerate(NUMBERS, 2)
    ),
}  # fmt: skip
PARAMETERS = {"correlate": {"min_samples": 2}, "kmeans": {"clusters": 3}, "scan": {}}


def answer(workload: str, path: Path) -> dict[str, bytes]:
    """Return the files of the answer of a workload on an input in a folder of its own."""
    _native.run(workload, request(path, PARAMETERS[workload]))
    return {file.name: file.read_bytes() for file in (path.parent / "out").iterdir()}


def folder(at: Path, name: str) -> Path:
    """Make a folder."""
    made = at / name
    made.mkdir()
    return made


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("workload", TEXTS)
def test_a_packed_table_has_the_answer_of_its_text(
    tmp_path: Path, workload: str, packer: str
) -> None:
    """Matrices, points and pairs in bzip2, xz and Zstandard were refused by name: unpack it first.

    Only reads went through the reader that detects compression by content.
    """
    text = TEXTS[workload].encode()
    plain = folder(tmp_path, "plain") / "x.txt"
    plain.write_bytes(text)
    packed_file = folder(tmp_path, "packed") / "x.txt"
    packed_file.write_bytes(PACKERS[packer](text))
    expected = answer(workload, plain)
    assert answer(workload, packed_file) == expected
    verified = _native.verify(workload, request(packed_file, PARAMETERS[workload]))
    assert '"verified":true' in verified.replace(" ", "")


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("workload", TEXTS)
def test_a_packed_table_that_is_cut_is_refused(tmp_path: Path, workload: str, packer: str) -> None:
    packed_text = PACKERS[packer](TEXTS[workload].encode())
    path = tmp_path / "x.txt"
    for part in (0.3, 0.9):
        path.write_bytes(packed_text[: max(20, int(part * len(packed_text)))])
        with pytest.raises(InputError, match=r"obtain it again") as refusal:
            answer(workload, path)
        assert str(path) in str(refusal.value)
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("workload", TEXTS)
def test_a_table_that_is_packed_twice_is_named(tmp_path: Path, workload: str) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(gzip.compress(PACKERS["xz"](TEXTS[workload].encode())))
    with pytest.raises(InputError, match="compressed twice"):
        answer(workload, path)
