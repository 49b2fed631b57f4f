"""Wrong answers made from right ones, with checksums rewritten to match: `verify` refuses all.

So only the verification method can detect them, through a user's command. The crates try 10,000
mutants a workload next to their verifiers; these are fewer, of all files of an answer.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuesta.cli.app import call
from cuesta.errors import InputError, VerificationError
from cuesta.lab.audit import AuditOptions, audit
from cuesta.lab.observer import Silent
from labkit import rewrite_checksums

MUTANTS = 48
"""Mutants of each file, of all kinds in turn."""
OF_MANY_FILES = {} if os.environ.get("CUESTA_SOAK") else {"load": 16}
"""Fewer for an answer of sixty files; all in `make soak`."""
MEANS = AuditOptions(threads=1, memory_bytes=1 << 30)

PAIRS = "data make clusters --genes 40 --samples 16 --pairs 400 --clusters 2 --seed 3"
MAKE = {
    "pairs.txt": PAIRS,
    "other.txt": f"{PAIRS} --variant 1",
    "matrix.txt": "data make matrix --genes 12 --samples 40 --seed 3",
    "records": "data make tera --rows 40",
    "points.npy": "data make points --rows 60 --dimensions 3 --clusters 3 --seed 3",
    "images.npy": "data make images --images 3 --height 40 --width 50 --seed 3",
}
RUN = {
    "scan": "pairs.txt --min-abs-score 0.2",
    "join": "pairs.txt other.txt --how outer --min-abs-score 0.2",
    "degrees": "pairs.txt --min-abs-score 0.2",
    "communities": "pairs.txt --min-abs-score 0.2",
    "load": "pairs.txt",
    "correlate": "matrix.txt --min-abs-score 0.2",
    "dataflow": "--blocks 6 --block-vectors 50",
    "sort": "records",
    "images": "images.npy",
    "kmeans": "points.npy --clusters 3 --iterations 4",
    "assemble": "reads.fa -k 21 --min-count 1",
    "modules": "matrix.txt --min-module-size 3 --traits traits.csv",
    "threshold": "matrix.txt --step 0.1",
    "ioread": "records matrix.txt --request-bytes 700 --skip-bytes 50",
}
NAMED = {"scan": "--graph graphml", "join": "", "degrees": "", "communities": "--graph graphml"}
RUN |= {f"{name} named": f"{RUN[name]} --genes names.txt {more}" for name, more in NAMED.items()}
RECORD_BYTES = 100


@pytest.fixture(scope="module")
def inputs_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny inputs."""
    folder = tmp_path_factory.mktemp("made")
    for name, words in MAKE.items():
        assert call([*words.split(), "-o", str(folder / name)]) == 0
    names = [f"gene {number // 2}" for number in range(40)]
    (folder / "names.txt").write_text("".join(f"{name}\n" for name in names))
    traits = [f"sample{number},{number % 7}" for number in range(1, 41)]
    (folder / "traits.csv").write_text("\n".join(["sample,age", *traits]) + "\n")
    draw = random.Random(3)
    genome = "".join(draw.choices("ACGT", k=600))
    starts = [draw.randrange(550) for _ in range(60)]
    reads = "".join(f">r\n{genome[start : start + 50]}\n" for start in starts)
    (folder / "reads.fa").write_text(reads)
    return folder


def answer(workload: str, inputs_folder: Path, out: Path) -> None:
    """The right answer folder of a workload."""
    inputs = {path.name for path in inputs_folder.iterdir()}
    words = [
        str(inputs_folder / word) if word in inputs else word for word in RUN[workload].split()
    ]
    name = workload.removesuffix(" named")
    assert call(["run", name, *words, "-o", str(out), "--threads", "1"]) == 0
    audit(out, MEANS, inputs_folder, Silent())


