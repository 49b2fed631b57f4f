"""The machines of an advice as lists: prices with day and source, notes, and assumptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cuesta import numerals as n
from cuesta.report.blocks import Block, Fold, Pair, Pairs, Part
from cuesta_lab.model.advise import price_words
from cuesta_lab.report import choices

NAMES_MAX = 6
"""Most machines that are named where the same is said of all."""


def prices(advice: Mapping[str, Any]) -> Part | None:
    """Part with the price of a node of each machine; None where runs have no machine."""
    machines = advice["machines"]
    if not machines:
        return None
    first = [*choices.in_numbers(advice), *choices.without_price(advice)]
    tabled = list(dict.fromkeys(choice["machine"] for choice in first))
    drawn = dict.fromkeys(choice["machine"] for choice in choices.possible(advice))
    rest = [key for key in drawn if key not in tabled]
    blocks: list[Block] = [Pairs(items=_each(machines, tabled, _priced))]
    if rest:
        summary = f"{n.plural(len(rest), 'more machine')} of the choices"
        blocks.append(Fold(summary=summary, block=Pairs(items=_each(machines, rest, _priced))))
    assumed = [key for key in (*tabled, *rest) if machines[key]["assumed"]]
    if assumed:
        summary = "What is assumed of these machines, because nobody measured it"
        blocks.append(Fold(summary=summary, block=Pairs(items=_each(machines, assumed, _assumed))))
    aside = ("What a node costs, since when, who says so, and what to know of the machine.",)
    return Part(title="Prices and machines", aside=aside, blocks=tuple(blocks))


def _each(
    machines: Mapping[str, Any], keys: Sequence[str], words: Callable[[Mapping[str, Any]], str]
) -> tuple[Pair, ...]:
    """Return a line for each machine, or a single one for many with the same text."""
    alike: dict[str, list[str]] = {}
    for key in keys:
        alike.setdefault(words(machines[key]), []).append(machines[key]["name"])
    lines = ((name, text) for text, names in alike.items() for name in _listed(names))
    return tuple(Pair(name=name, text=text) for name, text in lines)


def _listed(names: Sequence[str]) -> list[str]:
    """Return names, or the first of many in a line."""
    return [n.shortened(names, NAMES_MAX)] if len(names) > NAMES_MAX else list(names)


def _priced(machine: Mapping[str, Any]) -> str:
    price = price_words(machine["price"])
    return " ".join((f"{price[:1].upper()}{price[1:]}.", *machine["notes"]))


def _assumed(machine: Mapping[str, Any]) -> str:
    return "; ".join(machine["assumed"])
