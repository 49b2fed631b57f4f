"""A run of one size on some nodes as a model sees it: a measurement, or a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cuesta_lab.model.setting import in_words


@dataclass(frozen=True, kw_only=True)
class Observation:
    """A run; without `seconds` it is a question.

    Attributes
    ----------
    group
        Properties that runs of one model have in common: machine, engine, cached and so on.
    nodes, cores_per_node
        Number of nodes, and of cores on each.
    amount
        Amount of work, in `unit`.
    data_bytes
        Size of a copy of the data in memory, on all nodes; None if unknown.
    cache_bytes
        Memory of a node for cached data; None if the run caches nothing, or if unknown.
    tasks
        Number of tasks of a stage; None for engines that launch none.
    factors
        Other numbers that a model may use: `memory_bytes` and `disk_bytes_per_s` of a node.
    seconds
        Time of the complete run.
    phases
        Seconds of its phases by name.
    source
        File and line, for messages and for tracing a prediction.
    repeats
        Number of runs of the shape whose median this run has.
    """

    group: Mapping[str, str]
    nodes: int
    cores_per_node: int
    amount: float
    unit: str
    data_bytes: float | None = None
    cache_bytes: float | None = None
    tasks: int | None = None
    factors: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    phases: Mapping[str, float] = field(default_factory=dict)
    source: str = ""
    repeats: int = 1

    @property
    def key(self) -> str:
        """Name of the group: `cooley spark-scala cached=1`; empty properties are left out."""
        plain = ("machine", "workload", "engine")
        words = [self.group[name] for name in plain if name in self.group]
        further = {name: text for name, text in self.group.items() if name not in plain and text}
        if "parameters" in further:
            further["parameters"] = in_words(further["parameters"])
        words += [f"{name}={text}" for name, text in further.items() if text]
        return " ".join(words)

    @property
    def shape(self) -> tuple[object, ...]:
        """Properties on which the time may depend."""
        where = (self.nodes, self.cores_per_node, self.cache_bytes, self.tasks)
        return (*where, self.amount, *sorted(self.factors.items()))

    @property
    def work(self) -> float:
        """Amount of work for each core."""
        return self.amount / (self.nodes * self.cores_per_node)
