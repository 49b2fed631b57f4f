"""What was measured, or is asked for: one run of one size on some nodes, as a model sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Observed:
    """One run; without `seconds` it is a question.

    Attributes
    ----------
    group
        What must be equal for one model to serve two runs: machine, engine, cached and so on.
    nodes, cores_per_node
        Where it ran.
    amount
        How much there was to do, in `unit`.
    data_bytes
        What one copy of the data takes in memory, on all nodes; None where nobody knows.
    cache_bytes
        Memory of one node for cached data; None where the run caches nothing, or nobody knows.
    tasks
        How many tasks one stage has; None for engines that launch none.
    factors
        Other numbers that a model may use: `memory_bytes` and `disk_bytes_per_s` of a node.
    seconds
        The whole run.
    phases
        Seconds of its parts by name.
    source
        File and line, for messages and for following a prediction.
    repeats
        Of how many runs of one shape it has the median.
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
        """The group in words: `cooley spark-scala cached=1`; what is empty is left out."""
        plain = ("machine", "workload", "engine")
        words = [self.group[name] for name in plain if name in self.group]
        others = {name: text for name, text in self.group.items() if name not in plain and text}
        words += [f"{name}={text}" for name, text in others.items()]
        return " ".join(words)

    @property
    def shape(self) -> tuple[object, ...]:
        """All that its time may depend on."""
        where = (self.nodes, self.cores_per_node, self.cache_bytes, self.tasks)
        return (*where, self.amount, *sorted(self.factors.items()))

    @property
    def work(self) -> float:
        """Amount for each core."""
        return self.amount / (self.nodes * self.cores_per_node)
