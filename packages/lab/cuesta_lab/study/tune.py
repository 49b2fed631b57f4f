"""Search of a study's combinations for the fastest, and its test against the default.

Noise makes the fastest of many runs look faster than it is, so selection and test use different
runs:

1. *Screening*, of more than `CROSSED_MAX` combinations: one factor at a time differs from the
   default, then two at a time, since two levels may help, or harm, only together. The expected time
   of a combination is the product of the main effects of its levels and of the interactions of its
   pairs of levels; the combinations with the shortest expected times remain.
2. *Racing*: rounds of runs of each candidate, in random order. After each round the slower half is
   dropped, and so is each candidate that is significantly slower than the best; the default
   remains.
3. *Held-out runs* of the default and of the fastest other candidate, which had no part in the
   selection, decide: the candidate wins if the interval of the ratio of medians is above 1; there
   is no gain if it ends below `SMALL`. Otherwise more runs are made, up to `LOOKS` times as many;
   the interval is widened to allow for the repeated looks.

Sources: successive halving, Jamieson and Talwalkar, AISTATS 2016; racing, Maron and Moore, 1994;
that winners must be measured again, Freischuetz et al., TUNA, EuroSys 2025.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from cuesta.errors import InputError
from cuesta_lab.study.cells import Combination
from cuesta_lab.study.intervals import Interval, middle, ratio

CROSSED_MAX = 24
"""Largest number of combinations that are raced without a screening."""
SCREENED_MAX = 12
"""Number of combinations that the screening retains."""
PAIRS_MAX = 60
"""Largest number of pairs of levels that are screened, drawn from all."""
APART = 1.15
"""Least factor of an interaction of two levels; a smaller one counts as noise."""
FIRST_CUT = 1.5
"""Ratio to the best time from which a candidate is dropped after its first run."""
SCREENED = 2
"""Runs of each level in the screening, and of each candidate before a slower half is dropped."""
RACED_LEAST = 3
RACED_MAX = 6
"""Runs of a candidate in the race, at least and at most."""
HELD_OUT = 7
"""Held-out runs of the default and of its rival, each, before each look at the interval."""
LOOKS = 3
"""Largest number of looks, each after `HELD_OUT` more runs."""
SMALL = 1.05
"""Least gain that counts as one."""
FIRST_HELD_OUT = 1001
"""Number of the first held-out repeat."""

_LOOKS_WIDENING = 1.22
"""Widening of a 95 % interval so that it holds over three looks together."""

BETTER, NO_GAIN, WORSE = "better", "no gain", "worse"
UNDECIDED = "not decided"

MakeRun = Callable[[Combination, int], float | None]
"""Runs a numbered repeat of a combination; returns its seconds, or None if it fails."""
TimeCheck = Callable[[], bool]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Tests whether the time for the selection, or all of the time, is used up."""

    choosing: TimeCheck
    all: TimeCheck


@dataclass(frozen=True, kw_only=True)
class TuningResult:
    """Result of a tuning.

    Attributes
    ----------
    winner, default
        Names of combinations.
    verdict
        `BETTER`; `NO_GAIN`; `WORSE`, the winner is slower after all; or `UNDECIDED`: the held-out
        runs allow a gain of more than `SMALL`, or there was no time for two of each.
    gain
        Speed-up of the winner by held-out runs; None if the winner is the default, because all
        other candidates were significantly slower in the race.
    chosen_from
        Samples of the screening and the race in seconds, by combination.
    held_out
        Held-out samples of winner and default, which decide.
    """

    winner: str
    default: str
    verdict: str
    gain: Interval | None
    chosen_from: Mapping[str, Sequence[float]]
    held_out: Mapping[str, Sequence[float]]


