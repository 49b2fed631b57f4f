"""The benches find equal answers and keep what they measured, at the size of seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PEERS = ("duckdb", "networkit", "polars", "scipy", "sklearn")

pytestmark = pytest.mark.skipif(
    any(find_spec(peer) is None for peer in PEERS),
    reason="the peers are not installed: pip install 'cuesta[bench]'",
)


@pytest.mark.parametrize(
    ("bench", "case_count"),
    [
        ("scan", 2),
        ("join", 2),
        ("degrees", 2),
        ("components", 3),
        ("correlate", 1),
        ("dataflow", 2),
        ("kmeans", 1),
        ("memory", 6),
        ("pair_matrix", 3),
        ("sort", 2),
    ],
)
def test_a_bench_finds_equal_answers_and_keeps_every_sample(
    tmp_path: Path, bench: str, case_count: int
) -> None:
    command = [sys.executable, "bench/run.py", bench, "--smoke", "--repeats", "1"]
    done = subprocess.run(
        [*command, "--without", "spark", "--without", "array"],
        cwd=ROOT,
        env=os.environ | {"CUESTA_BENCH_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "smoke" / f"{bench}.json").read_text())
    assert len(record["cases"]) == case_count
    for case in record["cases"]:
        answers = {one["digest"] for one in case["contestants"] if "digest" in one}
        assert len(answers) == 1, case["name"]
        assert all(len(one["seconds"]) == 1 for one in case["contestants"])
    assert f"`bench/run.py {bench}`" in done.stdout
