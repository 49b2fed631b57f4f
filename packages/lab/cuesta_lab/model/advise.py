"""Advice on machine, nodes and engine for a job: all choices, the best three, and the reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from cuesta.errors import InputError
from cuesta.units import format_bytes, format_bytes_si, format_count
from cuesta_lab.model import ranking
from cuesta_lab.model.choices import SIZE_BEYOND, Choice, Job, choice, size_refused
from cuesta_lab.model.demands import Demand, settings, unmeasured
from cuesta_lab.model.machines import Hardware
from cuesta_lab.model.repetition import choices, repeated

SCHEMA = "cuesta.advice/1"
SIZE_MAX = 1e15
SCALED_MAX = 50
"""Most machines whose nodes are counted against one; of more, those of the best choices are."""
SEVERAL = (
    "Times on several nodes follow from runs on one machine, none was measured; which engine is the"
    " faster there is not sure."
)
PRICES = (
    "Prices: nodes that are bought, at their list price over {years:g} years {use};"
    " power, people and, where a machine says so, its network are not in it."
)
DATES = "Prices are of different days, {first} to {last}, and none is adjusted to another day."


def advise(
    job: Job, machines: Sequence[Hardware], demands: Sequence[Demand], by: str = ""
) -> dict[str, Any]:
    """Rank all choices: the best three, the COST of scale-out, and their data, as JSON.

    `by` is `time`, `price`, `energy`, or empty for price and time.

    Errors: `InputError` for a size far from any measured, or where no machine has room.
    """
    _check(job, demands)
    options = list(choices(job, machines, demands))
    names = {machine.key: machine.name for machine in machines}
    possible = [option for option in options if option.seconds]
    if not possible:
        reasons = "; ".join(
            f"{names[option.machine]}, {format_count(option.nodes, 'node')}: {option.refused}"
            for option in options[-3:]
        )
        able = "is enough" if job.jobs_per_month else "has room"
        raise InputError(
            f"advise: no machine {able} for {format_bytes_si(job.size_bytes)}"
            f" ({reasons or 'none has so many nodes'}); give others with --machines"
        )
    recommended = ranking.best(possible, names, by)
    scaled = {advised.choice.machine for advised in recommended}
    if len(machines) <= SCALED_MAX:
        scaled = set(names)
    return {
        "schema": SCHEMA,
        "workload": demands[0].workload,
        "size_bytes": job.size_bytes,
        "years": job.years,
        **_question(job),
        "setting": demands[0].setting,
        "by": by,
        "best": [asdict(advised) for advised in recommended],
        "turns": _turn(job, machines, demands, recommended[0].choice, by),
        "scale_out": [
            _scale_out(job, machine, demands) for machine in machines if machine.key in scaled
        ],
        "left_out": [*_left_out(job, demands)],
        "choices": [asdict(option) for option in options],
        "machines": {machine.key: asdict(machine) for machine in machines},
        "demands": [asdict(demand) for demand in demands],
    }


def _question(job: Job) -> dict[str, Any]:
    return {"inputs": job.inputs, "jobs_per_month": job.jobs_per_month}


def _left_out(job: Job, demands: Sequence[Demand]) -> Iterator[str]:
    """Yield the engines that were not measured near such a size, or in this setting."""
    yield from (why for demand in demands if (why := size_refused(job, demand)))
    workload, setting = demands[0].workload, demands[0].setting
    missing = unmeasured(workload, setting) if setting else []
    if missing:
        yield (
            f"{', '.join(missing)}, not measured with {demands[0].applies}; run a part of the"
            " input so and give it with --runs"
        )


def advise_from_runs(workload: str, job: Job, options: Sequence[Choice]) -> dict[str, Any]:
    """Rank choices predicted from the user's own runs, which have no price; as `advise`."""
    if job.size_bytes <= 0:
        raise InputError("advise: --input-size is 0; give the bytes of the input, as 452GB")
    options = [repeated(option, job, None, option.nodes) for option in options]
    possible = [option for option in options if option.seconds]
    if not possible:
        raise InputError(f"advise: {options[0].engine}, {options[0].machine}: {options[0].refused}")
    names = {option.machine: option.machine for option in options}
    return {
        "schema": SCHEMA,
        "workload": workload,
        "size_bytes": job.size_bytes,
        "years": job.years,
        **_question(job),
        "setting": "",
        "by": "",
        "best": [asdict(advised) for advised in ranking.best(possible, names)],
        "turns": None,
        "scale_out": [],
        "left_out": [f"{o.engine} with {o.machine}, {o.refused}" for o in options if o.refused],
        "choices": [asdict(option) for option in options],
        "machines": {},
        "demands": [],
    }


