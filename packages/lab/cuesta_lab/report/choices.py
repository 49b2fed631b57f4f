"""The choices of an advice as tables: numbers, choices without a price, and refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cuesta import numerals as n
from cuesta.report.blocks import Block, Cell, Column, Fold, Pair, Pairs, Part, Row, Table
from cuesta.units import format_seconds
from cuesta_lab.model.ranking import money

ROWS_MAX = 10
"""Most choices in the table, the best for a dollar first."""
REFUSED_MAX = 50
"""Most choices that are left out and listed."""
UNPRICED_MAX = 10
"""Most machines in the table of choices without a price."""

NO_PRICE = "no price"

Choice = Mapping[str, Any]
_Shown = tuple[Column, Callable[[Choice], Cell]]


def possible(advice: Mapping[str, Any]) -> list[Choice]:
    """Choices that are not refused, the fastest first, those with a caveat after all others."""
    return sorted((choice for choice in advice["choices"] if choice["seconds"]), key=_seconds)


def time(choice: Choice) -> str:
    """The time of a choice in words; a lower bound where a part is not included."""
    least = "at least " if choice["caveat"] else ""
    return f"{least}{format_seconds(choice['seconds']['value'])}"


def best(advice: Mapping[str, Any]) -> list[Choice]:
    """The best choices, in their order."""
    return [entry["choice"] for entry in advice["best"]]


def unpriced(advice: Mapping[str, Any]) -> list[Choice]:
    """Possible choices without a price, the fastest first."""
    return [choice for choice in possible(advice) if not choice["dollars"]]


def machine_name(advice: Mapping[str, Any], key: str) -> str:
    """The name of a machine for people; for a setting that was run, the setting itself."""
    name: str = advice["machines"][key]["name"] if key in advice["machines"] else key
    return name


def short(advice: Mapping[str, Any], choice: Choice) -> str:
    """A choice in a few words: nodes, machine, engine."""
    nodes = f"{choice['nodes']} x " if advice["machines"] else ""
    return f"{nodes}{machine_name(advice, choice['machine'])}, {choice['engine']}"


def numbers(advice: Mapping[str, Any]) -> Part:
    """The best choices in numbers, then the fastest without a price, then the refused."""
    rows = in_numbers(advice)
    tops = best(advice)
    tables: list[Block] = [_table(advice, "Choices, the best first", rows, tops)]
    unpriced_choices = without_price(advice)
    if unpriced_choices:
        caption = "Without a price, the fastest choice of each machine"
        tables.append(_table(advice, caption, unpriced_choices, tops))
    remaining = len(possible(advice)) - len(rows) - len(unpriced_choices)
    more = [f"{n.plural(remaining, 'more choice')} in the JSON output."] if remaining > 0 else []
    caveats = dict.fromkeys(row["caveat"] for row in [*rows, *unpriced_choices] if row["caveat"])
    aside = (*more, *(f"At least: {caveat}." for caveat in caveats))
    return Part(title="In numbers", aside=aside, blocks=(*tables, *_refused(advice)))


def in_numbers(advice: Mapping[str, Any]) -> list[Choice]:
    """Choices of the first table: the best, then in the order that was asked for.

    Without one they are by price, or by time where nothing has a price.
    """
    tops = best(advice)
    value = {"time": "seconds", "energy": "kilowatt_hours"}.get(advice["by"], "dollars")
    known = [choice for choice in possible(advice) if choice[value]]
    ranked = sorted(known, key=lambda choice: (choice["caveat"] != "", choice[value]["value"]))
    return [*tops, *(choice for choice in ranked or possible(advice) if choice not in tops)][
        :ROWS_MAX
    ]


def without_price(advice: Mapping[str, Any]) -> list[Choice]:
    """The fastest choice of each machine without a price, unless in the first table."""
    first: dict[str, Choice] = {}
    for choice in unpriced(advice):
        first.setdefault(choice["machine"], choice)
    shown = in_numbers(advice)
    return [choice for choice in first.values() if choice not in shown][:UNPRICED_MAX]


def _seconds(choice: Choice) -> tuple[bool, float]:
    return choice["caveat"] != "", float(choice["seconds"]["value"])


def _table(
    advice: Mapping[str, Any], caption: str, rows: Sequence[Choice], tops: Sequence[Choice]
) -> Table:
    columns = list(_columns(advice, rows))
    return Table(
        caption=caption,
        columns=(
            Column(title="machine" if advice["machines"] else "setting", words=True),
            *(column for column, _ in columns),
        ),
        rows=tuple(
            Row(
                header=machine_name(advice, row["machine"]),
                cells=tuple(cell(row) for _, cell in columns),
                tone="best" if row in tops else "",
            )
            for row in rows
        ),
    )


def _columns(advice: Mapping[str, Any], rows: Sequence[Choice]) -> Iterator[_Shown]:
    """Columns with information: a setting that was run has no nodes, price or limit."""
    if advice["machines"]:
        yield Column(title="nodes"), lambda choice: Cell(text=n.count(choice["nodes"]))
    yield Column(title="engine", words=True), lambda choice: Cell(text=choice["engine"])
    yield Column(title="time"), _time
    if any(row["dollars"] for row in rows):
        yield Column(title="dollars"), _price
        yield Column(title="runs for a dollar"), _runs
    if any(row["kilowatt_hours"] for row in rows):
        yield Column(title="energy"), _energy
    if advice["machines"]:
        yield Column(title="limit", words=True), lambda choice: Cell(text=choice["limit"])


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


def _energy(choice: Choice) -> Cell:
    energy = choice["kilowatt_hours"]
    if not energy:
        return Cell(text="not known")
    low, high = (f"{energy[end]:.3g}" for end in ("low", "high"))
    return Cell(text=f"{energy['value']:.3g} kWh", note=f"{low} to {high}")


def _refused(advice: Mapping[str, Any]) -> Iterator[Fold]:
    """Reasons of refused choices, equal reasons together; nothing where none is refused."""
    refused = [choice for choice in advice["choices"] if choice["refused"]]
    reasons: dict[tuple[str, int, str], list[str]] = {}
    for choice in refused:
        key = choice["machine"], choice["nodes"], choice["refused"]
        reasons.setdefault(key, []).append(choice["engine"])
    items = []
    for (machine, nodes, reason), engines in reasons.items():
        count = f"{nodes} x " if advice["machines"] else ""
        name = f"{count}{machine_name(advice, machine)}"
        items.append(Pair(name=name, text=f"{', '.join(engines)}: {reason}"))
    if len(items) > REFUSED_MAX:
        more = f"{n.count(len(items) - REFUSED_MAX)} in the JSON output"
        items[REFUSED_MAX:] = [Pair(name="more", text=more)]
    if items:
        summary = f"{n.plural(len(refused), 'choice')} left out, and why"
        yield Fold(summary=summary, block=Pairs(items=tuple(items)))
