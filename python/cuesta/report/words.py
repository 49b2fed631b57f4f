"""Findings as true sentences: the answer, the fastest engine, the bounds, the verdict."""

from __future__ import annotations

import math

from cuesta import numerals as n
from cuesta.engine_names import ON_SEVERAL_MACHINES
from cuesta.report.findings import (
    BUSY,
    CEILING_SLACK,
    FAR_FROM_CEILING,
    IDLE,
    NEAR_CEILING,
    Finding,
    Versus,
    busy_share,
    machines_to_draw_level,
)
from cuesta.report.records import Group, Phase, Run, objects
from cuesta.workloads.answers import outcome

PART_SHARE_MIN = 1e-3
"""Smallest part of a command's time that is worth a word."""
_CEILINGS = {
    "memory_read": "read memory",
    "memory_copy": "copy memory",
    "file_read_warm": "read a file that is in memory",
    "file_read_direct": "read from its disk",
    "file_write": "write a file",
    "random_read": "read small pieces at random",
    "gemm_f32": "multiply matrices in single precision",
    "fma_f32": "do single-precision arithmetic",
}
_REMEDIES = {
    "memory_read": "faster memory or fewer bytes to go through",
    "memory_copy": "faster memory or fewer bytes to go through",
    "file_read_warm": "fewer bytes to read (a loaded pair matrix)",
    "file_read_direct": "faster storage or a file that is in memory already",
    "file_write": "faster storage or a smaller answer",
    "random_read": "faster storage or reading in order",
    "gemm_f32": "more cores or an accelerator",
    "fma_f32": "more cores or an accelerator",
}

SOON_SECONDS = 60.0
LONG_SECONDS = 3600.0


def ceiling_key(name: str) -> str:
    """A ceiling's name without its unit: `file_read_warm`."""
    for end in ("_bytes_per_s", "_rows_per_s", "_flops_per_s"):
        name = name.removesuffix(end)
    return name


def ceiling_name(name: str) -> str:
    """A ceiling as a label: `file read warm`."""
    return ceiling_key(name).replace("_", " ")


def ceiling_ability(name: str) -> str:
    """Activity of the machine in the measurement of a ceiling: `read memory`."""
    return _CEILINGS.get(ceiling_key(name), f"do {ceiling_name(name)}")


def answer(run: Run) -> str:
    """Sentence on the answer, from the counts; empty without a known count."""
    return outcome(run.workload, run.counts, _best_gene(run))


def _best_gene(run: Run) -> str:
    """The best connected gene by name, set off by commas; empty where genes have no names."""
    tables = (view for view in objects(run.fields.get("preview")) if view.get("kind") == "table")
    rows = next(tables, {}).get("rows")
    gene = str(rows[0][0]) if isinstance(rows, list) and rows and rows[0] else ""
    return f", {gene}," if gene.endswith(")") else ""


def comparison(finding: Finding) -> str:
    """Sentence on the fastest engine and the ratios, on the work and with start-up and loading."""
    if not finding.compared:
        typed_text = f" {typed('the command', finding.best)}".rstrip()
        return f"{_took(finding)}{_setup(finding.best)}.{typed_text}"
    if finding.digests_equal is False:
        return "The times below compare different things, because the answers differ."
    clauses = [_faster(other) for other in finding.compared]
    text = f"{_took(finding)}: {n.listed(clauses)}."
    changed = [
        f"{n.ratio(other.total_ratio)} faster than {other.label}"
        for other in finding.compared
        if not 0.87 < other.total_ratio / (other.work_ratio or 1.0) < 1.15
    ]
    if changed:
        text += f" With starting up and loading counted it is {n.listed(changed)}."
    return text


def agreement(group: Group, finding: Finding) -> str:
    """Whether the answers are equal and verified."""
    digest = f"digest {finding.best.digest[:8]}…" if finding.best.digest else "no digest"
    if finding.digests_equal is False:
        return "The answers are not equal: at least one engine is wrong."
    sampled = any(run.sampled for run in group.runs)
    verified = f"verified {'on a sample ' * sampled}by another method"
    if finding.digests_equal:
        all_word = {2: "Both", 3: "All three", 4: "All four"}.get(len(group.runs), "All")
        state = verified if finding.all_verified else "NOT ALL VERIFIED"
        return f"{all_word} answers are equal ({digest}) and {state}."
    if len(group.runs) == 1:
        state = verified if finding.all_verified else "NOT VERIFIED"
        return f"The answer ({digest}) is {state}."
    return ""


def typed(name: str, run: Run) -> str:
    """Sentence on the time as typed and its parts; empty where it was not measured."""
    time = run.typed
    if time is None:
        return ""
    parts = [
        ("start", time.start_seconds),
        ("load", time.load_seconds),
        ("work", time.work_seconds),
        ("names and graph", time.naming_seconds),
        ("verification", time.verification_seconds),
        ("waiting for the disk", time.disk_seconds),
        ("everything else", time.rest_seconds),
    ]
    least = PART_SHARE_MIN * time.seconds
    parts_text = [f"{n.duration(seconds)} {what}" for what, seconds in parts if seconds > least]
    return f"{_capital(name)} took {n.duration(time.seconds)} as typed: {n.listed(parts_text)}."


