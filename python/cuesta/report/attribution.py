"""What the cores of a run did: each second of each core goes to one cause.

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

from cuesta.report.elsewhere import cores_of_tasks, is_elsewhere
from cuesta.report.records import Fields, Run, mapping, number, objects
from cuesta.report.slots import slots

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
"""Not a cause that something else than the program could take away."""
NEEDED = (COMPUTING, COLLECTION, SERIALIZATION, UNSEEN, STARTING)
"""What a run needs however little it waits, unless that itself is taken away."""
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
"""Of engines whose tasks sleep or compute while they wait for each other."""
_WHOLE_OF_RANKS = ("task_seconds", "rank_wait_seconds")


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

    def seconds_without(self, cause: str) -> float:
        """Wall seconds if a cause took nothing and all others, idle cores too, as much as now."""
        return self.wall_seconds * (1 - self.share(cause))

    def seconds_least(self, cause: str) -> float:
        """Wall seconds that the run takes at least if a cause takes nothing.

        Waits and idle cores may be there only because of that cause, so that nothing but what the
        run needs is left, spread evenly over its cores.
        """
        return self.wall_seconds * sum(self.share(one) for one in NEEDED if one != cause)

    @property
    def main_wait(self) -> str | None:
        """What took most that is neither computing nor idle, if it took `NAMED_SHARE`."""
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
    """Where the time of a run's cores went; None where its record does not say.

    The time line is that of the machine the run was started on. Of a run whose tasks were elsewhere
    the engine's log of its tasks tells, as far as it goes.
    """
    parts = spans(run)
    if not parts:
        return _of_tasks(run) if is_elsewhere(run) else None
    spent = dict.fromkeys(ORDER, 0.0)
    cores = int(run.number("threads") or 0)
    start = sum(phase.seconds for phase in run.phases if phase.name == "start")
    stage_slots = slots(run, cores)
    for one in parts:
        part = min(1.0, max(0.0, start - one.begin) / one.length) if one.length > 0 else 0.0
        between = stage_slots.part_between(one.begin, one.begin + one.length)
        for cause, seconds in one.core_seconds.items():
            # The time between stages begins after the start.
            waited = between * seconds if cause == IDLE else 0.0
            spent[STARTING] += part * seconds
            spent[LEADER] += waited
            spent[cause] += (1 - part) * seconds - waited
    log = run.object("engine_log")
    _divide(spent, COMPUTING, _LOGGED_COMPUTING, log)
    _divide(spent, IDLE, _LOGGED_IDLE, log)
    _move(spent, IDLE, SKEW, stage_slots.few_seconds)
    _divide_waits(spent, log)
    return Attribution(
        cores=cores,
        wall_seconds=parts[-1].begin + parts[-1].length,
        core_seconds={cause: seconds for cause, seconds in spent.items() if seconds > 0},
    )


def spans(run: Run) -> list[Span]:
    """The intervals of a run's time line; none where it is not of the machine of its tasks."""
    line = run.object("timeline")
    ends = _numbers(line.get("seconds"))
    cores = int(run.number("threads") or 0)
    machine = run.object("machine")
    usable = number(machine.get("cores_usable")) or cores
    # A quota may leave the process fewer than the run was given.
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
    """By the sums over tasks that the engine's log has; what these do not tell apart is unseen."""
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
    # Processor time is of what a task runs, neither of what comes before it nor after.
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
    left, spent = cores * wall, dict.fromkeys(ORDER, 0.0)
    for cause, seconds in wanted.items():
        spent[cause] = min(left, max(0.0, seconds))
        left -= spent[cause]
    spent[IDLE] = left
    _divide(spent, UNSEEN, _LOGGED_UNSEEN, log)
    found = {cause: seconds for cause, seconds in spent.items() if seconds > 0}
    return Attribution(cores=cores, wall_seconds=wall, core_seconds=found)


def _processors(run: Run) -> float:
    """Time of processors that all processes of all tasks took; 0 where nobody knows."""
    log = run.object("engine_log")
    if "rank_wait_seconds" in log:
        # Ranks compute while they wait for each other, too.
        working = (number(log.get("task_seconds")) or 0.0) - (
            number(log.get("exchange_seconds")) or 0.0
        )
        return max(0.0, min(working, run.number("cpu_seconds") or 0.0))
    if "python_cpu_seconds" in log:
        return sum(number(log.get(name)) or 0.0 for name in ("cpu_seconds", "python_cpu_seconds"))
    # Only where all processes of tasks are in it do tasks have it, too.
    each = [mapping(stage.get("each")) for stage in objects(run.fields.get("stages"))]
    return sum(sum(_numbers(one.get("cpu_seconds"))) for one in each)


