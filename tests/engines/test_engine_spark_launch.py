"""A session's JVM is started directly, with an archive of classes where it exists."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import sparkkit as kit
from cuesta.cluster.settings import ClusterPlan
from cuesta.cluster.spark import NodeUse, derived, with_archive
from cuesta.engines.spark import archive, launch, training
from cuesta.engines.spark.java import Java, find_java
from cuesta.engines.spark.launch import Words
from cuesta.engines.spark.options import Settings, settings_of
from cuesta.engines.spark.session import Places, start
from cuesta.errors import EngineError
from cuesta_store import hadoop_jar

EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
SPARK_VARIABLES = ("SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "SPARK_HOME")


@pytest.fixture(scope="module")
def of_setup() -> Path | None:
    """Archive that `make test` has made with this very code; making it takes a minute."""
    return archive.current() if kit.engine().missing() is None else None


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Java:
    """The Java of this machine, with an empty cache and no site settings."""
    reason = kit.engine().missing()
    if reason:
        pytest.skip(reason)
    for name in SPARK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    installed = find_java(os.environ)
    assert installed
    return installed


def find_words(java: Java) -> Words:
    words = launch.find(java, os.environ)
    assert words
    return words


def test_the_launch_words_are_requested_once(java: Java, monkeypatch: pytest.MonkeyPatch) -> None:
    words = find_words(java)
    assert "jars/*" in words.class_path
    assert any(option.startswith("--add-opens=java.base/java.nio") for option in words.options)
    assert not any(option.startswith("-Xmx") or option == launch.MARK for option in words.options)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("Spark's launcher was asked again")

    monkeypatch.setattr(subprocess, "run", never)
    assert find_words(java) == words


def test_words_that_were_corrupted_in_the_cache_are_requested_again(
    java: Java, tmp_path: Path
) -> None:
    words = find_words(java)
    (cached,) = (tmp_path / "cache" / "cuesta" / "spark").iterdir()
    cached.write_text(json.dumps({"java": "x"}))
    assert find_words(java) == words


def test_a_cache_that_cannot_be_written_only_costs_time(
    java: Java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    find_words(java)


def test_a_site_with_a_custom_script_or_words_uses_spark_submit(java: Java, tmp_path: Path) -> None:
    (tmp_path / "spark-env.sh").write_text("export SPARK_LOCAL_DIRS=/x\n")
    assert launch.find(java, {**os.environ, "SPARK_CONF_DIR": str(tmp_path)}) is None
    assert launch.find(java, {**os.environ, "SPARK_SUBMIT_OPTS": "-Dx=y"}) is None
    assert launch.find(java, {**os.environ, "PYSPARK_SUBMIT_ARGS": "--jars x shell"}) is None
    assert not launch.suits({"spark.driver.extraClassPath": "/x.jar"})
    assert not launch.suits({"spark.driver.extraJavaOptions": "-Xmx3g"})
    assert launch.suits({"spark.driver.extraJavaOptions": "-Dx=y", "spark.task.maxFailures": "2"})


def test_defaults_of_a_site_are_in_the_words_and_a_change_is_detected(
    java: Java, tmp_path: Path
) -> None:
    site = {**os.environ, "SPARK_CONF_DIR": str(tmp_path)}
    file = tmp_path / "spark-defaults.conf"
    for jar in ("/first.jar", "/second.jar"):
        file.write_text(f"spark.driver.extraClassPath {jar}\n")
        os.utime(file, ns=(len(jar), len(jar)))
        words = launch.find(java, site)
        assert words
        assert words.class_path.startswith(f"{jar}:")


def test_settings_of_a_site_stand_behind_jars(tmp_path: Path) -> None:
    """A jar that a site put before Spark's jars remains before them."""
    path = "/first.jar:/site/conf/:/spark/jars/a.jar:/spark/jars/*:/etc/hadoop"
    words = Words(home=tmp_path, java=tmp_path, class_path=path, options=())
    assert words.jars_path == "/first.jar:/spark/jars/a.jar:/spark/jars/*"
    assert words.ordered_path == f"{words.jars_path}:/site/conf/:/etc/hadoop"


def test_executors_of_a_cluster_get_the_archive_but_where_their_class_path_was_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    properties = {
        "spark.executor.extraClassPath": "/a/*",
        "spark.executor.extraJavaOptions": "-XX:A",
    }
    monkeypatch.setattr(archive, "of_executors", lambda: properties)
    assert with_archive({"x": "1", "spark.executor.extraJavaOptions": "-XX:B"}) == {
        "x": "1",
        "spark.executor.extraClassPath": "/a/*",
        "spark.executor.extraJavaOptions": "-XX:A -XX:B",
    }
    class_path = {"spark.executor.extraClassPath": "/b.jar"}
    assert with_archive(class_path) == class_path


