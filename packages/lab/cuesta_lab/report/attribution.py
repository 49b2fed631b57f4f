"""Division of the time of a run's cores: each second of each core has one cause.

For every interval of the time line the cores of the run have `threads` times its length. Of that,
what the processes of the run computed is known; the rest is waiting, which the kernel's counters
explain as far as they go: for a quota of processor time, for memory, for a device; then comes what
other programs took of the same cores. Sums of the engine's log, which have no time of their own,
divide what is left: garbage collection and serialization are parts of computing, waits for shuffled
bytes, for the scheduler and for the last tasks of a stage are parts of idle cores. Cores that are
idle while no stage runs wait for the leader. What nothing explains is called idle.

All of it is in core seconds. The sources are not:

- processor time, `iowait_seconds` and `throttled_seconds` are summed over cores: core seconds. So
  are the sums of an engine's log, because a task has one core.
- Pressure is in wall seconds, at most the length of its interval, whatever the number of cores;
  `_Pressure` converts it.
- The phase `start` is in wall seconds, and takes all cores for so long.

Source: the blocked times of Ousterhout et al., NSDI 2015; pressure stall information of the Linux
kernel (`kernel/sched/psi.c`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cuesta.report.records import Fields, Run, mapping, number, objects
from cuesta_lab.report.elsewhere import cores_of_tasks, is_elsewhere
from cuesta_lab.report.slots import slots

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
LEADER = "waiting for the leader"
WORKERS = "starting Python workers"
QUEUED = "waiting for a core"
UNSEEN = "in tasks, cause unknown"
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
    WORKERS,
    QUEUED,
    SKEW,
    LEADER,
    UNSEEN,
    IDLE,
)
WORK = (COMPUTING, UNSEEN, IDLE)
"""No cause that something other than the program could remove."""
NEEDED = (COMPUTING, COLLECTION, SERIALIZATION, UNSEEN, STARTING)
"""Causes that a run needs even without waits, unless the cause itself is removed."""
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
_LOGGED_UNSEEN = {
    WORKERS: ("python_start_seconds",),
    QUEUED: ("python_queued_seconds",),
    STORAGE: ("python_blocked_seconds",),
}
_LOGGED_WAITS = {
    NETWORK: ("exchange_seconds",),
    SKEW: ("rank_wait_seconds",),
}
"""Sums in the log of engines whose tasks sleep or compute while they wait for each other."""
_TASK_TIMES_OF_RANKS = ("task_seconds", "rank_wait_seconds")


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """Division of the time of all cores by cause.

    Attributes
    ----------
    cores
        Number of cores of the run.
    wall_seconds
        Time for which the run had the cores.
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

    def seconds_without(self, cause: str) -> float:
        """Wall seconds if a cause took nothing and all others, idle cores too, as much as now."""
        return self.wall_seconds * (1 - self.share(cause))

    def seconds_least(self, cause: str) -> float:
        """Lower bound of the wall seconds if a cause takes nothing.

        Waits and idle cores may be there only because of that cause, so that nothing but what the
        run needs is left, spread evenly over its cores.
        """
        return self.wall_seconds * sum(self.share(needed) for needed in NEEDED if needed != cause)

    @property
    def main_wait(self) -> str | None:
        """The largest cause that is neither computing nor idle, if it took `NAMED_SHARE`."""
        causes = [cause for cause in self.core_seconds if cause not in WORK]
        most = max(causes, key=self.share, default=None)
        return most if most is not None and self.share(most) >= NAMED_SHARE else None


@dataclass(frozen=True, kw_only=True)
class Span:
    """An interval of the time line, and the time of the run's cores in it by cause."""

    begin: float
    length: float
    core_seconds: Mapping[str, float]


def attribution(run: Run) -> Attribution | None:
    """Division of the time of a run's cores; None where its record has none.

    The time line is that of the machine the run was started on. For a run whose tasks were
    elsewhere, the engine's log of its tasks is used, as far as it goes.
    """
    parts = spans(run)
    if not parts:
        return _of_tasks(run) if is_elsewhere(run) else None
    seconds_by_cause = dict.fromkeys(ORDER, 0.0)
    cores = int(run.number("threads") or 0)
    start = sum(phase.seconds for phase in run.phases if phase.name == "start")
    stage_slots = slots(run, cores)
    for span in parts:
        part = min(1.0, max(0.0, start - span.begin) / span.length) if span.length > 0 else 0.0
        between = stage_slots.part_between(span.begin, span.begin + span.length)
        for cause, seconds in span.core_seconds.items():
            # The time between stages begins after the start.
            waited = between * seconds if cause == IDLE else 0.0
            seconds_by_cause[STARTING] += part * seconds
            seconds_by_cause[LEADER] += waited
            seconds_by_cause[cause] += (1 - part) * seconds - waited
    log = run.object("engine_log")
    _divide(seconds_by_cause, COMPUTING, _LOGGED_COMPUTING, log)
    _divide(seconds_by_cause, IDLE, _LOGGED_IDLE, log)
    _move(seconds_by_cause, IDLE, SKEW, stage_slots.few_seconds)
    _divide_waits(seconds_by_cause, log)
    return Attribution(
        cores=cores,
        wall_seconds=parts[-1].begin + parts[-1].length,
        core_seconds={cause: seconds for cause, seconds in seconds_by_cause.items() if seconds > 0},
    )