def _check(job: Job, demands: Sequence[Demand]) -> None:
    """Raise `InputError` for an empty input, or if it is too large, or small, for all engines."""
    if job.size_bytes <= 0:
        raise InputError("advise: --input-size is 0; give the bytes of the input, as 452GB")
    if all(size_refused(job, demand) for demand in demands):
        widest = max(demands, key=lambda demand: demand.sizes[1])
        if job.size_bytes < widest.sizes[0]:
            widest = min(demands, key=lambda demand: demand.sizes[0])
        raise InputError(f"advise: {size_refused(job, widest)}")


def headline(advice: Mapping[str, Any]) -> str:
    """Summarise the question in one line."""
    possible = sum(1 for option in advice["choices"] if option["seconds"])
    size = f"{format_bytes_si(advice['size_bytes'])} ({format_bytes(advice['size_bytes'])})"
    inputs, jobs = advice["inputs"], advice["jobs_per_month"]
    each = f"{format_count(inputs, 'input')} of {size} each" if inputs > 1 else size
    often = f", {jobs:g} times a month" if jobs else ""
    return (
        f"{advice['workload']} of {each}{often}: {possible} of {len(advice['choices'])} choices"
        " can do it"
    )


def consequences(advice: Mapping[str, Any]) -> Iterator[str]:
    """Yield the effects of more nodes and more data, and the caveats, in plain sentences."""
    yield from applies(advice)
    yield from turns(advice)
    for name, text in costs(advice):
        yield f"COST on {name}: {text}"
    yield from caveats(advice)


def applies(advice: Mapping[str, Any]) -> Iterator[str]:
    """Yield the setting that the demands were measured in, and the others that were."""
    known = settings(advice["workload"]) if advice["demands"] else {}
    if not known:
        return
    further = ", ".join(name for name in known if name != advice["setting"])
    text = f"This is for {known.get(advice['setting'], advice['setting'])}"
    yield f"{text}; --setting has {further} too." if further else f"{text}."


def turns(advice: Mapping[str, Any]) -> Iterator[str]:
    """Yield the input size up to which the same number of nodes is best; nothing if unknown."""
    turn = advice["turns"]
    if not turn or not turn["size_bytes"]:
        return
    name = advice["machines"][turn["machine"]]["name"]
    best = advice["best"][0]["choice"]["nodes"]
    nodes = "one node stays" if best == 1 else f"{best} nodes stay"
    then = "none is enough" if turn["nodes"] is None else f"take {turn['nodes']} nodes"
    yield f"On {name} {nodes} best until about {_size(turn['size_bytes'])}; then {then}."


