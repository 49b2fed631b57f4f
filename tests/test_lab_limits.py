"""The limits of engines are measured separately, and the network between two places."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from cuesta.cli import doctor
from cuesta.cli.app import call
from cuesta.engines import Capabilities, get_engine
from cuesta.errors import EngineError
from cuesta.lab import ceilings, limits, network
from labkit import CopyEngine


@dataclass
class Empty(CopyEngine):
    """An engine that reports its limits, or breaks."""

    name: str = "quick-copy"
    capabilities = Capabilities(has_limits=True)
    breaks: bool = False

    def limits(self, threads: int, folder: Path, repeats: int) -> Mapping[str, Sequence[float]]:
        assert not any(folder.iterdir())
        if self.breaks:
            raise EngineError("no ranks today")
        return {"tasks_per_s": [100.0] * repeats}


def test_an_engine_is_measured_in_a_separate_process_and_named(tmp_path: Path) -> None:
    engine = Empty()
    assert limits.measure_engine(engine, tmp_path, 3) == {"quick_copy_tasks_per_s": [100.0] * 3}
    assert engine.closed == 0  # It was closed in its own process.
    assert not any(tmp_path.iterdir())
    assert limits.measure_engine(CopyEngine(), tmp_path, 3) == {}
    assert limits.measure_engine(Empty(lacking="nothing here"), tmp_path, 3) == {}


def test_an_engine_that_breaks_is_a_doubt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceilings, "FILE_BYTES_MAX", 0)
    monkeypatch.setattr(ceilings, "GEMM_ROWS", 64)
    answer = json.dumps({"unit": "bytes", "per_s": [1e9] * 3, "detail": ""})
    engines = [Empty(breaks=True), Empty()]
    measured = ceilings.measure(lambda kind, request: answer, tmp_path, lambda _: None, engines)
    assert measured.at(99)["quick_copy_tasks_per_s"] == 100
    assert "engine quick-copy was not measured: no ranks today" in measured.warnings


def test_each_rate_is_written_with_its_unit() -> None:
    assert doctor.rate_of("a_tasks_per_s")(1234.5) == "1.23e+03 tasks/s"
    assert doctor.rate_of("a_round_trips_per_s")(35.5) == "35.5 round trips/s"
    assert doctor.rate_of("a_bytes_per_s")(1 << 30) == "1 GiB/s"


def test_ranks_hand_out_tasks_and_messages(tmp_path: Path) -> None:
    engine = get_engine("mpi")
    if engine.missing():
        pytest.skip(str(engine.missing()))
    measured = engine.limits(2, tmp_path, 2)
    names = {"tasks_per_s", "transport_bytes_per_s", "transport_round_trips_per_s"}
    assert measured.keys() == names
    assert all(len(samples) == 2 and min(samples) > 50 for samples in measured.values())


def test_the_network_to_another_host_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "cuesta", "doctor", "--listen", "127.0.0.1:0"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout
        words = running.stdout.readline().split()
        place = words[2].removesuffix(";")
        assert call(["doctor", "--to", place]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines] == ["sent", "received", "round"]
        assert "Gbit/s" in lines[0]
        assert call(["doctor", "--to", place, "--json"]) == 0
        rates = json.loads(capsys.readouterr().out)
        assert len(rates["network_send_bytes_per_s"]["per_s"]) == 7
    finally:
        running.kill()
        running.communicate()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "nowhere"], "--to is 'nowhere', give HOST:PORT"),
        (["--to", "a:99999"], "--to is 'a:99999', give HOST:PORT"),
        (["--to", "a:1", "--listen", "1"], "not both here"),
        (["--listen", "192.0.2.1:1"], "192.0.2.1:1: cannot assign requested address"),
    ],
)
def test_wrong_places_are_reported_in_a_single_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["doctor", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_port_without_a_listener_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with network.listening("127.0.0.1") as port:
        pass
    assert call(["doctor", "--to", f"127.0.0.1:{port}"]) == 2
    assert "connection refused; listen there with `cuesta doctor --listen`" in (
        capsys.readouterr().err
    )
