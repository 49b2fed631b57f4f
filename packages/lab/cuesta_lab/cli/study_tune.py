"""`cuesta study tune`: the fastest settings of a study, and whether they beat the default."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.cli.echo import echo

if TYPE_CHECKING:
    from cuesta_lab.study.cells import Combination
    from cuesta_lab.study.model import Study
    from cuesta_lab.study.trials import StudyEnvironment
    from cuesta_lab.study.tune import TuningResult


def run(study: Study, default: list[str], output: Path, means: StudyEnvironment) -> None:
    """Tune, and print the result. Errors: `CuestaError`; also of runs with wrong answers."""
    from cuesta.cli.output import Output
    from cuesta_lab.study import result
    from cuesta_lab.study.tune_run import FILE_NAME, tune_study

    with Output(as_json=False) as display:
        tuned, rows = tune_study(study, default, output, means, display.observer)
    known = {row.combination.name: row.combination for row in rows}
    echo(sentence(tuned, known))
    echo(f"runs and samples: {output / FILE_NAME}")
    wrong = [row for row in rows if any(failure["wrong"] for failure in row.failed)]
    result.raise_errors(wrong)


def sentence(tuned: TuningResult, known: Mapping[str, Combination]) -> str:
    """Sentence with the advice, and its grounds."""
    from cuesta_lab.study.tune import BETTER, SMALL, UNDECIDED, WORSE

    runs = sum(map(len, tuned.chosen_from.values()))
    tried = f"{runs} runs of {len(tuned.chosen_from)} settings"
    winner = _words(known[tuned.winner])
    if tuned.winner == tuned.default:
        return f"keep the default, {winner}: all others were slower in {tried}"
    held_out = " and ".join(str(len(samples)) for samples in tuned.held_out.values())
    if tuned.gain is None:
        return (
            f"not decided: {winner} was the fastest in {tried}, but there was no time left to hold "
            f"it against the default ({held_out} runs); give more --minutes"
        )
    gain = f"{tuned.gain.median:.2f} ({tuned.gain.low:.2f} to {tuned.gain.high:.2f})"
    judged = f"{gain} times as fast as the default in {held_out} runs that the choice had not seen"
    if tuned.verdict == BETTER:
        return f"take {winner}: {judged}; chosen by {tried}"
    if tuned.verdict == UNDECIDED:
        return (
            f"not decided, keep the default: the fastest of {tried}, {winner}, is {judged}, which "
            "leaves room for a gain; repeat on a quieter machine, or with larger inputs"
        )
    why = "it is slower" if tuned.verdict == WORSE else f"no gain of {SMALL - 1:.0%} or more"
    return f"keep the default: {why}; the fastest of {tried}, {winner}, is {judged}"


def _words(combination: Combination) -> str:
    return ", ".join(f"{factor} {level}" for factor, level in combination.levels.items()) or "all"
