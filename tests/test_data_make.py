"""Places of synthetic inputs: files and pipes, no folders and no files of others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [str(Path(sys.executable).with_name("cuesta")), "data", "make", "tera", "--rows", "2"]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *words], cwd=folder, capture_output=True)


def test_a_folder_is_never_replaced_by_a_file(tmp_path: Path) -> None:
    """An empty folder, and so the working folder, was replaced by a file."""
    done = run(tmp_path, "-o", ".")
    assert done.returncode == 2
    assert b"is a folder; give the name of a file" in done.stderr
    assert tmp_path.is_dir()


@pytest.mark.parametrize("options", [[], ["--overwrite"]])
def test_a_file_behind_proc_is_a_file(tmp_path: Path, options: list[str]) -> None:
    """Every path that began with /proc/ was taken for a device, and written through."""
    (tmp_path / "link").symlink_to("kept")
    (tmp_path / "kept").write_text("precious")
    for place in (["kept"] if not options else []) + ["link"]:
        done = run(tmp_path, "-o", f"/proc/self/cwd/{place}", *options)
        assert done.returncode == 2
    assert (tmp_path / "kept").read_text() == "precious"


def test_standard_output_may_be_a_pipe_but_no_file(tmp_path: Path) -> None:
    """The name of the output was written over the data, or behind them."""
    done = run(tmp_path, "-o", "/dev/stdout")
    assert (done.returncode, len(done.stdout)) == (0, 200)
    with (tmp_path / "log").open("wb") as file:
        file.write(b"before\n")
        file.flush()
        words = [*COMMAND, "-o", "/dev/stdout"]
        done = subprocess.run(words, stdout=file, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert b"leads to a regular file" in done.stderr
    assert (tmp_path / "log").read_bytes() == b"before\n"
