"""The status of a store in the text format of Prometheus, version 0.0.4."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_Numbers = tuple[tuple[str, str], ...]
_METRICS: tuple[tuple[str, str, str, _Numbers], ...] = (
    ("hits_total", "counter", "Leases of blocks that were in memory.", (("", "hits"),)),
    ("misses_total", "counter", "Leases of blocks that were not in memory.", (("", "misses"),)),
    ("bypassed_total", "counter", "Misses without room in memory.", (("", "bypassed"),)),
    (
        "leased_bytes_total",
        "counter",
        "Bytes of the blocks that were leased, by the tier that had them.",
        (('{tier="memory"}', "hit_bytes"), ('{tier="under"}', "miss_bytes")),
    ),
    ("evictions_total", "counter", "Blocks that left memory for others.", (("", "evictions"),)),
    ("damaged_total", "counter", "Blocks whose bytes changed in memory.", (("", "damaged"),)),
    ("memory_bytes", "gauge", "Most bytes of blocks in memory.", (("", "memory_bytes"),)),
    ("used_bytes", "gauge", "Bytes of blocks in memory.", (("", "used_bytes"),)),
    ("pinned_bytes", "gauge", "Bytes of blocks that stay in memory.", (("", "pinned_bytes"),)),
    ("dirty_bytes", "gauge", "Bytes that are not in the folder yet.", (("", "dirty_bytes"),)),
    ("memory_only_bytes", "gauge", "Bytes for memory alone.", (("", "memory_only_bytes"),)),
    ("prepared_bytes", "gauge", "Memory taken for blocks to come.", (("", "prepared_bytes"),)),
    ("blocks", "gauge", "Blocks in memory.", (("", "blocks"),)),
    ("leases", "gauge", "Leases that are held.", (("", "leases"),)),
    ("connections", "gauge", "Connections, the page's own among them.", (("", "connections"),)),
    ("uptime_seconds", "gauge", "Seconds since the store began.", (("", "uptime_seconds"),)),
)
"""Metrics: name, type, help, and fields of the status by label."""
_MEMBERS = (
    ("peer_up", "gauge", "Whether another store answers, or is bypassed.", "is_live"),
    ("peer_read_blocks_total", "counter", "Blocks that came from another store.", "read_blocks"),
    ("peer_read_bytes_total", "counter", "Bytes that came from another store.", "read_bytes"),
    ("peer_served_blocks_total", "counter", "Blocks given to another store.", "served_blocks"),
    ("peer_served_bytes_total", "counter", "Bytes given to another store.", "served_bytes"),
    (
        "peer_read_rate_bytes_per_second",
        "gauge",
        "How fast blocks came from another store lately, one piece at a time.",
        "bytes_per_s",
    ),
)
"""Metrics of peers: name, type, help, and field of a member; null fields have no sample."""

_Family = tuple[str, str, str, list[tuple[str, float]]]


def metrics(status: dict[str, Any]) -> str:
    """Return all numbers of a status (`spec/formats/store-wire.md`), and settings as labels."""
    started = {name: status[name] for name in ("under", "policy")}
    words = "What the store was started with."
    families: list[_Family] = [("info", "gauge", words, [(_labels(started), 1)])]
    for name, kind, words, numbers in _METRICS:
        families.append((name, kind, words, [(label, status[key]) for label, key in numbers]))
    if status["peers"]:
        families.extend(_peers(status["peers"]))
    lines = []
    for name, kind, words, samples in families:
        if samples:
            lines += [f"# HELP cuesta_store_{name} {words}", f"# TYPE cuesta_store_{name} {kind}"]
        lines += [f"cuesta_store_{name}{label} {value}" for label, value in samples]
    return "\n".join(lines) + "\n"


def _peers(peers: dict[str, Any]) -> Iterator[_Family]:
    """Yield metrics of the other stores of the job."""
    members = peers["members"]
    for name, kind, words, field in _MEMBERS:
        values = {member["name"]: member[field] for member in members if member[field] is not None}
        # Booleans are written as 0 and 1.
        yield name, kind, words, [(_labels({"peer": of}), +value) for of, value in values.items()]
    refusals = [(_labels({"reason": name}), count) for name, count in peers["refusals"].items()]
    yield "peer_refusals_total", "counter", "Connections of others that were refused.", refusals
    words = "Openings and reads that failed because what they want died with its store."
    yield "peer_losses_total", "counter", words, [("", peers["losses"])]
    words = "Blocks of the job whose places are kept here."
    yield "directory_blocks", "gauge", words, [("", peers["directory_blocks"])]
    if (rate := peers["under_bytes_per_s"]) is not None:
        words = "How fast pieces of blocks came from the folder lately, one at a time."
        yield "under_read_rate_bytes_per_second", "gauge", words, [("", rate)]


def _labels(values: dict[str, str]) -> str:
    inner = ",".join(f'{name}="{_escaped(value)}"' for name, value in values.items())
    return f"{{{inner}}}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
