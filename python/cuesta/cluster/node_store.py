"""The store of a node: a daemon for each node, over the folder that all nodes share.

The only module of the cluster that uses `cuesta_store`, in functions for clusters with stores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cuesta.children import module_command
from cuesta.cluster.settings import ClusterPlan
from cuesta.store import MEMORY_ROOT, VARIABLE, translated

NAME = "store"
STORES = "stores"
"""Name that an agent reports as ready once the store of its node reaches all others."""
_TO_WRITE = ("dirty", "synced")
"""States of files that are still to be written to the shared folder."""


def folder_of(plan: ClusterPlan, node: str) -> Path:
    """Return the folder in memory of the store of a node."""
    return MEMORY_ROOT / f"cuesta-{plan.cluster}-{node}"


def words(plan: ClusterPlan, node: str, listen: str, files: tuple[Path, Path]) -> list[str]:
    """Return the command of the daemon; its first output line is `ready`, or its error.

    Arguments: `listen` is its address for the other stores, `files` are those of the secret and of
    the addresses of all stores.
    """
    from cuesta_store.control import StoreSettings, to_request
    from cuesta_store.peers import PeerSettings

    secret, members = files
    peers = PeerSettings(listen=listen, secret=secret, members_file=members)
    settings = StoreSettings(
        under=Path(plan.store_under),
        memory_bytes=plan.store_bytes,
        grace_seconds=plan.setting("store-grace"),
        peers=peers,
    )
    request = to_request(settings, folder_of(plan, node))
    return module_command("cuesta_store.serve", request)


def variables(plan: ClusterPlan, node: str) -> Mapping[str, str]:
    """Return environment variables by which processes on a node find its store."""
    return {VARIABLE: str(folder_of(plan, node))} if plan.store_bytes else {}


def spark_settings(plan: ClusterPlan) -> dict[str, str]:
    """Return settings with which Spark reads `cuesta://`, each process by the store of its node.

    The user's jars follow ours. Errors: `EngineMissing` in a checkout without a compiler.
    """
    if not plan.store_bytes:
        return {}
    from cuesta_store import hadoop_jar

    with translated():
        jars = [str(hadoop_jar.current()), plan.spark_sets.get("spark.jars", "")]
    settings = {f"spark.hadoop.{name}": value for name, value in hadoop_jar.CLASSES.items()}
    return settings | {"spark.jars": ",".join(filter(None, jars))}


def make_secret(path: Path) -> None:
    """Make the secret of the stores of a cluster, or a new one in addition. Errors: `OSError`."""
    from cuesta_store import peers

    peers.make_secret(path)


def write_members(path: Path, names: Sequence[str]) -> None:
    """Replace the file with the addresses of all stores. Errors: `OSError`."""
    from cuesta_store import peers

    peers.write_members(path, names)


def peers_of(folder: Path) -> dict[str, Any]:
    """Return what the store in a folder states of itself and the others. Errors: `CuestaError`."""
    from cuesta_store import control

    with translated():
        peers: dict[str, Any] = control.status(folder)["peers"]
    return peers


def unwritten(folder: Path) -> int:
    """Return how many files an ended store did not write to the shared folder.

    They are counted by the records that it leaves for its successor: a store that was killed has
    no exit code of its own.
    """
    return sum(_is_to_be_written(record) for record in folder.glob("writes/*.json"))


def _is_to_be_written(record: Path) -> bool:
    try:
        return json.loads(record.read_text())["state"] in _TO_WRITE
    except (OSError, ValueError, KeyError, TypeError):
        # A file with an unreadable record may be the only copy.
        return True