def test_programs_of_a_cluster_with_stores_read_them_by_the_jar(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each process reads by the store of its node, so no setting names a folder."""
    monkeypatch.setattr(hadoop_jar, "current", lambda: Path("/store.jar"))
    use = NodeUse(cores=1, memory_bytes=1 << 30)
    plan = ClusterPlan(cluster="c", sets={"spark.jars": "/own.jar"})
    assert derived(plan, use)["spark.jars"] == "/own.jar"
    plan = replace(plan, store_bytes=1 << 20, store_under="/data")
    properties = derived(plan, use)
    assert properties["spark.jars"] == "/store.jar,/own.jar"
    assert properties["spark.hadoop.fs.cuesta.impl"] == "cuesta.hadoop.CuestaFileSystem"
    assert not any("fs.cuesta.store" in name for name in properties)


def test_the_script_that_stands_for_spark_submit_passes_all_words(tmp_path: Path) -> None:
    program = tmp_path / "a java"
    program.write_text(
        '#!/bin/sh\necho "$SPARK_HOME $SPARK_SCALA_VERSION"\nfor word; do echo "$word"; done\n'
    )
    program.chmod(0o755)
    words = Words(
        home=Path("/opt/it's here"), java=program, class_path="/a b/*", options=("-Da=$HOME",)
    )
    conf = {
        "spark.driver.memory": "7m",
        "spark.driver.extraJavaOptions": "-Dx='1 2'",
        "spark.driver.extraClassPath": "/c.jar",
    }
    home = launch.spark_home(words, conf, tmp_path, ("-XX:One",))
    command = [str(home / "bin" / "spark-submit"), "--conf", "a=b c"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "/opt/it's here 2.13", "-cp", "/a b/*:/c.jar", "-Xmx7m", "-Da=$HOME", "-XX:One", "-Dx=1 2",
        "org.apache.spark.deploy.SparkSubmit", "--conf", "a=b c",
    ]  # fmt: skip


def test_an_archive_is_named_after_its_java_and_jars(java: Java, tmp_path: Path) -> None:
    jars = tmp_path / "spark" / "jars"
    jars.mkdir(parents=True)
    (jars / "one.jar").touch()
    words = Words(home=jars.parent, java=Path("java"), class_path="", options=())
    newest = replace(java, major=archive.AHEAD_OF_TIME_MIN)
    first = archive.place(words, newest)
    assert first
    assert first.suffix == ".aot"
    assert archive.place(words, replace(newest, release="another")) != first
    os.utime(jars / "one.jar", ns=(1, 1))
    assert archive.place(words, newest) != first
    assert archive.place(words, replace(java, home=tmp_path, major=17)) is None
    assert archive.reading(first) == ()
    first.parent.mkdir(parents=True)
    for size_bytes in (5, 6):
        (first.parent / f"{first.stem}-{size_bytes}.aot").write_bytes(b"12345")
    assert archive.reading(first) == (f"-XX:AOTCache={first.parent / first.stem}-5.aot",)


@pytest.mark.usefixtures("java")
def test_an_archive_appears_once_and_only_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[str] = []
    if not archive.is_possible():
        pytest.skip("this Java has no archive of its own classes to build on")
    monkeypatch.setattr(training, "_train", lambda _: None)
    with pytest.raises(EngineError, match="Java wrote no archive of Spark's classes"):
        training.make(reports.append)
    assert archive.current() is None
    monkeypatch.setattr(training, "_train", lambda partial: partial.write_bytes(b"classes"))
    archive_path = training.make(reports.append)
    assert archive_path is not None
    assert archive.current() == archive_path == training.make(reports.append)
    assert len(reports) == 2
    assert [path.name for path in archive_path.parent.iterdir() if path.suffix != ".json"] == [
        archive_path.name
    ]


def test_a_session_uses_a_complete_archive(
    of_setup: Path | None, java: Java, tmp_path: Path
) -> None:
    if not archive.is_possible():
        pytest.skip("this Java has no archive of its own classes to build on")
    if of_setup:
        (tmp_path / "cache" / "cuesta" / "spark").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(of_setup, tmp_path / "cache" / "cuesta" / "spark" / of_setup.name)
    # A process has one JVM.
    kit.engine().close()
    reports: list[str] = []
    archive_path = training.make(reports.append)
    assert archive_path is not None
    assert archive.current() == archive_path
    assert len(reports) == (not of_setup)
    settings = settings_of(kit.trial("scan", [], {}))
    assert "shared objects file (top)" in loaded(settings, tmp_path / "with")
    assert "shared objects file (top)" in loaded_by_executor(java, tmp_path)
    # A Java that gets a truncated archive dies of it.
    archive_path.chmod(0o644)
    os.truncate(archive_path, 100_000)
    assert archive.current() is None
    assert archive.reading(archive.place(find_words(java), java)) == ()


def loaded_by_executor(java: Java, folder: Path) -> str:
    """Return the class loading log of an executor's JVM, started as by a worker, without work."""
    properties = archive.of_executors()
    (folder / "conf").mkdir()
    (folder / "conf" / "spark-defaults.conf").touch()
    home = find_words(java).home
    path = f"{properties['spark.executor.extraClassPath']}:{folder}/conf/:{home}/jars/*"
    words = [str(java.home / "bin" / "java"), "-cp", path, "-Xlog:class+load", "-XX:+UseParallelGC"]
    words += [*properties["spark.executor.extraJavaOptions"].split(), EXECUTOR]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def loaded(settings: Settings, folder: Path) -> str:
    """Return the log of class loading of a session's JVM; the session must work."""
    folder.mkdir()
    words = (("spark.driver.extraJavaOptions", f"-Xlog:class+load:file={folder}/classes"),)
    session_settings = replace(settings, options=replace(settings.options, spark=words))
    (folder / "own").mkdir()
    session = start(session_settings, Places(folder=folder / "own", logs=folder))
    session.stop()
    return (folder / "classes").read_text()
