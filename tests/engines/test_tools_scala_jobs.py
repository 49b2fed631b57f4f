"""The Scala workloads are compiled with the jars of Spark; other jars come from Maven once."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from zipfile import ZipFile

import pytest

import maven
import scala_jobs
from cuesta.engines.spark import scala_jar
from cuesta.engines.spark.java import find_java

pytest.importorskip("pyspark")
pytestmark = pytest.mark.skipif(find_java(os.environ) is None, reason="no Java")

ARTIFACTS = ["group:name:1"]


def fake_maven(folder: Path, script: str) -> None:
    program = folder / "mvn"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cache and program folder that only the test uses."""
    monkeypatch.setattr(maven, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def test_a_source_that_does_not_compile_leaves_the_jar_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    sources = tmp_path / "src" / "main"
    sources.mkdir(parents=True)
    jar = tmp_path / "out" / "jobs.jar"
    monkeypatch.setattr(scala_jobs, "SOURCES", tmp_path / "src")
    broken = "object Jobs { def spark: org.apache.spark.SparkContext = 1 }"
    (sources / "Jobs.scala").write_text(broken)
    assert scala_jobs.main(["build", str(jar)]) == 1
    assert "required: org.apache.spark.SparkContext" in capfd.readouterr().err
    assert not any(jar.parent.iterdir())
    (sources / "Jobs.scala").write_text(broken.replace("= 1", "= null"))
    assert scala_jobs.main(["build", str(jar)]) == 0
    assert [path.name for path in jar.parent.iterdir()] == ["jobs.jar"]


def test_a_jar_is_compiled_again_for_other_sources_and_another_pyspark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar, source = tmp_path / "jobs.jar", tmp_path / "src" / "main" / "Jobs.scala"
    source.parent.mkdir(parents=True)
    source.write_text("object Jobs")
    compiled = []

    def compile_into(target: Path, sources: Iterable[Path]) -> int:
        compiled.append([path.name for path in sources])
        ZipFile(target, "w").close()
        return 0

    monkeypatch.setattr(scala_jobs, "SOURCES", tmp_path / "src")
    monkeypatch.setattr(scala_jobs, "compile_into", compile_into)

    def times_compiled() -> int:
        for _ in range(2):
            assert scala_jobs.main(["build", str(jar)]) == 0
        return len(compiled)

    assert times_compiled() == 1
    monkeypatch.setattr(scala_jar, "version", lambda _package: "99.0")
    assert times_compiled() == 2
    (source.parent / "More.scala").write_text("object More")
    assert times_compiled() == 3
    assert sorted(compiled[-1]) == ["Jobs.scala", "More.scala"]
    jar.write_bytes(jar.read_bytes()[:-1])
    assert times_compiled() == 4


def pin(cache: Path, monkeypatch: pytest.MonkeyPatch, content: bytes = b"") -> None:
    """Pin `a.jar` with some content."""
    checksums = cache / "checksums.txt"
    checksums.write_text(f"{hashlib.sha256(content).hexdigest()}  a.jar\n")
    monkeypatch.setattr(maven, "CHECKSUMS", checksums)


def test_a_jar_with_a_different_checksum_is_refused_and_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any jar from Maven Central, or from an impostor, was compiled with and run. Now each jar must
    have its SHA-256 before it is used.
    """
    fake_maven(cache, "mkdir jars; echo evil > jars/a.jar")
    pin(cache, monkeypatch, b"good\n")
    with pytest.raises(maven.MavenError, match=r"^a\.jar from Maven Central is not the one in"):
        maven.jars("some", ARTIFACTS)
    fake_maven(cache, "mkdir jars; echo good > jars/a.jar; echo new > jars/b.jar")
    with pytest.raises(maven.MavenError, match=r"^b\.jar is not in checksums\.txt"):
        maven.jars("some", ARTIFACTS)
    assert not any(maven.CACHE.iterdir())
    monkeypatch.setenv(maven.UNPINNED, "1")
    assert len(list(maven.jars("some", ARTIFACTS).iterdir())) == 2
    monkeypatch.delenv(maven.UNPINNED)
    assert maven.main(["pin"]) == 0
    shutil.rmtree(maven.CACHE)
    assert len(list(maven.jars("some", ARTIFACTS).iterdir())) == 2


def test_jars_are_requested_once_and_again_for_other_artifacts(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin(cache, monkeypatch)
    fake_maven(cache, f"echo asked >> {cache}/log; mkdir jars; touch jars/a.jar")
    folder = maven.jars("some", ARTIFACTS)
    assert [path.name for path in folder.iterdir()] == ["a.jar"]
    assert maven.jars("some", ARTIFACTS) == folder
    assert maven.jars("some", ["group:name:2"]) != folder
    assert (cache / "log").read_text() == "asked\n" * 2
    assert not any(path.name.startswith(".") for path in maven.CACHE.iterdir())


def test_a_failure_of_maven_is_reported_in_a_single_line_and_leaves_nothing(cache: Path) -> None:
    script = r"printf '\033[0m[ERROR] no such artifact\n[ERROR] \n[ERROR] more\n'"
    fake_maven(cache, f"mkdir jars; {script}; exit 1")
    with pytest.raises(maven.MavenError, match=r"^Maven: no such artifact$"):
        maven.jars("some", ARTIFACTS)
    assert not any(maven.CACHE.iterdir())


def test_without_maven_the_package_to_install_is_named(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(cache))
    with pytest.raises(maven.MavenError, match="apt-get install maven"):
        maven.jars("some", ARTIFACTS)
