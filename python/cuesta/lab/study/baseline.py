"""The gate of regressions: what is slower than in an earlier result of the same study.

`check` holds two results against each other, combination by combination, by `shift`. Whatever is
called slower is so with at most `alarms` chance of a false alarm over the whole gate (Holm, 1979).
What is called no slower could have become slower by `factor` with at most `missed` chance. The rest
has too few repeats to tell, and the gate says how many it needs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from cuesta.errors import InputError
from cuesta.lab.study.shift import Demand, Drift, Shift, repeats_needed, scatter, unsteadiness

DRIFT = 0.0125
"""Of a machine between two runs, on logarithms; `bench/run.py study_gate` measures it."""
DRIFT_PART = 0.25
"""A machine whose repeats scatter more drifts more: at least by this part of the scatter."""
DEMAND = Demand(factor=1.1, missed=0.05, alarms=0.05)
"""A slow-down of a tenth is found in 95 % of the times; false alarms in at most 5 %."""
MISSED_PLANNED = 0.02
"""Repeats are counted for this, since the scatter that they are counted from is uncertain."""
CONFIDENCE = 0.95
"""Of the intervals that are shown."""
REPEATS_MIN = 5
"""Of each result: fewer may all have met one spell of the machine, whatever their numbers say."""
SCATTER_GUESSED = 0.05
"""What repeats are thought to scatter, at least, while they are fewer than `SCATTER_REPEATS`."""
SCATTER_REPEATS = 8

SLOWER = "slower"
NO_SLOWER = "no slower"
TOO_FEW = "too few repeats to tell"
OTHER_ANSWER = "another answer"
FAILED = "failed"
NOT_RUN = "not run"
VERDICTS = (FAILED, OTHER_ANSWER, SLOWER, NOT_RUN, TOO_FEW, NO_SLOWER)
"""The worst first."""

_OF_A_TRIAL = ("workload", "engine", "settings", "input", "factor")
"""Keys of a study file that say what is run."""
_OF_A_MACHINE = ("cpu", "cores", "cores_usable")

Result = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Change:
    """A combination in two results.

    Attributes
    ----------
    levels
        Which one.
    verdict
        One of `VERDICTS`.
    before, after
        Medians; 0 without samples.
    ratio, low, high
        After over before, and its interval, on a machine that drifts as `drift_of` says.
    repeats
        Samples before and after.
    needed
        Repeats of each result that the gate needs; None where none would do.
    """

    levels: Mapping[str, str]
    verdict: str
    before: float = 0.0
    after: float = 0.0
    ratio: float = 1.0
    low: float = 0.0
    high: float = float("inf")
    repeats: tuple[int, int] = (0, 0)
    needed: int | None = None


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What came of it: every combination of the baseline, the worst first."""

    measure: str
    changes: tuple[Change, ...]

    @property
    def verdict(self) -> str:
        """The worst of all."""
        return self.changes[0].verdict

    def of(self, *verdicts: str) -> tuple[Change, ...]:
        """Those with one of these verdicts."""
        return tuple(one for one in self.changes if one.verdict in verdicts)

    @property
    def needed(self) -> int | None:
        """Repeats that are enough for all that have too few; None where none would do."""
        found = [one.needed for one in self.of(TOO_FEW)]
        return None if None in found else max((one for one in found if one), default=0)


def check(baseline: Result, result: Result, measure: str = "work") -> Gate:
    """Hold a result against an earlier one of the same study.

    Errors: `InputError` where the two are not of one study and one machine, or lack the measure.
    """
    _refuse(baseline, result, measure)
    now = {_key(cell): cell for cell in result["cells"]}
    pairs = [(cell, now.get(_key(cell))) for cell in baseline["cells"] if _samples(cell, measure)]
    if not pairs:
        raise InputError(f"the baseline has no samples of {measure!r}")
    compared, found = [], []
    for old, new in pairs:
        verdict = _unmeasured(old, new, measure)
        if verdict or new is None:
            found.append(Change(levels=old["levels"], verdict=verdict or NOT_RUN))
        else:
            compared.append((old, new))
    found += _compared(compared, measure)
    found.sort(key=lambda one: (VERDICTS.index(one.verdict), -one.ratio))
    return Gate(measure=measure, changes=tuple(found))


