"""The store of a node: a daemon for each node, over the folder that all nodes share."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from cuesta.cluster.settings import ClusterPlan
from cuesta.store import hadoop_jar
from cuesta.store.control import MEMORY_ROOT, VARIABLE, StoreSettings, to_request
from cuesta.store.peers import PeerSettings

NAME = "store"
STORES = "stores"
"""Name that an agent reports as ready once the store of its node reaches all others."""
_TO_WRITE = ("dirty", "synced")
"""States of files that are still to be written to the shared folder."""


def folder_of(plan: ClusterPlan, node: str) -> Path:
    """Return the folder in memory of the store of a node."""
    return MEMORY_ROOT / f"cuesta-{plan.cluster}-{node}"


def words(plan: ClusterPlan, node: str, peers: PeerSettings) -> list[str]:
    """Return the command of the daemon; its first output line is `ready`, or its error."""
    settings = StoreSettings(
        under=Path(plan.store_under),
        memory_bytes=plan.store_bytes,
        grace_seconds=plan.setting("store-grace"),
        peers=peers,
    )
    request = to_request(settings, folder_of(plan, node))
    return [sys.executable, "-m", "cuesta.store.serve", request]


def variables(plan: ClusterPlan, node: str) -> Mapping[str, str]:
    """Return environment variables by which processes on a node find its store."""
    return {VARIABLE: str(folder_of(plan, node))} if plan.store_bytes else {}


def spark_settings(plan: ClusterPlan) -> dict[str, str]:
    """Return settings with which Spark reads `cuesta://`, each process by the store of its node.

    The user's jars follow ours. Errors: `EngineMissing` in a checkout without a compiler.
    """
    if not plan.store_bytes:
        return {}
    jars = [str(hadoop_jar.current()), plan.spark_sets.get("spark.jars", "")]
    settings = {f"spark.hadoop.{name}": value for name, value in hadoop_jar.CLASSES.items()}
    return settings | {"spark.jars": ",".join(filter(None, jars))}


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
