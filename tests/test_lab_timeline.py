"""The time line of a run: its counts, its length limit, and its cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from cuesta.lab import record
from cuesta.lab.probe import Probe
from cuesta.lab.run import run_trial
from cuesta.lab.timeline import ROWS_MAX, Timeline
from cuesta.trial import Trial
from labkit import SCHEMA, CopyEngine, plan, scan_trial

MIB = 1 << 20


def burn(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def machine_user_seconds() -> float:
    """Count what the kernel counts: less than the programs' own time where a host steals some."""
    user, nice = Path("/proc/stat").read_text().split(maxsplit=3)[1:3]
    return (int(user) + int(nice)) / os.sysconf("SC_CLK_TCK")


def test_the_sums_of_the_columns_are_those_of_the_run(tmp_path: Path) -> None:
    code = "import time\nwhile time.process_time() < 0.3: pass"
    outside = machine_user_seconds()
    with Probe(timeline=True) as probe:
        inside = machine_user_seconds()
        burn(0.3)
        subprocess.run([sys.executable, "-c", code], check=True)
        time.sleep(0.2)
        inside = machine_user_seconds() - inside
    outside = machine_user_seconds() - outside
    line, usage = probe.timeline, probe.usage
    seconds, tree = line["seconds"], line["tree"]
    assert seconds == sorted(seconds)
    assert seconds[-1] == pytest.approx(usage.wall_seconds, abs=0.001)
    assert len(seconds) >= 2
    assert {len(column) for column in tree.values()} == {len(seconds)}
    assert abs(sum(tree["user_seconds"] + tree["system_seconds"]) - usage.cpu_seconds) < 0.05
    assert 0.9 < max(tree["resident_bytes"]) / usage.peak_resident_bytes <= 1.001
    everyone = line["machine"]
    assert inside - 0.01 <= sum(everyone["user_seconds"]) <= outside + 0.01
    assert min(everyone["page_cache_bytes"]) > 0
    assert sum(map(sum, (everyone["idle_seconds"], everyone["iowait_seconds"]))) >= 0


def test_what_is_written_to_a_device_is_counted_for_it(tmp_path: Path) -> None:
    with Probe(timeline=True) as probe:
        with (tmp_path / "file").open("wb") as out:
            out.write(os.urandom(16 * MIB))
            out.flush()
            os.fsync(out.fileno())
        time.sleep(0.1)
    if probe.usage.device_written_bytes < 16 * MIB or "devices" not in probe.timeline:
        pytest.skip("the temporary folder has no device")
    devices = probe.timeline["devices"].values()
    assert sum(sum(device.get("written_bytes", [])) for device in devices) >= 16 * MIB
    assert sum(sum(device.get("writes", [])) for device in devices) >= 1


def test_a_long_run_has_fewer_rows_with_the_same_totals() -> None:
    line = Timeline()
    count = 3 * ROWS_MAX
    added = 0.0
    for index in range(count + 1):
        if index and not line.due(index * 0.1):
            continue
        added = float(index)
        line.add(index * 0.1, {"user_seconds": added, "resident_bytes": float(index % 50)})
    line.close()
    columns = line.columns()
    assert line.tick_seconds == pytest.approx(0.4)
    assert ROWS_MAX / 3 < len(columns["seconds"]) <= ROWS_MAX
    assert sum(columns["tree"]["user_seconds"]) == added
    steps = columns["tree"]["user_seconds"]
    assert set(steps[1:-1]) == {4}
    assert max(columns["tree"]["resident_bytes"]) == 49


def test_what_this_kernel_does_not_count_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pread

    def refuse(descriptor: int, size: int, offset: int) -> bytes:
        if "pressure" in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            raise OSError(95, "Operation not supported")
        return real(descriptor, size, offset)

    monkeypatch.setattr(os, "pread", refuse)
    line = Timeline()
    line.add(0.0, {})
    line.add(0.1, {})
    line.close()
    assert "pressure" not in line.columns()
    assert "machine" in line.columns()


def test_a_record_has_the_line_of_its_representative_sample(tmp_path: Path) -> None:
    def slow(trial: Trial, output: Path) -> None:
        time.sleep(0.25)

    written = run_trial(CopyEngine(before=slow), scan_trial(tmp_path), plan(tmp_path, repeats=3))
    jsonschema.validate(written, SCHEMA)
    file = tmp_path / "answer" / record.FILE_NAME
    assert json.loads(file.read_text()) == written
    line = written["timeline"]
    assert line["seconds"][-1] == pytest.approx(written["wall_seconds"], abs=0.001)
    columns = [text for text in file.read_text().splitlines() if '"user_seconds": [' in text]
    assert len(columns) == 2
    assert all(text.rstrip(",").endswith("]") for text in columns)
    assert "timeline" not in written["samples"][0]


def test_the_cost_of_the_probe_is_counted() -> None:
    """The bench `probe` measures how small the cost is."""
    with Probe(timeline=True) as probe:
        time.sleep(0.3)
    assert probe.timeline["cost_seconds"] > 0
