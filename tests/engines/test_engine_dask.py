"""Behaviour specific to Dask: options, memory, a foreign scheduler, workers that die."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("distributed")

import dask

from cuesta.cli.app import call
from cuesta.engines import dask_security
from cuesta.engines.dask import DaskEngine
from cuesta.errors import EngineError, InputError
from cuesta.trial import Trial
from labkit import record_of, small_disk
from sortkit import places, sorting, write_records

__all__ = ["small_disk"]


@pytest.fixture(scope="module")
def engine() -> Iterator[DaskEngine]:
    """Engine whose workers all tests share."""
    dask_engine = DaskEngine()
    yield dask_engine
    dask_engine.close()


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """A file to sort."""
    return write_records(tmp_path / "a.dat", 300_000)


def trial(path: Path, memory_bytes: int = 2 << 30, **options: str) -> Trial:
    """Sort a file on two threads."""
    return sorting("dask", path, memory_bytes, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tasks": "0"}, "--engine-option tasks is 0, give at least 1"),
        ({"workers": "2"}, "engine dask has no option workers, choose from scheduler, tasks"),
    ],
    ids=str,
)
def test_a_wrong_option_is_named(
    engine: DaskEngine, records: Path, options: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        engine.run(replace(trial(records), engine_options=options), *places(tmp_path / "a"))


def test_too_little_memory_is_reported_before_workers_start(
    engine: DaskEngine, records: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="2 workers need 768 MiB; raise --memory"):
        engine.run(trial(records, memory_bytes=512 << 20), *places(tmp_path / "a"))


def test_a_missing_scheduler_is_reported_in_a_single_line(
    engine: DaskEngine, records: Path, tmp_path: Path
) -> None:
    away = trial(records, scheduler="tcp://127.0.0.1:9")
    with pytest.raises(EngineError, match=r"no scheduler at tcp://127\.0\.0\.1:9"):
        engine.run(away, *places(tmp_path / "a"))


def test_a_worker_that_is_killed_is_replaced(
    engine: DaskEngine, records: Path, tmp_path: Path
) -> None:
    job = trial(records, tasks="40")
    client = engine._client(job, tmp_path)
    victim = next(iter(client.run(os.getpid).values()))
    killer = threading.Timer(0.3, lambda: os.kill(victim, signal.SIGKILL))
    killer.start()
    output, scratch = places(tmp_path / "a")
    engine.run(job, output, scratch)
    killer.join()
    output_bytes = (output / "sorted.dat").read_bytes()
    content = records.read_bytes()
    rows = sorted(content[at : at + 100] for at in range(0, len(content), 100))
    assert output_bytes == b"".join(rows)
    assert not any(scratch.iterdir())


def test_the_command_runs_on_a_scheduler_started_elsewhere(records: Path, tmp_path: Path) -> None:
    with foreign_cluster(tmp_path, "None") as (address, cluster):
        words = ["run", "sort", str(records), "--engine", "dask", "-o", str(tmp_path / "a")]
        assert call([*words, "--engine-option", f"scheduler={address}"]) == 0
        assert record_of(tmp_path / "a")["engine_options"]["scheduler"] == address
        assert cluster.poll() is None


def test_a_scheduler_with_certificates_is_used_by_the_configuration_of_dask(
    records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUESTA_TRACEBACK", "1")
    security = dask_security.temporary()
    (tmp_path / "key").write_text(security.tls_client_key)
    (tmp_path / "certificate").write_text(security.tls_client_cert)
    ends = [
        f"tls_{role}_{kind}"
        for role in ("client", "scheduler", "worker")
        for kind in ("key", "cert")
    ]
    files = {
        name: str(tmp_path / ("key" if name.endswith("key") else "certificate")) for name in ends
    }
    files["tls_ca_file"] = files["tls_client_cert"]
    security_code = f"distributed.Security(require_encryption=True, **{files!r})"
    with foreign_cluster(tmp_path, security_code) as (address, _):
        assert address.startswith("tls://")
        words = ["run", "sort", str(records), "--engine", "dask"]
        words += ["--engine-option", f"scheduler={address}"]
        assert call([*words, "-o", str(tmp_path / "a")]) == 3
        tls = {
            "distributed.comm.tls.ca-file": files["tls_ca_file"],
            "distributed.comm.tls.client.key": files["tls_client_key"],
            "distributed.comm.tls.client.cert": files["tls_client_cert"],
        }
        with dask.config.set(tls):
            assert call([*words, "-o", str(tmp_path / "b")]) == 0


@contextlib.contextmanager
def foreign_cluster(tmp_path: Path, security: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start a cluster with that security, as a Python user does; yield its address and process."""
    file = tmp_path / "scheduler"
    script = (
        "import os, sys, time\n"
        "import distributed\n"
        "if __name__ == '__main__':\n"
        "    made = distributed.LocalCluster(n_workers=2, threads_per_worker=1,\n"
        f"        dashboard_address=None, security={security})\n"
        "    open(sys.argv[1] + '.new', 'w').write(made.scheduler_address)\n"
        "    os.rename(sys.argv[1] + '.new', sys.argv[1])\n"
        "    time.sleep(600)\n"
    )
    (tmp_path / "cluster.py").write_text(script)
    cluster = subprocess.Popen(
        [sys.executable, str(tmp_path / "cluster.py"), str(file)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + 60
        while not file.exists():
            assert time.monotonic() < end
            time.sleep(0.1)
        yield file.read_text(), cluster
    finally:
        # Its workers are ended with it; they would remain.
        os.killpg(cluster.pid, signal.SIGKILL)
        cluster.wait()


@pytest.mark.parametrize("seconds", [0.0, 0.6, 1.5])
def test_an_interrupt_prints_a_line(records: Path, tmp_path: Path, seconds: float) -> None:
    """A terminal sends the interrupt also to the workers, and to a starting Python."""
    output = tmp_path / "out"
    words = ["run", "sort", str(records), "--engine", "dask", "--threads", "2", "-o", str(output)]
    log = tmp_path / "log"
    with (
        log.open("wb") as stream,
        subprocess.Popen(
            [sys.executable, "-m", "cuesta", *words, "--memory", "2GiB"],
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        ) as process,
    ):
        # An interrupt before that is handled by Python itself.
        while process.poll() is None and "running" not in log.read_text():
            time.sleep(0.02)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        code = process.wait(60)
    text = log.read_text()
    assert "Traceback" not in text
    if code:
        # A shell reports 130 for both.
        assert code in (130, -signal.SIGINT)
        assert text.splitlines()[-1] == "cuesta: interrupted"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.dat", "log"]


def test_a_full_scratch_is_named(
    engine: DaskEngine, records: Path, tmp_path: Path, small_disk: Path
) -> None:
    output = tmp_path / "out"
    output.mkdir()
    with pytest.raises(InputError) as refused:
        engine.run(trial(records), output, small_disk)
    text = str(refused.value)
    assert text.startswith(f"scratch {small_disk}/")
    assert text.endswith(
        "the disk is full; free some space or choose another folder with --scratch"
    )


def test_what_dask_cancels_is_a_failure_of_dask(
    engine: DaskEngine, records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`asyncio.CancelledError` is no `Exception`, so a cancelled task ended the command as a
    defect. Now it is an error of Dask.
    """

    def cancelled(*_: object) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(DaskEngine, "_client", cancelled)
    with pytest.raises(EngineError, match="engine dask: Dask failed: CancelledError"):
        DaskEngine().run(trial(records), *places(tmp_path))
