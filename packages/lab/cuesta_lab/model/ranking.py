"""The best three of all choices, by price and time, or by one of time, price and energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cuesta.errors import InputError
from cuesta.units import format_count, format_seconds
from cuesta_lab.model.choices import RESOURCES, Choice

BETWEEN = 2.0
"""Largest price of the choice in between, as a multiple of the cheapest."""
AS_FAST = 1.1
"""Smallest ratio of two predicted times that counts as a difference."""
BEST = 3
"""Choices that are recommended."""
ORDERS = ("time", "price", "energy")
"""Words of `--by`."""
_MISSING = {
    "price": "no chosen machine that can do it has a price",
    "energy": "no chosen machine that can do it says what power a node draws ([power] of its file)",
}

_Identity = tuple[str, int, str]


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """A recommended choice, with the reason in plain words."""

    title: str
    choice: Choice
    words: str


def best(
    possible: Sequence[Choice], names: Mapping[str, str], by: str = ""
) -> list[Recommendation]:
    """Return the best three choices: by `time`, `price` or `energy`, or by price and time.

    A choice with a caveat, whose time is incomplete, ranks after all choices without one, however
    short its time is. Errors: `InputError` where no choice has a price, or an energy.
    """
    if not by:
        return _by_price_and_time(possible, names)
    ranked = ranked_by(possible, by)
    if not ranked:
        raise InputError(f"advise: --by {by}: {_MISSING[by]}; give others with --machines")
    title = {"time": "fastest", "price": "cheapest", "energy": "least energy"}[by]
    winners = {_identity(ranked[0]): _recommended(title, ranked[0], names)}
    for _ in range(BEST - 1):
        _add_next(winners, ranked, names)
    return list(winners.values())


def ranked_by(possible: Sequence[Choice], by: str) -> list[Choice]:
    """Sort the choices that have a time, a price or an energy, the best first."""
    if by == "time":
        return _fastest_first(possible)
    value = dollars if by == "price" else energy
    known = [option for option in possible if value(option) < float("inf")]
    return sorted(known, key=lambda option: (option.caveat != "", value(option), seconds(option)))


def _by_price_and_time(
    possible: Sequence[Choice], names: Mapping[str, str]
) -> list[Recommendation]:
    """Return the cheapest choice, the fastest, and the fastest at up to twice the lowest price.

    Among choices within a tenth of the shortest time, the one with the fewest nodes counts as the
    fastest. A choice that wins twice has both titles; the rest of the three are the next by price
    and by time, preferably on other machines.
    """
    by_time, by_price = ranked_by(possible, "time"), ranked_by(possible, "price")
    rankings: list[tuple[str, Sequence[Choice]]] = [("fastest", by_time)]
    if by_price:
        limit = BETWEEN * dollars(by_price[0])
        between = _fastest_first([option for option in by_price if dollars(option) <= limit])
        rankings = [("most for a dollar", by_price), ("fastest", by_time), ("in between", between)]
    winners: dict[_Identity, Recommendation] = {}
    for title, ranked in rankings:
        first, earlier = ranked[0], winners.get(_identity(ranked[0]))
        if earlier is None:
            winners[_identity(first)] = _recommended(title, first, names)
        elif title != "in between":
            winners[_identity(first)] = replace(earlier, title=f"{earlier.title} and {title}")
    for ranked in (by_price or by_time, by_time):
        _add_next(winners, ranked, names)
    return list(winners.values())


def _add_next(
    winners: dict[_Identity, Recommendation], ranked: Sequence[Choice], names: Mapping[str, str]
) -> None:
    """Add the next choice of a ranking, preferably on another machine, unless there are three."""
    taken = {advised.choice.machine for advised in winners.values()}
    further = sorted(ranked, key=lambda option: (option.caveat != "", option.machine in taken))
    new = next((option for option in further if _identity(option) not in winners), None)
    if new and len(winners) < BEST:
        winners[_identity(new)] = _recommended("next", new, names)


def _recommended(title: str, option: Choice, names: Mapping[str, str]) -> Recommendation:
    return Recommendation(title=title, choice=option, words=words(option, names[option.machine]))


def _fastest_first(possible: Sequence[Choice]) -> list[Choice]:
    """Sort choices by time; those within `AS_FAST` of the shortest come first, by their nodes.

    Choices with a caveat come last.
    """
    complete = [option for option in possible if not option.caveat]
    limit = AS_FAST * min(map(seconds, complete or possible))

    def rank(option: Choice) -> tuple[float, ...]:
        time, last = seconds(option), float(bool(complete and option.caveat))
        near = time <= limit and option.limit != ""
        if near:
            return (last, 0.0, option.nodes, time)
        return (last, 0.0 if time <= limit else 1.0, 0, time)

    return sorted(possible, key=rank)


def _identity(option: Choice) -> _Identity:
    """Identity of a choice to a reader: two choices with the same key are shown once."""
    return option.machine, option.nodes, "" if option.limit else option.engine


def words(option: Choice, name: str) -> str:
    """Describe a choice in one sentence: nodes, engine, time, price, energy and limit."""
    assert option.seconds
    time = (
        f"{format_seconds(option.seconds.value)} ({format_seconds(option.seconds.low)} to"
        f" {format_seconds(option.seconds.high)})"
    )
    if not option.limit:
        return f"{option.engine} with {name}: {time}"
    nodes = format_count(option.nodes, "node")
    price = "no price"
    if option.dollars:
        price = f"{money(option.dollars.value)} $ ({money(option.dollars.low)} to"
        price += f" {money(option.dollars.high)})"
    if option.kilowatt_hours:
        price += f", {option.kilowatt_hours.value:.3g} kWh"
    caveat = f"; {option.caveat}" if option.caveat else ""
    if option.busy is not None:
        price += f", {option.busy:.2g} of a month busy"
        if option.busy * option.seconds.high > option.seconds.value:
            price += " and perhaps too slow"
    limit = RESOURCES[option.limit]
    return f"{nodes} of {name}, {option.engine}: {time}, {price}; limited by {limit}{caveat}"


def money(amount: float) -> str:
    """Format dollars to the cent, or to one digit below a cent."""
    if amount >= 100:
        return f"{amount:,.0f}"
    return f"{amount:.2f}" if amount >= 0.01 else f"{amount:.1g}"


def seconds(option: Choice) -> float:
    """Predicted time of a choice; infinite where it is refused."""
    return option.seconds.value if option.seconds else float("inf")


def dollars(option: Choice) -> float:
    """Predicted price of a choice; infinite if it has none."""
    return option.dollars.value if option.dollars else float("inf")


def energy(option: Choice) -> float:
    """Predicted energy of a choice in kWh; infinite where the power of its nodes is not known."""
    return option.kilowatt_hours.value if option.kilowatt_hours else float("inf")
