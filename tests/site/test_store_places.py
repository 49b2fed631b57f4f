"""Hadoop's programs get the hosts of a file's blocks for their schedulers."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from cuesta_store.client import Connection
from cuesta_store.filesystem import CuestaFileSystem
from hadoopkit import Hadoop, cuesta, hadoop
from storekit import BLOCK_BYTES, Program, RunningStore, noise, running_peers
from waitkit import wait_for

__all__ = ["hadoop"]

CONTENT = noise(1, 4 * BLOCK_BYTES - 5)
"""A dead store is detected within a second; the rest is for a busy machine."""
FIRST, SECOND, NOWHERE = "127.0.0.1", "127.0.0.2", "localhost"
"""Hosts of two stores, and Hadoop's name for no host."""


def bring(store: RunningStore, name: str, indexes: Sequence[int]) -> None:
    """Read blocks of a file into the memory of a store, and none of those after them."""
    connection = Connection(store.folder)
    number = connection.ask("open", path=name)["number"]
    for index in sorted(indexes, reverse=True):
        assert connection.ask("lease", number=number, index=index)["path"]
    connection.close()


def wait_for_places(program: Program, path: str, *hosts: str) -> None:
    """Wait until a program reports these hosts for the blocks of a file."""
    wait_for(lambda: program.ask(f"places {path}") == f"ok {' '.join(hosts)}")


def ask_of_dead(program: Program, path: str) -> None:
    """Ask for the blocks of a dead store: any answer but an error or a wait."""
    assert program.ask(f"places {path}").startswith("ok ")


def test_blocks_are_on_the_hosts_whose_stores_have_them_until_a_store_dies(
    hadoop: Hadoop, tmp_path: Path
) -> None:
    under = tmp_path / "under"
    under.mkdir()
    with (
        running_peers(under, 2) as stores,
        hadoop.program(stores[0], "DoorLoop", tmp_path) as program,
    ):
        stores[0].write("shared", CONTENT)
        assert program.ask("places /shared") == f"ok {' '.join([NOWHERE] * 4)}"
        bring(stores[0], "shared", [0, 1])
        bring(stores[1], "shared", [1, 3])
        both = f"{FIRST},{SECOND}"
        wait_for_places(program, "/shared", FIRST, both, NOWHERE, SECOND)
        files = CuestaFileSystem(str(stores[1].folder), skip_instance_cache=True)
        with files.open("/alone", "wb", write_mode="memory") as file:
            file.write(CONTENT)
        wait_for_places(program, "/alone", *[SECOND] * 4)
        os.kill(stores[1].status()["pid"], signal.SIGKILL)
        ask_of_dead(program, "/shared")
        wait_for_places(program, "/shared", FIRST, FIRST, NOWHERE, NOWHERE)
        # No host is nearer after the end of its own store, too.
        os.kill(stores[0].status()["pid"], signal.SIGKILL)
        ask_of_dead(program, "/shared")
        wait_for_places(program, "/shared", *[NOWHERE] * 4)


def test_the_command_prints_how_many_blocks_each_store_has(tmp_path: Path) -> None:
    under = tmp_path / "under"
    under.mkdir()
    with running_peers(under, 2) as stores:
        stores[0].write("shared", CONTENT)
        bring(stores[0], "shared", [0, 1])
        bring(stores[1], "shared", [1, 2, 3])
        first, second = (store.status()["peers"]["name"] for store in stores)

        def counts_by_store() -> dict[str, int]:
            answer = json.loads(cuesta(stores[1], "store", "stat", "/shared", "--json"))
            counts: dict[str, int] = answer["stores"]
            return counts

        wait_for(lambda: counts_by_store() == {first: 2, second: 3})
        lines = cuesta(stores[0], "store", "stat", "/shared").splitlines()
        assert lines[1:] == [f"{first}: 2 blocks in memory", f"{second}: 3 blocks in memory"]


def test_a_host_that_hangs_is_named_no_more_and_then_again(hadoop: Hadoop, tmp_path: Path) -> None:
    under = tmp_path / "under"
    under.mkdir()
    with (
        running_peers(under, 2) as stores,
        hadoop.program(stores[0], "DoorLoop", tmp_path) as program,
    ):
        stores[0].write("shared", CONTENT)
        bring(stores[1], "shared", [0, 1, 2, 3])
        wait_for_places(program, "/shared", *[SECOND] * 4)
        pid = stores[1].status()["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            ask_of_dead(program, "/shared")
            wait_for_places(program, "/shared", *[NOWHERE] * 4)
        finally:
            os.kill(pid, signal.SIGCONT)
        wait_for_places(program, "/shared", *[SECOND] * 4)
