"""Names of genes in a preview: `TP53 (6055)`, with the number since genes may share a name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping


def gene(number: str, name: str = "") -> str:
    """A gene as it is shown; its number alone where it has no name."""
    return f"{name} ({number})" if name else number


def genes(rows: Iterable[list[str]], wanted: Collection[int]) -> dict[int, str]:
    """Those that are wanted as they are shown, from rows of number and name."""
    numbers = {str(one) for one in wanted}
    found: dict[int, str] = {}
    for row in rows:
        if row[0] in numbers:
            found[int(row[0])] = gene(*row)
        if len(found) == len(numbers):
            break
    return found


def first_members(
    rows: Iterable[list[str]], sizes: Mapping[int, int], most: int
) -> dict[int, list[str]]:
    """Names of the first genes, so many at most, of the communities of these sizes.

    Arguments: `rows` of gene, community and name. Empty where genes have no names.
    """
    left = {str(community): min(size, most) for community, size in sizes.items()}
    found: dict[int, list[str]] = {community: [] for community in sizes}
    lacking = sum(left.values())
    for row in rows:
        if len(row) != 3 or not lacking:
            break
        if left.get(row[1]):
            left[row[1]] -= 1
            lacking -= 1
            found[int(row[1])].append(row[2])
    return found if any(found.values()) else {}
