"""Rules on the runs: verification, 2 (selection), 9 (provenance), 11 (upper bounds)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from cuesta_lab.study.evidence import (
    Breach,
    Evidence,
    Fields,
    Judgement,
    does_not_apply,
    judged,
    named,
    samples,
    some,
)

_MACHINE = ("cpu", "cores", "memory_bytes", "kernel")
_SAME = ("cpu", "cores", "kernel")
_SETUP = ("workload", "engine", "threads", "memory_bytes", "cache", "parameters")
_FACTS = ("file", "factors", "seed", "started")


def verification(evidence: Evidence) -> Judgement:
    """Check that all runs were verified in full, without wrong or contradictory answers."""
    return judged(_unverified(evidence), f"{_runs(evidence)} verified in full")


def _unverified(evidence: Evidence) -> Iterator[Breach]:
    wrong = [named(cell) for cell in evidence.cells if any(map(_is_wrong, cell.get("failed", ())))]
    if wrong:
        yield Breach(text=f"A wrong answer: {some(wrong)}.", grave=True)
    silent = [named(cell) for cell in evidence.measured if not cell.get("digest")]
    if silent:
        yield Breach(text=f"No digest of the answer: {some(silent)}.", grave=True)
    records = [(cell, record) for cell in evidence.cells for record in evidence.records_of(cell)]
    unverified = sorted(
        {named(cell) for cell, record in records if record.get("verified") is not True}
    )
    if unverified:
        yield Breach(text=f"Not verified: {some(unverified)}.", grave=True)
    part = {named(cell) for cell, record in records if _level(record) == "sample"}
    if part:
        text = f"Only a sample of the answer was verified: {some(sorted(part))}."
        yield Breach(text=text)
    alone = sorted(_compared_with_itself(record for _, record in records))
    if alone:
        text = f"Compared with no other program, expected answer or check: {some(alone)}."
        yield Breach(text=text)
    digests: dict[str, set[str]] = {}
    for _, record in records:
        digests.setdefault(_question(record), set()).add(
            str((record.get("answer") or {}).get("digest"))
        )
    if any(len(values) > 1 for values in digests.values()):
        yield Breach(text="Runs that were asked the same have different answers.", grave=True)


def _compared_with_itself(records: Iterable[Fields]) -> set[str]:
    """Commands whose answers were compared with those of the same command only."""
    by_reference: dict[str, list[Fields]] = {}
    for record in records:
        if record.get("program"):
            by_reference.setdefault(str(record["program"].get("reference")), []).append(record)
    return {
        str(members[0]["parameters"]["command"])
        for members in by_reference.values()
        if len({_words(record) for record in members}) == 1
        and members[0]["program"].get("by")
        and not members[0]["program"].get("checks")
    }


def _words(record: Fields) -> str:
    """A command with its levels, without those that it does not use."""
    parameters = record["parameters"]
    used = {name: level for name, level in parameters.items() if f"{{{name}}}" in _text(parameters)}
    return f"{_text(parameters)} {sorted(used.items())}"


def _text(parameters: Fields) -> str:
    return str(parameters.get("command"))


def selection(evidence: Evidence) -> Judgement:
    """Check that missing runs and unused cores have a reason."""
    left_out = [cell for cell in evidence.cells if cell.get("left_out")]
    text = f"{len(left_out)} of {len(evidence.cells)} combinations left out, each with a reason"
    return judged(_unexplained(evidence), text)


def _unexplained(evidence: Evidence) -> Iterator[Breach]:
    result = evidence.result
    if result.get("smoke"):
        yield Breach(text="The study was run at its smoke size, which shows nothing.", grave=True)
    bare = [cell for cell in evidence.cells if not samples(cell) and not cell.get("left_out")]
    failed = [f"{named(cell)}: {cell['failed'][0]['why']}" for cell in bare if cell.get("failed")]
    if failed:
        yield Breach(text=f"Failed, and not measured: {some(failed)}.")
    silent = [named(cell) for cell in bare if not cell.get("failed")]
    if silent:
        why = "the budget of time was spent" if result.get("budget_spent") else "nothing says why"
        yield Breach(text=f"Not run, and {why}: {some(silent)}.")
    if _unused(evidence):
        yield Breach(
            text="No run used all cores of the machine, and the study does not say how many to use."
        )


def _unused(evidence: Evidence) -> bool:
    """Whether cores were idle without a setting for them."""
    text = str(evidence.result.get("file") or {})
    used = [record.get("threads") or 0 for record in evidence.records.values()]
    usable = (evidence.result.get("machine") or {}).get("cores_usable") or 0
    return bool(used) and max(used) < usable and "cores" not in text


def provenance(evidence: Evidence) -> Judgement:
    """Check that factors, levels, machine, versions and settings are recorded and consistent."""
    machine = evidence.result.get("machine") or {}
    text = f"{machine.get('cpu')}, {len(evidence.factors)} factors, {len(evidence.records)} records"
    return judged([*_unrecorded(evidence), *_mixed(evidence)], text)


def _unrecorded(evidence: Evidence) -> Iterator[Breach]:
    result = evidence.result
    lacking = [name for name in _FACTS if result.get(name) in (None, "")]
    machine = result.get("machine") or {}
    lacking += [f"machine.{name}" for name in _MACHINE if not machine.get(name)]
    if not (result.get("versions") or {}).get("cuesta"):
        lacking.append("versions.cuesta")
    if lacking:
        yield Breach(text=f"The result does not have: {', '.join(lacking)}.", grave=True)
    missing = [place for cell in evidence.cells for place in cell.get("runs") or ()]
    missing = [place for place in missing if place not in evidence.records]
    if missing:
        yield Breach(
            text=f"{len(missing)} run records were not kept, so nothing else says how these runs "
            "were made.",
            # A saved result has none of them; a result that lacks some was tampered with.
            grave=bool(evidence.records),
        )


def _mixed(evidence: Evidence) -> Iterator[Breach]:
    records = list(evidence.records.values())
    for what, values in (
        ("machine", {str([_machine(record).get(key) for key in _SAME]) for record in records}),
        ("version of Cuesta", {(record.get("versions") or {}).get("cuesta") for record in records}),
    ):
        if len(values) > 1:
            yield Breach(text=f"The runs are not of one {what}.", grave=True)
    for cell in evidence.measured:
        setups = {str([record.get(key) for key in _SETUP]) for record in evidence.records_of(cell)}
        if len(setups) > 1:
            text = f"Repeats of {named(cell)} were run with different settings."
            yield Breach(text=text, grave=True)


def bounds(evidence: Evidence) -> Judgement:
    """Check that the machine's ceilings were measured, so that rates can be compared with them."""
    if not evidence.records:
        return does_not_apply("no records are at hand")
    without = sum(not record.get("ceilings") for record in evidence.records.values())
    if not without:
        return judged((), "all runs have the measured ceilings of the machine")
    text = "The machine's ceilings were not measured: `cuesta doctor --ceilings` does."
    return judged([Breach(text=text)], "")


def _runs(evidence: Evidence) -> str:
    runs = sum(len(samples(cell)) for cell in evidence.measured)
    return f"{runs} run{'' if runs == 1 else 's'}"


def _is_wrong(failed: Fields) -> bool:
    return bool(failed.get("wrong"))


def _level(record: Fields) -> object:
    return (record.get("verification") or {}).get("level")


def _machine(record: Fields) -> Fields:
    facts: Fields = record.get("machine") or {}
    return facts


def _question(record: Fields) -> str:
    """Key of a run's question: runs with the same key must have the same answer."""
    inputs = [
        (PurePosixPath(entry["path"]).name, entry["bytes"]) for entry in record.get("inputs") or ()
    ]
    return str([record.get(key) for key in ("workload", "parameters", "seed")] + inputs)
