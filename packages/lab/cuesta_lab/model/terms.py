"""Terms of the time of a run, each with a unit and a reason.

Time is a sum of terms with coefficients that are not negative, as in Ernest (NSDI 2016), whose
terms are a constant, work by machines, log of machines and machines. Here work is divided by cores,
the last term counts tasks that a leader starts one after the other, and there are terms for data
that is cached beyond the memory for it. The properties of a run decide which terms it has; the fit
(`candidates`) decides which of them matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from cuesta_lab.model.growth import PAIRS, power
from cuesta_lab.model.observed import Observation


@dataclass(frozen=True, kw_only=True)
class Term:
    """A part of the time: a coefficient times `value`.

    Attributes
    ----------
    unit
        Unit of the coefficient, with `{unit}` for that of the amount.
    why
        Cause of this part of the time.
    value
        Factor of the coefficient; None for a run without the data for it.
    prior
        Prior weight, relative to a term of 1.
    largest
        Upper bound of the coefficient: the order of a launch or a message is known.
    of_work
        Whether the term is an addition to the work, which needs a term of work in the same set.
    """

    name: str
    unit: str
    why: str
    value: Callable[[Observation], float | None]
    prior: float = 1.0
    largest: float = math.inf
    of_work: bool = False


def over(run: Observation, copies: int) -> bool | None:
    """Whether `copies` of the data exceed the memory for cached data; None if unknown."""
    if run.cache_bytes is None or run.data_bytes is None:
        return None
    return copies * run.data_bytes > run.nodes * run.cache_bytes


def _recomputed(copies: int) -> Callable[[Observation], float | None]:
    def value(run: Observation) -> float | None:
        beyond = over(run, copies)
        return None if beyond is None else run.work * beyond

    return value


def _spilled(copies: float) -> Callable[[Observation], float | None]:
    """Bytes of a node beyond its memory when it holds `copies` of its data."""

    def value(run: Observation) -> float | None:
        if run.data_bytes is None:
            return None
        memory = run.factors.get("memory_bytes", math.inf)
        return max(0.0, copies * run.data_bytes / run.nodes - memory)

    return value


def _beyond(copies: int) -> Callable[[Observation], float | None]:
    """All work if `copies` of a node's data exceed its memory, else 0."""

    def value(run: Observation) -> float | None:
        if run.data_bytes is None:
            return None
        memory = run.factors.get("memory_bytes", math.inf)
        return run.work * (copies * run.data_bytes / run.nodes > memory)

    return value


def _from_disk(run: Observation) -> float | None:
    """Seconds that a node needs to read its data once; 0 where no limit slows the disk."""
    if run.data_bytes is None:
        return None
    return run.data_bytes / run.nodes / run.factors.get("disk_bytes_per_s", math.inf)


def _over_links(run: Observation) -> float | None:
    """Seconds that a node needs to send its data to all other nodes once."""
    if run.data_bytes is None:
        return None
    sent = run.data_bytes / run.nodes * (1 - 1 / run.nodes)
    return sent / run.factors.get("link_bytes_per_s", math.inf)


def _pairs(run: Observation) -> float | None:
    """Work that grows with the square of the data; None for workloads without such work."""
    if power(run.group.get("workload", "")) != PAIRS:
        return None
    return run.work * run.amount


def _pairs_alone(run: Observation) -> float | None:
    """Work that grows with the square of the data and that more cores do not speed up."""
    divided = _pairs(run)
    return None if divided is None else divided * run.nodes * run.cores_per_node


def _unlaunched(value: Callable[[Observation], float]) -> Callable[[Observation], float | None]:
    """Restrict a term to programs whose processes run from start to end."""
    return lambda run: value(run) if run.tasks is None else None


