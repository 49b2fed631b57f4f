"""Limits of control groups and of batch systems, at any level of the tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuesta import allotment, machine
from cuesta.allotment import batch_system, control_groups, threads_for
from cuesta.errors import InputError

GIB = 1 << 30
LIMITS = st.one_of(st.none(), st.integers(16 << 20, 64 * GIB))
QUOTAS = st.one_of(st.none(), st.integers(1000, 6_400_000))
PERIOD = 100_000
SECOND_MOUNTS = "30 25 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n"
FIRST_MOUNTS = (
    "31 25 0:27 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
    "32 25 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
)
NAMES = ("job_1", "step_0", "user", "task_0")


class System:
    """A system's files about control groups, in a folder."""

    def __init__(self, root: Path, membership: str, mounts: str) -> None:
        self.root, self.process = root, root / "proc"
        self.process.mkdir(parents=True)
        (self.process / "cgroup").write_text(membership)
        (self.process / "mountinfo").write_text(mounts)

    def write(self, folder: str, **files: str) -> None:
        """Write files of a group; two underscores in a name stand for a dot."""
        place = self.root / folder.lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (place / name.replace("__", ".")).write_text(f"{text}\n")

    def limits(self) -> allotment.Allotment:
        """Return the limits that the files describe."""
        return control_groups(self.process, self.root)


@given(st.lists(st.tuples(LIMITS, QUOTAS), min_size=1, max_size=4), st.booleans())
def test_the_tightest_limit_of_all_groups_around_a_process_counts(
    tmp_path_factory: pytest.TempPathFactory,
    levels: list[tuple[int | None, int | None]],
    is_second: bool,
) -> None:
    path = "".join(f"/{name}" for name in NAMES[: len(levels) - 1]) or "/"
    words = f"0::{path}\n" if is_second else f"5:memory:{path}\n4:cpuacct,cpu:{path}\n0::/\n"
    mounts = SECOND_MOUNTS if is_second else FIRST_MOUNTS
    system = System(tmp_path_factory.mktemp("system") / "root", words, mounts)
    for depth, (memory, quota) in enumerate(levels):
        below = "".join(f"/{name}" for name in NAMES[:depth])
        if is_second:
            limits_of_job = {
                "memory__max": str(memory or "max"),
                "cpu__max": f"{quota or 'max'} {PERIOD}",
            }
            system.write(f"/sys/fs/cgroup{below}", **limits_of_job)
        else:
            limit = memory or 9223372036854771712
            system.write(f"/sys/fs/cgroup/memory{below}", memory__limit_in_bytes=str(limit))
            limits_of_job = {
                "cpu__cfs_quota_us": str(quota or -1),
                "cpu__cfs_period_us": str(PERIOD),
            }
            system.write(f"/sys/fs/cgroup/cpu,cpuacct{below}", **limits_of_job)
    limits = system.limits()
    assert limits.memory_bytes == min((memory for memory, _ in levels if memory), default=None)
    quotas = [quota / PERIOD for _, quota in levels if quota]
    assert limits.cores == min(quotas, default=None)