def bound(finding: Finding) -> str:
    """Sentence on the fastest run and the ceiling of its longest compared phase."""
    phase = finding.bound
    if phase is None or phase.fraction is None or finding.digests_equal is False:
        return ""
    return (
        f"Its phase “{phase.name}” ran at {n.fraction(phase.fraction)} of the rate at which this "
        f"machine can {ceiling_ability(phase.ceiling)}."
    )


def verdict(finding: Finding) -> str:
    """Sentence on whether the job deserves a cluster; empty where the records do not show it."""
    if finding.digests_equal is False or finding.best.verified is not True:
        return ""
    seconds = finding.best.total_seconds
    if finding.best.engine in ON_SEVERAL_MACHINES:
        if not finding.compared:
            return ""
        return f"{_capital(finding.best.engine)} wins here already on one machine."
    if seconds < SOON_SECONDS:
        text = "You do not need a cluster for this."
    elif seconds < LONG_SECONDS:
        text = f"One machine answers in {n.duration(seconds)}; a cluster would save minutes."
    else:
        text = f"One machine needs {n.duration(seconds)}; a cluster may be worth its trouble."
    return text


def level(finding: Finding) -> list[str]:
    """Sentences on the machines that each cluster engine needs to match the fastest run."""
    sentences = []
    for other in finding.compared if finding.digests_equal is not False else ():
        if other.run.engine not in ON_SEVERAL_MACHINES or not other.slower:
            continue
        machines = machines_to_draw_level(finding.best, other.run)
        ideal = f"{n.count(max(2, math.ceil(other.work_ratio)))} machines like this one"
        if machines is None:
            start = n.duration(other.run.setup_seconds("start"))
            sentences.append(
                f"Starting {other.label} alone took {start}, longer than {finding.best_label} "
                f"needed for everything; with a session already up it would take {ideal}, scaling "
                f"perfectly, to draw level."
            )
        else:
            sentences.append(
                f"{_capital(other.label)} would need {ideal}, scaling perfectly, to draw level."
            )
    return sentences


def limits(name: str, run: Run, phase: Phase | None) -> list[str]:
    """Sentences on the bound of the run called `name`, and what would make it faster."""
    sentences = []
    if phase is not None and phase.fraction is not None:
        what, ability = f"the {phase.name} of {name}", ceiling_ability(phase.ceiling)
        remedy = _REMEDIES.get(ceiling_key(phase.ceiling), "a higher ceiling or less to do")
        left = n.ratio(1 / phase.fraction) if phase.fraction > 0 else ""
        if phase.fraction > CEILING_SLACK:
            sentences.append(
                f"{_capital(what)} ran above the measured ceiling ({ability}): that was measured "
                "in another state of the machine and should be measured again."
            )
        elif phase.fraction >= NEAR_CEILING:
            gain = f"would gain at most {left}" if phase.fraction < 1 else "would gain nothing"
            sentences.append(
                f"{_capital(what)} is bound by how fast this machine can {ability}. A better "
                f"program {gain}; {remedy} would gain more."
            )
        elif phase.fraction >= FAR_FROM_CEILING:
            sentences.append(
                f"{_capital(what)} is partly bound by how fast this machine can {ability}; at best "
                f"{left} is left to gain there."
            )
        else:
            sentences.append(f"How fast this machine can {ability} is not what bounds {what}.")
    return sentences + _cores(run, busy_share(run))


def _cores(run: Run, busy: float | None) -> list[str]:
    threads = int(run.number("threads") or 0)
    if busy is None or threads < 1:
        return []
    cores = n.plural(threads, "thread")
    if busy >= BUSY:
        return [f"Its {cores} were busy {n.percent(min(busy, 1.0))} of the time."]
    if busy < IDLE:
        return [
            f"Its {cores} were busy only {n.percent(busy)} of the time: it waited, shared the "
            "cores with others, or ran in part on one core."
        ]
    return [f"Its {cores} were busy {n.percent(busy)} of the time."]


def _faster(other: Versus) -> str:
    if other.faster and other.work_ratio > 0:
        return f"{n.ratio(1 / other.work_ratio)} slower than {other.label} in the work alone"
    if other.slower:
        return f"{n.ratio(other.work_ratio)} faster than {other.label}"
    return f"no clear difference from {other.label}"


def _took(finding: Finding) -> str:
    return f"{_capital(finding.best_label)} took {n.duration(finding.best.work.median)}"


def _setup(run: Run) -> str:
    start, load = run.setup_seconds("start"), run.setup_seconds("load")
    extra = [f"{n.duration(start)} to start up"] * (start > 0)
    extra += [f"{n.duration(load)} to load"] * (load > 0)
    return f", and {n.listed(extra)} before that" if extra else ""


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
