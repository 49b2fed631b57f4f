"""The probe on work of known cost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adversarykit import needs_root
from cuesta import machine
from cuesta.lab.inputs import describe, drop_cached
from cuesta.lab.probe import Probe
from cuesta.processes import descendants, reset_peak, use_of
from waitkit import wait_for

MIB = 1 << 20


def burn(cpu_seconds: float) -> None:
    end = time.process_time() + cpu_seconds
    while time.process_time() < end:
        pass


def child(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code])


def waiting(code: str) -> subprocess.Popen[bytes]:
    """Start a child that has run some code, and ends with its input."""
    code += "\nimport sys; print(flush=True); sys.stdin.read()"
    pipe = subprocess.PIPE
    running = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe)
    assert running.stdout
    running.stdout.readline()
    return running


def test_cpu_time_of_this_process_is_measured() -> None:
    with Probe() as probe:
        burn(0.2)
        time.sleep(0.1)
    assert 0.19 < probe.usage.cpu_seconds < 0.35
    assert probe.usage.wall_seconds > 0.29


def test_cpu_time_of_a_child_that_has_ended_is_measured() -> None:
    with Probe() as probe:
        child("import time\nwhile time.process_time() < 0.4: pass").wait()
    assert 0.35 < probe.usage.cpu_seconds < 0.8


def test_cpu_time_of_a_child_that_lives_on_is_measured_from_the_start_of_the_work() -> None:
    burn_more = "while time.process_time() < {}: pass\nprint(flush=True); sys.stdin.readline()\n"
    code = "import sys, time\n" + burn_more.format(0.3) + burn_more.format(0.6)
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe) as running:
        assert running.stdin
        assert running.stdout
        running.stdout.readline()
        with Probe() as probe:
            running.stdin.write(b"\n")
            running.stdin.flush()
            running.stdout.readline()
        # It burns 0.3 seconds by its own clock of processor time; the probe looks while it lives.
        assert 0.25 < probe.usage.cpu_seconds < 0.6


@pytest.mark.skipif(not reset_peak(), reason="the kernel does not reset the high-water mark")
def test_the_peak_is_that_of_the_work_and_not_of_what_came_before() -> None:
    before = bytearray(os.urandom(1)) * (200 * MIB)
    del before
    with Probe() as small:
        pass
    with Probe() as large:
        block = bytearray(os.urandom(1)) * (100 * MIB)
        del block
    # Each is compared with what was resident at its start: the kernel may reclaim pages in between.
    unused, used = (
        sample.usage.peak_resident_bytes - sample.usage.resident_before_bytes
        for sample in (small, large)
    )
    assert unused < 30 * MIB
    assert 90 * MIB < used < 130 * MIB


def test_memory_of_a_child_counts() -> None:
    with Probe() as probe:
        running = waiting("x = bytearray(b'x') * (150 << 20)")
    running.communicate()
    grown = probe.usage.peak_resident_bytes - probe.usage.resident_before_bytes
    assert grown > 140 * MIB


def test_bytes_read_and_written_are_counted_also_those_of_children(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(bytes(8 * MIB))
    code = f"open({str(source)!r}, 'rb').read()"
    with Probe() as probe:
        (tmp_path / "copy").write_bytes(source.read_bytes())
        child(code).wait()
    assert 16 * MIB <= probe.usage.read_bytes < 20 * MIB
    assert 8 * MIB <= probe.usage.written_bytes < 9 * MIB


def test_a_dropped_file_is_read_from_the_device_again(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(os.urandom(4 * MIB))
    if machine.filesystem(source) in ("tmpfs", "overlay", "ramfs"):
        pytest.skip("this file system has no device")
    with Probe() as warm:
        source.read_bytes()
    drop_cached([str(tmp_path)], "input-dropped")
    with Probe() as cold:
        source.read_bytes()
    assert warm.usage.device_read_bytes == 0
    assert cold.usage.device_read_bytes >= 4 * MIB


def test_bytes_read_by_a_child_that_lives_on_are_counted(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(bytes(8 * MIB))
    code = f"import time; open({str(source)!r}, 'rb').read(); print(flush=True); time.sleep(60)"
    with Probe() as probe:
        running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        assert running.stdout
        running.stdout.readline()
    running.kill()
    running.communicate()
    assert 8 * MIB <= probe.usage.read_bytes < 12 * MIB


def test_grandchildren_are_counted() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; "
    running = child(code + "time.sleep(60)'])")
    try:
        wait_for(lambda: len(descendants(os.getpid())) == 2)
    finally:
        for pid in descendants(os.getpid()):
            os.kill(pid, 9)
        running.wait()


def test_a_process_that_is_gone_has_no_use() -> None:
    running = child("pass")
    running.wait()
    assert use_of(running.pid) is None


def test_the_machine_is_described(tmp_path: Path) -> None:
    facts = machine.describe({"input": tmp_path, "output": tmp_path / "not" / "yet"})
    assert facts["cpu"]
    assert machine.cores_usable() >= 1
    assert machine.memory_available_bytes() <= machine.memory_bytes()
    kinds = facts["filesystems"]
    assert isinstance(kinds, dict)
    assert kinds["input"] == kinds["output"] != "unknown"


def test_a_folder_counts_as_all_the_files_under_it(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "one").write_bytes(b"123")
    (tmp_path / "a" / "b" / "two").write_bytes(b"4567")
    description = describe(str(tmp_path))
    assert (description.bytes, description.files) == (7, 2)


@needs_root
def test_work_without_proc_is_refused_with_the_remedy() -> None:
    code = "from cuesta.lab.probe import Probe\nwith Probe(): pass"
    words = ["unshare", "--mount", "sh", "-c", 'umount --lazy /proc && exec "$0" -c "$1"']
    done = subprocess.run(
        [*words, sys.executable, code], capture_output=True, text=True, check=False
    )
    assert "cannot be read" in done.stderr
    assert "`mount -t proc proc /proc`" in done.stderr
