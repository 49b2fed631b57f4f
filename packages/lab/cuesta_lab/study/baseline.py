"""Regression gate: combinations that are slower than in an earlier result of the same study.

`check` compares two results, combination by combination, by `shift`. The chance of any false
verdict "slower" over the complete gate is at most `alarms` (Holm, 1979). The chance that a
combination with the verdict "no slower" is slower by `factor` is at most `missed`. All other
combinations have too few repeats, and the gate reports how many it needs. Results whose repeats
were run by turns share the drift of the machine: they are compared pair by pair, by `turns`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from cuesta.errors import InputError
from cuesta_lab.study.shift import Demand, Drift, Shift, repeats_needed, scatter, unsteadiness
from cuesta_lab.study.turns import Turns, pairs_needed

DRIFT = 0.0125
"""Drift of a machine between two runs, on logarithms; `bench/run.py study_gate` measures it."""
DRIFT_PART = 0.25
"""Least drift as a part of the scatter: a machine whose repeats scatter more drifts more."""
DEMAND = Demand(factor=1.1, missed=0.05, alarms=0.05)
"""Power and size of the gate: a slow-down of a tenth is detected in 95 % of cases; false alarms are
raised in at most 5 %."""
MISSED_PLANNED = 0.02
"""Chance of a miss for which repeats are planned; smaller, since their scatter is uncertain."""
CONFIDENCE = 0.95
"""Confidence of the intervals that are shown."""
REPEATS_MIN = 5
"""Least repeats of each result: fewer may all have met one state of the machine."""
SCATTER_GUESSED = 0.05
"""Least scatter that is assumed for fewer than `SCATTER_REPEATS` repeats."""
SCATTER_REPEATS = 8

SLOWER = "slower"
NO_SLOWER = "no slower"
TOO_FEW = "too few repeats to tell"
OTHER_ANSWER = "another answer"
FAILED = "failed"
NOT_RUN = "not run"
VERDICTS = (FAILED, OTHER_ANSWER, SLOWER, NOT_RUN, TOO_FEW, NO_SLOWER)
"""Verdicts, the worst first."""

_OF_A_TRIAL = ("workload", "engine", "settings", "input", "factor", "answer_by")
"""Keys of a study file that determine its trials."""
_OF_A_MACHINE = ("cpu", "cores", "cores_usable")

Result = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Change:
    """Comparison of a combination in two results.

    Attributes
    ----------
    levels
        Levels of the combination.
    verdict
        One of `VERDICTS`.
    before, after
        Medians; 0 without samples.
    ratio, low, high
        Ratio of after to before, and its interval; unless run by turns, it includes the drift of
        the machine by `drift_of`.
    repeats
        Number of samples before and after.
    by_turns
        Whether each repeat of one result was run between two of the other.
    needed
        Repeats of each result that the gate needs; None if no number is enough.
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
    """Result of the gate: all combinations of the baseline, the worst first."""

    measure: str
    changes: tuple[Change, ...]

    @property
    def verdict(self) -> str:
        """Worst verdict of all combinations."""
        return self.changes[0].verdict

    def of(self, *verdicts: str) -> tuple[Change, ...]:
        """Return the combinations with any of these verdicts."""
        return tuple(change for change in self.changes if change.verdict in verdicts)

    @property
    def needed(self) -> int | None:
        """Repeats that are enough for all combinations with too few; None if no number is."""
        repeats = [change.needed for change in self.of(TOO_FEW)]
        return None if None in repeats else max((count for count in repeats if count), default=0)


def check(baseline: Result, result: Result, measure: str = "work") -> Gate:
    """Compare a result with an earlier one of the same study.

    Errors: `InputError` if studies or machines differ, or the measure is missing.
    """
    _refuse(baseline, result, measure)
    now = {_key(cell): cell for cell in result["cells"]}
    pairs = [(cell, now.get(_key(cell))) for cell in baseline["cells"] if _samples(cell, measure)]
    if not pairs:
        raise InputError(f"the baseline has no samples of {measure!r}")
    compared, changes = [], []
    for old, new in pairs:
        verdict = _unmeasured(old, new, measure)
        if verdict or new is None:
            changes.append(Change(levels=old["levels"], verdict=verdict or NOT_RUN))
        else:
            compared.append((old, new))
    changes += _compared(compared, measure)
    changes.sort(key=lambda change: (VERDICTS.index(change.verdict), -change.ratio))
    return Gate(measure=measure, changes=tuple(changes))


def repeats_for(deviation: float, combinations: int, drift: Drift | None = None) -> int | None:
    """Repeats that the gate needs at a scatter of `deviation`; None if no number is enough."""
    drifts = drift or Drift(deviation=max(DRIFT, DRIFT_PART * deviation))
    repeats = repeats_needed(deviation, drifts, _planned(combinations))
    return None if repeats is None else max(REPEATS_MIN, repeats)


def pairs_for(deviation: float, combinations: int) -> int:
    """Repeats by turns that the gate needs if their ratios scatter by `deviation`."""
    return max(REPEATS_MIN, pairs_needed(deviation, _planned(combinations)))


def drift_of(samples: Sequence[tuple[Sequence[float], Sequence[float]]]) -> float:
    """Estimate the drift of a machine between two runs with these samples by combination."""
    if not samples:
        return DRIFT
    waves = unsteadiness([[pair[which] for pair in samples] for which in (0, 1)])
    steady = max(DRIFT, DRIFT_PART * median([_scatter(*pair) for pair in samples]))
    return math.hypot(steady, waves)


