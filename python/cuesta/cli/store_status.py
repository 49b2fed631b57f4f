"""What `cuesta store status` prints, once or again each second."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from typing import Any

import typer

WIDTH_MAX = 100
"""Wider lines are harder to read."""
CONFLICTS_MAX = 5
"""Files that lost their names are named up to this number; `audit` has all."""
COUNTERS = ("hit_bytes", "miss_bytes", "evictions")
PARTS = {
    "dirty": ("▒#", "33"),
    "pinned": ("▓=", "34"),
    "other": ("█+", "36"),
    "free": ("·.", "90"),
}
"""Of the bar: the character, one where the terminal has none of those, and the colour."""


def show(*, watch: bool, as_json: bool) -> None:
    """Print the status of the store; `watch` again each second, on a terminal in place.

    Errors: `EngineMissing` where none runs, or it has ended.
    """
    if watch and sys.stdout.isatty() and not as_json:
        _watch()
        return
    before: dict[str, Any] | None = None
    while True:
        found = _status()
        typer.echo(json.dumps(found) if as_json else "\n".join(lines(found, before)))
        if not watch:
            return
        sys.stdout.flush()
        before = found
        time.sleep(1)


def _watch() -> None:
    """Draw over what was there, line by line: nothing is cleared first, so nothing flickers.

    On a second screen, so that what was on the terminal is there again afterwards, with the last
    status below it.
    """
    before: dict[str, Any] | None = None
    screen: list[str] = []
    sys.stdout.write("\033[?1049h\033[?25l")
    try:
        while True:
            found = _status()
            size = shutil.get_terminal_size()
            bar = _bar(found, max(min(size.columns, WIDTH_MAX) - 10, 10))
            screen = list(lines(found, before or found, bar))
            # Without wrapping: a narrow terminal cuts a long line off.
            drawn = "\033[K\r\n".join(screen[: size.lines])
            sys.stdout.write(f"\033[?7l\033[H{drawn}\033[K\033[J\033[?7h")
            sys.stdout.flush()
            before = found
            time.sleep(1)
    finally:
        sys.stdout.write("\033[?25h\033[?1049l" + "".join(f"{line}\n" for line in screen))
        sys.stdout.flush()


def _status() -> dict[str, Any]:
    from cuesta.store import control, page

    return control.status() | {"page": page.address(control.default_folder())}


def lines(
    found: dict[str, Any], before: dict[str, Any] | None = None, bar: str = ""
) -> Iterator[str]:
    """The status in lines; with one of some time `before`, what happened since then each second."""
    from cuesta.units import format_bytes, format_seconds

    reads = found["hits"] + found["misses"]
    share = f", {found['hits'] / reads:.1%} of all" if reads else ""
    full = found["used_bytes"] / found["memory_bytes"]
    used, memory = format_bytes(found["used_bytes"]), format_bytes(found["memory_bytes"])
    others = found["connections"] - 1 - (found["page"] is not None)
    blocks = "1 block" if found["blocks"] == 1 else f"{found['blocks']:,} blocks"
    yield f"under     {found['under']}"
    yield f"memory    {used} of {memory} ({full:.0%}) in {blocks}"
    if found["limit_bytes"] < found["memory_bytes"]:
        yield f"limit     {format_bytes(found['limit_bytes'])} now, for others need memory"
    if found["prepared_bytes"]:
        yield f"taken     {format_bytes(found['prepared_bytes'])} of memory for blocks to come"
    for quota in found["quotas"]:
        used, most = format_bytes(quota["used_bytes"]), format_bytes(quota["quota_bytes"])
        yield f"quota     {used} of {most} below /{quota['folder']}"
    if bar:
        yield f"          {bar}"
    yield f"pinned    {format_bytes(found['pinned_bytes'])}"
    dirty, alone = found["dirty_bytes"], found["memory_only_bytes"]
    yield f"written   {format_bytes(dirty)} dirty, {format_bytes(alone)} for memory alone"
    if found["failure"]:
        yield f"failing   {found['failure']}"
    yield f"hits      {found['hits']:,}, {format_bytes(found['hit_bytes'])}{share}"
    yield (
        f"misses    {found['misses']:,}, {format_bytes(found['miss_bytes'])}, "
        f"{found['bypassed']:,} past the memory"
    )
    yield f"left      {found['evictions']:,} blocks for others ({found['policy']})"
    if before is not None:
        yield from _rates(found, before)
    yield f"damaged   {found['damaged']:,} blocks, read again"
    yield f"clients   {others}, with {found['leases']} leases"
    yield from _remains(found)
    if found["peers"]:
        yield from _peers(found["peers"])
    yield f"running   {format_seconds(found['uptime_seconds'])}, process {found['pid']}"
    if found["page"]:
        yield f"page      {found['page']}"


def _remains(found: dict[str, Any]) -> Iterator[str]:
    """Yield lines about files that lost their names, and parts that dead stores left."""
    for path in found.get("conflicts", ())[:CONFLICTS_MAX]:
        shown = os.fsencode(path).decode(errors="backslashreplace")
        yield f"conflict  cuesta:///{shown} lost its name to a later file of another store"
    if found.get("swept"):
        yield f"swept     {len(found['swept'])} parts of files of stores that had died"


def _peers(found: dict[str, Any]) -> Iterator[str]:
    """The other stores of the job, in lines."""
    from cuesta.units import format_bytes, format_rate

    def moved(of: dict[str, Any], way: str) -> str:
        count = of[f"{way}_blocks"]
        size = format_bytes(of[f"{way}_bytes"])
        return f"{count:,} {'block' if count == 1 else 'blocks'} ({size})"

    yield f"name      {found['name']}, {moved(found, 'served')} given to other stores"
    for member in found["members"]:
        rate = f" at {format_rate(member['bytes_per_s'])}" if member["bytes_per_s"] else ""
        exchanged = f"{moved(member, 'read')} from it{rate}, {moved(member, 'served')} to it"
        yield f"store     {member['name']}, {_state(member)}; {exchanged}"
    if found["under_bytes_per_s"]:
        yield f"folder    {format_rate(found['under_bytes_per_s'])} lately"
    if found["refused"]:
        counts = {why.replace("_", " "): count for why, count in found["refusals"].items()}
        reasons = ", ".join(f"{count:,} {why}" for why, count in counts.items() if count)
        yield f"refused   {found['refused']:,} connections: {reasons}"
        yield f"          the last {found['last_refusal']}"
    if found["losses"]:
        yield f"lost      {found['losses']:,} openings and reads failed, the last for"
        yield f"          {found['last_loss'].removeprefix('store: ')}"


def _state(member: dict[str, Any]) -> str:
    if member["is_live"]:
        return "answers"
    return f"bypassed: does not answer ({member['failure'] or 'not heard of yet'})"


def _rates(found: dict[str, Any], before: dict[str, Any]) -> Iterator[str]:
    from cuesta.units import format_rate

    seconds = max(found["uptime_seconds"] - before["uptime_seconds"], 1e-3)
    rates = {name: (found[name] - before[name]) / seconds for name in COUNTERS}
    yield f"now       {format_rate(rates['hit_bytes'])} from memory"
    yield f"          {format_rate(rates['miss_bytes'])} from the folder"
    yield f"          {rates['evictions']:,.0f} blocks/s left"


def _bar(found: dict[str, Any], width: int) -> str:
    """The memory as a line of `width` characters, by what is in it."""
    parts = {"dirty": found["dirty_bytes"], "pinned": found["pinned_bytes"]}
    parts["other"] = max(found["used_bytes"] - sum(parts.values()), 0)
    blocks = (sys.stdout.encoding or "").lower().startswith("utf")
    colour = "NO_COLOR" not in os.environ
    drawn, done, place = "", 0, 0
    for name, size_bytes in parts.items():
        done += size_bytes
        end = min(round(width * done / found["memory_bytes"]), width)
        drawn += _painted(name, end - place, blocks, colour)
        place = max(place, end)
    return drawn + _painted("free", width - place, blocks, colour)


def _painted(name: str, count: int, blocks: bool, colour: bool) -> str:
    letter, code = PARTS[name]
    text = letter[0 if blocks else 1] * count
    return f"\033[{code}m{text}\033[0m" if colour and text else text
