"""The tuner compared with Optuna, with as many runs, if it is installed: `pip install optuna`."""

from __future__ import annotations

import random
from collections.abc import Mapping
from statistics import mean
from typing import Any

import pytest

from cuesta_lab.study.tune import tune
from test_study_tune import LARGE, NEVER, ONLY_TOGETHER, Cost, Machine

TRIALS = 10


def by_itself(levels: Mapping[str, str]) -> float:
    best = zip("abcd", (3, 2, 4, 1), strict=True)
    cost = 1.0
    for name, level in best:
        cost *= 1 + 0.15 * abs(int(levels[name]) - level)
    return cost


COSTS: dict[str, Cost] = {**ONLY_TOGETHER, "by itself": by_itself}


@pytest.mark.parametrize("name", COSTS)
def test_optuna_regains_no_more_with_as_many_runs(name: str) -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    cost, default = COSTS[name], LARGE[0].levels
    gap = cost(default) - min(cost(combination.levels) for combination in LARGE)
    our_gains, baseline = [], []
    for seed in range(TRIALS):
        machine = Machine(cost, seed)
        result = tune(LARGE, LARGE[0], machine.take, NEVER, seed)
        winner = next(combination for combination in LARGE if combination.name == result.winner)
        our_gains.append((cost(default) - cost(winner.levels)) / gap)
        chance = random.Random(seed)

        def run(trial: Any, chance: random.Random = chance) -> float:
            levels = {name: trial.suggest_categorical(name, list("1234")) for name in default}
            slow = 1.4 if chance.random() < 0.05 else 1.0
            return cost(levels) * chance.lognormvariate(0, 0.03) * slow

        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True)
        study = optuna.create_study(sampler=sampler)
        study.enqueue_trial(dict(default))
        study.optimize(run, n_trials=len(machine.runs))
        baseline.append((cost(default) - cost(study.best_params)) / gap)
    assert mean(our_gains) >= mean(baseline) - 0.05
