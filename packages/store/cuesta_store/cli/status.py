"""Output of `cuesta store status`, once or again each second."""

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
"""Most files that are named of those that lost their names; `audit` has all."""
COUNTERS = ("hit_bytes", "miss_bytes", "evictions")
PARTS = {
    "dirty": ("▒#", "33"),
    "pinned": ("▓=", "34"),
    "other": ("█+", "36"),
    "free": ("·.", "90"),
}
"""Parts of the bar: the character, its substitute in ASCII, and the colour."""


def show(*, watch: bool, as_json: bool) -> None:
    """Print the status of the store; `watch` again each second, on a terminal in place.

    Errors: `EngineMissing` where none runs, or it has ended.
    """
    if watch and sys.stdout.isatty() and not as_json:
        _watch()
        return
    before: dict[str, Any] | None = None
    while True:
        status = _status()
        typer.echo(json.dumps(status) if as_json else "\n".join(lines(status, before)))
        if not watch:
            return
        sys.stdout.flush()
        before = status
        time.sleep(1)


def _watch() -> None:
    """Draw over the last status, line by line: nothing is cleared first, so nothing flickers.

    On a second screen, so that the terminal's content returns afterwards, with the last status
    below it.
    """
    before: dict[str, Any] | None = None
    screen: list[str] = []
    sys.stdout.write("\033[?1049h\033[?25l")
    try:
        while True:
            status = _status()
            size = shutil.get_terminal_size()
            bar = _bar(status, max(min(size.columns, WIDTH_MAX) - 10, 10))
            screen = list(lines(status, before or status, bar))
            # Without wrapping: a narrow terminal cuts a long line off.
            drawn = "\033[K\r\n".join(screen[: size.lines])
            sys.stdout.write(f"\033[?7l\033[H{drawn}\033[K\033[J\033[?7h")
            sys.stdout.flush()
            before = status
            time.sleep(1)
    finally:
        sys.stdout.write("\033[?25h\033[?1049l" + "".join(f"{line}\n" for line in screen))
        sys.stdout.flush()


def _status() -> dict[str, Any]:
    from cuesta_store import control, page

    return control.status() | {"page": page.address(control.default_folder())}


def lines(
    status: dict[str, Any], before: dict[str, Any] | None = None, bar: str = ""
) -> Iterator[str]:
    """The status in lines; with one of some time `before`, what happened since then each second."""
    from cuesta_store.units import format_bytes, format_seconds

    reads = status["hits"] + status["misses"]
    share = f", {status['hits'] / reads:.1%} of all" if reads else ""
    full = status["used_bytes"] / status["memory_bytes"]
    used, memory = format_bytes(status["used_bytes"]), format_bytes(status["memory_bytes"])
    clients = status["connections"] - 1 - (status["page"] is not None)
    blocks = "1 block" if status["blocks"] == 1 else f"{status['blocks']:,} blocks"
    yield f"under     {status['under']}"
    yield f"memory    {used} of {memory} ({full:.0%}) in {blocks}"
    if status["limit_bytes"] < status["memory_bytes"]:
        yield f"limit     {format_bytes(status['limit_bytes'])} now, for others need memory"
    if status["prepared_bytes"]:
        yield f"taken     {format_bytes(status['prepared_bytes'])} of memory for blocks to come"
    for quota in status["quotas"]:
        used, most = format_bytes(quota["used_bytes"]), format_bytes(quota["quota_bytes"])
        yield f"quota     {used} of {most} below /{quota['folder']}"
    if bar:
        yield f"          {bar}"
    yield f"pinned    {format_bytes(status['pinned_bytes'])}"
    dirty, alone = status["dirty_bytes"], status["memory_only_bytes"]
    yield f"written   {format_bytes(dirty)} dirty, {format_bytes(alone)} for memory alone"
    if status["failure"]:
        yield f"failing   {status['failure']}"
    yield f"hits      {status['hits']:,}, {format_bytes(status['hit_bytes'])}{share}"
    yield (
        f"misses    {status['misses']:,}, {format_bytes(status['miss_bytes'])}, "
        f"{status['bypassed']:,} past the memory"
    )
    yield f"left      {status['evictions']:,} blocks for others ({status['policy']})"
    if before is not None:
        yield from _rates(status, before)
    yield f"damaged   {status['damaged']:,} blocks, read again"
    yield f"clients   {clients}, with {status['leases']} leases"
    yield from _remains(status)
    if status["peers"]:
        yield from _peers(status["peers"])
    yield f"running   {format_seconds(status['uptime_seconds'])}, process {status['pid']}"
    if status["page"]:
        yield f"page      {status['page']}"


