"""Pairing of rows that are equal within tolerances, without a key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from cuesta.programs.answers.cells import Row, encoded

GROUP_MAX = 200
"""Most rows of a group among which the best pairing is searched; larger ones are sorted."""

Differing = Callable[[Row, Row], Sequence[int]]


def unmatched(
    rows: Sequence[Row], expected: Sequence[Row], inexact: Sequence[int], differing: Differing
) -> tuple[list[Row], list[Row]]:
    """Return the rows of both sides that no row of the other side equals.

    Rows may be paired if they agree in all columns but the `inexact` ones. In a group of rows that
    do, as many pairs as possible are made; in a group of more than `GROUP_MAX` rows the rows are
    paired in their order, which is the best for a single inexact column.
    """
    groups: dict[str, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for side, members in enumerate((rows, expected)):
        for row in members:
            exact = (encoded(cell) for place, cell in enumerate(row) if place not in inexact)
            groups["".join(exact)][side].append(row)
    rest: tuple[list[Row], list[Row]] = ([], [])
    for first, second in groups.values():
        small = max(len(first), len(second)) <= GROUP_MAX
        pairing = _largest(first, second, differing) if small else _sorted(
            first, second, (inexact, differing)
        )  # fmt: skip
        partners = set(pairing.values())
        rest[0].extend(row for index, row in enumerate(first) if index not in pairing)
        rest[1].extend(row for index, row in enumerate(second) if index not in partners)
    return rest


def _largest(first: Sequence[Row], second: Sequence[Row], differing: Differing) -> dict[int, int]:
    """A largest pairing, by augmenting paths (Kuhn 1955)."""
    equal = [
        [index for index, partner in enumerate(second) if not differing(row, partner)]
        for row in first
    ]
    owner: dict[int, int] = {}

    def augment(row: int, visited: set[int]) -> bool:
        for partner in equal[row]:
            if partner not in visited:
                visited.add(partner)
                if partner not in owner or augment(owner[partner], visited):
                    owner[partner] = row
                    return True
        return False

    for row in range(len(first)):
        augment(row, set())
    return {row: partner for partner, row in owner.items()}


def _sorted(
    first: Sequence[Row], second: Sequence[Row], rule: tuple[Sequence[int], Differing]
) -> dict[int, int]:
    """Pairs in the order of the inexact columns; a row without an equal is passed over."""
    inexact, differing = rule

    def order(rows: Sequence[Row]) -> list[int]:
        return sorted(range(len(rows)), key=lambda index: [_place(rows[index][i]) for i in inexact])

    pairing: dict[int, int] = {}
    left, right = order(first), order(second)
    i = j = 0
    while i < len(left) and j < len(right):
        row, partner = first[left[i]], second[right[j]]
        if not differing(row, partner):
            pairing[left[i]] = right[j]
            i, j = i + 1, j + 1
        elif [_place(row[k]) for k in inexact] < [_place(partner[k]) for k in inexact]:
            i += 1
        else:
            j += 1
    return pairing


def _place(cell: object) -> tuple[int, float, str]:
    if isinstance(cell, (int, float)) and cell == cell:
        return (0, cell, "")
    return (1, 0.0, repr(cell))
