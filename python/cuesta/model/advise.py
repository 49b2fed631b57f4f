"""Which machine, how many nodes, which engine: all choices, the best three, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from cuesta.errors import InputError
from cuesta.model.choices import (
    RESOURCES,
    SIZE_BEYOND,
    Choice,
    Job,
    choice,
    choices,
    size_refused,
)
from cuesta.model.demands import Demand
from cuesta.model.machines import Hardware
from cuesta.units import format_bytes, format_bytes_si, format_count, format_seconds

SCHEMA = "cuesta.advice/1"
BETWEEN = 2.0
"""The choice in between costs at most so many times the cheapest."""
AS_FAST = 1.1
"""Times that differ by less are the same, for a prediction."""
SIZE_MAX = 1e15
SEVERAL = (
    "Times on several nodes follow from runs on one machine, none was measured; which engine is the"
    " faster there is not sure."
)
PRICES = (
    "Prices: nodes that are bought, at their list price over {years:g} years without a pause;"
    " power, people and, where a machine says so, its network are not in it."
)
DATES = "Prices are of different days, {first} to {last}, and none is adjusted to another day."


@dataclass(frozen=True, kw_only=True)
class Advised:
    """One of the best choices, with the reason in plain words."""

    title: str
    choice: Choice
    words: str


def advise(job: Job, machines: Sequence[Hardware], demands: Sequence[Demand]) -> dict[str, Any]:
    """All choices, the best three, the COST of scale-out, and what it all rests on, as JSON.

    Errors: `InputError` for a size that says nothing, or where no machine has room.
    """
    _check(job, demands)
    found = list(choices(job, machines, demands))
    names = {one.key: one.name for one in machines}
    possible = [one for one in found if one.seconds]
    if not possible:
        reasons = "; ".join(
            f"{names[one.machine]}, {format_count(one.nodes, 'node')}: {one.refused}"
            for one in found[-3:]
        )
        raise InputError(
            f"advise: no machine has room for {format_bytes_si(job.size_bytes)}"
            f" ({reasons or 'none has so many nodes'})"
        )
    best = three_best(possible, names)
    return {
        "schema": SCHEMA,
        "workload": demands[0].workload,
        "size_bytes": job.size_bytes,
        "years": job.years,
        "best": [asdict(one) for one in best],
        "turns": _turn(job, machines, demands, best[0].choice),
        "scale_out": [_scale_out(job, one, demands) for one in machines],
        "left_out": [why for one in demands if (why := size_refused(job, one))],
        "choices": [asdict(one) for one in found],
        "machines": {one.key: asdict(one) for one in machines},
        "demands": [asdict(one) for one in demands],
    }


def among(workload: str, job: Job, found: Sequence[Choice]) -> dict[str, Any]:
    """The same of settings that were run here, which have no price."""
    if job.size_bytes <= 0:
        raise InputError("advise: --input-size is 0; give the bytes of the input, as 452GB")
    possible = [one for one in found if one.seconds]
    if not possible:
        raise InputError(f"advise: {found[0].engine}, {found[0].machine}: {found[0].refused}")
    names = {one.machine: one.machine for one in found}
    return {
        "schema": SCHEMA,
        "workload": workload,
        "size_bytes": job.size_bytes,
        "years": job.years,
        "best": [asdict(one) for one in three_best(possible, names)],
        "turns": None,
        "scale_out": [],
        "left_out": [],
        "choices": [asdict(one) for one in found],
        "machines": {},
        "demands": [],
    }


def _check(job: Job, demands: Sequence[Demand]) -> None:
    """Errors: `InputError` for no input, and where it is too large, or small, for every engine."""
    if job.size_bytes <= 0:
        raise InputError("advise: --input-size is 0; give the bytes of the input, as 452GB")
    if all(size_refused(job, one) for one in demands):
        widest = max(demands, key=lambda one: one.sizes[1])
        if job.size_bytes < widest.sizes[0]:
            widest = min(demands, key=lambda one: one.sizes[0])
        raise InputError(f"advise: {size_refused(job, widest)}")


def three_best(possible: Sequence[Choice], names: dict[str, str]) -> list[Advised]:
    """The cheapest, the fastest, and the fastest of those that cost at most twice the cheapest.

    Of those that are as fast within a tenth, the one with the fewest nodes counts as the fastest.
    Those of lower rank follow where two are the same, of another machine if there is one. Those
    with a caveat, whose time leaves something out, come after all others, however short it is.
    """
    priced = [one for one in possible if one.dollars]
    by_time = _fastest_first(possible)
    by_price = sorted(priced, key=lambda one: (one.caveat != "", _dollars(one), _seconds(one)))
    wanted: list[tuple[str, Sequence[Choice]]] = [("fastest", by_time)]
    if by_price:
        limit = BETWEEN * _dollars(by_price[0])
        between = _fastest_first([one for one in priced if _dollars(one) <= limit])
        wanted = [("most for a dollar", by_price), ("fastest", by_time), ("in between", between)]
    taken: list[Advised] = []
    for title, ranked in [*wanted, ("next", by_price or by_time), ("next", by_time)]:
        chosen = [_same(one.choice) for one in taken]
        if title == "next":
            there = {one.choice.machine for one in taken}
            ranked = sorted(ranked, key=lambda one: (one.caveat != "", one.machine in there))
        new = next((one for one in ranked if _same(one) not in chosen), None)
        if new and len(taken) < 3:
            taken.append(Advised(title=title, choice=new, words=words(new, names[new.machine])))
    return taken


def _fastest_first(possible: Sequence[Choice]) -> list[Choice]:
    """By time; those that are as fast as the first, within `AS_FAST`, by nodes before.

    Those with a caveat come last.
    """
    whole = [one for one in possible if not one.caveat]
    limit = AS_FAST * min(map(_seconds, whole or possible))

    def rank(one: Choice) -> tuple[float, ...]:
        seconds, last = _seconds(one), float(bool(whole and one.caveat))
        near = seconds <= limit and one.limit != ""
        if near:
            return (last, 0.0, one.nodes, seconds)
        return (last, 0.0 if seconds <= limit else 1.0, 0, seconds)

    return sorted(possible, key=rank)


def _same(one: Choice) -> tuple[str, int, str]:
    """What makes two choices the same to a reader."""
    return one.machine, one.nodes, "" if one.limit else one.engine


def words(one: Choice, name: str) -> str:
    """A choice in one sentence: nodes, engine, time, price, what limits it."""
    assert one.seconds
    time = (
        f"{format_seconds(one.seconds.value)} ({format_seconds(one.seconds.low)} to"
        f" {format_seconds(one.seconds.high)})"
    )
    if not one.limit:
        return f"{one.engine} with {name}: {time}"
    nodes = format_count(one.nodes, "node")
    price = "no price"
    if one.dollars:
        price = f"{money(one.dollars.value)} $ ({money(one.dollars.low)} to"
        price += f" {money(one.dollars.high)})"
    caveat = f"; {one.caveat}" if one.caveat else ""
    limit = RESOURCES[one.limit]
    return f"{nodes} of {name}, {one.engine}: {time}, {price}; limited by {limit}{caveat}"


def headline(found: Mapping[str, Any]) -> str:
    """What was asked, in one line."""
    possible = sum(1 for one in found["choices"] if one["seconds"])
    size = f"{format_bytes_si(found['size_bytes'])} ({format_bytes(found['size_bytes'])})"
    return f"{found['workload']} of {size}: {possible} of {len(found['choices'])} choices can do it"


def consequences(found: Mapping[str, Any]) -> Iterator[str]:
    """What changes with more nodes and more data, and what to beware of, in plain sentences."""
    yield from turns(found)
    for name, text in costs(found):
        yield f"COST on {name}: {text}"
    yield from caveats(found)


def turns(found: Mapping[str, Any]) -> Iterator[str]:
    """Up to what input as many nodes as now are best; nothing where it is not known."""
    there = found["turns"]
    if not there or not there["size_bytes"]:
        return
    name = found["machines"][there["machine"]]["name"]
    best = found["best"][0]["choice"]["nodes"]
    nodes = "one node stays" if best == 1 else f"{best} nodes stay"
    then = "none is enough" if there["nodes"] is None else f"take {there['nodes']} nodes"
    yield f"On {name} {nodes} best until about {_size(there['size_bytes'])}; then {then}."


def costs(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """By name of a machine among the best, how many nodes it takes to beat one."""
    rows = {one["machine"]: one for one in found["scale_out"]}
    for key in dict.fromkeys(one["choice"]["machine"] for one in found["best"]):
        if key not in rows:
            continue
        row, name = rows[key], found["machines"][key]["name"]
        if row["one_node_s"] is None:
            yield name, f"one node cannot do it: {row['one_node_refused']}."
            continue
        parts = [
            f"{engine} never beats one node"
            if count is None
            else f"{engine} beats one node with {count} nodes"
            f" ({row['cores_to_beat_it'][engine]} cores)"
            for engine, count in row["nodes_to_beat_it"].items()
        ]
        if parts:
            yield name, f"{', '.join(parts)}."


def caveats(found: Mapping[str, Any]) -> Iterator[str]:
    """What was left out, and what no measurement and no price says."""
    yield from (f"Left out: {why}." for why in found["left_out"])
    if any(one["choice"]["nodes"] > 1 for one in found["best"]):
        yield SEVERAL
    prices = [one["price"] for one in found["machines"].values() if one["price"]]
    if any(one["node"] for one in prices):
        yield PRICES.format(years=found["years"])
    dates = sorted({one["date"] for one in prices})
    if len(dates) > 1:
        yield DATES.format(first=dates[0], last=dates[-1])


def price_words(price: Mapping[str, Any] | None, use: str = "") -> str:
    """What a node costs, of what day and by whom; `use` follows the day of one that is bought."""
    if price is None:
        return "no price"
    source = f"; {price['source']}" if price["source"] else ""
    if price["hour"] is not None:
        return f"{price['hour']:g} $ an hour of a node, {price['date']}{source}"
    return f"{price['node']:,.0f} $ a node, {price['date']}{use}{source}"


def _size(size_bytes: float) -> str:
    """Two digits: it is about that."""
    return format_bytes_si(float(f"{size_bytes:.2g}"))


def money(dollars: float) -> str:
    """Cents; one digit below a cent."""
    if dollars >= 100:
        return f"{dollars:,.0f}"
    return f"{dollars:.2f}" if dollars >= 0.01 else f"{dollars:.1g}"


def _seconds(one: Choice) -> float:
    return one.seconds.value if one.seconds else float("inf")


def _dollars(one: Choice) -> float:
    return one.dollars.value if one.dollars else float("inf")


def _scale_out(job: Job, machine: Hardware, demands: Sequence[Demand]) -> dict[str, Any]:
    """How many nodes it takes until several are faster than one alone, by engine.

    Engines that were not measured near such a size are left out.
    Source of the idea: McSherry, Isard, Murray, "Scalability! But at what COST?", HotOS 2015.
    """
    alone = [choice(job, machine, one, 1) for one in demands if not one.many_nodes]
    one_node = min(map(_seconds, alone), default=float("inf"))
    nodes = {
        demand.engine: _first_faster(job, machine, demand, one_node)
        for demand in demands
        if demand.many_nodes and not size_refused(job, demand)
    }
    return {
        "machine": machine.key,
        "one_node_s": None if one_node == float("inf") else one_node,
        "one_node_refused": next((one.refused for one in alone if one.refused), ""),
        "nodes_to_beat_it": nodes,
        "cores_to_beat_it": {
            engine: None if count is None else count * machine.cores
            for engine, count in nodes.items()
        },
    }


def _first_faster(job: Job, machine: Hardware, demand: Demand, seconds: float) -> int | None:
    """The smallest number of nodes, two or more, that takes less time; None where none does."""
    return next(
        (
            nodes
            for nodes in range(2, machine.nodes_max + 1)
            if _seconds(choice(job, machine, demand, nodes)) < seconds
        ),
        None,
    )


def _turn(
    job: Job, machines: Sequence[Hardware], demands: Sequence[Demand], best: Choice
) -> dict[str, Any]:
    """Up to what input the best machine is best with as many nodes as now, and what comes then.

    Nothing is said of sizes that an engine which can be had now was not measured near.
    """
    machine = next(one for one in machines if one.key == best.machine)
    size = job.size_bytes
    measured = [one.sizes[1] for one in demands if not size_refused(job, one)]
    limit = min(SIZE_MAX, SIZE_BEYOND * min(measured))
    while size * 1.25 <= limit:
        size *= 1.25
        bigger = replace(job, size_bytes=size)
        ranked = [one for one in choices(bigger, [machine], demands) if one.seconds]
        if not ranked:
            return {"machine": machine.key, "size_bytes": size, "nodes": None}
        first = min(ranked, key=_dollars) if machine.price else _fastest_first(ranked)[0]
        if first.nodes != best.nodes:
            return {"machine": machine.key, "size_bytes": size, "nodes": first.nodes}
    return {"machine": machine.key, "size_bytes": None, "nodes": best.nodes}
