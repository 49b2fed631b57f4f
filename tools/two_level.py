"""Run the studies of the two-level paper, on file systems of this machine with stated rates.

    python tools/two_level.py -o DIR [--smoke] [--only FACTOR=LEVEL,..] [STUDY ...]

It starts a GlusterFS of 1, one of 2 and one of 4 data nodes, each with a disk of 100 MB/s and a
little memory, with files in stripes of 4 MiB, and HDFS of three data nodes with three replicas,
each with a disk of 87 MB/s: as in the paper, the disks of compute nodes give 1.3 times as much as
two data nodes. Then it runs the studies as `cuesta study run` does, a folder each below DIR, with
the numbers of these storages as facts, and ends all it has started. It needs root.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import maven
import testbed_disk
import testbed_gluster
import testbed_hdfs
from cuesta import uris
from testbed_service import TestbedError

STUDIES = (
    "two-level-storage",
    "two-level-terasort",
    "two-level-iterations",
    "two-level-scaling",
)
DATA_NODES = {1: "2GiB", 2: "2GiB", 4: "512MiB"}
"""Numbers of data nodes, and the room of each for the studies' inputs and answers."""
DATA_NODE_RATE = "100MB/s"
STRIPE = "4MiB"
HDFS_NODES = 3
COMPUTE_NODE_RATE = "87MB/s"
COMPUTE_NODE_DISK = "3GiB"
NODE_MEMORY = "96MiB"
"""Memory of a data node, with the pages of its disk: too little to cache what was read."""
DIRTY = "16MiB"


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments say; 3 with one line when something is missing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--smoke", action="store_true", help="small, to try it: it shows nothing")
    parser.add_argument("--only", action="append", default=[], metavar="FACTOR=LEVEL,..")
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="default: all four")
    options = parser.parse_args(arguments)
    studies = options.studies or STUDIES
    words = [*studies, "-o", str(options.output), *["--smoke"] * options.smoke]
    words += [word for only in options.only for word in ("--only", only)]
    if len(studies) == 1:
        words[2] = str(options.output / studies[0])
    try:
        with tempfile.TemporaryDirectory(prefix="cuesta-two-level-") as folder, ExitStack() as on:
            for name, storage in _storages(Path(folder), on).items():
                words += ["--remote", f"{name}={storage.place}"]
                for fact, number in storage.facts.items():
                    words += ["--fact", f"{name}:{fact}={number}"]
            run = [sys.executable, "-m", "cuesta", "study", "run", *words]
            return subprocess.run(run, check=False).returncode
    except (TestbedError, maven.MavenError) as error:
        print(f"two_level: {error}", file=sys.stderr)
        return 3


@dataclass(frozen=True, kw_only=True)
class _Storage:
    """A storage that runs: its URI or folder, and its numbers by name."""

    place: str
    facts: Mapping[str, int]


def _storages(folder: Path, on: ExitStack) -> dict[str, _Storage]:
    """Start all storages; return them by the names of their places."""
    storages = {}
    for nodes, size in DATA_NODES.items():
        node_folder = folder / f"parallel-{nodes}"
        shape = testbed_gluster.Shape(
            nodes=nodes,
            disk_size=size,
            disk_rate=DATA_NODE_RATE,
            disk_dirty=DIRTY,
            memory=NODE_MEMORY,
            shard_size=STRIPE,
        )
        on.callback(testbed_gluster.down, node_folder)
        volume = testbed_gluster.up(node_folder, shape)
        facts = {"stripes": volume.stripes, "data_nodes": nodes}
        storages[node_folder.name] = _Storage(place=volume.mount, facts=facts)
    storages["hdfs"] = _hdfs(folder, on)
    return storages


def _hdfs(folder: Path, on: ExitStack) -> _Storage:
    """Start HDFS, with a disk for each data node."""
    disk_folder = folder / "disks"
    on.callback(testbed_disk.down, disk_folder)
    shape = testbed_disk.Shape(
        disks=HDFS_NODES,
        disk_size=COMPUTE_NODE_DISK,
        disk_rate=COMPUTE_NODE_RATE,
        disk_dirty=DIRTY,
    )
    mounts = [Path(mount) for mount in testbed_disk.up(disk_folder, shape).mounts]
    hdfs_folder = folder / "hdfs"
    on.callback(testbed_hdfs.down, hdfs_folder)
    cluster = testbed_hdfs.up(hdfs_folder, HDFS_NODES, mounts)
    probe = folder / "replicas.probe"
    probe.write_bytes(bytes(1 << 20))
    uris.copy(probe, f"{cluster.uri}/{probe.name}")
    with testbed_hdfs.connected(cluster) as client:
        hosts = client.blocks(f"{cluster.uri}/{probe.name}")[0][2]
    # A file has as many replicas as its client asks for.
    if len(set(hosts)) < HDFS_NODES:
        raise TestbedError(f"HDFS has {len(set(hosts))} replicas of a block, not {HDFS_NODES}")
    return _Storage(place=cluster.uri, facts={"data_nodes": len(set(hosts))})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
