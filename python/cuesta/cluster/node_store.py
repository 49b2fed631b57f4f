"""The store of a node: a daemon of its own over the folder that all nodes share."""

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
MET = "stores"
"""What an agent says is ready once the store of its node reaches all others."""
_TO_WRITE = ("dirty", "synced")
"""States of files that the shared folder does not have under their names, and was to have."""


def folder_of(plan: ClusterPlan, node: str) -> Path:
    """Where the store of a node has its memory."""
    return MEMORY_ROOT / f"cuesta-{plan.cluster}-{node}"


def words(plan: ClusterPlan, node: str, peers: PeerSettings) -> list[str]:
    """The command of the daemon; its first line says `ready`, or why it has ended."""
    settings = StoreSettings(
        under=Path(plan.store_under),
        memory_bytes=plan.store_bytes,
        grace_seconds=plan.own("store-grace"),
        peers=peers,
    )
    request = to_request(settings, folder_of(plan, node))
    return [sys.executable, "-m", "cuesta.store.serve", request]


def variables(plan: ClusterPlan, node: str) -> Mapping[str, str]:
    """What processes on a node need in order to find its store."""
    return {VARIABLE: str(folder_of(plan, node))} if plan.store_bytes else {}


def spark_settings(plan: ClusterPlan) -> dict[str, str]:
    """Settings with which all programs of Spark read `cuesta://`, each process by its own node.

    Jars of the user's come after ours. Errors: `EngineMissing` in a checkout without a compiler.
    """
    if not plan.store_bytes:
        return {}
    jars = [str(hadoop_jar.current()), plan.spark_sets.get("spark.jars", "")]
    found = {f"spark.hadoop.{name}": value for name, value in hadoop_jar.CLASSES.items()}
    return found | {"spark.jars": ",".join(filter(None, jars))}


def unwritten(folder: Path) -> int:
    """How many files are in the folder of a store that has ended, and were to be written.

    By the records that it keeps for a store that comes after it: one that was killed has no exit
    code of its own.
    """
    return sum(_is_to_be_written(record) for record in folder.glob("writes/*.json"))


def _is_to_be_written(record: Path) -> bool:
    try:
        return json.loads(record.read_text())["state"] in _TO_WRITE
    except (OSError, ValueError, KeyError, TypeError):
        # What cannot be read may be the only copy.
        return True
