"""`cuesta study check DIR`: a study against the rules, and against a baseline."""

from __future__ import annotations

from dataclasses import asdict
from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuesta_lab.study.baseline import Change, Gate


def check_result(
    folder: Path, baseline: Path, measure: str = "work", *, as_json: bool = False
) -> None:
    """Compare the result of a study with an earlier one; print the comparison.

    Arguments: both are folders with a `study.json`, or such files.
    Errors: `Regression` where something is slower, has another answer, or fails; `InputError` where
    the repeats are too few to say that nothing is, and where the two are not of one study.
    """
    from cuesta.cli.output import Output
    from cuesta.errors import InputError, Regression
    from cuesta_lab.study import baseline as gate
    from cuesta_lab.study.result import read

    gate_result = gate.check(read(baseline), read(folder), measure)
    with Output(as_json=as_json) as output:
        output.print_json(_as_json(gate_result))
        output.console.print(_table(gate_result))
    bad = gate_result.of(gate.FAILED, gate.OTHER_ANSWER, gate.SLOWER)
    if bad:
        raise Regression(f"{folder}: {_named(bad[0], measure)}{_and_more(len(bad) - 1)}")
    if gate_result.of(gate.NOT_RUN):
        missing = _levels(gate_result.of(gate.NOT_RUN)[0])
        raise InputError(f"{folder}: {missing} of the baseline was not run; run the study again")
    few = gate_result.of(gate.TOO_FEW)
    if few:
        raise InputError(
            f"{folder}: too few repeats to tell of {len(few)} of {len(gate_result.changes)} "
            f"whether they are slower; {_remedy(gate_result)}"
        )
    output.console.print(f"nothing is slower by {gate.DEMAND.factor - 1:.0%}")


def is_result(path: Path) -> bool:
    """Whether a path is the result of a study, not a study."""
    from cuesta_lab.study.result import FILE_NAME

    return path.suffix == ".json" or (path / FILE_NAME).is_file()


def check_rules(path: Path) -> None:
    """Check a result against the twelve rules; print the ruling of each.

    Errors: `CuestaError` where its figures must not be compared.
    """
    from cuesta.cli.output import Output
    from cuesta.errors import CuestaError
    from cuesta_lab.study import result, rules

    fields = result.read(path)
    places = [place for cell in fields["cells"] for place in cell["runs"]]
    records = result.records(places, path if path.is_dir() else path.parent)
    with Output(as_json=False) as output:
        output.console.print("\n".join(rules.lines(rules.rulings(fields, records))))
    alarms = rules.alarms(fields, records)
    if not rules.comparable(alarms):
        raise CuestaError(f"{path}: NOT COMPARABLE: {alarms[0]['text']}")


def _table(gate_result: Gate) -> str:
    """A line a combination, the worst first."""
    from cuesta import numerals as n
    from cuesta_lab.study.measures import COUNT, UNITS

    def written(value: float) -> str:
        if gate_result.measure.startswith(COUNT):
            return n.significant(value)
        return n.size(value) if UNITS.get(gate_result.measure) == "B" else n.duration(value)

    rows = []
    for change in gate_result.changes:
        line = f"{change.verdict:24} {_levels(change)}"
        if change.repeats[0]:
            line += (
                f": {gate_result.measure} {written(change.before)} to {written(change.after)}, "
                f"{_times(change)}, {change.repeats[0]} and {change.repeats[1]} repeats"
                f"{' by turns' * change.by_turns}"
            )
        rows.append(line)
    return "\n".join(rows)


def _times(change: Change) -> str:
    from cuesta import numerals as n

    high = "any" if isinf(change.high) else n.significant(change.high)
    return f"{n.significant(change.ratio)} times ({n.significant(change.low)} to {high})"


def _named(change: Change, measure: str) -> str:
    """The worst, in words."""
    times = f" {_times(change)} in {measure}" if change.repeats[0] else ""
    return f"{_levels(change)}: {change.verdict}{times}"


def _levels(change: Change) -> str:
    return ", ".join(f"{name} {level}" for name, level in change.levels.items()) or "the study"


def _and_more(count: int) -> str:
    return f" (and {count} more)" if count else ""


def _remedy(gate_result: Gate) -> str:
    needed = gate_result.needed
    if needed is None:
        return (
            "this machine drifts too much for any number of repeats, unless those of the baseline "
            "and of this one are run by turns"
        )
    return f"run it, and its baseline, with --repeat {needed}"


def _as_json(gate_result: Gate) -> dict[str, object]:
    rows = [
        asdict(change) | {"high": None if isinf(change.high) else change.high}
        for change in gate_result.changes
    ]
    return {"measure": gate_result.measure, "verdict": gate_result.verdict, "changes": rows}
