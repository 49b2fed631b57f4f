"""Run the studies of the two-level paper, on file systems of this machine with stated rates.

    python tools/two_level.py -o DIR [--smoke] [STUDY ...]

It starts a GlusterFS of 1, one of 2 and one of 4 data nodes, each with a disk of 100 MB/s and a
little memory, and HDFS on a disk of 260 MB/s: as in the paper, a compute node's own disk gives 1.3
times its part of the parallel file system. Then it runs the studies as `cuesta study run` does, a
folder each below DIR, and ends all it has started. It needs root.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import maven
import testbed_disk
import testbed_gluster
import testbed_hdfs
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
COMPUTE_NODE_RATE = "260MB/s"
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
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="default: all four")
    options = parser.parse_args(arguments)
    studies = options.studies or STUDIES
    words = [*studies, "-o", str(options.output), *["--smoke"] * options.smoke]
    if len(studies) == 1:
        words[2] = str(options.output / studies[0])
    try:
        with tempfile.TemporaryDirectory(prefix="cuesta-two-level-") as folder, ExitStack() as on:
            for place, where in _places(Path(folder), on).items():
                words += ["--remote", f"{place}={where}"]
            run = [sys.executable, "-m", "cuesta", "study", "run", *words]
            return subprocess.run(run, check=False).returncode
    except (TestbedError, maven.MavenError) as error:
        print(f"two_level: {error}", file=sys.stderr)
        return 3


def _places(folder: Path, on: ExitStack) -> dict[str, str]:
    """The places for `--remote`, each with its URI or folder."""
    places = {}
    for nodes, size in DATA_NODES.items():
        node_folder = folder / f"parallel-{nodes}"
        shape = testbed_gluster.Shape(
            nodes=nodes,
            disk_size=size,
            disk_rate=DATA_NODE_RATE,
            disk_dirty=DIRTY,
            memory=NODE_MEMORY,
        )
        on.callback(testbed_gluster.down, node_folder)
        places[node_folder.name] = testbed_gluster.up(node_folder, shape).mount
    disk = folder / "disk"
    on.callback(testbed_disk.down, disk)
    mount = testbed_disk.up(disk, testbed_disk.Shape(disk_rate=COMPUTE_NODE_RATE)).mount
    hdfs = Path(mount) / "hdfs"
    on.callback(testbed_hdfs.down, hdfs)
    places["hdfs"] = testbed_hdfs.up(hdfs, 1).uri
    return places


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
