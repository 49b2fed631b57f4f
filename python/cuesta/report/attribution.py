"""What the cores of a run did: each second of each core goes to one cause.

For every interval of the time line the cores of the run have `threads` times its length. Of that,
what the processes of the run computed is known; the rest is waiting, which the kernel's counters
explain as far as they go: for a quota of processor time, for a device, for memory; then comes what
other programs took of the same cores. Sums of the engine's log, which have no time of their own,
divide what is left: garbage collection and serialization are parts of computing, waits for shuffled
bytes, for the scheduler and for the last tasks of a stage are parts of idle cores. What nothing
explains is called idle. Source: the blocked times of Ousterhout et al., NSDI 2015; pressure stall
information of the Linux kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cuesta.report.records import Fields, Run, mapping, number

COMPUTING = "computing"
COLLECTION = "garbage collection"
SERIALIZATION = "serialization"
STARTING = "starting the engine"
OTHERS = "other programs"
STORAGE = "waiting for storage"
MEMORY = "waiting for memory"
QUOTA = "held back by a quota"
NETWORK = "waiting for the network"
SCHEDULER = "waiting for the scheduler"
SKEW = "waiting for the last tasks"
IDLE = "idle"

ORDER = (
    COMPUTING,
    COLLECTION,
    SERIALIZATION,
    STARTING,
    STORAGE,
    MEMORY,
    NETWORK,
    QUOTA,
    OTHERS,
    SCHEDULER,
    SKEW,
    IDLE,
)
WORK = (COMPUTING, IDLE)
"""Not a cause that something else than the program could take away."""
NAMED_SHARE = 0.1
"""From this share on, a cause is named in a sentence."""
ROWS_MAX = 100_000

_LOGGED_COMPUTING = {
    COLLECTION: ("gc_seconds",),
    SERIALIZATION: ("serialize_seconds", "deserialize_seconds"),
}
_LOGGED_IDLE = {
    NETWORK: ("fetch_wait_seconds",),
    SKEW: ("tail_seconds",),
    SCHEDULER: ("scheduler_delay_seconds",),
}


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """Where the time of all cores went.

    Attributes
    ----------
    cores
        How many the run had.
    wall_seconds
        How long it had them.
    core_seconds
        By cause, in the order of `ORDER`, without those that took nothing; they add up to `cores`
        times `wall_seconds`.
    """

    cores: int
    wall_seconds: float
    core_seconds: dict[str, float]

    def share(self, cause: str) -> float:
        """Part of all cores' time."""
        return self.core_seconds.get(cause, 0.0) / (self.cores * self.wall_seconds)

    @property
    def main_wait(self) -> str | None:
        """What took most that is neither computing nor idle, if it took `NAMED_SHARE`."""
        causes = [cause for cause in self.core_seconds if cause not in WORK]
        most = max(causes, key=self.share, default=None)
        return most if most is not None and self.share(most) >= NAMED_SHARE else None


def attribution(run: Run) -> Attribution | None:
    """Where the time of a run's cores went; None where its record has no time line of them.

    The time line is that of the machine the run was started on: a run whose tasks were elsewhere
    has none here.
    """
    line = run.object("timeline")
    ends = _numbers(line.get("seconds"))
    cores = int(run.number("threads") or 0)
    machine_cores = number(run.object("machine").get("cores_usable")) or cores
    if not ends or ends[-1] <= 0 or not 1 <= cores <= machine_cores or _is_elsewhere(run):
        return None
    spent = dict.fromkeys(ORDER, 0.0)
    start = sum(phase.seconds for phase in run.phases if phase.name == "start")
    begin = 0.0
    for interval in _intervals(line, len(ends)):
        length = ends[interval.index] - begin
        part = min(1.0, max(0.0, start - begin) / length) if length > 0 else 0.0
        for cause, seconds in interval.divided(length, cores, machine_cores).items():
            spent[STARTING] += part * seconds
            spent[cause] += (1 - part) * seconds
        begin = ends[interval.index]
    log = run.object("engine_log")
    _divide(spent, COMPUTING, _LOGGED_COMPUTING, log)
    _divide(spent, IDLE, _LOGGED_IDLE, log)
    found = {cause: seconds for cause, seconds in spent.items() if seconds > 0}
    return Attribution(cores=cores, wall_seconds=ends[-1], core_seconds=found)


@dataclass(frozen=True, kw_only=True)
class _Interval:
    """What the kernel counted in one interval, in seconds."""

    index: int
    own: float
    busy: float
    iowait: float
    io_some: float
    memory_some: float
    throttled: float

    def divided(self, length: float, cores: int, machine_cores: float) -> dict[str, float]:
        """The cores' time by cause; all of it."""
        left = cores * length
        found = {}
        spare = max(0.0, machine_cores - cores) * length
        wanted = {
            COMPUTING: self.own,
            QUOTA: self.throttled,
            STORAGE: max(self.iowait, self.io_some),
            MEMORY: self.memory_some,
            # Who waits for something else does not miss the core that another one has meanwhile.
            OTHERS: self.busy - self.own - spare,
            IDLE: left,
        }
        for cause, seconds in wanted.items():
            found[cause] = min(left, max(0.0, seconds))
            left -= found[cause]
        return found


def _intervals(line: Fields, count: int) -> Iterator[_Interval]:
    tree, machine = mapping(line.get("tree")), mapping(line.get("machine"))
    pressure, quota = mapping(line.get("pressure")), mapping(line.get("quota"))

    def column(group: Fields, *names: str) -> list[float]:
        columns = [_numbers(group.get(name)) for name in names]
        whole = [one for one in columns if len(one) == count]
        return [sum(row) for row in zip(*whole, strict=True)] or [0.0] * count

    own = column(tree, "user_seconds", "system_seconds")
    busy = column(machine, "user_seconds", "system_seconds")
    iowait = column(machine, "iowait_seconds")
    io_some = column(pressure, "io_some_seconds")
    memory_some = column(pressure, "memory_some_seconds")
    throttled = column(quota, "throttled_seconds")
    for index in range(count):
        yield _Interval(
            index=index,
            own=own[index],
            busy=busy[index],
            iowait=iowait[index],
            io_some=io_some[index],
            memory_some=memory_some[index],
            throttled=throttled[index],
        )


def _divide(
    spent: dict[str, float], whole: str, parts: Mapping[str, Sequence[str]], log: Fields
) -> None:
    """Move what the engine's log says of its tasks from a cause to its parts, as far as it goes."""
    for cause, names in parts.items():
        logged = sum(number(log.get(name)) or 0.0 for name in names)
        moved = min(spent[whole], max(0.0, logged))
        spent[whole] -= moved
        spent[cause] += moved


def _is_elsewhere(run: Run) -> bool:
    """Whether the tasks were on other machines than the one that was watched, or may have been."""
    options = run.object("engine_options")
    is_dask_elsewhere = bool(options.get("scheduler"))
    is_on_yarn = any(str(one).endswith(" on YARN") for one in run.object("versions").values())
    is_other_master = not str(options.get("master", "local")).startswith("local")
    return is_dask_elsewhere or is_on_yarn or is_other_master


def _numbers(values: object) -> list[float]:
    """A column of the time line; empty when it is none."""
    if not isinstance(values, list) or len(values) > ROWS_MAX:
        return []
    found = [number(value) for value in values]
    return [value for value in found if value is not None] if None not in found else []
