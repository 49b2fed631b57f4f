"""Spark from the command line: quiet, a single line for an error, and no process after a stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from cuesta.engines import get_engine
from cuesta.engines.spark.failures import is_interrupted
from cuesta.native import native_module
from cuesta.processes import descendants
from labkit import names
from waitkit import HANG_SECONDS, wait_for

LACKING = get_engine("spark").missing()
pytestmark = pytest.mark.skipif(LACKING is not None, reason=str(LACKING))

COMMAND = [sys.executable, "-m", "cuesta"]
SMALL = ["--threads", "2", "--memory", "2GiB"]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pairs") / "a.txt"
    request = {"output": str(path), "genes": 100, "samples": 20, "seed": 3, "threads": 1}
    native_module().data_make("clusters", json.dumps(request))
    return path


def test_a_comparison_is_quiet_and_leaves_nothing_else(pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["compare", "join", str(pairs), str(pairs), "--engines", "native,spark", *SMALL]
    done = subprocess.run(
        [*COMMAND, *words, "--repeat", "2", "--json", "-o", str(out)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert json.loads(done.stdout)["equal"]
    assert names(tmp_path) == {"out"}
    assert not any(word in done.stderr for word in ("WARN", "Traceback", "pandas", "log4j"))
    record = json.loads((out / "spark" / "run.json").read_text())
    first, second = ([phase["name"] for phase in sample["phases"]] for sample in record["samples"])
    assert first == ["start", "open", "join", "write"]
    assert second == first[1:]
    assert record["versions"]["spark"]
    assert record["peak_resident_bytes"] > 200 << 20


ENDINGS = {
    signal.SIGINT: (130, "cuesta: interrupted"),
    signal.SIGTERM: (143, "cuesta: ended by SIGTERM"),
}


@pytest.mark.parametrize(
    ("command", "number"), [("run", signal.SIGINT), ("compare", signal.SIGTERM)]
)
def test_a_stopped_run_takes_its_jvm_along(
    command: str, number: signal.Signals, pairs: Path, tmp_path: Path
) -> None:
    process, started = running(command, pairs, tmp_path)
    process.send_signal(number)
    _, text = process.communicate(timeout=HANG_SECONDS)
    assert (process.returncode, text.splitlines()[-1]) == ENDINGS[number]
    assert "Traceback" not in text
    assert not any(map(alive, started))
    assert not any(tmp_path.iterdir())


def test_ctrl_c_of_a_terminal_is_no_failure_of_spark(pairs: Path, tmp_path: Path) -> None:
    """Ctrl-C reaches Spark's workers too: their end replaced that of the run, `Broken pipe`, and
    `ERROR:root:KeyboardInterrupt` of Py4J stood before it.
    """
    process, started = running("run", pairs, tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    _, text = process.communicate(timeout=HANG_SECONDS)
    assert (process.returncode, text.splitlines()[-1]) == ENDINGS[signal.SIGINT]
    assert not any(word in text for word in ("Traceback", "ERROR"))
    wait_for(lambda: not any(map(alive, started)))
    assert not any(tmp_path.iterdir())


def test_an_error_that_replaces_ctrl_c_is_recognised() -> None:
    def clean_up() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("java.io.IOException: Broken pipe")

    with pytest.raises(RuntimeError) as raised:
        clean_up()
    assert is_interrupted(raised.value)
    assert not is_interrupted(RuntimeError("java.io.IOException: Broken pipe"))


def test_a_jvm_that_dies_is_reported_in_a_single_line_and_leaves_its_log(
    pairs: Path, tmp_path: Path
) -> None:
    process, started = running("run", pairs, tmp_path)
    (jvm,) = (pid for pid in started if "java" in Path("/proc", str(pid), "comm").read_text())
    os.kill(jvm, signal.SIGKILL)
    _, text = process.communicate(timeout=60)
    assert process.returncode == 3
    (line,) = (line for line in text.splitlines() if line.startswith("cuesta:"))
    assert "Traceback" not in text
    (log,) = tmp_path.iterdir()
    # Between these are the lines that the environment makes Java print.
    assert line.startswith("cuesta: engine spark: the JVM died; ")
    assert line.endswith(f"; its log is {log}")
    # Python workers that the JVM had started notice its end by themselves.
    wait_for(lambda: not any(map(alive, started)))


def test_what_a_killed_run_left_in_scratch_is_removed_by_the_next_run(
    pairs: Path, tmp_path: Path
) -> None:
    """The session folder of a killed run remained in scratch. Now the next run removes it."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process, started = running("run", pairs, tmp_path, "--scratch", str(scratch))
    process.kill()
    process.communicate()
    wait_for(lambda: not any(map(alive, started)))
    assert list(scratch.glob("*/cuesta-spark-*"))
    words = ["run", "degrees", str(pairs), "--scratch", str(scratch), "-o", str(tmp_path / "b")]
    assert subprocess.run([*COMMAND, *words], check=False).returncode == 0
    assert not any(scratch.iterdir())


def running(
    command: str, pairs: Path, folder: Path, *more: str
) -> tuple[subprocess.Popen[str], list[int]]:
    """Yield a command that continues after a run on Spark, and the processes it has started."""
    engine = ["--engines" if command == "compare" else "--engine", "spark"]
    words = [command, "degrees", str(pairs), *engine, "--repeat", "1000", *SMALL, *more]
    process = subprocess.Popen(
        [*COMMAND, *words, "-o", str(folder / "out")],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr
    for line in process.stderr:
        if "run 3 of 1000" in line:
            return process, descendants(process.pid)
    raise AssertionError(f"it ended with {process.wait()}")


def alive(pid: int) -> bool:
    """Return whether a process is alive and no zombie."""
    try:
        return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
