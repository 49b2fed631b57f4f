"""Engine options of `array` (`--engine-option KEY=VALUE`), parsed.

They are for studies of the layout of an array and the memory of its database; no answer depends on
them.
"""

from __future__ import annotations

from dataclasses import replace

from cuesta.engines.array.sizes import (
    CAPACITY_MAX,
    CLUSTER_MAX,
    GENE_MAX,
    MIB,
    Extents,
    Sizes,
)
from cuesta.errors import InputError
from cuesta.trial import Trial
from cuesta.units import format_bytes, parse_size

KEEP_OPTION = "array"
"""Option for the folder in which arrays are stored for later runs."""

LOADERS_OPTION = "loaders"
LOADERS_MAX = 64
PAGES_OPTION = "pages"
"""Option for whether the pages of a loaded array are in the page cache before queries."""

TILE_OPTION = "tile"
CAPACITY_OPTION = "capacity"
BUDGET_OPTION = "budget"

_LARGEST = (GENE_MAX, GENE_MAX, CLUSTER_MAX)


def chosen(trial: Trial, default: Sizes) -> Sizes:
    """Return the sizes by the options of `trial`. Errors: `InputError` naming the option."""
    options = trial.engine_options
    changes: dict[str, object] = {}
    if TILE_OPTION in options:
        changes["extents"] = _extents(options[TILE_OPTION])
    if CAPACITY_OPTION in options:
        changes["capacity"] = _capacity(options[CAPACITY_OPTION])
    if BUDGET_OPTION in options:
        budget = _budget(options[BUDGET_OPTION], trial.memory_bytes)
        changes |= {"query": budget, "enough": budget}
    return replace(default, **changes)  # type: ignore[arg-type]


def loader_count(trial: Trial) -> int:
    """Return the number of loading processes. Errors: `InputError`."""
    text = trial.engine_options.get(LOADERS_OPTION, "1")
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= LOADERS_MAX:
        raise InputError(f"--engine-option {LOADERS_OPTION} is {text}, give 1 to {LOADERS_MAX}")
    return int(text)


def drops_pages(trial: Trial) -> bool:
    """Whether to evict the array from the page cache before queries. Errors: `InputError`."""
    text = trial.engine_options.get(PAGES_OPTION, "kept")
    if text not in ("kept", "dropped"):
        raise InputError(f"--engine-option {PAGES_OPTION} is {text}, give kept or dropped")
    return text == "dropped"


def _extents(text: str) -> Extents:
    """Parse `512`, `512x512` or `512x512x1`; missing extents are complete dimensions."""
    try:
        numbers = [int(part) for part in text.split("x")]
    except ValueError:
        numbers = []
    fits = all(
        1 <= number <= largest and number.bit_count() == 1
        for number, largest in zip(numbers, _LARGEST, strict=False)
    )
    if not 1 <= len(numbers) <= len(_LARGEST) or not fits:
        raise InputError(
            f"--engine-option {TILE_OPTION} is {text}, give powers of two for gene 1, gene 2 and "
            f"cluster, such as 512x512, at most {Extents()}"
        )
    return Extents(*numbers)


def _capacity(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= CAPACITY_MAX:
        raise InputError(
            f"--engine-option {CAPACITY_OPTION} is {text}, give the rows of a data tile, "
            f"1 to {CAPACITY_MAX:,}"
        )
    return int(text)


def _budget(text: str, memory_bytes: int) -> int:
    size_bytes = parse_size(text, f"--engine-option {BUDGET_OPTION}")
    # A load allows TileDB twice the budget of a query: half to read, half to merge.
    if not MIB <= size_bytes <= memory_bytes // 2:
        raise InputError(
            f"--engine-option {BUDGET_OPTION} is {text}, give {format_bytes(MIB)} to half of "
            f"--memory, {format_bytes(memory_bytes // 2)}"
        )
    return size_bytes
