"""`cuesta study tune`: the fastest settings of a study, and whether they beat the default."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.cli.echo import echo

if TYPE_CHECKING:
    from cuesta.lab.study.cells import Combination
    from cuesta.lab.study.model import Study
    from cuesta.lab.study.trials import StudyEnvironment
    from cuesta.lab.study.tune import TuningResult


def run(study: Study, default: list[str], output: Path, means: StudyEnvironment) -> None:
    """Tune, and print what came out. Errors: `CuestaError`; of runs whose answers are wrong too."""
    from cuesta.cli.output import Output
    from cuesta.lab.study import result
    from cuesta.lab.study.tune_run import FILE_NAME, tune_study

    with Output(as_json=False) as told:
        came, found = tune_study(study, default, output, means, told.observer)
    known = {one.combination.name: one.combination for one in found}
    echo(sentence(came, known))
    echo(f"runs and samples: {output / FILE_NAME}")
    wrong = [one for one in found if any(row["wrong"] for row in one.failed)]
    result.complain(wrong)


def sentence(came: TuningResult, known: Mapping[str, Combination]) -> str:
    """What to do, and what it rests on."""
    from cuesta.lab.study.tune import BETTER, SMALL, UNDECIDED, WORSE

    runs = sum(map(len, came.chosen_from.values()))
    tried = f"{runs} runs of {len(came.chosen_from)} settings"
    winner = _words(known[came.winner])
    if came.winner == came.default:
        return f"keep the default, {winner}: all others were slower in {tried}"
    held_out = " and ".join(str(len(one)) for one in came.held_out.values())
    if came.gain is None:
        return (
            f"not decided: {winner} was the fastest in {tried}, but there was no time left to hold "
            f"it against the default ({held_out} runs); give more --minutes"
        )
    gain = f"{came.gain.median:.2f} ({came.gain.low:.2f} to {came.gain.high:.2f})"
    judged = f"{gain} times as fast as the default in {held_out} runs that the choice had not seen"
    if came.verdict == BETTER:
        return f"take {winner}: {judged}; chosen by {tried}"
    if came.verdict == UNDECIDED:
        return (
            f"not decided, keep the default: the fastest of {tried}, {winner}, is {judged}, which "
            "leaves room for a gain; repeat on a quieter machine, or with larger inputs"
        )
    why = "it is slower" if came.verdict == WORSE else f"no gain of {SMALL - 1:.0%} or more"
    return f"keep the default: {why}; the fastest of {tried}, {winner}, is {judged}"


def _words(combination: Combination) -> str:
    return ", ".join(f"{factor} {level}" for factor, level in combination.levels.items()) or "all"
