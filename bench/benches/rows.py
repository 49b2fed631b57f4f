"""The normal form of a row of each workload's answer, for any program that wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.answers import digest, micro, table
from harness.model import Answer, DifferentAnswer


def pairs(path: Path) -> Answer:
    """Rows of `scan`: eleven fields, the scores in millionths."""

    def form(fields: list[bytes]) -> bytes:
        scores = ",".join(str(micro(score)) for score in fields[9].split(b","))
        return b"\t".join([*fields[:9], scores.encode(), fields[10]])

    return table(path, form)


def joined(path: Path, header: bool = False) -> Answer:
    """Rows of `join`: key, side, scores and difference in millionths, empty where there is none."""

    def form(fields: list[bytes]) -> bytes:
        numbers = [str(micro(field)).encode() if field else b"" for field in fields[4:7]]
        return b"\t".join([*fields[:4], *numbers])

    return table(path, form, header)


def degrees(path: Path, header: bool = False) -> Answer:
    """Rows of `degrees`: gene, in and out of the genes that have an edge."""

    def form(fields: list[bytes]) -> bytes | None:
        return b"\t".join(fields[:3]) if fields[1:3] != [b"0", b"0"] else None

    return table(path, form, header)


def communities(path: Path, header: bool = False) -> Answer:
    """Rows of `communities` whatever the names of the communities, genes on their own left out."""
    members: dict[bytes, list[int]] = {}
    with path.open("rb") as stream:
        for line in stream.readlines()[int(header) :]:
            gene, community = line.split(b"\t")[:2]
            members.setdefault(community.strip(), []).append(int(gene))
    grouped = [genes for genes in members.values() if len(genes) > 1]
    return digest(b"%d\t%d" % (gene, min(genes)) for genes in grouped for gene in genes)


def within(path: Path, components: Mapping[int, int], header: bool = False) -> Answer:
    """Genes of `components`, after a check that no community of `path` reaches over two of them.

    For communities that may differ. Errors: `DifferentAnswer`.
    """
    reached: dict[bytes, int] = {}
    genes = []
    with path.open("rb") as stream:
        for line in stream.readlines()[int(header) :]:
            gene, community = line.split(b"\t")[:2]
            component = components.get(int(gene))
            if component is None:
                continue
            if reached.setdefault(community.strip(), component) != component:
                raise DifferentAnswer(f"community {community!r} reaches over two components")
            genes.append(gene)
    return digest(genes)
