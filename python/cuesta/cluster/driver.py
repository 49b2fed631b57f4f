"""The command of a cluster: started with the cluster's addresses, and timed."""

from __future__ import annotations

import json
import time

from cuesta.children import module_command
from cuesta.cluster import mpi, node_store
from cuesta.cluster.describe import time_to_first_task
from cuesta.cluster.node import nearest, scratch_here
from cuesta.cluster.running import RunningCluster
from cuesta.cluster.services import SparkService, node_use
from cuesta.cluster.watchdog import MARK, mark
from cuesta.cluster.yarn_service import YarnService
from cuesta.engines.spark.first_task import TIMES
from cuesta.errors import InputError, in_words

NAME = "driver"
_RUNS = ("run", "compare")
"""Commands of cuesta that take an engine."""


class Driver:
    """Runs the command of a plan.

    Attributes
    ----------
    spark, yarn
        The services, once they are ready.
    """

    def __init__(self, cluster: RunningCluster) -> None:
        self._cluster = cluster
        self.spark: SparkService | None = None
        self.yarn: YarnService | None = None

    def run(self) -> int:
        """Run the command, return its exit code. Errors: `InputError` where it does not start."""
        cluster = self._cluster
        words = self.words(list(cluster.plan.command))
        environment = {
            MARK: mark(cluster.plan.cluster, "driver"),
            TIMES: str(cluster.folder.times_file),
        }
        environment |= mpi.variables(cluster.plan, cluster.folder, cluster.state)
        environment |= node_store.variables(cluster.plan, nearest(cluster.state)["name"])
        scratch = scratch_here(cluster.state)
        if scratch and cluster.plan.command[0] not in _RUNS:
            # The agent of the node removes it, with any file the command leaves there. Commands of
            # cuesta have a --scratch, and sockets whose paths must be short.
            environment["TMPDIR"] = scratch
        if self.spark:
            environment |= {
                "SPARK_CONF_DIR": str(cluster.folder.conf),
                "CUESTA_MASTER": self.spark.master,
            }
        if self.yarn:
            environment["HADOOP_CONF_DIR"] = str(cluster.folder.conf)
        cluster.state["command"] = words
        cluster.set_state("running", command=time.time())
        try:
            cluster.children.start(NAME, words, environment, None)
        except (FileNotFoundError, PermissionError) as error:
            raise InputError(f"{words[0]}: {in_words(error)}") from None
        while (code := cluster.pump().get(NAME)) is None:
            pass
        cluster.state["command_code"] = code
        cluster.state["times"] |= {"command_ended": time.time(), **self._times()}
        first = time_to_first_task(cluster.state["times"])
        if first:
            cluster.state["first_task"] = first
        cluster.set_state("stopping")
        return code if code >= 0 else 128 - code

    def words(self, command: list[str]) -> list[str]:
        """Return the command as it is run: cuesta's by this Python, others unchanged."""
        if command[0] not in _RUNS:
            return command
        engines = _value(command, ("--engine", "--engines")).split(",")
        use, count = node_use(self._cluster), len(self._cluster.members.facts())
        options: dict[str, str] = {}
        more: dict[str, str] = {}
        if self.spark and any(engine.startswith("spark") for engine in engines):
            options = {"--master": self.spark.master, "--threads": str(use.cores)}
            more |= self._cluster.plan.spark_sets
        if "mpi" in engines:
            options["--ranks"] = str(count * use.cores)
        if options:
            options["--memory"] = str(use.memory_bytes)
        if self.yarn and "hadoop" in engines:
            # With other engines it uses the same cores and memory as they do.
            defaults = {"--threads": str(count * use.cores), "--memory": str(self.yarn.job_bytes)}
            options = defaults | options
            more |= self._cluster.plan.hadoop_sets if len(engines) == 1 else {}
        pairs = [(name, value) for name, value in options.items() if not _value(command, (name,))]
        pairs += [("--engine-option", f"{key}={value}") for key, value in more.items()]
        words = [word for pair in pairs for word in pair]
        return module_command("cuesta", *command, *words, python=self._cluster.plan.python)

    def _times(self) -> dict[str, float]:
        try:
            times: dict[str, float] = json.loads(self._cluster.folder.times_file.read_text())
        except (OSError, ValueError):
            return {}
        return times


def _value(command: list[str], names: tuple[str, ...]) -> str:
    """Return the value of an option in a command line, empty without it."""
    for number, word in enumerate(command):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else "".join(command[number + 1 : number + 2])
    return ""