def tune(
    space: Sequence[Combination], default: Combination, take: MakeRun, budget: Budget, seed: int
) -> TuningResult:
    """Find the fastest combination of `space`, which includes `default`, and test its gain.

    Errors: `InputError` if the default fails.
    """
    race = _Race(default, take, budget.choosing, random.Random(seed))
    candidates = list(space)
    if len(candidates) > CROSSED_MAX:
        candidates = race.screened(candidates)
    winner = race.winner(candidates)
    if winner is default:
        return _tuned(race, winner, {}, None)
    held_out: dict[str, list[float]] = {winner.name: [], default.name: []}
    gain = None
    for look in range(LOOKS):
        first = FIRST_HELD_OUT + look * HELD_OUT
        for repeat in range(first, first + HELD_OUT):
            for candidate in race.shuffled([winner, default]):
                seconds = None if budget.all() else take(candidate, repeat)
                if seconds is not None:
                    held_out[candidate.name].append(seconds)
        if min(map(len, held_out.values())) > 1:
            gain = ratio(held_out[default.name], held_out[winner.name]).widened(_LOOKS_WIDENING)
        if budget.all() or (gain and _verdict(gain) != UNDECIDED):
            break
    return _tuned(race, winner, held_out, gain)


def _verdict(gain: Interval) -> str:
    if gain.above(1):
        return BETTER
    if gain.below(1):
        return WORSE
    return NO_GAIN if gain.below(SMALL) else UNDECIDED


def _tuned(
    race: _Race,
    winner: Combination,
    held_out: Mapping[str, Sequence[float]],
    gain: Interval | None,
) -> TuningResult:
    verdict = NO_GAIN if winner is race.default else UNDECIDED
    return TuningResult(
        winner=winner.name,
        default=race.default.name,
        verdict=_verdict(gain) if gain else verdict,
        gain=gain,
        chosen_from=race.samples,
        held_out=held_out,
    )


