"""Site variables and folders that break an engine are harmless, or named in its line."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from cuesta import python_path
from cuesta.cli import doctor
from cuesta.engines import shared_memory, site
from cuesta.engines.mpi import MpiEngine, launch
from cuesta.engines.spark import failures, java

COMMAND = [sys.executable, "-m", "cuesta"]


def test_a_failing_start_names_the_variables_of_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    """`_JAVA_OPTIONS=-Xmx64m` ended in "Insufficient driver memory" alone. Now the line names the
    variable.
    """
    for name in site.SPARK:
        monkeypatch.delenv(name, raising=False)
    error = failures.engine_error(RuntimeError("no"), "Spark does not start", None)
    assert str(error) == (
        "engine spark: Spark does not start: no; `cuesta doctor` looks for the cause"
    )
    monkeypatch.setenv("_JAVA_OPTIONS", "-Xmx64m")
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
    error = failures.engine_error(RuntimeError("no"), "Spark does not start", None)
    assert str(error) == (
        "engine spark: Spark does not start: no; the environment sets _JAVA_OPTIONS=-Xmx64m, "
        "SPARK_CONF_DIR=/etc/spark: try `env -u _JAVA_OPTIONS -u SPARK_CONF_DIR cuesta ...`"
    )


def test_an_account_without_a_name_gets_the_remedy_for_spark() -> None:
    words = (
        "javax.security.auth.login.LoginException: NullPointerException: invalid null input: name"
    )
    error = failures.engine_error(RuntimeError(words), "Spark does not start", None)
    assert "this account has a number and no name" in str(error)
    assert "/etc/passwd" in str(error)


@pytest.mark.parametrize("name", site.SPARK)
def test_each_variable_is_named(name: str) -> None:
    text = site.remark(site.SPARK, {name: "x" * 500})
    assert f"{name}=xxx" in text
    assert f"env -u {name} cuesta" in text
    assert len(text) < 200


@pytest.mark.skipif(find_spec("pyspark") is None, reason="PySpark is not installed")
def test_a_spark_of_another_version_is_not_used(tmp_path: Path) -> None:
    """`SPARK_HOME=/opt/spark-3` ended in "No such file" of its `spark-submit`. Now another version
    is not used.
    """
    spec = find_spec("pyspark")
    assert spec
    assert spec.origin
    installed = Path(spec.origin).parent
    assert site.spark_home({}) is None
    assert site.spark_home({"SPARK_HOME": str(installed)}) is None
    assert site.spark_home({"SPARK_HOME": "/nope"}) == installed
    old = tmp_path / "spark-3.3"
    (old / "jars").mkdir(parents=True)
    (old / "bin").mkdir()
    (old / "bin" / "spark-submit").write_text("")
    (old / "jars" / "spark-core_2.12-3.3.1.jar").write_text("")
    assert site.spark_home({"SPARK_HOME": str(old)}) == installed
    jar_name = next((installed / "jars").glob("spark-core_*.jar")).name
    (old / "jars" / "spark-core_2.12-3.3.1.jar").rename(old / "jars" / jar_name)
    assert site.spark_home({"SPARK_HOME": str(old)}) is None


def test_little_shared_memory_is_named_where_ranks_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks ended with signal 7 in a container whose `/dev/shm` had 2 MiB, without a reason. Now
    the line names it.
    """
    monkeypatch.setattr(shared_memory, "PLACE", Path("/nowhere"))
    output = "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Bus error (signal 7)"
    text = str(launch.failure(7, output, 4))
    assert "; /nowhere is absent, and 4 ranks" in text
    assert "--shm-size" in text
    monkeypatch.setattr(shared_memory, "PLACE", Path("/"))
    assert str(launch.failure(7, output, 1)).endswith("Bus error (signal 7)")
    assert "/ has " in str(launch.failure(7, output, 1 << 40))


@pytest.mark.skipif(MpiEngine().missing() is not None, reason="MPI is not installed")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_ranks_in_a_tiny_shared_memory_name_its_size(tmp_path: Path) -> None:
    words = [*COMMAND, "run", "dataflow", "--blocks", "2", "--block-vectors", "10"]
    words += ["--engine", "mpi", "--ranks", "2", "-o", str(tmp_path / "out")]
    script = 'mount -t tmpfs -o size=1m none /dev/shm || exit 99; exec "$@"'
    command = ["unshare", "-m", "bash", "-c", script, "bash", *words]
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=120)
    if done.returncode == 99:
        pytest.skip("no private mounts here")
    assert done.returncode == 3
    assert "/dev/shm has 1 MiB" in done.stderr.splitlines()[-1]


def test_a_module_of_the_python_path_is_named_where_an_engine_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from cuesta.cli import app
    from cuesta.errors import EngineError

    def fail(_words: object) -> None:
        raise EngineError("engine dask: Dask failed: no attribute 'empty'")

    monkeypatch.setattr(app, "_run", fail)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert python_path.remark() == ""
    assert app.call([]) == 3
    (tmp_path / "numpy.py").write_text("raise RuntimeError\n")
    assert app.call([]) == 3
    first, second = capsys.readouterr().err.splitlines()
    remark = f"; PYTHONPATH has numpy in {tmp_path}: try `env -u PYTHONPATH cuesta ...`"
    assert second == first + remark


def test_a_start_file_of_python_is_not_run(tmp_path: Path) -> None:
    startup = tmp_path / "startup.py"
    startup.write_text("raise SystemExit(9)\n")
    variables = os.environ | {"PYTHONSTARTUP": str(startup)}
    done = subprocess.run([*COMMAND, "--version"], env=variables, capture_output=True, check=False)
    assert done.returncode == 0


def test_options_that_a_jvm_echoes_are_not_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    echo = 'Picked up JAVA_TOOL_OPTIONS: -Dagent="my agent 1.8"'
    note = "NOTE: Picked up JDK_JAVA_OPTIONS:  -Dx=y"
    version = 'openjdk version "21.0.2" 2024-01-16'
    lines = "\n".join([echo, note, version])
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{lines}\nEND\n")
    program.chmod(0o755)
    runtime = java.find_java({"JAVA_HOME": str(tmp_path), "PATH": ""})
    assert runtime
    assert (runtime.major, runtime.version) == (21, "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    checks = {check.name: check.found for check in doctor.all_checks()}
    assert checks["java"] == version
