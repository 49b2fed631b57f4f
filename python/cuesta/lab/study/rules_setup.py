"""Rules on what was run: verification, 2 (selection), 9 (provenance), 11 (upper bounds)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from cuesta.lab.study.evidence import (
    Breach,
    Evidence,
    Fields,
    Judged,
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


def verification(evidence: Evidence) -> Judged:
    """Every run was verified in full, no answer was wrong, and equal questions have one digest."""
    return judged(_unverified(evidence), f"{_runs(evidence)} verified in full")


def _unverified(evidence: Evidence) -> Iterator[Breach]:
    wrong = [named(cell) for cell in evidence.cells if any(map(_is_wrong, cell.get("failed", ())))]
    if wrong:
        yield Breach(text=f"A wrong answer: {some(wrong)}.", grave=True)
    silent = [named(cell) for cell in evidence.measured if not cell.get("digest")]
    if silent:
        yield Breach(text=f"No digest of the answer: {some(silent)}.", grave=True)
    records = [(cell, one) for cell in evidence.cells for one in evidence.records_of(cell)]
    unseen = sorted({named(cell) for cell, one in records if one.get("verified") is not True})
    if unseen:
        yield Breach(text=f"Not verified: {some(unseen)}.", grave=True)
    part = {named(cell) for cell, one in records if _level(one) == "sample"}
    if part:
        text = f"Only a sample of the answer was verified: {some(sorted(part))}."
        yield Breach(text=text)
    digests: dict[str, set[str]] = {}
    for _, one in records:
        digests.setdefault(_asked(one), set()).add(str((one.get("answer") or {}).get("digest")))
    if any(len(found) > 1 for found in digests.values()):
        yield Breach(text="Runs that were asked the same have different answers.", grave=True)


def selection(evidence: Evidence) -> Judged:
    """What was left out, cut short or left unused has a reason."""
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
    """Whether cores stood idle that no setting speaks of."""
    text = str(evidence.result.get("file") or {})
    used = [one.get("threads") or 0 for one in evidence.records.values()]
    usable = (evidence.result.get("machine") or {}).get("cores_usable") or 0
    return bool(used) and max(used) < usable and "cores" not in text


def provenance(evidence: Evidence) -> Judged:
    """Factors, levels, machine, versions and settings are recorded, and one of each."""
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
            # A result that is kept has none of them; one that lacks some was tampered with.
            grave=bool(evidence.records),
        )


def _mixed(evidence: Evidence) -> Iterator[Breach]:
    records = list(evidence.records.values())
    for what, found in (
        ("machine", {str([_machine(one).get(key) for key in _SAME]) for one in records}),
        ("version of Cuesta", {(one.get("versions") or {}).get("cuesta") for one in records}),
    ):
        if len(found) > 1:
            yield Breach(text=f"The runs are not of one {what}.", grave=True)
    for cell in evidence.measured:
        setups = {str([one.get(key) for key in _SETUP]) for one in evidence.records_of(cell)}
        if len(setups) > 1:
            text = f"Repeats of {named(cell)} were run with different settings."
            yield Breach(text=text, grave=True)


def bounds(evidence: Evidence) -> Judged:
    """The machine's ceilings were measured, so that a rate has something to be held against."""
    if not evidence.records:
        return does_not_apply("no records are at hand")
    without = sum(not one.get("ceilings") for one in evidence.records.values())
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
    found: Fields = record.get("machine") or {}
    return found


def _asked(record: Fields) -> str:
    """What a run was asked: two with the same have the same answer."""
    inputs = [(PurePosixPath(one["path"]).name, one["bytes"]) for one in record.get("inputs") or ()]
    return str([record.get(key) for key in ("workload", "parameters", "seed")] + inputs)