@dataclass(frozen=True, kw_only=True)
class _Pressure:
    """How long tasks of the machine waited for one resource in one interval, in wall seconds.

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
        """What the cores lost to it at least, the largest of three bounds.

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
    """What the kernel counted in one interval: core seconds, but `length` and pressure."""

    length: float
    own: float
    busy: float
    iowait: float
    throttled: float
    io: _Pressure
    memory: _Pressure

    def divided(self, cores: int, machine_cores: float) -> dict[str, float]:
        """The cores' time by cause; all of it."""
        left = cores * self.length
        found = {}
        spare = max(0.0, machine_cores - cores) * self.length
        memory = self.memory.core_seconds(self, cores, machine_cores)
        storage = max(self.iowait, self.io.core_seconds(self, cores, machine_cores))
        wanted = {
            COMPUTING: self.own,
            QUOTA: self.throttled,
            MEMORY: memory,
            # Who waits until memory is read back waits for a device too: that is memory's.
            STORAGE: storage - memory,
            # Who waits for something else does not miss the core that another one has meanwhile.
            OTHERS: self.busy - self.own - spare,
            IDLE: left,
        }
        for cause, seconds in wanted.items():
            found[cause] = min(left, max(0.0, seconds))
            left -= found[cause]
        return found


def _intervals(line: Fields, ends: Sequence[float]) -> Iterator[_Interval]:
    tree, machine = mapping(line.get("tree")), mapping(line.get("machine"))
    pressure, quota = mapping(line.get("pressure")), mapping(line.get("quota"))

    def column(group: Fields, *names: str) -> list[float]:
        columns = [_numbers(group.get(name)) for name in names]
        whole = [column for column in columns if len(column) == len(ends)]
        return [sum(row) for row in zip(*whole, strict=True)] or [0.0] * len(ends)

    own = column(tree, "user_seconds", "system_seconds")
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
            own=own[index],
            busy=max(own[index], busy[index]),
            iowait=iowait[index],
            throttled=throttled[index],
            io=_Pressure(some=io_some[index], full=io_full[index]),
            memory=_Pressure(some=memory_some[index], full=memory_full[index]),
        )
        begin = end


def _divide_waits(spent: dict[str, float], log: Fields) -> None:
    """Move the part of the tasks' time that they waited for each other from idle and computing.

    What other programs took meanwhile, of waits as of work, is theirs.
    """
    whole = sum(number(log.get(name)) or 0.0 for name in _WHOLE_OF_RANKS)
    if whole <= 0:
        return
    shared = spent[IDLE] + spent[COMPUTING]
    for cause, names in _LOGGED_WAITS.items():
        logged = sum(number(log.get(name)) or 0.0 for name in names)
        seconds = min(logged, logged / whole * shared)
        rest = _divide(spent, IDLE, {cause: names}, {names[0]: seconds})
        _divide(spent, COMPUTING, {cause: names}, {names[0]: rest})


def _divide(
    spent: dict[str, float], whole: str, parts: Mapping[str, Sequence[str]], log: Fields
) -> float:
    """Move what the engine's log says of its tasks from a cause to its parts, as far as it goes.

    Returns what the log has beyond that.
    """
    beyond = 0.0
    for cause, names in parts.items():
        logged = max(0.0, sum(number(log.get(name)) or 0.0 for name in names))
        beyond += logged - _move(spent, whole, cause, logged)
    return beyond


def _move(spent: dict[str, float], whole: str, cause: str, seconds: float) -> float:
    """Take time from one cause for another, as far as it goes; how much that was."""
    moved = min(spent[whole], seconds)
    spent[whole] -= moved
    spent[cause] += moved
    return moved


def _numbers(values: object) -> list[float]:
    """A column of the time line; empty when it is none."""
    if not isinstance(values, list) or len(values) > ROWS_MAX:
        return []
    numbers = [number(value) for value in values]
    return [value for value in numbers if value is not None] if None not in numbers else []
