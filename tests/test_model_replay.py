"""A replay agrees with results by hand, with bounds for any job, and with SimGrid."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuesta.cli.app import call
from cuesta_lab.model.replay import FREE, Cluster, replay, without_cost
from cuesta_lab.model.storage import StorageRates, parallel_read
from cuesta_lab.model.tasks import Stage, read, scaled


def stage(count: int, place: str = "disk", **amounts: float | tuple[float, ...]) -> Stage:
    fields: dict[str, Any] = {
        name: value if isinstance(value, tuple) else (value,)
        for name, value in {
            "cpu_s": 0.0, "input_bytes": 0.0, "exchange_bytes": 0.0, "output_bytes": 0.0, **amounts
        }.items()
    }  # fmt: skip
    return Stage(name="s", count=count, after=(), place=place, **fields)


def after(successor: Stage, *stages: int) -> Stage:
    return Stage(**{**vars(successor), "after": stages})


def test_equal_tasks_go_in_waves() -> None:
    result = replay([stage(10, cpu_s=3.0)], Cluster(nodes=2, cores=2))
    assert result.seconds == pytest.approx(9.0)
    assert result.core_seconds["cpu"] == pytest.approx(30.0)


def test_a_leader_that_launches_slowly_is_the_limit() -> None:
    cluster = Cluster(nodes=1000, cores=10, launch_s=1e-3)
    assert replay([stage(5000, cpu_s=0.5)], cluster).seconds == pytest.approx(5.5)


def test_a_disk_is_shared_by_the_tasks_of_its_node() -> None:
    cluster = Cluster(nodes=1, cores=2, disk=100.0)
    assert replay([stage(2, input_bytes=1000.0)], cluster).seconds == pytest.approx(20.0)
    two = Cluster(nodes=2, cores=1, disk=100.0)
    assert replay([stage(2, input_bytes=1000.0)], two).seconds == pytest.approx(10.0)


def test_unequal_users_of_a_disk_leave_it_to_the_rest() -> None:
    cluster = Cluster(nodes=1, cores=2, disk=100.0)
    result = replay([stage(2, input_bytes=(1000.0, 3000.0))], cluster)
    assert result.seconds == pytest.approx(40.0)
    assert result.core_seconds["disk"] == pytest.approx(20.0 + 40.0)


@pytest.mark.parametrize("nodes", [1, 4, 9, 40])
def test_shared_storage_follows_equation_3(nodes: int) -> None:
    rates = StorageRates(
        network=100.0,
        disk_read=1,
        disk_write=1,
        memory=1,
        data_nodes=2,
        data_disk_read=90.0,
        data_disk_write=1,
    )
    cluster = Cluster(nodes=nodes, cores=1, network=100.0, shared=180.0)
    result = replay([stage(nodes, "shared", input_bytes=900.0)], cluster)
    assert 900.0 / result.seconds == pytest.approx(parallel_read(rates, nodes))


def test_a_stage_waits_for_those_it_comes_after() -> None:
    first, second = stage(1, cpu_s=2.0), stage(1, cpu_s=3.0)
    cluster = Cluster(nodes=1, cores=2)
    assert replay([first, after(second, 0)], cluster).seconds == pytest.approx(5.0)
    assert replay([first, second], cluster).seconds == pytest.approx(3.0)
    last = after(stage(1, cpu_s=1.0), 0, 1)
    assert replay([first, second, last], cluster).stage_ends == pytest.approx((2.0, 3.0, 4.0))


_stages = st.lists(
    st.builds(
        stage,
        st.integers(1, 40),
        st.sampled_from(["disk", "shared"]),
        cpu_s=st.floats(0, 5),
        input_bytes=st.floats(0, 1000),
        exchange_bytes=st.floats(0, 1000),
        output_bytes=st.floats(0, 1000),
    ),
    min_size=1,
    max_size=3,
)
_clusters = st.builds(
    Cluster,
    nodes=st.integers(1, 8),
    cores=st.integers(1, 4),
    disk=st.floats(10, 1000),
    network=st.floats(10, 1000),
    shared=st.floats(10, 1000),
    launch_s=st.floats(0, 0.1),
)


@given(_stages, _clusters)
@settings(max_examples=80, deadline=None)
def test_no_job_beats_its_resources_and_all_time_is_accounted_for(
    stages: list[Stage], cluster: Cluster
) -> None:
    result = replay(stages, cluster)
    cpu = sum(job_stage.count * job_stage.cpu_s[0] for job_stage in stages)
    assert result.core_seconds["cpu"] == pytest.approx(cpu)
    assert result.seconds >= cpu / (cluster.nodes * cluster.cores) * (1 - 1e-9)
    assert result.seconds >= cluster.launch_s * result.tasks * (1 - 1e-9)
    moved_bytes = sum(o.count * o.exchange_bytes[0] for o in stages)
    assert result.seconds >= moved_bytes / (cluster.nodes * cluster.network) * (1 - 1e-9)
    assert sum(result.core_seconds.values()) <= result.seconds * cluster.nodes * cluster.cores * (
        1 + 1e-9
    )
    assert replay(stages, cluster) == result


@given(st.integers(1, 60), _clusters)
@settings(max_examples=60, deadline=None)
def test_equal_tasks_are_fastest_where_all_but_cores_is_free(count: int, cluster: Cluster) -> None:
    stages = [stage(count, "shared", cpu_s=1.0, input_bytes=500.0)]
    free = cluster
    for name in FREE:
        free = free if name == "cpu" else without_cost(free, name)
    waves = math.ceil(count / (cluster.nodes * cluster.cores))
    assert replay(stages, free).seconds == pytest.approx(waves)
    assert replay(stages, cluster).seconds >= waves * (1 - 1e-9)


def test_thousands_of_nodes_are_replayed() -> None:
    many = stage(64_000, "shared", cpu_s=(1.0, 2.0), input_bytes=1e8)
    result = replay([many], Cluster(nodes=4000, cores=16, network=1e9, shared=1e11, launch_s=1e-3))
    assert result.tasks == 64_000
    assert result.seconds >= 64.0


def trace(path: Path, **change: Any) -> Path:
    row = {"name": "map", "count": 8, "cpu_s": [1, 2], "input_bytes": 1e6, **change}
    path.write_text(json.dumps({"schema": "cuesta.tasks/1", "stages": [row, {**row, "name": "b"}]}))
    return path


def test_the_command_tries_numbers_of_nodes_and_free_resources(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(trace(tmp_path / "t.json"))
    words = ["model", "replay", file, "--nodes", "1,4", "--cores", "2", "--disk", "1MB/s"]
    assert call([*words, "--what-if", "--json"]) == 0
    single, four = json.loads(capsys.readouterr().out)
    assert single["seconds"] > four["seconds"]
    assert single["free_s"]["disk"] == pytest.approx(14.0)
    assert single["cluster"]["network"] is None
    assert call([*words, "--what-if"]) == 0
    assert "free disk" in capsys.readouterr().out
    assert call(["model", "replay", file, "--machine", "ec2-d3"]) == 0
    assert capsys.readouterr().err == ""
    assert call(["model", "replay", file, "--machine", "theta"]) == 0
    assert "theta: its storage is not described: reading and writing take no" in (
        capsys.readouterr().err
    )


def test_a_scaled_trace_has_so_many_tasks_of_the_same_kind(tmp_path: Path) -> None:
    stages = read(trace(tmp_path / "t.json"))
    assert [job_stage.count for job_stage in scaled(stages, 100)] == [800, 800]
    assert stages[1].after == (0,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 0}, "stage 0, map: count is 0, give a number of tasks"),
        ({"cpu_s": -1}, "cpu_s is not a number, or numbers, from zero up"),
        ({"cpu_s": []}, "cpu_s is not a number, or numbers, from zero up"),
        ({"place": "moon"}, "place is 'moon', give one of disk, shared"),
        ({"after": ["later"]}, "after 'later', which is no stage before it"),
    ],
)
def test_a_bad_trace_is_named_with_its_stage(
    change: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = trace(tmp_path / "t.json", **change)
    assert call(["model", "replay", str(file)]) == 2
    assert message in capsys.readouterr().err
    assert call(["model", "replay", str(file), "--nodes", "many"]) == 2


CASES = (
    {"tasks": 64, "nodes": 4, "cores": 4, "disk_bytes": 3e8},
    {"tasks": 100, "nodes": 8, "cores": 2, "disk_bytes": 3e8, "cpu_s": [1.0, 4.0, 2.5]},
    {"tasks": 33, "nodes": 2, "cores": 8, "shared_bytes": 2e8},
    {"tasks": 200, "nodes": 40, "cores": 2, "shared_bytes": 2e8, "cpu_s": [0.5, 3.0]},
    {"tasks": 150, "nodes": 3, "cores": 4, "shared_bytes": 2e8, "cpu_s": [0.1, 0.7, 0.2]},
)


@pytest.fixture(scope="session")
def simgrid_python() -> str:
    """A Python with SimGrid: this one, or Debian's, whose package is python3-simgrid."""
    for python in (sys.executable, "/usr/bin/python3"):
        tried = [python, "-c", "import simgrid"]
        if Path(python).exists() and not subprocess.run(tried, capture_output=True).returncode:
            return python
    pytest.skip("SimGrid is not installed (PyPI simgrid 4.1, Debian python3-simgrid)")