def costs(advice: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield, for each recommended machine, its name and the nodes needed to beat a single one."""
    rows = {row["machine"]: row for row in advice["scale_out"]}
    for key in dict.fromkeys(advised["choice"]["machine"] for advised in advice["best"]):
        if key not in rows:
            continue
        row, name = rows[key], advice["machines"][key]["name"]
        if row["one_node_s"] is None:
            yield name, f"one node cannot do it: {row['one_node_refused']}."
            continue
        parts = [
            f"{engine} beats one node on none of up to {row['nodes_max']} nodes"
            if count is None
            else f"{engine} beats one node with {count} nodes"
            f" ({row['cores_to_beat_it'][engine]} cores)"
            for engine, count in row["nodes_to_beat_it"].items()
        ]
        if parts:
            yield name, f"{', '.join(parts)}."


def caveats(advice: Mapping[str, Any]) -> Iterator[str]:
    """Yield the choices left out, and the limits of measurements and prices."""
    yield from (f"Left out: {why}." for why in advice["left_out"])
    if any(advised["choice"]["nodes"] > 1 for advised in advice["best"]):
        yield SEVERAL
    prices = [machine["price"] for machine in advice["machines"].values() if machine["price"]]
    if any(price["node"] for price in prices):
        jobs = advice["jobs_per_month"]
        use = f"for {jobs:g} jobs a month, which pay all of it" if jobs else "without a pause"
        yield PRICES.format(years=advice["years"], use=use)
    dates = sorted({price["date"] for price in prices})
    if len(dates) > 1:
        yield DATES.format(first=dates[0], last=dates[-1])


def price_words(price: Mapping[str, Any] | None, use: str = "") -> str:
    """Price of a node with its date and source; `use` follows the date of a bought node."""
    if price is None:
        return "no price"
    source = f"; {price['source']}" if price["source"] else ""
    if price["hour"] is not None:
        return f"{price['hour']:g} $ an hour of a node, {price['date']}{source}"
    return f"{price['node']:,.0f} $ a node, {price['date']}{use}{source}"


def _size(size_bytes: float) -> str:
    """Format a size, rounded to two digits because it is an estimate."""
    return format_bytes_si(float(f"{size_bytes:.2g}"))


def _scale_out(job: Job, machine: Hardware, demands: Sequence[Demand]) -> dict[str, Any]:
    """Count the nodes from which several are faster than a single one, by engine.

    Engines that were not measured near such a size are left out.
    Source of the idea: McSherry, Isard, Murray, "Scalability! But at what COST?", HotOS 2015.
    """
    job = replace(job, inputs=1, jobs_per_month=0.0)
    alone = [choice(job, machine, demand, 1) for demand in demands if not demand.many_nodes]
    single_node_s = min(map(ranking.seconds, alone), default=float("inf"))
    nodes = {
        demand.engine: _first_faster(job, machine, demand, single_node_s)
        for demand in demands
        if demand.many_nodes and not size_refused(job, demand)
    }
    return {
        "machine": machine.key,
        "nodes_max": machine.nodes_max,
        "one_node_s": None if single_node_s == float("inf") else single_node_s,
        "one_node_refused": next((option.refused for option in alone if option.refused), ""),
        "nodes_to_beat_it": nodes,
        "cores_to_beat_it": {
            engine: None if count is None else count * machine.cores
            for engine, count in nodes.items()
        },
    }


def _first_faster(job: Job, machine: Hardware, demand: Demand, seconds: float) -> int | None:
    """Smallest number of nodes, two or more, that takes less time; None if there is none."""
    return next(
        (
            nodes
            for nodes in range(2, machine.nodes_max + 1)
            if ranking.seconds(choice(job, machine, demand, nodes)) < seconds
        ),
        None,
    )


def _turn(
    job: Job, machines: Sequence[Hardware], demands: Sequence[Demand], best: Choice, by: str
) -> dict[str, Any]:
    """Find the input size from which another number of nodes is best on the best machine.

    The search ends at sizes too far from those measured of an engine that is available now.
    """
    machine = next(machine for machine in machines if machine.key == best.machine)
    order = by or ("price" if machine.price else "time")
    size = job.size_bytes
    measured = [demand.sizes[1] for demand in demands if not size_refused(job, demand)]
    limit = min(SIZE_MAX, SIZE_BEYOND * min(measured))
    while size * 1.25 <= limit:
        size *= 1.25
        bigger = replace(job, size_bytes=size)
        ranked = [option for option in choices(bigger, [machine], demands) if option.seconds]
        if not ranked:
            return {"machine": machine.key, "size_bytes": size, "nodes": None}
        first = ranking.ranked_by(ranked, order)[0]
        if first.nodes != best.nodes:
            return {"machine": machine.key, "size_bytes": size, "nodes": first.nodes}
    return {"machine": machine.key, "size_bytes": None, "nodes": best.nodes}
