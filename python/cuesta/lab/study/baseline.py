"""The gate of regressions: what is slower than in an earlier result of the same study.

`check` holds two results against each other, combination by combination, by `shift`. Whatever is
called slower is so with at most `alarms` chance of a false alarm over the whole gate (Holm, 1979).
What is called no slower could have become slower by `factor` with at most `missed` chance. The rest
has too few repeats to tell, and the gate says how many it needs. Where the repeats of both results
were run by turns, the drift of the machine is in both: they are compared pair by pair, by `turns`.
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
from cuesta.lab.study.turns import Turns, pairs_needed

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
        After over before, and its interval; unless by turns on a machine that drifts as `drift_of`
        says.
    repeats
        Samples before and after.
    by_turns
        Whether each repeat of one result was run between two of the other.
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
    by_turns: bool = False
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
    found = repeats_needed(deviation, drifts, _planned(combinations))
    return None if found is None else max(REPEATS_MIN, found)


def pairs_for(deviation: float, combinations: int) -> int:
    """Repeats by turns that the gate needs where their ratios scatter by `deviation`."""
    return max(REPEATS_MIN, pairs_needed(deviation, _planned(combinations)))


def drift_of(samples: Sequence[tuple[Sequence[float], Sequence[float]]]) -> float:
    """What a machine is thought to drift between two runs with these samples, by combination."""
    if not samples:
        return DRIFT
    waves = unsteadiness([[one[which] for one in samples] for which in (0, 1)])
    steady = max(DRIFT, DRIFT_PART * median([_scatter(*one) for one in samples]))
    return math.hypot(steady, waves)


def _planned(combinations: int) -> Demand:
    return replace(DEMAND, alarms=DEMAND.alarms / combinations, missed=MISSED_PLANNED)


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
    samples = [_samples_of(old, new, measure) for old, new in pairs]
    apart = [(one.before, one.after) for one in samples if not one.by_turns]
    drift = Drift(deviation=drift_of(apart))
    shifts = [_shift(one, drift) for one in samples]
    slower = _holm([one.p_larger() for one in shifts], DEMAND.alarms)
    found = []
    for index, (own, shift) in enumerate(zip(samples, shifts, strict=True)):
        enough = min(len(own.before), len(own.after)) >= REPEATS_MIN
        cleared = enough and shift.p_smaller(DEMAND.factor) <= DEMAND.missed
        low, high = shift.interval(CONFIDENCE)
        found.append(
            Change(
                levels=pairs[index][0]["levels"],
                verdict=SLOWER if index in slower else NO_SLOWER if cleared else TOO_FEW,
                before=median(own.before),
                after=median(own.after),
                ratio=shift.ratio,
                low=low,
                high=high,
                repeats=(len(own.before), len(own.after)),
                by_turns=own.by_turns,
                needed=(
                    pairs_for(_at_least_guessed(shift.scatter, 2 * len(own.before)), len(pairs))
                    if isinstance(shift, Turns)
                    else repeats_for(_scatter(own.before, own.after), len(pairs), drift)
                ),
            )
        )
    return found


@dataclass(frozen=True, kw_only=True)
class _Samples:
    """Of one combination in two results; run by turns, those of a pair have the same place."""

    before: Sequence[float]
    after: Sequence[float]
    by_turns: bool


def _samples_of(old: Result, new: Result, measure: str) -> _Samples:
    before, after = (one["measures"][measure] for one in (old, new))
    pairs = [pair for pair in zip(before, after, strict=False) if min(pair) > 0]
    if pairs and _is_by_turns(old.get("started") or (), new.get("started") or ()):
        return _Samples(
            before=[one for one, _ in pairs], after=[one for _, one in pairs], by_turns=True
        )
    return _Samples(before=_samples(old, measure), after=_samples(new, measure), by_turns=False)


def _is_by_turns(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether no repeat of either result began after the next one of the other.

    Times are of ISO 8601 in UTC, in whose order their letters are.
    """
    turns = min(len(before), len(after))
    return turns > 1 and all(
        before[index] <= after[index + 1] and after[index] <= before[index + 1]
        for index in range(turns - 1)
    )


def _shift(samples: _Samples, drift: Drift) -> Shift | Turns:
    if samples.by_turns:
        return Turns(samples.before, samples.after)
    return Shift(samples.before, samples.after, drift)


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
    return _at_least_guessed(found, len(before) + len(after))


def _at_least_guessed(scattered: float, repeats: int) -> float:
    return max(scattered, SCATTER_GUESSED) if repeats < SCATTER_REPEATS else scattered


def _samples(cell: Result, measure: str) -> list[float]:
    """Those above 0: a time that is not there is not a fast one."""
    return [float(one) for one in cell["measures"].get(measure, ()) if one > 0]


def _key(cell: Result) -> str:
    return _text(cell["levels"])


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)
