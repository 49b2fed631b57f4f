"""The terms that the time of a run is put together from, each with a unit and a reason.

Time is a sum of terms with coefficients that are not negative, as in Ernest (NSDI 2016), whose
terms are a constant, work by machines, log of machines and machines. Here work is divided by cores,
the last term counts tasks that a leader starts one after the other, and there are terms for data
that is cached beyond the memory for it. Which terms a run has is decided by what it says of itself;
which of them matter, by the runs (`candidates`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from cuesta.model.growth import PAIRS, power
from cuesta.model.observed import Observed


@dataclass(frozen=True, kw_only=True)
class Term:
    """One part of the time.

    Attributes
    ----------
    unit
        Of its coefficient, with `{unit}` for that of the amount.
    why
        What it stands for.
    value
        What the coefficient is multiplied with; None where a run cannot say.
    prior
        How likely it is to matter before any run was seen, beside a term of 1.
    largest
        No coefficient is above: what a launch or a message takes is known in its order.
    of_work
        Whether it is more of the work, so that there is none of it without work.
    """

    name: str
    unit: str
    why: str
    value: Callable[[Observed], float | None]
    prior: float = 1.0
    largest: float = math.inf
    of_work: bool = False


def over(one: Observed, copies: int) -> bool | None:
    """Whether so many copies of the data have no room in the memory for cached data."""
    if one.cache_bytes is None or one.data_bytes is None:
        return None
    return copies * one.data_bytes > one.nodes * one.cache_bytes


def _recomputed(copies: int) -> Callable[[Observed], float | None]:
    def value(one: Observed) -> float | None:
        beyond = over(one, copies)
        return None if beyond is None else one.work * beyond

    return value


def _spilled(copies: float) -> Callable[[Observed], float | None]:
    """Bytes of a node beyond its memory, where so many copies of the data are held."""

    def value(one: Observed) -> float | None:
        if one.data_bytes is None:
            return None
        memory = one.factors.get("memory_bytes", math.inf)
        return max(0.0, copies * one.data_bytes / one.nodes - memory)

    return value


def _beyond(copies: int) -> Callable[[Observed], float | None]:
    """All work, where so many copies of a node's data have no room in its memory."""

    def value(one: Observed) -> float | None:
        if one.data_bytes is None:
            return None
        memory = one.factors.get("memory_bytes", math.inf)
        return one.work * (copies * one.data_bytes / one.nodes > memory)

    return value


def _from_disk(one: Observed) -> float | None:
    """Seconds that a node needs to read its data once; none from a disk that nothing slows."""
    if one.data_bytes is None:
        return None
    return one.data_bytes / one.nodes / one.factors.get("disk_bytes_per_s", math.inf)


def _over_links(one: Observed) -> float | None:
    """Seconds that a node needs to send its data to all others once."""
    if one.data_bytes is None:
        return None
    sent = one.data_bytes / one.nodes * (1 - 1 / one.nodes)
    return sent / one.factors.get("link_bytes_per_s", math.inf)


def _pairs(one: Observed) -> float | None:
    """Work that grows with the square of the data; none of other workloads."""
    if power(one.group.get("workload", "")) != PAIRS:
        return None
    return one.work * one.amount


def _pairs_alone(one: Observed) -> float | None:
    """The same where more cores do not make it faster."""
    divided = _pairs(one)
    return None if divided is None else divided * one.nodes * one.cores_per_node


def _unlaunched(value: Callable[[Observed], float]) -> Callable[[Observed], float | None]:
    """A term of programs whose processes run all along."""
    return lambda one: value(one) if one.tasks is None else None


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
        value=lambda one: None if one.tasks is None else float(one.tasks),
        largest=0.01,
    ),
    Term(
        name="slowest",
        unit="s for {unit} by core and doubling of nodes",
        why="all wait for the slowest of more nodes",
        value=lambda one: one.work * math.log2(one.nodes),
        prior=0.5,
        of_work=True,
    ),
    Term(
        name="tree",
        unit="s by doubling of nodes",
        why="combining results in a tree",
        value=lambda one: math.log2(one.nodes),
        prior=0.3,
        largest=1.0,
    ),
    Term(
        name="apart",
        unit="s for {unit} by core",
        why="work that is slower on several nodes than on one",
        value=_unlaunched(lambda one: one.work * (one.nodes > 1)),
        prior=0.3,
        of_work=True,
    ),
    Term(
        name="gathered",
        unit="s for {unit}",
        why="one process looks at what each part of the data gave",
        value=_unlaunched(lambda one: one.amount),
        prior=0.3,
    ),
    Term(
        name="processes",
        unit="s by process",
        why="one process talks to each other",
        value=_unlaunched(lambda one: float(one.nodes * one.cores_per_node)),
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
"""Terms that are there or not, with their copies: runs must have been on both sides."""
BY_WORK = frozenset(
    {
        "work", "pairs", "pairs-alone", "slowest", "apart", "gathered", "beyond-1", "beyond-2",
        "disk", "links",
    }
)  # fmt: skip
"""Terms that grow with any data; a run without one is hardly one."""
OF_PAIRS = frozenset({"pairs", "pairs-alone"})
"""Terms of which a run that looks at all pairs has one."""
OF_WORK = frozenset(one.name for one in TERMS if one.of_work)
WORK = frozenset({"work", *OF_PAIRS})
"""Terms of which a set has one that has any of `OF_WORK`."""


def term(name: str) -> Term:
    """The term of that name."""
    return next(one for one in TERMS if one.name == name)


def values(one: Observed) -> dict[str, float]:
    """The value of every term that a run has."""
    found = {term.name: term.value(one) for term in TERMS}
    return {name: value for name, value in found.items() if value is not None}
