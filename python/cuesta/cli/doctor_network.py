"""`cuesta doctor --listen` and `--to`: the network between two hosts."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import asdict

import typer

from cuesta.errors import InputError
from cuesta.units import format_rate, format_seconds

EVERYWHERE = "0.0.0.0"
REPEATS = 7


def run(listen: str | None, to: str | None, *, as_json: bool) -> int:
    """Listen until Ctrl-C, or measure. Errors: `InputError`."""
    if listen is not None and to is not None:
        raise InputError("give --listen on one host and --to on the other, not both here")
    return _listen(listen) if listen is not None else _measure(to or "", as_json=as_json)


def _listen(place: str) -> int:
    from cuesta.lab import network

    host, port = _split("--listen", place if ":" in place else f"{EVERYWHERE}:{place}")
    with network.listening(host, port) as chosen:
        typer.echo(f"listening on {host}:{chosen}; Ctrl-C ends it")
        threading.Event().wait()
    return 0


def _measure(place: str, *, as_json: bool) -> int:
    from cuesta.lab import limits
    from cuesta.lab.stats import median_interval

    host, port = _split("--to", place)
    samples = limits.measure_connection(host, port, REPEATS)
    medians = {name: median_interval(rates) for name, rates in samples.items()}
    if as_json:
        rows = {
            name: {"per_s": list(samples[name]), **asdict(middle)}
            for name, middle in medians.items()
        }
        typer.echo(json.dumps({"to": place, **rows}, indent=2))
        return 0
    send, receive, trips = medians.values()
    for words, middle in (("sent", send), ("received", receive)):
        gigabits = middle.median * 8 / 1e9
        _row(words, f"{format_rate(middle.median)} ({gigabits:.3g} Gbit/s)",
             [format_rate(middle.low), format_rate(middle.high)])  # fmt: skip
    seconds = [1 / rate for rate in (trips.median, trips.high, trips.low)]
    _row("round trip", format_seconds(seconds[0]), [format_seconds(bound) for bound in seconds[1:]])
    return 0


def _row(words: str, middle: str, ends: Sequence[str]) -> None:
    typer.echo(f"{words:<12} {middle}, {ends[0]} to {ends[1]}")


def _split(option: str, place: str) -> tuple[str, int]:
    host, _, port = place.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise InputError(f"{option} is {place!r}, give HOST:PORT, as node1:5201")
    return host.strip("[]"), int(port)