@pytest.mark.parametrize("workload", list(RUN))
def test_no_wrong_answer_passes(workload: str, inputs_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer(workload, inputs_folder, out)
    tried, passed = 0, []
    for path in sorted(out.rglob("*")):
        if path.is_dir() or path.name == "run.json":
            continue
        right = path.read_bytes()
        for change, wrong in mutants(right, workload, f"{workload} {path.name}"):
            path.write_bytes(wrong)
            tried += 1
            if not refused(out, tmp_path):
                passed.append(f"{path.relative_to(out)}: {change}")
        path.write_bytes(right)
        path.rename(path.with_name("away"))
        if not refused(out, tmp_path):
            passed.append(f"{path.relative_to(out)}: renamed")
        path.with_name("away").rename(path)
    assert passed == []
    assert tried >= MUTANTS // 2
    rewrite_checksums(out)
    audit(out, MEANS, tmp_path, Silent())


def refused(out: Path, tmp_path: Path) -> bool:
    """Return whether an answer with matching checksums in its record is found wrong."""
    rewrite_checksums(out)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    try:
        audit(out, MEANS, scratch, Silent())
    except (VerificationError, InputError):
        return True
    finally:
        shutil.rmtree(scratch)
    return False


def mutants(right: bytes, workload: str, seed: str) -> Iterator[tuple[str, bytes]]:
    """Yield wrong versions of a file with their changes; never a mere permutation of rows.

    Permuted rows are the same answer where the digest ignores their order, which is everywhere but
    in sorted records.
    """
    draw = random.Random(seed)
    for number in range(OF_MANY_FILES.get(workload, MUTANTS)):
        kind = KINDS[number % len(KINDS)]
        wrong = kind(right, rows(right, workload), draw)
        is_permutation = workload != "sort" and same_rows(right, wrong)
        if wrong != right and not is_permutation:
            yield f"{kind.__name__} ({number})", wrong


def rows(content: bytes, workload: str) -> list[bytes]:
    if workload == "sort":
        starts = range(0, len(content), RECORD_BYTES)
        return [content[start : start + RECORD_BYTES] for start in starts]
    return content.splitlines(keepends=True)


def same_rows(first: bytes, second: bytes) -> bool:
    return sorted(first.splitlines()) == sorted(second.splitlines())


def row_dropped(right: bytes, parts: list[bytes], draw: random.Random) -> bytes:
    at = draw.randrange(len(parts)) if parts else 0
    return b"".join(parts[:at] + parts[at + 1 :])


def row_doubled(right: bytes, parts: list[bytes], draw: random.Random) -> bytes:
    at = draw.randrange(len(parts)) if parts else 0
    return b"".join(parts[: at + 1] + parts[at:])


def rows_swapped(right: bytes, parts: list[bytes], draw: random.Random) -> bytes:
    first, second = (draw.randrange(max(1, len(parts))) for _ in range(2))
    swapped = list(parts)
    if parts:
        swapped[first], swapped[second] = swapped[second], swapped[first]
    return b"".join(swapped)


def fields_swapped(right: bytes, parts: list[bytes], draw: random.Random) -> bytes:
    changed = list(parts)
    if len(parts) > 1:
        first, second = draw.sample(range(len(parts)), 2)
        left, below = (parts[at].rstrip(b"\n").split(b"\t") for at in (first, second))
        column = draw.randrange(min(len(left), len(below)))
        left[column], below[column] = below[column], left[column]
        for at, fields in ((first, left), (second, below)):
            changed[at] = b"\t".join(fields) + b"\n" * parts[at].endswith(b"\n")
    return b"".join(changed)


def cut(right: bytes, parts: list[bytes], draw: random.Random) -> bytes:
    return right[: draw.randrange(max(1, len(right)))]


def digit_changed(right: bytes, parts: list[bytes], draw: random.Random) -> bytes:
    digits = [at for at, byte in enumerate(right) if chr(byte).isdigit()]
    if not digits:
        return right
    at = draw.choice(digits)
    digit = (right[at] - ord("0") + draw.randint(1, 9)) % 10
    return right[:at] + bytes([ord("0") + digit]) + right[at + 1 :]


def bit_flipped(right: bytes, parts: list[bytes], draw: random.Random) -> bytes:
    if not right:
        return right
    at = draw.randrange(len(right))
    return right[:at] + bytes([right[at] ^ 1 << draw.randrange(8)]) + right[at + 1 :]


def byte_doubled(right: bytes, parts: list[bytes], draw: random.Random) -> bytes:
    at = draw.randrange(max(1, len(right)))
    return right[: at + 1] + right[at:]


KINDS = (
    row_dropped, row_doubled, rows_swapped, fields_swapped, cut, digit_changed, bit_flipped,
    byte_doubled,
)  # fmt: skip