def repeats_for(deviation: float, combinations: int, drift: Drift | None = None) -> int | None:
    """Repeats that the gate needs where they scatter by `deviation`; None where none would do."""
    drifts = drift or Drift(deviation=max(DRIFT, DRIFT_PART * deviation))
    demand = replace(DEMAND, alarms=DEMAND.alarms / combinations, missed=MISSED_PLANNED)
    found = repeats_needed(deviation, drifts, demand)
    return None if found is None else max(REPEATS_MIN, found)


def drift_of(samples: Sequence[tuple[Sequence[float], Sequence[float]]]) -> float:
    """What a machine is thought to drift between two runs with these samples, by combination."""
    if not samples:
        return DRIFT
    waves = unsteadiness([[one[which] for one in samples] for which in (0, 1)])
    steady = max(DRIFT, DRIFT_PART * median([_scatter(*one) for one in samples]))
    return math.hypot(steady, waves)


def _refuse(baseline: Result, result: Result, measure: str) -> None:
    """Errors: `InputError` where a comparison would say nothing."""
    if bool(baseline.get("smoke")) != bool(result.get("smoke")):
        small = "baseline" if baseline.get("smoke") else "result"
        raise InputError(f"the {small} is of a study at its smoke size, the other is not")
    files = [one.get("file") or {} for one in (baseline, result)]
    other = [key for key in _OF_A_TRIAL if _text(files[0].get(key)) != _text(files[1].get(key))]
    if other:
        raise InputError(
            f"the baseline is of another study: {other[0]!r} of the two study files differs; "
            "run the study of the baseline, or keep this result as the new one"
        )
    machines = [one.get("machine") or {} for one in (baseline, result)]
    for fact in _OF_A_MACHINE:
        there, here = (one.get(fact) for one in machines)
        if there != here:
            raise InputError(
                f"the baseline was measured on another machine: {fact} {there}, here {here}; "
                "make one here"
            )
    if not any(_samples(cell, measure) for cell in result["cells"]):
        names = sorted({name for cell in result["cells"] for name in cell["measures"]})
        raise InputError(f"no samples of {measure!r}; measured are: {', '.join(names)}")


def _unmeasured(old: Result, new: Result | None, measure: str) -> str | None:
    """What is wrong with a combination before its times are compared."""
    if new is None:
        return NOT_RUN
    if new.get("failed"):
        return FAILED
    if not _samples(new, measure):
        return NOT_RUN
    digests = {one.get("digest") for one in (old, new)} - {None}
    return OTHER_ANSWER if len(digests) > 1 else None


def _compared(pairs: Sequence[tuple[Result, Result]], measure: str) -> list[Change]:
    """Verdicts of all that were measured twice, together."""
    samples = [(_samples(old, measure), _samples(new, measure)) for old, new in pairs]
    drift = Drift(deviation=drift_of(samples))
    shifts = [Shift(before, after, drift) for before, after in samples]
    slower = _holm([one.p_larger() for one in shifts], DEMAND.alarms)
    found = []
    for index, shift in enumerate(shifts):
        before, after = samples[index]
        enough = min(len(before), len(after)) >= REPEATS_MIN
        cleared = enough and shift.p_smaller(DEMAND.factor) <= DEMAND.missed
        low, high = shift.interval(CONFIDENCE)
        found.append(
            Change(
                levels=pairs[index][0]["levels"],
                verdict=SLOWER if index in slower else NO_SLOWER if cleared else TOO_FEW,
                before=median(before),
                after=median(after),
                ratio=shift.ratio,
                low=low,
                high=high,
                repeats=(len(before), len(after)),
                needed=repeats_for(_scatter(before, after), len(pairs), drift),
            )
        )
    return found


def _holm(p_values: Sequence[float], alarms: float) -> set[int]:
    """Which to believe, so that one of them is false with at most this chance."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    believed: set[int] = set()
    for rank, index in enumerate(order):
        if p_values[index] > alarms / (len(order) - rank):
            break
        believed.add(index)
    return believed


def _scatter(before: Sequence[float], after: Sequence[float]) -> float:
    """Of both runs together."""
    weighed = [(len(one) - 1, scatter(one)) for one in (before, after)]
    total = sum(weight for weight, _ in weighed)
    found = sum(weight * value for weight, value in weighed) / total if total else 0.0
    few = len(before) + len(after) < SCATTER_REPEATS
    return max(found, SCATTER_GUESSED) if few else found


def _samples(cell: Result, measure: str) -> list[float]:
    """Those above 0: a time that is not there is not a fast one."""
    return [float(one) for one in cell["measures"].get(measure, ()) if one > 0]


def _key(cell: Result) -> str:
    return _text(cell["levels"])


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)