TERMS = (
    Term(name="constant", unit="s", why="starting and ending", value=lambda _: 1.0),
    Term(name="work", unit="s for {unit} by core", why="work of a core", value=lambda o: o.work),
    Term(
        name="pairs",
        unit="s for {unit} squared by core",
        why="all pairs of rows",
        value=_pairs,
    ),
    Term(
        name="pairs-alone",
        unit="s for {unit} squared",
        why="all pairs of rows, of what more cores do not make faster",
        value=_pairs_alone,
        prior=0.3,
    ),
    Term(
        name="tasks",
        unit="s by task",
        why="a leader launches tasks one after the other",
        value=lambda run: None if run.tasks is None else float(run.tasks),
        largest=0.01,
    ),
    Term(
        name="slowest",
        unit="s for {unit} by core and doubling of nodes",
        why="all wait for the slowest of more nodes",
        value=lambda run: run.work * math.log2(run.nodes),
        prior=0.5,
        of_work=True,
    ),
    Term(
        name="tree",
        unit="s by doubling of nodes",
        why="combining results in a tree",
        value=lambda run: math.log2(run.nodes),
        prior=0.3,
        largest=1.0,
    ),
    Term(
        name="apart",
        unit="s for {unit} by core",
        why="work that is slower on several nodes than on one",
        value=_unlaunched(lambda run: run.work * (run.nodes > 1)),
        prior=0.3,
        of_work=True,
    ),
    Term(
        name="gathered",
        unit="s for {unit}",
        why="one process looks at what each part of the data gave",
        value=_unlaunched(lambda run: run.amount),
        prior=0.3,
    ),
    Term(
        name="processes",
        unit="s by process",
        why="one process talks to each other",
        value=_unlaunched(lambda run: float(run.nodes * run.cores_per_node)),
        prior=0.3,
        largest=1e-3,
    ),
    Term(
        name="over-1",
        unit="s for {unit} by core",
        why="one copy of the cached data has no room and is computed again",
        value=_recomputed(1),
        of_work=True,
    ),
    Term(
        name="over-2",
        unit="s for {unit} by core",
        why="two copies of the cached data have no room and are computed again",
        value=_recomputed(2),
        of_work=True,
    ),
    Term(
        name="spilled", unit="s by byte", why="bytes beyond memory go to disk",
        value=_spilled(1.0), prior=0.5,
    ),
    Term(
        name="spilled-2", unit="s by byte", why="bytes of two copies beyond memory go to disk",
        value=_spilled(2.0), prior=0.5,
    ),
    Term(
        name="beyond-1", unit="s for {unit} by core",
        why="all data goes to disk and back, or is read anew, where it has no room in memory",
        value=_beyond(1), prior=0.5,
    ),
    Term(
        name="beyond-2", unit="s for {unit} by core",
        why="the same where two copies of the data have no room",
        value=_beyond(2), prior=0.5,
    ),
    Term(
        name="disk", unit="passes over the data", why="reading and writing at the disk's rate",
        value=_from_disk, largest=20.0,
    ),
    Term(
        name="links", unit="passes over the data", why="what nodes send each other",
        value=_over_links, largest=20.0,
    ),
)  # fmt: skip

STEPS = {"over-1": 1, "over-2": 2}
"""Terms that a run has or lacks, with their copies: the runs must have been on both sides."""
BY_WORK = frozenset(
    {
        "work", "pairs", "pairs-alone", "slowest", "apart", "gathered", "beyond-1", "beyond-2",
        "disk", "links",
    }
)  # fmt: skip
"""Terms that grow with any data; a set without any of them is unlikely."""
OF_PAIRS = frozenset({"pairs", "pairs-alone"})
"""Terms of runs that look at all pairs; a set for such runs has at least one."""
OF_WORK = frozenset(entry.name for entry in TERMS if entry.of_work)
WORK = frozenset({"work", *OF_PAIRS})
"""Terms of work; a set with any of `OF_WORK` has at least one."""


def term(name: str) -> Term:
    """Return the term of that name."""
    return next(term for term in TERMS if term.name == name)


def values(run: Observation) -> dict[str, float]:
    """Values of all terms that a run has."""
    all_values = {term.name: term.value(run) for term in TERMS}
    return {name: value for name, value in all_values.items() if value is not None}
