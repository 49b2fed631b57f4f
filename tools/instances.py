"""Write `spec/machines/instances.csv`, the cloud instances that `cuesta advise` knows.

    pip install apache-libcloud==3.9.1
    python tools/instances.py

Sizes and prices are facts of that package (Apache-2.0), its `pricing.json` has their date. Left out
are instances whose network is sold "up to" a rate, with accelerators, of earlier generations,
without a price in us-east-1, and metal.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "spec" / "machines" / "instances.csv"
REGION = "us-east-1"
COLUMNS = (
    "name", "cores", "memory_gib", "network_gbit", "disks", "disk_gb", "disk_kind",
    "volume_mbit", "dollars_an_hour",
)  # fmt: skip
WHOLE_CORES = re.compile(r"(hpc|[cmr][78]a\.)")
"""Families on x86-64 whose vCPUs are cores, not hardware threads."""
ACCELERATED = re.compile(r"(p|g|inf|trn|dl|f|vt)\d")
MEBIBYTES = 1024


def main() -> int:
    """Write the table."""
    data = files("libcloud") / "data" / "pricing.json"
    pricing = json.loads(data.read_text(encoding="utf-8"))
    from libcloud.compute.constants.ec2_instance_types import (  # type: ignore[import-not-found]
        INSTANCE_TYPES,
    )

    hourly = pricing["compute"]["ec2_linux"]
    names = sorted(INSTANCE_TYPES)
    rows = list(filter(None, (row(INSTANCE_TYPES[name], hourly.get(name, {})) for name in names)))
    day = datetime.fromtimestamp(pricing["updated"], UTC).date()
    with TARGET.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# Amazon EC2, {REGION}, on demand, Linux; written by tools/instances.py.\n")
        file.write(f"# source: pricing.json of apache-libcloud {version('apache-libcloud')}\n")
        file.write(f"# date: {day}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    print(f"{len(rows)} instances of {day} in {TARGET.relative_to(ROOT)}")
    return 0


def row(instance: Mapping[str, Any], prices: Mapping[str, float]) -> list[object] | None:
    """Return the row of an instance, or None if it is left out."""
    name, extra = instance["name"], instance["extra"]
    network = re.fullmatch(r"([\d.]+) (Giga|Mega)bit", extra["networkPerformance"])
    hour = prices.get(REGION)
    is_current = extra.get("currentGeneration") == "Yes"
    if not network or not hour or not is_current or "metal" in name:
        return None
    if extra.get("gpu") or ACCELERATED.match(name):
        return None
    rate = float(network[1]) / (1 if network[2] == "Giga" else 1000)
    volumes = re.fullmatch(r"(\d+) (M|G)bps", extra.get("dedicatedEbsThroughput", ""))
    volume = int(volumes[1]) * (1 if volumes[2] == "M" else 1000) if volumes else 0
    return [
        name, cores(name, extra), f"{instance['ram'] / MEBIBYTES:g}", f"{rate:g}",
        *disks(extra.get("storage", "")), volume, f"{hour:g}",
    ]  # fmt: skip


def cores(name: str, extra: Mapping[str, Any]) -> int:
    """Cores of an instance: half of its vCPUs where these are hardware threads."""
    count = int(extra["vcpu"])
    has_cores = WHOLE_CORES.match(name) or "Graviton" in extra["physicalProcessor"]
    return count if has_cores else max(1, count // 2)


def disks(text: str) -> Iterator[object]:
    """Number, gigabytes and kind of the disks in an instance; 0 for none."""
    parts = re.fullmatch(r"(?:(\d+) x )?(\d+)(?: GB)? (.*)", text.replace(",", ""))
    kind = "hdd" if parts and "HDD" in parts[3] else "nvme"
    yield from (int(parts[1] or 1), int(parts[2]), kind) if parts else (0, 0, "")


if __name__ == "__main__":
    sys.exit(main())