def spans(run: Run) -> list[Span]:
    """The intervals of a run's time line; none where it is not of the machine of its tasks."""
    line = run.object("timeline")
    ends = _numbers(line.get("seconds"))
    cores = int(run.number("threads") or 0)
    machine = run.object("machine")
    usable = number(machine.get("cores_usable")) or cores
    # A quota may allow the process fewer cores than the run requested.
    machine_cores = max(usable, min(cores, number(machine.get("cores")) or usable))
    if not ends or ends[-1] <= 0 or not 1 <= cores <= machine_cores or is_elsewhere(run):
        return []
    found, begin = [], 0.0
    for interval in _intervals(line, ends):
        divided = interval.divided(cores, machine_cores)
        found.append(Span(begin=begin, length=interval.length, core_seconds=divided))
        begin += interval.length
    return found


def _of_tasks(run: Run) -> Attribution | None:
    """Division by the log's sums over tasks; time that they do not explain is unseen."""
    log, cores = run.object("engine_log"), cores_of_tasks(run)
    tasks, wall = number(log.get("task_seconds")) or 0.0, run.number("wall_seconds") or 0.0
    if cores < 1 or wall <= 0 or tasks <= 0:
        return None
    start = sum(phase.seconds for phase in run.phases if phase.name == "start")
    processors = _processors(run)
    logged = {
        cause: sum(number(log.get(name)) or 0.0 for name in names)
        for cause, names in (_LOGGED_COMPUTING | _LOGGED_IDLE).items()
    }
    for cause, names in _LOGGED_WAITS.items():
        logged[cause] += sum(number(log.get(name)) or 0.0 for name in names)
    # Processor time covers the work of a task, neither what precedes nor what follows it.
    outside = sum(logged[cause] for cause in (NETWORK, SCHEDULER, SERIALIZATION))
    unseen = max(0.0, tasks - outside - max(logged[COLLECTION], processors))
    stage_slots = slots(run, cores)
    skew = logged[SKEW] + stage_slots.few_seconds
    wanted = {
        STARTING: start * cores,
        **{cause: seconds for cause, seconds in logged.items() if cause != SKEW},
        COMPUTING: processors - logged[COLLECTION],
        UNSEEN: unseen,
        SKEW: skew,
        LEADER: cores * stage_slots.between_seconds,
    }
    wanted[SCHEDULER] += max(0.0, cores * stage_slots.staged_seconds - skew - tasks)
    remaining, seconds_by_cause = cores * wall, dict.fromkeys(ORDER, 0.0)
    for cause, seconds in wanted.items():
        seconds_by_cause[cause] = min(remaining, max(0.0, seconds))
        remaining -= seconds_by_cause[cause]
    seconds_by_cause[IDLE] = remaining
    _divide(seconds_by_cause, UNSEEN, _LOGGED_UNSEEN, log)
    attributed = {cause: seconds for cause, seconds in seconds_by_cause.items() if seconds > 0}
    return Attribution(cores=cores, wall_seconds=wall, core_seconds=attributed)


def _processors(run: Run) -> float:
    """Processor time of all processes of all tasks; 0 where it is unknown."""
    log = run.object("engine_log")
    if "rank_wait_seconds" in log:
        # Ranks compute while they wait for each other, too.
        working = (number(log.get("task_seconds")) or 0.0) - (
            number(log.get("exchange_seconds")) or 0.0
        )
        return max(0.0, min(working, run.number("cpu_seconds") or 0.0))
    if "python_cpu_seconds" in log:
        return sum(number(log.get(name)) or 0.0 for name in ("cpu_seconds", "python_cpu_seconds"))
    # Tasks have this measure only where it covers all their processes.
    each = [mapping(stage.get("each")) for stage in objects(run.fields.get("stages"))]
    return sum(sum(_numbers(measures.get("cpu_seconds"))) for measures in each)


@dataclass(frozen=True, kw_only=True)
class _Pressure:
    """Time that tasks of the machine waited for a resource in an interval, in wall seconds.

    Attributes
    ----------
    some
        At least one task waited.
    full
        All tasks that were not asleep waited. Of several cores that have tasks, this is the mean:
        with one that computes and one that waits all the time it is half of the interval.
    """

    some: float
    full: float

    def core_seconds(self, interval: _Interval, cores: int, machine_cores: float) -> float:
        """Lower bound of the time that the cores lost to the resource: the largest of three bounds.

        - `some`: one core, because a task that did not wait would have taken one.
        - `full` in time in which nothing computed: all cores of the run stood still.
        - `full` as a share of the cores that have tasks. The other part of them computed `busy`,
          so that there are `busy / (1 - share)` of them.
        """
        length, busy = interval.length, interval.busy
        if length <= 0:
            return self.some
        still = min(self.full, max(0.0, length - busy)) * cores
        share = min(1.0, self.full / length)
        all_cores = machine_cores * length
        with_tasks = min(all_cores, busy / (1 - share)) if share < 1 else all_cores
        unused = max(0.0, all_cores - busy)
        return max(self.some, still, min(unused, share * with_tasks))


