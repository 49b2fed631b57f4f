"""Folders of inputs with pipes, sockets, devices and links: no read blocks."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "cuesta"]
GUARD_SECONDS = 60
"""Limit against a hang."""
PAIRS = "".join(f"{gene}\t1\t1\t1\t5\t0\t0\t0\t0\t0.900000\t11111\n" for gene in range(2, 20))
POINTS = "".join(f"{number % 2 * 9 + number / 50} {number / 70}\n" for number in range(40))
WORKLOADS: dict[str, tuple[str, bytes, list[str]]] = {
    "kmeans": ("a.txt", POINTS.encode(), ["--clusters", "2"]),
    "scan": ("a.txt", PAIRS.encode(), []),
    "degrees": ("a.txt", PAIRS.encode(), []),
    "sort": ("a.dat", bytes(range(100)) * 20, []),
}


def pipe(folder: Path) -> None:
    os.mkfifo(folder / "b.npy")


def sockets(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        working_folder = Path.cwd()
        os.chdir(folder)
        try:
            listening.bind("s")
        finally:
            os.chdir(working_folder)


def link_to_a_pipe(folder: Path) -> None:
    os.mkfifo(folder / ".pipe")
    (folder / "b").symlink_to(".pipe")


def link_back(folder: Path) -> None:
    (folder / "self").symlink_to(".")


def links_in_a_circle(folder: Path) -> None:
    for source, target in (("x", "y"), ("y", "x")):
        (folder / source).mkdir()
        (folder / source / "over").symlink_to(f"../{target}")


def lock_of_an_editor(folder: Path) -> None:
    (folder / ".#a.txt").symlink_to("me@host.4711")


PASSED_OVER = (pipe, sockets, link_to_a_pipe, link_back, links_in_a_circle, lock_of_an_editor)


def run(workload: str, source: Path, output: Path) -> subprocess.CompletedProcess[str]:
    """Run a workload on a path; raise if it takes too long."""
    words = ["run", workload, str(source), *WORKLOADS[workload][2], "-o", str(output)]
    return subprocess.run(
        [*COMMAND, *words], capture_output=True, check=False, text=True, timeout=GUARD_SECONDS
    )


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("add", PASSED_OVER, ids=lambda add: add.__name__)
def test_what_is_no_file_is_passed_over(
    workload: str, add: Callable[[Path], None], tmp_path: Path
) -> None:
    """A read of a pipe among the points of a folder blocked the run. Now such names are skipped."""
    name, content, _ = WORKLOADS[workload]
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / name).write_bytes(content)
    add(folder)
    if workload == "sort":
        # Records are read from the folder itself alone.
        for inner in ("x", "y"):
            shutil.rmtree(folder / inner, ignore_errors=True)
    done = run(workload, folder, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    alone = run(workload, folder / name, tmp_path / "alone")
    assert alone.returncode == 0, alone.stderr
    record = '"digest": "'
    digests = [
        (tmp_path / output / "run.json").read_text(encoding="utf-8").partition(record)[2][:32]
        for output in ("out", "alone")
    ]
    assert digests[0] == digests[1] != ""


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("target", ["/nowhere/b.npy", "b"])
def test_a_link_to_nothing_is_named(workload: str, target: str, tmp_path: Path) -> None:
    name, content, _ = WORKLOADS[workload]
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / name).write_bytes(content)
    (folder / "b").symlink_to(target)
    done = run(workload, folder, tmp_path / "out")
    assert done.returncode == 2
    assert f"{folder / 'b'} is a link to {target}" in done.stderr.splitlines()[-1]


def test_a_pipe_among_vectors_is_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    os.mkfifo(folder / "a.npy")
    words = ["run", "dataflow", str(folder), "-o", str(tmp_path / "out")]
    done = subprocess.run(
        [*COMMAND, *words], capture_output=True, check=False, text=True, timeout=GUARD_SECONDS
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("cuesta: ")
