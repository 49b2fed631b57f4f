"""TeraGen's records equal those of Hadoop's own generator from Maven Central, byte for byte."""

from __future__ import annotations

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

import maven
from cuesta.cli.app import call
from cuesta.engines.spark.java import find_java
from peers import terasort

pytestmark = pytest.mark.skipif(find_spec("pyspark") is None, reason="no Hadoop without PySpark")
PACKAGE = "org.apache.hadoop.examples.terasort"


class Hadoop:
    """Runs classes of Hadoop's examples on the jars of PySpark.

    The examples are older than these jars; their records are those of 2009.
    """

    def __init__(self) -> None:
        import pyspark

        java = find_java(os.environ)
        if java is None:
            pytest.skip("no Java")
        try:
            examples = maven.jars("terasort", [terasort.EXAMPLES])
        except maven.MavenError as error:
            pytest.skip(str(error))
        jars = Path(pyspark.__file__).parent / "jars"
        self.java = str(java.home / "bin" / "java")
        self.classes = f"{next(examples.glob('hadoop-mapreduce-examples-*.jar'))}:{jars}/*"

    def run(self, name: str, *words: str) -> None:
        command = [self.java, "-Xmx256m", "-cp", self.classes, f"{PACKAGE}.{name}", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture(scope="module")
def hadoop() -> Hadoop:
    return Hadoop()


def generated(path: Path, rows: int, first: int) -> bytes:
    words = ["--rows", str(rows), "--first", str(first), "-o", str(path)]
    assert call(["data", "make", "tera", *words, "--overwrite"]) == 0
    return path.read_bytes()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", [0, 1, 65_535, 2**31 - 3, 2**32 - 7, 10**10, 10**15 + 1])
def test_any_rows_are_those_of_hadoops_generator(
    hadoop: Hadoop, tmp_path: Path, first: int
) -> None:
    hadoop.run("GenSort", f"-b{first}", "20", str(tmp_path / "theirs"))
    assert generated(tmp_path / "ours", 20, first) == (tmp_path / "theirs").read_bytes()


@pytest.mark.timeout(600)
def test_teragen_as_a_job_writes_the_same_records(hadoop: Hadoop, tmp_path: Path) -> None:
    hadoop.run("TeraGen", "-Dmapreduce.job.maps=3", "10000", f"file://{tmp_path}/theirs")
    parts = sorted((tmp_path / "theirs").glob("part-m-*"))
    assert len(parts) > 0
    job_records = b"".join(part.read_bytes() for part in parts)
    assert generated(tmp_path / "ours", 10_000, 0) == job_records
    # Its folder, with `_SUCCESS` and checksums, is an input without changes.
    words = ["run", "sort", str(tmp_path / "theirs"), "-o", str(tmp_path / "sorted")]
    assert call(words) == 0
    assert (tmp_path / "sorted" / "sorted.dat").stat().st_size == len(job_records)