@dataclass(frozen=True, kw_only=True)
class _Interval:
    """Counts of the kernel in one interval: core seconds, but `length` and pressure."""

    length: float
    computed: float
    busy: float
    iowait: float
    throttled: float
    io: _Pressure
    memory: _Pressure

    def divided(self, cores: int, machine_cores: float) -> dict[str, float]:
        """All of the cores' time by cause."""
        remaining = cores * self.length
        divided_seconds = {}
        spare = max(0.0, machine_cores - cores) * self.length
        memory = self.memory.core_seconds(self, cores, machine_cores)
        storage = max(self.iowait, self.io.core_seconds(self, cores, machine_cores))
        wanted = {
            COMPUTING: self.computed,
            QUOTA: self.throttled,
            MEMORY: memory,
            # A task that waits until memory is read back waits for a device too: that is memory's.
            STORAGE: storage - memory,
            # A task that waits for something else does not need the core that another program has.
            OTHERS: self.busy - self.computed - spare,
            IDLE: remaining,
        }
        for cause, seconds in wanted.items():
            divided_seconds[cause] = min(remaining, max(0.0, seconds))
            remaining -= divided_seconds[cause]
        return divided_seconds


def _intervals(line: Fields, ends: Sequence[float]) -> Iterator[_Interval]:
    tree, machine = mapping(line.get("tree")), mapping(line.get("machine"))
    pressure, quota = mapping(line.get("pressure")), mapping(line.get("quota"))

    def column(group: Fields, *names: str) -> list[float]:
        columns = [_numbers(group.get(name)) for name in names]
        complete = [column for column in columns if len(column) == len(ends)]
        return [sum(row) for row in zip(*complete, strict=True)] or [0.0] * len(ends)

    computed = column(tree, "user_seconds", "system_seconds")
    busy = column(machine, "user_seconds", "system_seconds")
    iowait = column(machine, "iowait_seconds")
    throttled = column(quota, "throttled_seconds")
    io_some, io_full = (column(pressure, f"io_{kind}_seconds") for kind in ("some", "full"))
    memory_some, memory_full = (
        column(pressure, f"memory_{kind}_seconds") for kind in ("some", "full")
    )
    begin = 0.0
    for index, end in enumerate(ends):
        yield _Interval(
            length=end - begin,
            computed=computed[index],
            busy=max(computed[index], busy[index]),
            iowait=iowait[index],
            throttled=throttled[index],
            io=_Pressure(some=io_some[index], full=io_full[index]),
            memory=_Pressure(some=memory_some[index], full=memory_full[index]),
        )
        begin = end


def _divide_waits(seconds_by_cause: dict[str, float], log: Fields) -> None:
    """Move the time that tasks waited for each other from idle and computing to its cause.

    Time that other programs took meanwhile, from waits as from work, remains theirs.
    """
    logged_total = sum(number(log.get(name)) or 0.0 for name in _TASK_TIMES_OF_RANKS)
    if logged_total <= 0:
        return
    shared = seconds_by_cause[IDLE] + seconds_by_cause[COMPUTING]
    for cause, names in _LOGGED_WAITS.items():
        logged = sum(number(log.get(name)) or 0.0 for name in names)
        seconds = min(logged, logged / logged_total * shared)
        rest = _divide(seconds_by_cause, IDLE, {cause: names}, {names[0]: seconds})
        _divide(seconds_by_cause, COMPUTING, {cause: names}, {names[0]: rest})


def _divide(
    seconds_by_cause: dict[str, float], source: str, parts: Mapping[str, Sequence[str]], log: Fields
) -> float:
    """Move time from a cause to its parts as the engine's log of its tasks has them.

    Returns the logged seconds beyond that.
    """
    beyond = 0.0
    for cause, names in parts.items():
        logged = max(0.0, sum(number(log.get(name)) or 0.0 for name in names))
        beyond += logged - _move(seconds_by_cause, source, cause, logged)
    return beyond


def _move(seconds_by_cause: dict[str, float], source: str, cause: str, seconds: float) -> float:
    """Move time from one cause to another, as far as it is there; return how much."""
    moved = min(seconds_by_cause[source], seconds)
    seconds_by_cause[source] -= moved
    seconds_by_cause[cause] += moved
    return moved


def _numbers(values: object) -> list[float]:
    """A column of the time line; empty when it is none."""
    if not isinstance(values, list) or len(values) > ROWS_MAX:
        return []
    numbers = [number(value) for value in values]
    return [value for value in numbers if value is not None] if None not in numbers else []
