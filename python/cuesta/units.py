"""Sizes and times as people write and read them."""

from __future__ import annotations

import re

from .errors import InputError

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_FACTORS = {
    "": 1,
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgtp", start=1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgtp", start=1)},
    **{letter: 1024**power for power, letter in enumerate("kmgtp", start=1)},
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)


def parse_size(text: str, option: str = "size") -> int:
    """Bytes in `text`: `8GiB` and `8G` are 8 * 2**30, `500MB` is 500 * 10**6, `4096` is itself.

    Errors: `InputError` naming `option`.
    """
    match = _SIZE.fullmatch(text)
    factor = _FACTORS.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise InputError(f"{option} is {text!r}, give a size such as 8GiB, 500MB or 4096")
    return int(float(match[1]) * factor) if "." in match[1] else int(match[1]) * factor


def format_bytes(size_bytes: float) -> str:
    """`1.5 GiB`: three digits; whole bytes below one KiB."""
    size = float(size_bytes)
    power = 0
    while abs(size) >= 1024 and power < len(_BINARY) - 1:
        size /= 1024
        power += 1
    digits = f"{size:.0f}" if power == 0 or abs(size) >= 100 else f"{size:.3g}"
    return f"{digits} {_BINARY[power]}"


def format_count(number: int, noun: str) -> str:
    """`1 node`, `1,024 nodes`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def format_seconds(seconds: float) -> str:
    """`3 h 02 min`, `4 min 05 s`, `1.23 s`, `12.3 ms`, `45 us`."""
    if seconds >= 3600:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02d} min"
    if seconds >= 100:
        return f"{int(seconds // 60)} min {int(seconds % 60):02d} s"
    if seconds >= 1:
        return f"{seconds:.3g} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds * 1e6:.0f} us" if seconds else "0 s"


def format_rate(bytes_per_s: float) -> str:
    """`3.2 GiB/s`."""
    return f"{format_bytes(bytes_per_s)}/s"


_BITS = {"bit": 1, **{f"{letter}bit": 1000**power for power, letter in enumerate("kmgt", start=1)}}
_RATE = re.compile(r"\s*(.+?)\s*/\s*s\s*", re.IGNORECASE)
_BIT_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?bit)", re.IGNORECASE)
_DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB")


def parse_rate(text: str, option: str = "rate") -> float:
    """Bytes per second in `text`: `237MB/s` is 237 * 10**6, `10Gbit/s` is 1.25 * 10**9.

    Errors: `InputError` naming `option`, also for a rate of zero.
    """
    match = _RATE.fullmatch(text)
    bits = _BIT_RATE.fullmatch(match[1]) if match else None
    if match is None:
        raise InputError(f"{option} is {text!r}, give a rate such as 237MB/s or 10Gbit/s")
    if bits:
        rate = float(bits[1]) * float(_BITS[bits[2].lower()]) / 8
    else:
        rate = float(parse_size(match[1], option))
    if rate <= 0:
        raise InputError(f"{option} is {text!r}, give a rate above zero")
    return rate


def format_rate_si(bytes_per_s: float) -> str:
    """`12.4 GB/s`, in powers of 1000, as networks and disks are sold; `no limit` if infinite."""
    if bytes_per_s == float("inf"):
        return "no limit"
    return f"{format_bytes_si(bytes_per_s)}/s"


def format_bytes_si(size_bytes: float) -> str:
    """`452 GB`, in powers of 1000: three digits."""
    size = float(size_bytes)
    power = 0
    while size >= 999.5 and power < len(_DECIMAL) - 1:
        size /= 1000
        power += 1
    return f"{size:,.0f} {_DECIMAL[power]}" if size >= 100 else f"{size:.3g} {_DECIMAL[power]}"
