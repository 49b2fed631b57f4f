"""The store of a node: a daemon of its own over the folder that all nodes share."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from cuesta.cluster.settings import ClusterPlan
from cuesta.store.control import MEMORY_ROOT, VARIABLE, StoreSettings, to_request

NAME = "store"


def folder_of(plan: ClusterPlan, node: str) -> Path:
    """Where the store of a node has its memory."""
    return MEMORY_ROOT / f"cuesta-{plan.cluster}-{node}"


def words(plan: ClusterPlan, node: str) -> list[str]:
    """The command of the daemon; its first line says `ready`, or why it has ended."""
    settings = StoreSettings(
        under=Path(plan.store_under),
        memory_bytes=plan.store_bytes,
        grace_seconds=plan.own("store-grace"),
    )
    request = to_request(settings, folder_of(plan, node))
    return [sys.executable, "-m", "cuesta.store.serve", request]


def variables(plan: ClusterPlan, node: str) -> Mapping[str, str]:
    """What processes on a node need in order to find its store."""
    return {VARIABLE: str(folder_of(plan, node))} if plan.store_bytes else {}
