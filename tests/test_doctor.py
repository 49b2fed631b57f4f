"""The doctor names missing parts and their remedies; ceilings are measured, cached and doubted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cuesta import allotment
from cuesta.allotment import Allotment
from cuesta.cli import doctor, doctor_checks
from cuesta.cli.app import call
from cuesta.errors import InputError
from cuesta.lab import ceilings
from cuesta.lab.ceilings import Ceilings, Measurement, doubts


def measurement(name: str, threads: int, median: float, spread: float = 0.0) -> Measurement:
    low, high = median * (1 - spread / 2), median * (1 + spread / 2)
    return Measurement(
        name=name, threads=threads, per_s=(median,), median=median, low=low, high=high, detail=""
    )


def some(*measurements: Measurement) -> Ceilings:
    return Ceilings(
        measured="2026-01-01T00:00:00Z",
        machine={"cpu": "x"},
        scratch="x",
        filesystem="ext4",
        measurements=measurements,
        warnings=("busy",),
    )


class FakeNative:
    """Native module that answers at once, and records its questions."""

    def __init__(self, broken: str = "") -> None:
        self.asked: list[tuple[str, dict[str, object]]] = []
        self.broken = broken

    def __call__(self, kind: str, request: str) -> str:
        fields = json.loads(request)
        self.asked.append((kind, fields))
        if kind == self.broken:
            raise InputError("no direct reads here")
        unit = "flops" if kind == "fma_f32" else "bytes"
        rates = [1e9 * fields["threads"]] * fields["repeats"]
        return json.dumps({"unit": unit, "per_s": rates, "detail": kind})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate home, so that no cache of the user is touched."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(ceilings, "FILE_BYTES_MAX", ceilings.FILE_BYTES_MIN)
    monkeypatch.setattr(ceilings, "GEMM_ROWS", 64)
    monkeypatch.setattr(doctor, "engines_with_limits", list)
    return tmp_path


def test_each_missing_dependency_has_a_remedy_of_a_single_line() -> None:
    checks = list(doctor.all_checks())
    names = [check.name for check in checks]
    assert len(set(names)) == len(names)
    assert {"python", "native module", "processor", "memory", "java"} <= set(names)
    for check in checks:
        assert check.state in {doctor_checks.OK, doctor_checks.ABSENT, doctor_checks.BROKEN}
        assert check.found if check.state == doctor_checks.OK else check.remedy
        assert "\n" not in check.found + check.remedy


def test_the_doctor_prints_words_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["doctor"]) == 0
    assert "native module" in capsys.readouterr().out
    assert call(["doctor", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["name"] for row in rows} == {check.name for check in doctor.all_checks()}


def test_a_missing_java_is_reported_with_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(doctor, "_package_version", lambda _name: "")
    checks = {check.name: check for check in doctor.all_checks()}
    assert checks["java"].state == doctor_checks.ABSENT
    assert "apt-get install openjdk-17-jre-headless" in checks["java"].remedy
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    checks = {check.name: check for check in doctor.all_checks()}
    assert checks["mpi"].state == doctor_checks.ABSENT


def test_the_limits_of_control_groups_and_of_the_job_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    groups = Allotment(memory_bytes=2 << 30, cores=1.5)
    monkeypatch.setattr(allotment, "control_groups", lambda: groups)
    monkeypatch.setattr(allotment, "batch_system", lambda: Allotment(cores=4))
    checks = {check.name: check for check in doctor.all_checks()}
    expected = "memory 2 GiB, processor time 1.5 cores, processor time 4.0 cores by the job"
    assert checks["limits"].found == expected


def test_everything_is_measured_at_all_numbers_of_threads(home: Path) -> None:
    native = FakeNative()
    reports: list[str] = []
    measured = ceilings.measure(native, home, reports.append)
    names = {rate.name for rate in measured.measurements}
    assert names >= {
        "memory_read_bytes_per_s",
        "memory_copy_bytes_per_s",
        "file_read_warm_bytes_per_s",
        "file_read_direct_bytes_per_s",
        "random_read_bytes_per_s",
        "fma_f32_flops_per_s",
        "gemm_f32_flops_per_s",
        "network_send_bytes_per_s",
        "network_receive_bytes_per_s",
        "network_round_trips_per_s",
    }
    assert reports
    paths = {fields["path"] for _, fields in native.asked if "path" in fields}
    assert len(paths) == 1
    assert not any(Path(str(path)).parent.exists() for path in paths)


def test_a_file_system_without_direct_reads_is_a_doubt_and_no_error(home: Path) -> None:
    measured = ceilings.measure(FakeNative("file_read_direct"), home, lambda _text: None)
    assert "file_read_direct_bytes_per_s" not in measured.at(1)
    assert any("no direct reads here" in sentence for sentence in measured.warnings)


def test_cached_ceilings_are_read_back(home: Path) -> None:
    assert ceilings.load() is None
    cached = some(measurement("a_bytes_per_s", 1, 5.0), measurement("a_bytes_per_s", 4, 15.0))
    ceilings.write(cached, ceilings.cache_file())
    assert ceilings.read(ceilings.cache_file()) == cached
    assert ceilings.load(1) == {"a_bytes_per_s": 5.0}
    assert ceilings.load(3) == {"a_bytes_per_s": 5.0}
    assert ceilings.load(64) == {"a_bytes_per_s": 15.0}
    assert cached.scaling() == {"a_bytes_per_s": 3.0}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "other"}', '{"schema": 1}'])
def test_a_damaged_file_counts_as_not_measured(home: Path, text: str) -> None:
    path = ceilings.cache_file()
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert ceilings.load() is None


def test_a_phase_with_more_threads_than_measured_uses_the_most() -> None:
    only_many = some(measurement("a_bytes_per_s", 4, 15.0))
    assert only_many.at(1) == {"a_bytes_per_s": 15.0}
    assert only_many.scaling() == {"a_bytes_per_s": 1.0}


def test_results_that_contradict_each_other_are_doubted() -> None:
    measurements = [
        measurement("gemm_f32_flops_per_s", 1, 200.0),
        measurement("fma_f32_flops_per_s", 1, 100.0),
        measurement("fma_f32_flops_per_s", 2, 80.0),
        measurement("memory_read_bytes_per_s", 1, 10.0, spread=0.5),
    ]
    assert doubts(measurements) == [
        "memory_read_bytes_per_s at 1 thread varied by 50% between repeats",
        "gemm_f32_flops_per_s is above fma_f32_flops_per_s, which should bound it",
        "fma_f32_flops_per_s is slower with 2 threads than with one",
    ]
    assert doubts(measurements[1:2]) == []


def test_a_busy_machine_is_a_doubt(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceilings, "cores_busy", lambda: 1.5)
    measured = ceilings.measure(FakeNative(), home, lambda _text: None)
    assert "others kept 1.5 cores busy" in measured.warnings[0]


def test_threads_are_counted_in_powers_of_two_and_all_cores() -> None:
    counted = {cores: ceilings.thread_counts(cores) for cores in (1, 2, 3, 6, 8)}
    assert counted == {1: [1], 2: [1, 2], 3: [1, 2, 3], 6: [1, 2, 4, 6], 8: [1, 2, 4, 8]}


def test_a_scratch_that_is_no_folder_is_an_input_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["doctor", "--ceilings", "--scratch", str(tmp_path / "none")]) == 2
    assert "which is no folder" in capsys.readouterr().err


def test_brackets_in_a_remedy_are_text(capsys: pytest.CaptureFixture[str]) -> None:
    """`pip install 'cuesta[mpi]'` was shown as `pip install 'cuesta'`: brackets were read as
    mark-up. Now they are text.
    """
    remedy = "pip install 'cuesta[mpi]' [red]now[/red] :smile: [/x]"
    doctor._print_checks(
        [doctor_checks.Check(name="a", state=doctor_checks.ABSENT, found="", remedy=remedy)]
    )
    output = " ".join(capsys.readouterr().out.split())
    assert output == f"absent a {remedy}"


def test_a_single_console_without_markup_prints_the_tables_of_rich() -> None:
    package = Path(doctor.__file__).parent.parent
    text = "from rich.console import Console"
    users = [
        path.name for path in package.rglob("*.py") if text in path.read_text(encoding="utf-8")
    ]
    assert users == ["console.py"]
