"""`explain` names the fault that was injected into the machine."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from cuesta.cli.app import call
from cuesta.engines import get_engine
from cuesta.report.records import Run, number, to_run
from cuesta_lab import machines
from cuesta_lab.report.attribution import (
    COLLECTION,
    IDLE,
    NETWORK,
    OTHERS,
    QUOTA,
    SKEW,
    STARTING,
    STORAGE,
    UNSEEN,
    WORK,
    Attribution,
    attribution,
)
from cuesta_lab.report.whatif import what_if

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
    # So little that many other programs leave more of the cores.
    { name = "quota", machine = { cpu-quota = "0.05" } },
    { name = "disk", cache = "cold", machine = { disk-rate = "4MB/s", disk-holds = "input" } },
]
"""


LINK = """
    # Half of the records move to the other node: 25 MB each way, forty seconds.
    { name = "link", nodes = 2, engine = "spark", machine = { link-rate = "5mbit" } },"""
LINKED = f"""
question = "Does a second node pay, and is a slow link to it named?"
workload = "sort"
repeats = 1

[settings]
inputs = ["rows"]
memory = "2GiB"
cores = 1

[[input]]
name = "rows"
make = "tera"
kind = "random"
rows = 1_000_000

[[factor]]
name = "fault"
levels = [
    {{ name = "native" }},
    {{ name = "none", nodes = 2, engine = "spark" }},{LINK}
]
"""


def studied(text: str, folder: Path, factors: dict[str, str]) -> dict[str, Run]:
    """Return a run of each level; skip where the machine cannot be limited to them."""
    (folder / "faults.toml").write_text(text, "utf-8")
    words = ["-m", "cuesta", "study", "run", str(folder / "faults.toml"), "-o", str(folder / "out")]
    reason = machines.refusal(factors)
    if reason:
        pytest.skip(reason)
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    if "machine factor" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    files = (folder / "out" / "runs").glob("*/1/run.json")
    return {file.parts[-3]: read(file) for file in files}


def read(file: Path) -> Run:
    return to_run(json.loads(file.read_text("utf-8")), file.parts[-3])


def attributed(run: Run) -> Attribution:
    """Return the attribution of the time, which must cover all of it."""
    result = attribution(run)
    assert result is not None
    assert sum(result.core_seconds.values()) == pytest.approx(result.cores * result.wall_seconds)
    return result


def of_work(run: Run, cause: str) -> float:
    """Return the share of a cause in the core time after the start that other programs left."""
    result = attributed(run)
    return result.share(cause) / (1 - result.share(STARTING) - result.share(OTHERS))


def first(run: Run, *but: str) -> str:
    """Return the cause with the most core time, without the time that parallel tests took."""
    result = attributed(run)
    excluded = (*WORK, STARTING, OTHERS, *but)
    return max((cause for cause in result.core_seconds if cause not in excluded), key=result.share)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """A sort without a fault, under a quota, and with a slow disk."""
    factors = {"cpu-quota": "0.05", "disk-rate": "4MB/s"}
    return studied(STUDY, tmp_path_factory.mktemp("faults"), factors)


def test_a_quota_of_processor_time_is_detected(runs: dict[str, Run]) -> None:
    shares = {name: of_work(run, QUOTA) for name, run in runs.items()}
    assert shares["quota"] > 0.25
    assert first(runs["quota"]) == QUOTA
    assert shares["none"] == shares["disk"] == 0


def test_a_slow_disk_is_detected(runs: dict[str, Run]) -> None:
    assert of_work(runs["disk"], STORAGE) > 0.25
    assert first(runs["disk"]) == STORAGE


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """A sort by native, and by Spark on two nodes, without and with a slow link where possible."""
    needs_spark("spark")
    slow = machines.refusal({"link-rate": "5mbit"}) is None
    text = LINKED if slow else LINKED.replace(LINK, "")
    runs = studied(text, tmp_path_factory.mktemp("linked"), {})
    if "none" not in runs:
        pytest.skip("no two nodes here")
    return runs