@pytest.mark.parametrize("case", CASES)
def test_simgrid_computes_the_same(
    case: dict[str, Any], simgrid_python: str, tmp_path: Path
) -> None:
    case = {
        "disk": 1e9, "network": 1.25e8, "shared": 5e8, "disk_bytes": 0, "shared_bytes": 0,
        "cpu_s": [2.0], **case,
    }  # fmt: skip
    file = tmp_path / "case.json"
    file.write_text(json.dumps(case))
    program = Path(__file__).with_name("simgridcase.py")
    command = [simgrid_python, str(program), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    place, bytes_read = "disk", case["disk_bytes"]
    if case["shared_bytes"]:
        place, bytes_read = "shared", case["shared_bytes"]
    our_result = replay(
        [stage(case["tasks"], place, cpu_s=tuple(case["cpu_s"]), input_bytes=bytes_read)],
        Cluster(**{name: case[name] for name in ("nodes", "cores", "disk", "network", "shared")}),
    )
    assert our_result.seconds == pytest.approx(float(done.stdout.split()[-1]), rel=0.03)


def run_record(stages: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    phases = [{"name": "start", "seconds": 1.0}, {"name": "sort", "seconds": 5.0}]
    defaults = {"schema": "cuesta.run/1", "phases": phases, "wall_seconds": 6.0, "stages": stages}
    return {**defaults, **more}


def test_the_tasks_of_a_run_are_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half a second until the first stage and from it to the second, and a second after that."""
    each = {"task_seconds": [1.0, 1.0, 1.0, 1.0], "fetch_wait_seconds": [0.5] * 4}
    first = {"name": "map", "began": 1.5, "seconds": 2.0, "tasks": 4, "each": each}
    second = {"name": "reduce", "began": 4.0, "seconds": 1.0, "tasks": 1}
    second["each"] = {"task_seconds": [1.0], "exchange_bytes": [1e8]}
    (tmp_path / "run.json").write_text(json.dumps(run_record([first, second])))
    names = [(job_stage.name, job_stage.count) for job_stage in read(tmp_path)]
    leader = ("leader", 1)
    assert names == [leader, ("map", 4), leader, ("reduce", 1), leader]
    # Waits for bytes of other tasks are removed; the bytes take as long as the links need.
    result = replay(read(tmp_path), Cluster(nodes=1, cores=2, network=1e8))
    assert result.seconds == pytest.approx(0.5 + 1.0 + 0.5 + 2.0 + 1.0)
    words = ["model", "replay", str(tmp_path), "--cores", "4", "--json"]
    assert call(words) == 0
    (replayed,) = json.loads(capsys.readouterr().out)
    assert replayed["seconds"] == pytest.approx(0.5 + 0.5 + 0.5 + 1.0 + 1.0)


def test_a_run_without_times_of_tasks_is_no_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = {"name": "map", "began": 1.5, "seconds": 2.0, "tasks": 4}
    for stages in ([], [bare]):
        (tmp_path / "run.json").write_text(json.dumps(run_record(stages)))
        assert call(["model", "replay", str(tmp_path / "run.json")]) == 2
        assert "its engine has no log of tasks; give a run of spark" in capsys.readouterr().err
