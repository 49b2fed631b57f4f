"""A fault that is put into the machine is what `explain` finds in the run."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from cuesta.lab import machines
from cuesta.report.attribution import QUOTA, STORAGE, Attribution, attribution
from cuesta.report.records import to_run

STUDY = """
question = "Is the cause of a slow run named?"
workload = "sort"
repeats = 1

[settings]
inputs = ["rows"]
memory = "1GiB"

[[input]]
name = "rows"
make = "tera"
rows = 1_000_000

[[factor]]
name = "fault"
levels = [
    { name = "none" },
    # So little that it is less than what other programs leave of the cores.
    { name = "quota", machine = { cpu-quota = "0.2" } },
    { name = "disk", cache = "cold", machine = { disk-rate = "40MB/s", disk-holds = "input" } },
]
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Attribution]:
    """What was found in a run of each level; skips where the machine cannot be held to them."""
    folder = tmp_path_factory.mktemp("faults")
    (folder / "faults.toml").write_text(STUDY, "utf-8")
    words = ["-m", "cuesta", "study", "run", str(folder / "faults.toml"), "-o", str(folder / "out")]
    lacking = machines.refusal({"cpu-quota": "0.2", "disk-rate": "40MB/s"})
    if lacking:
        pytest.skip(lacking)
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    if "machine factor" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    made = {}
    for name in ("none", "quota", "disk"):
        file = folder / "out" / "runs" / name / "1" / "run.json"
        result = attribution(to_run(json.loads(file.read_text("utf-8")), name))
        assert result is not None
        made[name] = result
    return made


# Other tests may have cores and disk meanwhile: the share of the cause is looked at, not its rank.


def test_a_quota_of_processor_time_is_found(found: dict[str, Attribution]) -> None:
    assert found["quota"].share(QUOTA) > 0.25
    assert found["none"].share(QUOTA) == found["disk"].share(QUOTA) == 0


def test_a_slow_disk_is_found(found: dict[str, Attribution]) -> None:
    assert found["disk"].share(STORAGE) > 0.25
