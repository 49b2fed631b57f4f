"""The choices of an advice as tables: in numbers, those without a price, and why some cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cuesta import numerals as n
from cuesta.model.advise import money
from cuesta.report.blocks import Block, Cell, Column, Fold, Pair, Pairs, Part, Row, Table
from cuesta.units import format_seconds

ROWS_MAX = 10
"""Choices in the table, the best for a dollar first."""
UNPRICED_MAX = 10
"""Machines without a price in the table of theirs."""

NO_PRICE = "no price"

Choice = Mapping[str, Any]
_Shown = tuple[Column, Callable[[Choice], Cell]]


def possible(found: Mapping[str, Any]) -> list[Choice]:
    """Choices that are not refused, the fastest first, those with a caveat after all others."""
    return sorted((choice for choice in found["choices"] if choice["seconds"]), key=_seconds)


def time(choice: Choice) -> str:
    """Its time in words; one that leaves something out is a lower bound."""
    least = "at least " if choice["caveat"] else ""
    return f"{least}{format_seconds(choice['seconds']['value'])}"


def best(found: Mapping[str, Any]) -> list[Choice]:
    """The best choices, in their order."""
    return [one["choice"] for one in found["best"]]


def unpriced(found: Mapping[str, Any]) -> list[Choice]:
    """Choices that nobody has a price of, the fastest first."""
    return [one for one in possible(found) if not one["dollars"]]


def machine_name(found: Mapping[str, Any], key: str) -> str:
    """For people; of a setting that was run, the setting itself."""
    name: str = found["machines"][key]["name"] if key in found["machines"] else key
    return name


def short(found: Mapping[str, Any], choice: Choice) -> str:
    """A choice in a few words: nodes, machine, engine."""
    nodes = f"{choice['nodes']} x " if found["machines"] else ""
    return f"{nodes}{machine_name(found, choice['machine'])}, {choice['engine']}"


def numbers(found: Mapping[str, Any]) -> Part:
    """The best choices in numbers, then the fastest of those without a price, then the refused."""
    rows = in_numbers(found)
    tops = best(found)
    tables: list[Block] = [_table(found, "Choices, the best first", rows, tops)]
    others = without_price(found)
    if others:
        caption = "Without a price, the fastest choice of each machine"
        tables.append(_table(found, caption, others, tops))
    left = len(possible(found)) - len(rows) - len(others)
    more = [f"{n.plural(left, 'more choice')} in the JSON output."] if left > 0 else []
    told = dict.fromkeys(row["caveat"] for row in [*rows, *others] if row["caveat"])
    aside = (*more, *(f"At least: {caveat}." for caveat in told))
    return Part(title="In numbers", aside=aside, blocks=(*tables, *_refused(found)))


def in_numbers(found: Mapping[str, Any]) -> list[Choice]:
    """Choices of the first table: the best, then by price, or by time where nothing has one."""
    tops = best(found)
    ranked = sorted((one for one in possible(found) if one["dollars"]), key=_dollars)
    return [*tops, *(one for one in ranked or possible(found) if one not in tops)][:ROWS_MAX]


def without_price(found: Mapping[str, Any]) -> list[Choice]:
    """Of each machine without a price its fastest choice, unless that is in the first table."""
    first: dict[str, Choice] = {}
    for one in unpriced(found):
        first.setdefault(one["machine"], one)
    shown = in_numbers(found)
    return [one for one in first.values() if one not in shown][:UNPRICED_MAX]


def _seconds(choice: Choice) -> tuple[bool, float]:
    return choice["caveat"] != "", float(choice["seconds"]["value"])


def _dollars(choice: Choice) -> tuple[bool, float]:
    return choice["caveat"] != "", float(choice["dollars"]["value"])


def _table(
    found: Mapping[str, Any], caption: str, rows: Sequence[Choice], tops: Sequence[Choice]
) -> Table:
    columns = list(_columns(found, rows))
    return Table(
        caption=caption,
        columns=(
            Column(title="machine" if found["machines"] else "setting", words=True),
            *(column for column, _ in columns),
        ),
        rows=tuple(
            Row(
                header=machine_name(found, row["machine"]),
                cells=tuple(cell(row) for _, cell in columns),
                tone="best" if row in tops else "",
            )
            for row in rows
        ),
    )


def _columns(found: Mapping[str, Any], rows: Sequence[Choice]) -> Iterator[_Shown]:
    """Columns that say something: a setting that was run has no nodes apart, no price, no limit."""
    if found["machines"]:
        yield Column(title="nodes"), lambda one: Cell(text=n.count(one["nodes"]))
    yield Column(title="engine", words=True), lambda one: Cell(text=one["engine"])
    yield Column(title="time"), _time
    if any(row["dollars"] for row in rows):
        yield Column(title="dollars"), _price
        yield Column(title="runs for a dollar"), _runs
    if found["machines"]:
        yield Column(title="limit", words=True), lambda one: Cell(text=one["limit"])


def _time(choice: Choice) -> Cell:
    seconds = choice["seconds"]
    spread = f"{format_seconds(seconds['low'])} to {format_seconds(seconds['high'])}"
    return Cell(text=time(choice), note=spread)


def _price(choice: Choice) -> Cell:
    dollars = choice["dollars"]
    if not dollars:
        return Cell(text=NO_PRICE)
    return Cell(
        text=money(dollars["value"]), note=f"{money(dollars['low'])} to {money(dollars['high'])}"
    )


def _runs(choice: Choice) -> Cell:
    runs = choice["runs_per_dollar"]
    return Cell(text=n.significant(runs["value"]) if runs else "")


def _refused(found: Mapping[str, Any]) -> Iterator[Fold]:
    """Why choices cannot be, those with the same reason together; nothing where all can be."""
    refused = [choice for choice in found["choices"] if choice["refused"]]
    reasons: dict[tuple[str, int, str], list[str]] = {}
    for one in refused:
        key = one["machine"], one["nodes"], one["refused"]
        reasons.setdefault(key, []).append(one["engine"])
    items = []
    for (machine, nodes, reason), engines in reasons.items():
        count = f"{nodes} x " if found["machines"] else ""
        name = f"{count}{machine_name(found, machine)}"
        items.append(Pair(name=name, text=f"{', '.join(engines)}: {reason}"))
    if items:
        summary = f"{n.plural(len(refused), 'choice')} left out, and why"
        yield Fold(summary=summary, block=Pairs(items=tuple(items)))
