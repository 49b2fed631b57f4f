"""The status of a store in the text format of Prometheus, version 0.0.4."""

from __future__ import annotations

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
"""Name, type, help, and the numbers of the status by label."""


def metrics(status: dict[str, Any]) -> str:
    """All numbers of a status (`spec/formats/store-wire.md`), and what it is, as labels."""
    labels = ",".join(f'{name}="{_escaped(status[name])}"' for name in ("under", "policy"))
    lines = [
        "# HELP cuesta_store_info What the store was started with.",
        "# TYPE cuesta_store_info gauge",
        f"cuesta_store_info{{{labels}}} 1",
    ]
    for name, kind, words, numbers in _METRICS:
        lines += [f"# HELP cuesta_store_{name} {words}", f"# TYPE cuesta_store_{name} {kind}"]
        lines += [f"cuesta_store_{name}{label} {status[key]}" for label, key in numbers]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