class _Race:
    """Samples of the screening and the race, and the failed combinations."""

    def __init__(
        self, default: Combination, take: MakeRun, is_time_up: TimeCheck, chance: random.Random
    ) -> None:
        self.default = default
        self.samples: dict[str, list[float]] = {}
        self._take = take
        self._is_time_up = is_time_up
        self._chance = chance
        self._failed: set[str] = set()
        self._names: dict[frozenset[tuple[str, str]], str] = {}

    def shuffled(self, some: Sequence[Combination]) -> list[Combination]:
        """Shuffle combinations."""
        shuffled = list(some)
        self._chance.shuffle(shuffled)
        return shuffled

    def screened(self, space: Sequence[Combination]) -> list[Combination]:
        """Select the default and `SCREENED_MAX` combinations with the shortest expected times.

        Half are selected by main effects alone, half by interactions of pairs too. The time of a
        level, or a pair, is the least of its runs, since noise makes runs longer.
        """
        for _ in range(SCREENED):
            self._round([candidate for candidate in space if len(self._changes(candidate)) <= 1])
        pairs = [
            candidate
            for candidate in space
            if len(self._changes(candidate)) == 2 and self._expected(candidate)
        ]
        pairs = self.shuffled(pairs)[:PAIRS_MAX]
        self._round(pairs)
        # One run that looks slow may have been a slow run.
        self._round(
            [
                candidate
                for candidate in pairs
                if self._interaction(self._changes(candidate)) > APART
            ]
        )
        able = [
            candidate
            for candidate in space
            if candidate is not self.default and self._expected(candidate)
        ]
        # Noise of an interaction may hide the best combination, which main effects alone show.
        alone = sorted(able, key=lambda candidate: self._expected(candidate, pairs=False))[
            : SCREENED_MAX // 2
        ]
        further = [
            candidate for candidate in sorted(able, key=self._expected) if candidate not in alone
        ]
        return [self.default, *alone, *further[: SCREENED_MAX - len(alone)]]

    def _expected(self, combination: Combination, *, pairs: bool = True) -> float:
        """Expected time as a multiple of the default's; 0 if a level fails, or was not run."""
        changes = self._changes(combination)
        alone = math.prod(self._relative_time((change,)) for change in changes)
        two_by_two = combinations(changes, 2) if pairs else ()
        return alone * math.prod(self._interaction(pair) for pair in two_by_two)

    def _interaction(self, pair: Sequence[tuple[str, str]]) -> float:
        """Interaction of a pair of levels, as a factor; 1 if it is unknown or noise."""
        alone = math.prod(self._relative_time((change,)) for change in pair)
        interaction = self._relative_time(pair) / alone if alone else 0.0
        return interaction if interaction and not 1 / APART < interaction < APART else 1.0

    def _relative_time(self, changes: Sequence[tuple[str, str]]) -> float:
        """Measured time of some changes as a multiple of the default's; 0 without a run."""
        name = self._names.get(frozenset(changes), "")
        samples = [] if name in self._failed else self.samples.get(name, [])
        return min(samples) / min(self.samples[self.default.name]) if samples else 0.0

    def winner(self, candidates: Sequence[Combination]) -> Combination:
        """Race: the candidate with the smallest median, or the default if all are slower."""
        alive = [candidate for candidate in candidates if candidate.name not in self._failed]
        for number in range(1, RACED_MAX + 1):
            self._round(alive)
            alive = self._survivors(alive, halves=number >= SCREENED)
            # To compare the default and a single rival, held-out runs are better.
            rivals = [candidate for candidate in alive if candidate is not self.default]
            if self._is_time_up() or not rivals or (len(rivals) == 1 and number >= RACED_LEAST):
                break
        ran = [
            candidate
            for candidate in alive
            if self._has(candidate) and candidate is not self.default
        ]
        return min(ran, key=self._middle, default=self.default)

    def _round(self, candidates: Sequence[Combination]) -> None:
        """Make a further run of each candidate."""
        for candidate in self.shuffled(candidates):
            # Without a run of the default there is nothing to compare.
            if self._is_time_up() and self._has(self.default):
                return
            samples = self.samples.setdefault(candidate.name, [])
            seconds = self._take(candidate, len(samples) + 1)
            if seconds is not None:
                samples.append(seconds)
            elif candidate is self.default:
                raise InputError(f"the default, {candidate.name}, fails; give another --default")
            else:
                self._failed.add(candidate.name)

    def _survivors(self, alive: Sequence[Combination], *, halves: bool) -> list[Combination]:
        """Drop slow candidates, by their medians, or by their least times while runs are few."""
        key = self._middle if halves and self._runs(alive) > SCREENED else self._least
        ran = sorted((candidate for candidate in alive if self._has(candidate)), key=key)
        if not ran:
            return [self.default]
        best = self.samples[ran[0].name]
        survivors = ran[: max(2, (len(ran) + 1) // 2)] if halves else ran
        survivors = [
            candidate
            for candidate in survivors
            if not self._is_slower(self.samples[candidate.name], best)
        ]
        return [*survivors, self.default] if self.default not in survivors else survivors

    def _runs(self, some: Sequence[Combination]) -> int:
        return min((len(self.samples.get(candidate.name, [])) for candidate in some), default=0)

    def _least(self, combination: Combination) -> float:
        return min(self.samples[combination.name])

    def _is_slower(self, samples: Sequence[float], best: Sequence[float]) -> bool:
        if len(samples) == 1 or len(best) == 1:
            return middle(samples) > FIRST_CUT * middle(best)
        return ratio(samples, best).above(1)

    def _has(self, combination: Combination) -> bool:
        return bool(self.samples.get(combination.name)) and combination.name not in self._failed

    def _middle(self, combination: Combination) -> float:
        return middle(self.samples[combination.name])

    def _changes(self, combination: Combination) -> tuple[tuple[str, str], ...]:
        """Factors and levels in which a combination differs from the default."""
        default_levels = self.default.levels
        changes = tuple(
            (name, level)
            for name, level in combination.levels.items()
            if level != default_levels[name]
        )
        self._names.setdefault(frozenset(changes), combination.name)
        return changes
