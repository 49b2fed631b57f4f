"""`assemble` on Spark: the bytes of the native engine, for any parts and shares."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from assemblykit import FILES, drawn, reads_of, write_fastq
from cuesta.cli.app import call
from cuesta.errors import InputError
from sparkkit import engine, run, same_as_native, spark, trial

__all__ = ["spark"]

pytestmark = pytest.mark.usefixtures("spark")

BASES = 40_000
DEPTH = 40
MEMBER_BYTES = 10_000


@pytest.fixture(scope="module")
def reads(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Reads of a genome: a plain file, a file gzipped as a single member, and a file of many
    members.
    """
    folder = tmp_path_factory.mktemp("reads")
    all_reads = reads_of(drawn(BASES, 1), DEPTH, 0.004, 5)
    third = len(all_reads) // 3
    plain = write_fastq(folder / "plain.fq", all_reads[:third])
    packed_bytes = write_fastq(folder / "packed.fq", all_reads[third : 2 * third]).read_bytes()
    (folder / "packed.fq.gz").write_bytes(gzip.compress(packed_bytes))
    rest = write_fastq(folder / "rest.fq", all_reads[2 * third :]).read_bytes()
    pieces = (rest[start : start + MEMBER_BYTES] for start in range(0, len(rest), MEMBER_BYTES))
    (folder / "rest.fq.gz").write_bytes(b"".join(map(gzip.compress, pieces)))
    return [str(plain), *(str(folder / f"{name}.fq.gz") for name in ("packed", "rest"))]


@pytest.mark.parametrize(
    ("parameters", "options"),
    [
        ({"kmer_sizes": "31"}, {}),
        ({"kmer_sizes": "31,55,79"}, {"partitions": "5", "task_bytes": "300KB"}),
        pytest.param(
            {"kmer_sizes": "21", "min_count": 4, "profile": "paper"},
            {"partitions": "3"},
            marks=pytest.mark.soak,
        ),
        pytest.param(
            {"kmer_sizes": "31", "min_count": 3, "chains": "ranking"},
            {"partitions": "3"},
            marks=pytest.mark.soak,
        ),
    ],
    ids=str,
)
def test_files_are_those_of_the_native_engine(
    parameters: dict[str, Any],
    options: dict[str, str],
    reads: list[str],
    tmp_path: Path,
) -> None:
    programs = {"profile", "chains"} & parameters.keys()
    job = trial("assemble", reads, parameters, **options)
    outcome = same_as_native(job, tmp_path)
    names = [phase.name for phase in outcome.phases if phase.name != "start"]
    sampled = [] if "min_count" in parameters else ["sample"]
    before, after = (["supersteps"], []) if programs else ([], ["simplify"])
    assert names == [*sampled, "partition and compact", *before, "glue", "write", *after]
    assert outcome.counts["parts"] == int(options.get("partitions", "2"))


def test_a_bad_record_is_named_in_a_single_line(tmp_path: Path) -> None:
    path = write_fastq(tmp_path / "bad.fq", [*reads_of(drawn(5000, 1), 20, 0, 5), "ACGTELVIS"])
    with pytest.raises(InputError, match=r"record 1001, base 5: 'E' stands for an amino acid"):
        run(trial("assemble", [str(path)], {}, task_bytes="50KB"), tmp_path)


def test_a_base_costs_little_more_than_a_byte_of_shuffle(reads: list[str], tmp_path: Path) -> None:
    engine().close()
    words = ["run", "assemble", *reads, "-k", "31", "--min-count", "3", "--engine", "spark"]
    assert call([*words, "-o", str(tmp_path / "a")]) == 0
    record = json.loads((tmp_path / "a" / "run.json").read_text())
    assert record["verified"]
    assert {*FILES} <= {path.name for path in (tmp_path / "a").iterdir()}
    assert 0 < record["engine_log"]["shuffle_write_bytes"] < 1.3 * BASES * DEPTH