def test_a_container_that_shows_a_part_of_the_groups_is_read(tmp_path: Path) -> None:
    mounts = "32 25 0:28 /box /sys/fs/cgroup ro - cgroup2 cgroup2 ro\n"
    for number, path in enumerate(("/box/job", "/../../job", "/job", "/")):
        system = System(tmp_path / str(number), f"0::{path}\n", mounts)
        system.write("/sys/fs/cgroup", memory__max=str(GIB), cpu__max="50000 100000")
        system.write("/sys/fs/cgroup/job", memory__max="max", memory__high=str(GIB // 2))
        expected = GIB // 2 if path == "/box/job" else GIB
        assert (system.limits().memory_bytes, system.limits().cores) == (expected, 0.5)


def test_memory_that_is_left_counts_pages_of_files_as_free(tmp_path: Path) -> None:
    system = System(tmp_path / "a", "0::/job\n", SECOND_MOUNTS)
    stat = "anon 5\ninactive_file 40\nactive_file 20\n"
    job = {"memory__max": "1000", "memory__current": "900", "memory__stat": stat}
    system.write("/sys/fs/cgroup/job", **job)
    assert system.limits().memory_left_bytes == 160


@pytest.mark.parametrize("words", ["", "nothing", "0::/\n", "4:memory\n", "::::\n\n"])
def test_a_system_without_groups_has_no_limit(words: str, tmp_path: Path) -> None:
    system = System(tmp_path / "a", words, "no mount\n30 a - cgroup2\n")
    assert system.limits() == allotment.Allotment()
    assert control_groups(tmp_path / "none", tmp_path) == allotment.Allotment()


@pytest.mark.parametrize(
    ("variables", "cores", "mebibytes"),
    [
        ({}, None, None),
        ({"SLURM_CPUS_PER_TASK": "2", "SLURM_MEM_PER_NODE": "512"}, 2, 512),
        ({"SLURM_CPUS_ON_NODE": "8", "SLURM_MEM_PER_CPU": "1000"}, 8, 8000),
        ({"SLURM_CPUS_ON_NODE": "128", "SLURM_CPUS_PER_TASK": "4"}, 4, None),
        (
            {
                "SLURM_CPUS_PER_TASK": "2",
                "SLURM_CPUS_ON_NODE": "8",
                "SLURM_TASKS_PER_NODE": "4(x2)",
            },
            8,
            None,
        ),
        (
            {
                "SLURM_CPUS_PER_TASK": "2",
                "SLURM_TASKS_PER_NODE": "4",
                "SLURM_STEP_NUM_TASKS": "4",
            },
            2,
            None,
        ),
        ({"SLURM_MEM_PER_NODE": "0", "SLURM_CPUS_PER_TASK": "many"}, None, None),
        ({"NCPUS": "4"}, None, None),
        ({"NCPUS": "4", "PBS_JOBID": "7.host"}, 4, None),
    ],
    ids=str,
)
def test_an_allocation_follows_its_variables(
    variables: dict[str, str], cores: int | None, mebibytes: int | None
) -> None:
    job = batch_system(variables)
    assert (job.cores, job.memory_bytes) == (cores, mebibytes and mebibytes << 20)


def test_a_quota_is_used_in_full() -> None:
    assert [threads_for(cores) for cores in (0.1, 1, 1.0000000001, 1.5, 4)] == [1, 1, 1, 2, 4]


def test_the_defaults_of_a_run_are_those_of_its_job(tmp_path: Path) -> None:
    """A job of 512 MiB got half of the machine's memory as its default, and the kernel killed it.
    Now the defaults come from the limits of the job.
    """
    words = [
        "run",
        "dataflow",
        "--blocks",
        "2",
        "--block-vectors",
        "100",
        "-o",
        str(tmp_path / "a"),
    ]
    program = "import json, sys; r = json.load(open(sys.argv[1])); print(r['memory_bytes'], "
    program += "r['threads'])"
    job = {"SLURM_CPUS_PER_TASK": "1", "SLURM_MEM_PER_NODE": "512"}
    command = [sys.executable, "-m", "cuesta", *words]
    subprocess.run(command, env=os.environ | job, check=True, capture_output=True, timeout=60)
    show_limits = [sys.executable, "-c", program, str(tmp_path / "a" / "run.json")]
    done = subprocess.run(show_limits, check=True, capture_output=True, text=True)
    memory_bytes, threads = map(int, done.stdout.split())
    assert (memory_bytes, threads) == (256 << 20, 1)


def test_the_limit_of_open_files_is_raised_at_the_start() -> None:
    """300 lanes were refused under the soft limit of 256 open files of many systems. Now the limit
    is raised at the start.
    """
    program = (
        "import resource; from cuesta.machine import raise_limit_of_files as raised; raised();"
        "print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    script = f'ulimit -S -n 64; exec "$0" -c "{program}"'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable], check=True, capture_output=True, text=True
    )
    soft, hard = map(int, done.stdout.split())
    assert soft == min(hard, machine.FILES_MAX) > 64


@pytest.mark.parametrize(
    ("kibibytes", "threads", "message"),
    [
        (300_000, 2, "raise `ulimit -v`, or say how much to use with --memory"),
        (1_500_000, 1024, "more threads only, and needs 1040 for --threads 1024; give fewer"),
    ],
)
def test_too_little_address_space_is_refused_before_the_run(
    kibibytes: int, threads: int, message: str, tmp_path: Path
) -> None:
    """Under `ulimit -v` a run hung, was aborted, or asked to report an internal error where a
    thread or memory was refused. Now both are asked for before.
    """
    run = f"run dataflow --blocks 2 --block-vectors 100 --threads {threads} -o {tmp_path}/a"
    script = f'ulimit -v {kibibytes}; exec "$0" -m cuesta {run}'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2, done.stderr
    assert message in done.stderr.splitlines()[-1]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kibibytes", [600_000, 800_000, 1_000_000])
def test_any_sufficient_address_space_is_enough(kibibytes: int, tmp_path: Path) -> None:
    """900,000 KiB were enough and 1,000,000 were not: arenas of threads took what stacks need."""
    words = "run dataflow --blocks 2 --block-vectors 100 --threads 1 -o"
    script = f'ulimit -v {kibibytes}; exec "$0" -m cuesta {words} {tmp_path}/a'
    subprocess.run(["bash", "-c", script, sys.executable], check=True, capture_output=True)


def test_the_tightest_limit_of_tasks_counts(tmp_path: Path) -> None:
    system = System(tmp_path / "root", "0::/user/job_1\n", SECOND_MOUNTS)
    system.write("/sys/fs/cgroup/user/job_1", pids__max="max", pids__current="10")
    assert allotment.tasks_left(system.process, system.root) is None
    system.write("/sys/fs/cgroup/user/job_1", pids__max="110")
    system.write("/sys/fs/cgroup/user", pids__max="20", pids__current="13")
    assert allotment.tasks_left(system.process, system.root) == 7


def test_memory_that_does_not_fit_in_the_address_space_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "address_space_bytes", lambda: GIB)
    machine.check_address_space(GIB // 2)
    with pytest.raises(InputError, match=r"leaves this process 1 GiB, and it needs 128 MiB beside"):
        machine.check_address_space(GIB)