def test_nodes_are_brought_up_for_a_run(linked: dict[str, Run]) -> None:
    """Nodes on this machine, or each with a separate network and a link of some rate."""
    assert {"native", "none"} <= linked.keys()
    assert len({run.object("answer")["digest"] for run in linked.values()}) == 1


def test_a_slow_link_is_detected(linked: dict[str, Run]) -> None:
    if "link" not in linked:
        pytest.skip("no two nodes with a link here")
    link, plain = linked["link"], linked["none"]
    assert of_work(link, NETWORK) > 3 * of_work(plain, NETWORK)
    assert of_work(link, NETWORK) > 0.2
    assert first(link) == NETWORK
    # The part without a named cause depends on the load of the machine as well.
    assert attributed(link).share(UNSEEN) + attributed(link).share(IDLE) < of_work(link, NETWORK)
    replayed = what_if(link)
    assert replayed is not None
    assert NETWORK in replayed.without


def needs_spark(name: str) -> None:
    reason = get_engine(name).missing()
    if reason:
        pytest.skip(reason)


def run_of(words: list[str], answer: Path) -> Run:
    """Return a run in a separate process, whose Spark session is new."""
    command = [sys.executable, "-m", "cuesta", "run", *words, "--threads", "2", "--verify", "none"]
    done = subprocess.run(
        [*command, "-o", str(answer)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return read(answer / "run.json")


def test_a_small_heap_is_detected(tmp_path: Path) -> None:
    """The young generation has 1 MiB instead of 1,200: it is collected again and again."""
    needs_spark("spark-scala")
    file = tmp_path / "rows.dat"
    make = ["data", "make", "tera", "--kind", "random", "--rows", "1000000", "-o", str(file)]
    assert call(make) == 0
    words = ["sort", str(file), "--engine", "spark-scala", "--memory", "3GiB"]
    young = {"none": "1200m", "heap": "1m"}
    # With room for its classes from the start, for which it would collect otherwise.
    java = "-XX:+UseSerialGC -XX:MetaspaceSize=256m -Xmn"
    option = f"spark.driver.extraJavaOptions={java}"
    runs = {
        name: run_of(
            [*words, "--engine-option", f"{option}{size} -Xlog:gc:file={tmp_path / name}.log"],
            tmp_path / name,
        )
        for name, size in young.items()
    }
    pauses = {name: (tmp_path / f"{name}.log").read_text().count("Pause") for name in young}
    assert pauses["heap"] > 100 * max(1, pauses["none"])
    # Their time depends on the load of the machine; that they are named does not.
    assert number(runs["heap"].object("engine_log")["gc_seconds"])
    assert COLLECTION in attributed(runs["heap"]).core_seconds


def test_a_task_that_is_far_longer_than_the_rest_is_detected(large: Path, tmp_path: Path) -> None:
    """A compressed file is a single task: one of two has 240 times the lines of the other."""
    needs_spark("spark")
    lines = large.read_bytes().splitlines(keepends=True)
    member = gzip.compress(b"".join(lines), 1)
    folder = tmp_path / "uneven"
    folder.mkdir()
    (folder / "1.txt.gz").write_bytes(240 * member)
    (folder / "2.txt.gz").write_bytes(member)
    words = ["scan", str(folder), "--min-abs-score", "0.9", "--engine", "spark"]
    run = run_of([*words, "--memory", "2GiB"], tmp_path / "answer")
    assert attributed(run).share(SKEW) > 0
    # The first cause depends on the load of the machine, its memory and its collector as well.
    log = run.object("engine_log")
    # One of two cores was idle for most of the time of the other's task.
    assert (number(log["tail_seconds"]) or 0) > 0.3 * (number(log["task_seconds"]) or 1)
    replayed = what_if(run)
    assert replayed is not None
    assert SKEW in replayed.without
