"""Modules of the working folder run in no process of Cuesta.

Cause: children were started with `python -m`, which looks into the working folder first. Symptom:
a file `json.py` in an unpacked archive or in a shared folder ran as the user. Fix: `python -P`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PLANTED = ("cuesta", "cuesta_store", "json", "numpy", "pickle", "pyspark", "socket")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with a matrix, and with modules that leave a file when they are imported."""
    trace = tmp_path / "trace"
    for name in PLANTED:
        (tmp_path / f"{name}.py").write_text(f"open({str(trace)!r}, 'a').write({name!r})\n")
    values = [[gene * sample % 11 for sample in range(1, 9)] for gene in range(9)]
    lines = ["gene\t" + "\t".join("abcdefgh")]
    lines += ["\t".join(map(str, (f"G{gene}", *row))) for gene, row in enumerate(values)]
    (tmp_path / "m.tsv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.parametrize("engine", ["native", "mpi", "dask", "spark", "hadoop"])
def test_an_engine_imports_no_module_of_the_working_folder(folder: Path, engine: str) -> None:
    command = Path(sys.executable).with_name("cuesta")
    words = ["run", "correlate", "m.tsv", "--min-samples", "3", "--engine", engine, "-o", "out"]
    done = subprocess.run([command, *words], cwd=folder, capture_output=True, text=True)
    assert not (folder / "trace").exists(), (folder / "trace").read_text()
    assert done.returncode == 0, done.stderr
