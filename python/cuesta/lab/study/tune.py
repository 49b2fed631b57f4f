"""Searches the combinations of a study for the fastest, and holds the winner against the default.

Noise makes the fastest of many runs look faster than it is, so choosing and judging are apart:

1. *Screening*, of more than `CROSSED_MAX` combinations: one factor at a time leaves the default;
   of each factor its best level stays, and those within `CLOSE` of it.
2. *Racing*: one run of each candidate, in a drawn order, again and again. After each round the
   slower half leaves, and whoever is slower than the best beyond chance; the default stays.
3. *Held-out runs* of winner and default, which the choice has not seen, decide: the winner is taken
   where the whole interval of the ratio of medians is above 1.

Sources: successive halving, Jamieson and Talwalkar, AISTATS 2016; racing, Maron and Moore, 1994;
that winners must be measured again, Freischuetz et al., TUNA, EuroSys 2025.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cuesta.errors import InputError
from cuesta.lab.study.cells import Combination
from cuesta.lab.study.intervals import Interval, middle, ratio

CROSSED_MAX = 24
"""Of more combinations than these not all are raced."""
CLOSE = 1.1
"""A level that is at most so many times as slow as the best of its factor is not screened out."""
FIRST_CUT = 1.5
"""After one run of each, who is so many times as slow as the best leaves."""
SCREENED = 2
"""Runs of each level in the screening."""
RACED_LEAST = 3
RACED_MAX = 6
"""Runs of a candidate in the race, at least and at most."""
HELD_OUT = 7
"""Runs of winner and default, each, that only the verdict sees."""
FIRST_HELD_OUT = 1001
"""Number of the first of them."""

BETTER, NO_GAIN, WORSE = "better", "no gain", "worse"
UNDECIDED = "not decided"

Take = Callable[[Combination, int], float | None]
"""Makes the repeat of that number of a combination: its seconds; None where it fails."""
IsSpent = Callable[[], bool]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Whether the time for choosing is spent, and whether all of it is."""

    choosing: IsSpent
    all: IsSpent


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """What came out.

    Attributes
    ----------
    winner, default
        Names of combinations.
    verdict
        `BETTER`, `NO_GAIN`, `WORSE` (the winner is slower after all), or `UNDECIDED`: there was no
        time for two held-out runs of both.
    gain
        How many times as fast the winner is, by held-out runs; None where it is the default.
    chosen_from
        Samples in seconds by combination, of the screening and the race.
    held_out
        Those of winner and default that decide.
    """

    winner: str
    default: str
    verdict: str
    gain: Interval | None
    chosen_from: Mapping[str, Sequence[float]]
    held_out: Mapping[str, Sequence[float]]


def tune(
    space: Sequence[Combination], default: Combination, take: Take, budget: Budget, seed: int
) -> Tuned:
    """The fastest combination of `space`, of which `default` is one, and whether it is better.

    Errors: `InputError` where the default fails.
    """
    race = _Race(default, take, budget.choosing, random.Random(seed))
    candidates = list(space)
    if len(candidates) > CROSSED_MAX:
        candidates = race.screened(candidates)
    winner = race.winner(candidates)
    if winner is default:
        return _tuned(race, winner, {})
    held_out: dict[str, list[float]] = {winner.name: [], default.name: []}
    for repeat in range(FIRST_HELD_OUT, FIRST_HELD_OUT + HELD_OUT):
        for one in race.drawn([winner, default]):
            if budget.all():
                break
            seconds = take(one, repeat)
            if seconds is not None:
                held_out[one.name].append(seconds)
    return _tuned(race, winner, held_out)


def _tuned(race: _Race, winner: Combination, held_out: Mapping[str, Sequence[float]]) -> Tuned:
    default = race.default
    gain = None
    verdict = NO_GAIN
    if winner is not default:
        verdict = UNDECIDED
        if min(map(len, held_out.values())) > 1:
            gain = ratio(held_out[default.name], held_out[winner.name])
            verdict = BETTER if gain.above(1) else WORSE if gain.below(1) else NO_GAIN
    return Tuned(
        winner=winner.name,
        default=default.name,
        verdict=verdict,
        gain=gain,
        chosen_from=race.samples,
        held_out=held_out,
    )


