"""Real clusters on this machine, for tests and studies: small; GlusterFS and disks need root.

    python tools/testbed.py hdfs up [--datanodes N] [--folder DIR]
    python tools/testbed.py hdfs put FILE... PATH [--block-size SIZE] [--replication N]
    python tools/testbed.py hdfs status|down
    python tools/testbed.py slurm up [--nodes N] [--cores N] [--folder DIR]
    python tools/testbed.py slurm status|down
    python tools/testbed.py yarn up [--nodes N] [--cores N] [--memory SIZE] [--file-system URI]
    python tools/testbed.py yarn status|down
    python tools/testbed.py gluster up [--nodes N] [--disk-size SIZE] [--disk-rate RATE] ...
    python tools/testbed.py gluster status|down
    python tools/testbed.py disk up [--disk-size SIZE] [--disk-rate RATE] [--disk-dirty SIZE]
    python tools/testbed.py disk status|down

`up` waits until the service is ready, prints its address and leaves it running; a service that
runs already is only named. `down` ends it and removes its files. What is known of a service is in
its folder, `build/testbed/SERVICE` unless `--folder` names another. Software comes from Maven
Central, or is unpacked from Debian's packages, once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import maven
import testbed_disk
import testbed_gluster
import testbed_hdfs
import testbed_slurm
import testbed_yarn
from testbed_service import TestbedError

FOLDER = maven.ROOT / "build" / "testbed"


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments say; 3 with one line when something is missing or broke."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    services = parser.add_subparsers(dest="service", required=True)
    _add_hdfs(services)
    _add_slurm(services)
    _add_yarn(services)
    _add_gluster(services)
    _add_disk(services)
    options = parser.parse_args(arguments)
    try:
        return int(options.call(options))
    except (TestbedError, maven.MavenError) as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 3


@dataclass(frozen=True, kw_only=True)
class _Service:
    """A service of the test bed.

    Attributes
    ----------
    what, up
        Help: what the service is, and what `up` does.
    printed
        Attribute of a running service that `up` and `status` print.
    """

    name: str
    what: str
    up: str
    module: ModuleType
    printed: str


def _add_service(services: Any, service: _Service) -> tuple[argparse.ArgumentParser, Any]:
    """Add the commands that all services have; return that of `up`, and how to add more."""

    def status(options: argparse.Namespace) -> int:
        running = service.module.running(options.folder)
        print(getattr(running, service.printed) if running else "not running")
        return 0 if running else 1

    def down(options: argparse.Namespace) -> int:
        service.module.down(options.folder)
        return 0

    folder = argparse.ArgumentParser(add_help=False)
    folder.add_argument("--folder", type=Path, default=FOLDER / service.name)
    commands = services.add_parser(service.name, help=service.what)
    commands = commands.add_subparsers(dest="command", required=True)

    def add(command: str, does: str) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = commands.add_parser(command, parents=[folder], help=does)
        return made

    up = add("up", service.up)
    add("status", "say again what up has said, if it runs").set_defaults(call=status)
    add("down", "end it and remove its files").set_defaults(call=down)
    return up, add


def _add_hdfs(services: Any) -> None:
    service = _Service(
        name="hdfs",
        what="a Hadoop file system",
        up="start it and print its address",
        module=testbed_hdfs,
        printed="uri",
    )
    up, add = _add_service(services, service)
    up.add_argument("--datanodes", type=int, default=2)
    up.set_defaults(call=_hdfs_up)
    put = add("put", "copy files or folders into it")
    put.add_argument("files", nargs="+", type=Path)
    put.add_argument("path", help="a folder on it, made where it is not there")
    put.add_argument("--block-size", default="128MiB")
    put.add_argument("--replication", type=int, default=1)
    put.set_defaults(call=_hdfs_put)


def _add_slurm(services: Any) -> None:
    service = _Service(
        name="slurm",
        what="Slurm, with nodes that are this machine",
        up="start it, print the folder of commands",
        module=testbed_slurm,
        printed="bin",
    )
    up, _ = _add_service(services, service)
    up.add_argument("--nodes", type=int, default=2)
    up.add_argument("--cores", type=int, default=1, help="of each node")
    up.set_defaults(call=_slurm_up)


def _add_yarn(services: Any) -> None:
    service = _Service(
        name="yarn",
        what="Hadoop's YARN, with MapReduce",
        up="start it, print the folder of settings",
        module=testbed_yarn,
        printed="conf",
    )
    up, _ = _add_service(services, service)
    up.add_argument("--nodes", type=int, default=1)
    up.add_argument("--cores", type=int, default=3, help="of each node")
    up.add_argument("--memory", default="8GiB", help="of each node")
    up.add_argument(
        "--file-system",
        default=testbed_yarn.LOCAL_FILES,
        metavar="URI",
        help="where jobs look for paths without a scheme, such as that of hdfs up",
    )
    up.set_defaults(call=_yarn_up)


def _add_gluster(services: Any) -> None:
    service = _Service(
        name="gluster",
        what="GlusterFS, of disks and links with rates",
        up="mount it, print where",
        module=testbed_gluster,
        printed="mount",
    )
    up, _ = _add_service(services, service)
    usual = testbed_gluster.Shape()
    up.add_argument("--nodes", type=int, default=usual.nodes)
    up.add_argument("--disk-size", default=usual.disk_size, help="of the one disk of each node")
    up.add_argument("--disk-rate", default="", help="of each disk, as 50MB/s; no limit unless said")
    up.add_argument("--disk-dirty", default="", help="what may wait in memory to be written to one")
    up.add_argument("--link-rate", default="", help="of each node, as 1gbit; no limit unless said")
    up.add_argument("--memory", default="", help="of each node, with its pages of files")
    up.add_argument("--shard-size", default=usual.shard_size)
    up.set_defaults(call=_gluster_up)


def _gluster_up(options: argparse.Namespace) -> int:
    names = testbed_gluster.Shape.__dataclass_fields__
    shape = testbed_gluster.Shape(**{name: getattr(options, name) for name in names})
    print(testbed_gluster.up(options.folder, shape).mount)
    return 0


def _add_disk(services: Any) -> None:
    service = _Service(
        name="disk",
        what="disks with a rate, for the folders of another service",
        up="mount them, print where",
        module=testbed_disk,
        printed="mounted",
    )
    up, _ = _add_service(services, service)
    up.add_argument("--disks", type=int, default=testbed_disk.Shape().disks)
    up.add_argument("--disk-size", default=testbed_disk.Shape().disk_size)
    up.add_argument("--disk-rate", default="", help="as 50MB/s; no limit unless said")
    up.add_argument("--disk-dirty", default="", help="what may wait in memory to be written")
    up.set_defaults(call=_disk_up)


def _disk_up(options: argparse.Namespace) -> int:
    names = testbed_disk.Shape.__dataclass_fields__
    shape = testbed_disk.Shape(**{name: getattr(options, name) for name in names})
    print(testbed_disk.up(options.folder, shape).mounted)
    return 0


def _yarn_up(options: argparse.Namespace) -> int:
    shape = testbed_yarn.Shape(
        nodes=options.nodes,
        cores=options.cores,
        memory_mib=_size(options.memory, "--memory") >> 20,
        files=options.file_system,
    )
    print(testbed_yarn.up(options.folder, shape).conf)
    return 0


def _size(text: str, option: str) -> int:
    sys.path.insert(0, str(maven.ROOT / "python"))
    from cuesta.units import parse_size

    return parse_size(text, option)


def _slurm_up(options: argparse.Namespace) -> int:
    print(testbed_slurm.up(options.folder, options.nodes, options.cores).bin)
    return 0


def _hdfs_up(options: argparse.Namespace) -> int:
    print(testbed_hdfs.up(options.folder, options.datanodes).uri)
    return 0


def _hdfs_put(options: argparse.Namespace) -> int:
    running = testbed_hdfs.running(options.folder)
    if running is None:
        raise TestbedError(f"no HDFS runs from {options.folder}; start one with hdfs up")
    size_bytes = _size(options.block_size, "--block-size")
    with testbed_hdfs.connected(running) as hdfs:
        for file in options.files:
            print(hdfs.put(file, options.path, size_bytes, options.replication))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
