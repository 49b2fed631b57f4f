"""Names of genes in a preview: `TP53 (6055)`, with the number, since genes may share a name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping


def gene(number: str, name: str = "") -> str:
    """Format a gene by name and number, or by its number alone without a name."""
    return f"{name} ({number})" if name else number


def genes(rows: Iterable[list[str]], wanted: Collection[int]) -> dict[int, str]:
    """Return the formatted genes with the `wanted` numbers, from rows of number and name."""
    numbers = {str(number) for number in wanted}
    texts: dict[int, str] = {}
    for row in rows:
        if row[0] in numbers:
            texts[int(row[0])] = gene(*row)
        if len(texts) == len(numbers):
            break
    return texts


def first_members(
    rows: Iterable[list[str]], sizes: Mapping[int, int], most: int
) -> dict[int, list[str]]:
    """Return names of the first `most` genes of each community in `sizes`.

    Arguments: `rows` of gene, community and name. Empty where genes have no names.
    """
    remaining = {str(community): min(size, most) for community, size in sizes.items()}
    names: dict[int, list[str]] = {community: [] for community in sizes}
    lacking = sum(remaining.values())
    for row in rows:
        if len(row) != 3 or not lacking:
            break
        if remaining.get(row[1]):
            remaining[row[1]] -= 1
            lacking -= 1
            names[int(row[1])].append(row[2])
    return names if any(names.values()) else {}