def _remains(status: dict[str, Any]) -> Iterator[str]:
    """Yield lines about files that lost their names, and parts that dead stores left."""
    for path in status.get("conflicts", ())[:CONFLICTS_MAX]:
        shown = os.fsencode(path).decode(errors="backslashreplace")
        yield f"conflict  cuesta:///{shown} lost its name to a later file of another store"
    if status.get("swept"):
        yield f"swept     {len(status['swept'])} parts of files of stores that had died"


def _peers(peers: dict[str, Any]) -> Iterator[str]:
    """The other stores of the job, in lines."""
    from cuesta_store.units import format_bytes, format_rate

    def moved(of: dict[str, Any], direction: str) -> str:
        count = of[f"{direction}_blocks"]
        size = format_bytes(of[f"{direction}_bytes"])
        return f"{count:,} {'block' if count == 1 else 'blocks'} ({size})"

    yield f"name      {peers['name']}, {moved(peers, 'served')} given to other stores"
    for member in peers["members"]:
        rate = f" at {format_rate(member['bytes_per_s'])}" if member["bytes_per_s"] else ""
        exchanged = f"{moved(member, 'read')} from it{rate}, {moved(member, 'served')} to it"
        yield f"store     {member['name']}, {_state(member)}; {exchanged}"
    if peers["under_bytes_per_s"]:
        yield f"folder    {format_rate(peers['under_bytes_per_s'])} lately"
    if peers["refused"]:
        counts = {why.replace("_", " "): count for why, count in peers["refusals"].items()}
        reasons = ", ".join(f"{count:,} {why}" for why, count in counts.items() if count)
        yield f"refused   {peers['refused']:,} connections: {reasons}"
        yield f"          the last {peers['last_refusal']}"
    if peers["losses"]:
        yield f"lost      {peers['losses']:,} openings and reads failed, the last for"
        yield f"          {peers['last_loss']}"


def _state(member: dict[str, Any]) -> str:
    if member["is_live"]:
        return "answers"
    return f"bypassed: does not answer ({member['failure'] or 'not heard of yet'})"


def _rates(status: dict[str, Any], before: dict[str, Any]) -> Iterator[str]:
    from cuesta_store.units import format_rate

    seconds = max(status["uptime_seconds"] - before["uptime_seconds"], 1e-3)
    rates = {name: (status[name] - before[name]) / seconds for name in COUNTERS}
    yield f"now       {format_rate(rates['hit_bytes'])} from memory"
    yield f"          {format_rate(rates['miss_bytes'])} from the folder"
    yield f"          {rates['evictions']:,.0f} blocks/s left"


def _bar(status: dict[str, Any], width: int) -> str:
    """Return a bar of `width` characters: the dirty, pinned, other and free part of memory."""
    parts = {"dirty": status["dirty_bytes"], "pinned": status["pinned_bytes"]}
    parts["other"] = max(status["used_bytes"] - sum(parts.values()), 0)
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    colour = "NO_COLOR" not in os.environ
    drawn, done, column = "", 0, 0
    for name, size_bytes in parts.items():
        done += size_bytes
        end = min(round(width * done / status["memory_bytes"]), width)
        drawn += _painted(name, end - column, is_unicode, colour)
        column = max(column, end)
    return drawn + _painted("free", width - column, is_unicode, colour)


def _painted(name: str, count: int, is_unicode: bool, colour: bool) -> str:
    letter, code = PARTS[name]
    text = letter[0 if is_unicode else 1] * count
    return f"\033[{code}m{text}\033[0m" if colour and text else text