class _Race:
    """Samples so far, and who is still in it."""

    def __init__(
        self, default: Combination, take: Take, is_spent: IsSpent, chance: random.Random
    ) -> None:
        self.default = default
        self.samples: dict[str, list[float]] = {}
        self._take = take
        self._is_spent = is_spent
        self._chance = chance
        self._failed: set[str] = set()

    def drawn(self, some: Sequence[Combination]) -> list[Combination]:
        """The same in an order by chance."""
        shuffled = list(some)
        self._chance.shuffle(shuffled)
        return shuffled

    def screened(self, space: Sequence[Combination]) -> list[Combination]:
        """Those of which every level does well beside the default's others, the best first.

        What a level takes is the least of its runs, since noise makes runs longer; a combination is
        taken to gain what its levels gain one by one.
        """
        near = [one for one in space if self._distance(one) <= 1]
        for _ in range(SCREENED):
            self._round(near)
        takes: dict[str, dict[str, float]] = {}
        for factor in self.default.levels:
            row = [one for one in near if self._only_differs_in(one, factor) and self._has(one)]
            takes[factor] = {one.levels[factor]: min(self.samples[one.name]) for one in row}

        def is_close(factor: str, level: str) -> bool:
            own = takes[factor]
            return level in own and own[level] <= CLOSE * min(own.values())

        def expected(one: Combination) -> float:
            return math.prod(takes[name][level] for name, level in one.levels.items())

        crossed = [one for one in space if all(is_close(*pair) for pair in one.levels.items())]
        others = [one for one in crossed if one is not self.default]
        return [self.default, *sorted(others, key=expected)[:CROSSED_MAX]]

    def winner(self, candidates: Sequence[Combination]) -> Combination:
        """The candidate with the smallest median, the default among equals."""
        alive = [one for one in candidates if one.name not in self._failed]
        for number in range(1, RACED_MAX + 1):
            self._round(alive)
            alive = self._survivors(alive)
            # Of the default and one other, held-out runs tell more.
            rivals = [one for one in alive if one is not self.default]
            if self._is_spent() or not rivals or (len(rivals) == 1 and number >= RACED_LEAST):
                break
        ran = [one for one in [self.default, *alive] if self._has(one)]
        return min(ran, key=self._middle)

    def _round(self, candidates: Sequence[Combination]) -> None:
        """One more run of each."""
        for one in self.drawn(candidates):
            # Without a run of the default there is nothing to compare.
            if self._is_spent() and self._has(self.default):
                return
            own = self.samples.setdefault(one.name, [])
            seconds = self._take(one, len(own) + 1)
            if seconds is not None:
                own.append(seconds)
            elif one is self.default:
                raise InputError(f"the default, {one.name}, fails; give another --default")
            else:
                self._failed.add(one.name)

    def _survivors(self, alive: Sequence[Combination]) -> list[Combination]:
        ran = sorted((one for one in alive if self._has(one)), key=self._middle)
        if not ran:
            return [self.default]
        best = self.samples[ran[0].name]
        stay = ran[: max(2, (len(ran) + 1) // 2)]
        stay = [one for one in stay if not self._is_slower(self.samples[one.name], best)]
        return [*stay, self.default] if self.default not in stay else stay

    def _is_slower(self, own: Sequence[float], best: Sequence[float]) -> bool:
        if len(own) == 1 or len(best) == 1:
            return middle(own) > FIRST_CUT * middle(best)
        return ratio(own, best).above(1)

    def _has(self, one: Combination) -> bool:
        return bool(self.samples.get(one.name)) and one.name not in self._failed

    def _middle(self, one: Combination) -> float:
        return middle(self.samples[one.name])

    def _distance(self, one: Combination) -> int:
        """Factors in which it differs from the default."""
        return sum(level != self.default.levels[name] for name, level in one.levels.items())

    def _only_differs_in(self, one: Combination, factor: str) -> bool:
        others = (name for name in one.levels if name != factor)
        return all(one.levels[name] == self.default.levels[name] for name in others)
