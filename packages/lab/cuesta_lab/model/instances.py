"""Cloud instances of `spec/machines/instances.csv`, which `tools/instances.py` writes, as machines.

Their rates of disks and the speed of their cores are assumptions, and say so.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache

from cuesta_lab.model.machines import FOLDER, Disks, Hardware, Price

PREFIX = "ec2/"
"""Begin of the names of instances."""
NODES_MAX = 64
GIGABIT, MEGABIT = 125e6, 125e3
"""Bytes a second."""
VOLUME_BYTES = 16 * 10**12
"""Size of a volume beside an instance without disks: the largest there is of one."""
LARGE_DISK_BYTES = 18 * 10**11
RATES = {"hdd": (190e6, 190e6), "nvme": (900e6, 450e6), "large": (2800e6, 2200e6)}
"""Bytes read and written a second by one disk, as in the files of such machines."""
_ASSUMED = (
    "core_speed: a core like the one demands were measured on; two hardware threads are one",
    "disks: rates of such disks",
)
_ON_VOLUMES = (_ASSUMED[0], "disks: one volume with all that the instance can move to volumes")
_NOTES = ("Storage beside the instance and traffic are not in the price.",)


@cache
def instances() -> Mapping[str, Hardware]:
    """Return all instances by name, such as `ec2/c7i.8xlarge`."""
    lines = (FOLDER / "instances.csv").read_text(encoding="utf-8").splitlines()
    facts = dict(
        line[2:].split(": ", 1) for line in lines if line.startswith("# ") and ": " in line
    )
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    machines = (_machine(row, facts) for row in rows)
    return {machine.key: machine for machine in machines}


def _machine(row: Mapping[str, str], facts: Mapping[str, str]) -> Hardware:
    disks = _disks(row)
    what = f"{disks.count} x {row['disk_kind']}" if int(row["disks"]) and disks else "volumes"
    return Hardware(
        key=PREFIX + row["name"],
        name=f"EC2 {row['name']}",
        what=f"Cloud instance, {what}",
        source="Amazon EC2, us-east-1, on demand, Linux",
        nodes_max=NODES_MAX,
        cores=int(row["cores"]),
        core_speed=1.0,
        memory_bytes=int(float(row["memory_gib"]) * 2**30),
        network=float(row["network_gbit"]) * GIGABIT,
        disks=disks,
        shared=None,
        price=Price(
            node=None,
            hour=float(row["dollars_an_hour"]),
            date=facts["date"],
            source=facts["source"],
            parts=None,
        ),
        assumed=_ASSUMED if int(row["disks"]) else _ON_VOLUMES,
        notes=_NOTES,
    )


def _disks(row: Mapping[str, str]) -> Disks | None:
    """Disks in an instance; else a volume beside it, if it has a connection to volumes."""
    count, rate = int(row["disks"]), float(row["volume_mbit"]) * MEGABIT
    if not count:
        if not rate:
            return None
        return Disks(kind="ssd", count=1, size_bytes=VOLUME_BYTES, read=rate, write=rate)
    size_bytes, kind = int(row["disk_gb"]) * 10**9, row["disk_kind"]
    is_large = kind == "nvme" and size_bytes >= LARGE_DISK_BYTES
    read, write = RATES["large" if is_large else kind]
    return Disks(kind=kind, count=count, size_bytes=size_bytes, read=read, write=write)
