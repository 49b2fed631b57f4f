"""Searches the combinations of a study for the fastest, and holds the winner against the default.

Noise makes the fastest of many runs look faster than it is, so choosing and judging are apart:

1. *Screening*, of more than `CROSSED_MAX` combinations: one factor at a time leaves the default,
   then two at a time, since two levels may help, or harm, only together. What a combination takes
   is expected to be the product of what its levels do one by one and of what its pairs do beyond
   that; those expected to be the fastest stay.
2. *Racing*: runs of each candidate, in a drawn order, again and again. After each round the slower
   half leaves, and whoever is slower than the best beyond chance; the default stays.
3. *Held-out runs* of the default and of the fastest other one, which the choice has not seen,
   decide: the other one is taken where the whole interval of the ratio of medians is above 1, and
   there is no gain only where it ends below `SMALL`. Between them, more runs are made, up to
   `LOOKS` times as many; the interval is as much wider as looking so often needs.

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
from cuesta.lab.study.cells import Combination
from cuesta.lab.study.intervals import Interval, middle, ratio

CROSSED_MAX = 24
"""Of more combinations than these not all are raced."""
KEPT = 12
"""So many of them the screening keeps."""
PAIRS_MAX = 60
"""So many pairs of levels are screened, drawn from all."""
APART = 1.15
"""What a pair of levels does beyond its levels one by one is noise where it is a smaller factor."""
FIRST_CUT = 1.5
"""After one run of each, who is so many times as slow as the best leaves."""
SCREENED = 2
"""Runs of each level in the screening, and of each candidate before a slower half leaves."""
RACED_LEAST = 3
RACED_MAX = 6
"""Runs of a candidate in the race, at least and at most."""
HELD_OUT = 7
"""Runs of the default and its rival, each, that only the verdict sees, before it looks."""
LOOKS = 3
"""How often it looks at most, each time at so many more of them."""
SMALL = 1.05
"""A gain that is smaller is none."""
FIRST_HELD_OUT = 1001
"""Number of the first of them."""

_OF_LOOKS = 1.22
"""How much wider an interval is that holds in 95 of 100 cases at each of three looks."""

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
        `BETTER`; `NO_GAIN`; `WORSE`, the winner is slower after all; or `UNDECIDED`: held-out runs
        leave room for a gain of more than `SMALL`, or there was no time for two of both.
    gain
        How many times as fast the winner is, by held-out runs; None where it is the default, which
        all others were slower than in the race, beyond chance.
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
        return _tuned(race, winner, {}, None)
    held_out: dict[str, list[float]] = {winner.name: [], default.name: []}
    gain = None
    for look in range(LOOKS):
        first = FIRST_HELD_OUT + look * HELD_OUT
        for repeat in range(first, first + HELD_OUT):
            for one in race.drawn([winner, default]):
                seconds = None if budget.all() else take(one, repeat)
                if seconds is not None:
                    held_out[one.name].append(seconds)
        if min(map(len, held_out.values())) > 1:
            gain = ratio(held_out[default.name], held_out[winner.name]).widened(_OF_LOOKS)
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
) -> Tuned:
    verdict = NO_GAIN if winner is race.default else UNDECIDED
    return Tuned(
        winner=winner.name,
        default=race.default.name,
        verdict=_verdict(gain) if gain else verdict,
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
        self._names: dict[frozenset[tuple[str, str]], str] = {}

    def drawn(self, some: Sequence[Combination]) -> list[Combination]:
        """The same in an order by chance."""
        shuffled = list(some)
        self._chance.shuffle(shuffled)
        return shuffled

    def screened(self, space: Sequence[Combination]) -> list[Combination]:
        """The default, and the `KEPT` others that are expected to be the fastest: half of them by
        their levels alone, half by pairs of levels too.

        What a level, or a pair, takes is the least of its runs, since noise makes runs longer.
        """
        for _ in range(SCREENED):
            self._round([one for one in space if len(self._changes(one)) <= 1])
        pairs = [one for one in space if len(self._changes(one)) == 2 and self._expected(one)]
        pairs = self.drawn(pairs)[:PAIRS_MAX]
        self._round(pairs)
        # One run that looks slow may have been a slow run.
        self._round([one for one in pairs if self._together(self._changes(one)) > APART])
        able = [one for one in space if one is not self.default and self._expected(one)]
        # What noise makes of one pair may hide the best, which its levels alone show.
        alone = sorted(able, key=lambda one: self._expected(one, pairs=False))[: KEPT // 2]
        others = [one for one in sorted(able, key=self._expected) if one not in alone]
        return [self.default, *alone, *others[: KEPT - len(alone)]]

    def _expected(self, one: Combination, *, pairs: bool = True) -> float:
        """Times as long as the default; 0 where one of its levels fails, or was not run."""
        changes = self._changes(one)
        alone = math.prod(self._beside((change,)) for change in changes)
        two_by_two = combinations(changes, 2) if pairs else ()
        return alone * math.prod(self._together(pair) for pair in two_by_two)

    def _together(self, pair: Sequence[tuple[str, str]]) -> float:
        """What a pair of levels does beyond them one by one; 1 where that is unknown or noise."""
        alone = math.prod(self._beside((change,)) for change in pair)
        found = self._beside(pair) / alone if alone else 0.0
        return found if found and not 1 / APART < found < APART else 1.0

    def _beside(self, changes: Sequence[tuple[str, str]]) -> float:
        """How many times as long as the default some changes of it take; 0 where none ran."""
        name = self._names.get(frozenset(changes), "")
        own = [] if name in self._failed else self.samples.get(name, [])
        return min(own) / min(self.samples[self.default.name]) if own else 0.0

    def winner(self, candidates: Sequence[Combination]) -> Combination:
        """The other one with the smallest median; the default where all others are slower."""
        alive = [one for one in candidates if one.name not in self._failed]
        for number in range(1, RACED_MAX + 1):
            self._round(alive)
            alive = self._survivors(alive, halves=number >= SCREENED)
            # Of the default and one other, held-out runs tell more.
            rivals = [one for one in alive if one is not self.default]
            if self._is_spent() or not rivals or (len(rivals) == 1 and number >= RACED_LEAST):
                break
        ran = [one for one in alive if self._has(one) and one is not self.default]
        return min(ran, key=self._middle, default=self.default)

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

    def _survivors(self, alive: Sequence[Combination], *, halves: bool) -> list[Combination]:
        """Those that go on; while there are few runs, the least of them counts."""
        key = self._middle if halves and self._runs(alive) > SCREENED else self._least
        ran = sorted((one for one in alive if self._has(one)), key=key)
        if not ran:
            return [self.default]
        best = self.samples[ran[0].name]
        stay = ran[: max(2, (len(ran) + 1) // 2)] if halves else ran
        stay = [one for one in stay if not self._is_slower(self.samples[one.name], best)]
        return [*stay, self.default] if self.default not in stay else stay

    def _runs(self, some: Sequence[Combination]) -> int:
        return min((len(self.samples.get(one.name, [])) for one in some), default=0)

    def _least(self, one: Combination) -> float:
        return min(self.samples[one.name])

    def _is_slower(self, own: Sequence[float], best: Sequence[float]) -> bool:
        if len(own) == 1 or len(best) == 1:
            return middle(own) > FIRST_CUT * middle(best)
        return ratio(own, best).above(1)

    def _has(self, one: Combination) -> bool:
        return bool(self.samples.get(one.name)) and one.name not in self._failed

    def _middle(self, one: Combination) -> float:
        return middle(self.samples[one.name])

    def _changes(self, one: Combination) -> tuple[tuple[str, str], ...]:
        """The levels in which it differs from the default, by factor."""
        own = self.default.levels
        found = tuple((name, level) for name, level in one.levels.items() if level != own[name])
        self._names.setdefault(frozenset(found), one.name)
        return found