def _planned(combinations: int) -> Demand:
    return replace(DEMAND, alarms=DEMAND.alarms / combinations, missed=MISSED_PLANNED)


def _refuse(baseline: Result, result: Result, measure: str) -> None:
    """Raise `InputError` for results that are not comparable."""
    if bool(baseline.get("smoke")) != bool(result.get("smoke")):
        small = "baseline" if baseline.get("smoke") else "result"
        raise InputError(
            f"the {small} is of a study at its smoke size, the other is not; give two of one size"
        )
    files = [study_result.get("file") or {} for study_result in (baseline, result)]
    differing = [key for key in _OF_A_TRIAL if _text(files[0].get(key)) != _text(files[1].get(key))]
    if differing:
        raise InputError(
            f"the baseline is of another study: {differing[0]!r} of the two study files differs; "
            "run the study of the baseline, or keep this result as the new one"
        )
    machines = [study_result.get("machine") or {} for study_result in (baseline, result)]
    for fact in _OF_A_MACHINE:
        expected, actual = (facts.get(fact) for facts in machines)
        if expected != actual:
            raise InputError(
                f"the baseline was measured on another machine: {fact} {expected}, here {actual}; "
                "make one here"
            )
    if not any(_samples(cell, measure) for cell in result["cells"]):
        names = sorted({name for cell in result["cells"] for name in cell["measures"]})
        raise InputError(f"no samples of {measure!r}; measured are: {', '.join(names)}")


def _unmeasured(old: Result, new: Result | None, measure: str) -> str | None:
    """Verdict on a combination whose times cannot be compared; None if they can."""
    if new is None:
        return NOT_RUN
    if new.get("failed"):
        return FAILED
    if not _samples(new, measure):
        return NOT_RUN
    digests = {cell.get("digest") for cell in (old, new)} - {None}
    return OTHER_ANSWER if len(digests) > 1 else None


def _compared(pairs: Sequence[tuple[Result, Result]], measure: str) -> list[Change]:
    """Compare all combinations measured twice; their verdicts depend on each other."""
    samples = [_samples_of(old, new, measure) for old, new in pairs]
    apart = [(sample.before, sample.after) for sample in samples if not sample.by_turns]
    drift = Drift(deviation=drift_of(apart))
    shifts = [_shift(sample, drift) for sample in samples]
    slower = _holm([shift.p_larger() for shift in shifts], DEMAND.alarms)
    changes = []
    for index, (sample, shift) in enumerate(zip(samples, shifts, strict=True)):
        enough = min(len(sample.before), len(sample.after)) >= REPEATS_MIN
        cleared = enough and shift.p_smaller(DEMAND.factor) <= DEMAND.missed
        low, high = shift.interval(CONFIDENCE)
        changes.append(
            Change(
                levels=pairs[index][0]["levels"],
                verdict=SLOWER if index in slower else NO_SLOWER if cleared else TOO_FEW,
                before=median(sample.before),
                after=median(sample.after),
                ratio=shift.ratio,
                low=low,
                high=high,
                repeats=(len(sample.before), len(sample.after)),
                by_turns=sample.by_turns,
                needed=(
                    pairs_for(_at_least_guessed(shift.scatter, 2 * len(sample.before)), len(pairs))
                    if isinstance(shift, Turns)
                    else repeats_for(_scatter(sample.before, sample.after), len(pairs), drift)
                ),
            )
        )
    return changes


@dataclass(frozen=True, kw_only=True)
class _Samples:
    """Samples of a combination in two results; run by turns, pairs have the same index."""

    before: Sequence[float]
    after: Sequence[float]
    by_turns: bool


def _samples_of(old: Result, new: Result, measure: str) -> _Samples:
    before, after = (cell["measures"][measure] for cell in (old, new))
    pairs = [pair for pair in zip(before, after, strict=False) if min(pair) > 0]
    if pairs and _is_by_turns(old.get("started") or (), new.get("started") or ()):
        return _Samples(
            before=[value for value, _ in pairs], after=[value for _, value in pairs], by_turns=True
        )
    return _Samples(before=_samples(old, measure), after=_samples(new, measure), by_turns=False)


def _is_by_turns(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether no repeat of either result began after the next repeat of the other result.

    Times are in ISO 8601 and UTC, so that they sort as texts.
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
    """Indices of significant p-values: the chance of any false one is at most `alarms`."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    believed: set[int] = set()
    for rank, index in enumerate(order):
        if p_values[index] > alarms / (len(order) - rank):
            break
        believed.add(index)
    return believed


def _scatter(before: Sequence[float], after: Sequence[float]) -> float:
    """Pooled scatter of both runs."""
    weighed = [(len(samples) - 1, scatter(samples)) for samples in (before, after)]
    total = sum(weight for weight, _ in weighed)
    pooled = sum(weight * value for weight, value in weighed) / total if total else 0.0
    return _at_least_guessed(pooled, len(before) + len(after))


def _at_least_guessed(scattered: float, repeats: int) -> float:
    return max(scattered, SCATTER_GUESSED) if repeats < SCATTER_REPEATS else scattered


def _samples(cell: Result, measure: str) -> list[float]:
    """Samples above 0: a missing time is not a fast one."""
    return [float(value) for value in cell["measures"].get(measure, ()) if value > 0]


def _key(cell: Result) -> str:
    return _text(cell["levels"])


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)
