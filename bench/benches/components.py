"""Connected components of the network in 1 GB of gene-pair text, and label propagation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benches import ours, rows
from harness.data import Pairs, pairs_text
from harness.model import Answer, Case, Contestant, Ratio
from harness.native import Job
from harness.size import Size
from peers import duckdb_sql, networkit_graph, numpy_arrays, scipy_graph, spark_sql

LABEL_ROUNDS = 10


def cases(size: Size) -> Iterator[Case]:
    """Components at two thresholds, then label propagation with GraphX."""
    path = pairs_text(size.folder, Pairs(genes=size.pick(200, 2000)))
    why = size.left_out("spark") or spark_sql.missing()
    for min_abs_score in (0.8, 0.5):
        yield components(path, min_abs_score, why)
    yield label_propagation(path, size.pick(0.5, 0.8), why)


def components(path: Path, min_abs_score: float, no_spark: str | None) -> Case:
    """Union-find in the stream against graphs made in memory."""
    parameters = {"min_abs_score": min_abs_score, "method": "components"}
    job = Job(workload="communities", inputs=(path,), parameters=parameters)
    spark = () if no_spark else (graphx(path, min_abs_score, "components", _peer_answer),)
    return Case(
        name=f"components, |score| >= {min_abs_score}",
        contestants=(
            ours.cuesta(job, _ours),
            ours.plain_read(path),
            in_memory("networkit", networkit_graph.components, path, min_abs_score),
            in_memory("scipy", scipy_graph.components, path, min_abs_score),
            *spark,
        ),
        bars=(
            bar("duckdb + networkit", 4.0, "4x DuckDB + NetworKit"),
            bar("duckdb + scipy", 4.0, "4x DuckDB + SciPy"),
            bar("graphx", None, "GraphX, shown"),
        ),
        amount=float(path.stat().st_size),
        unit="B",
        inputs=(path,),
        absent={"graphx": no_spark} if no_spark else {},
    )


def bar(peer: str, at_least: float | None, text: str) -> Ratio:
    """The bar of ours against a peer."""
    return Ratio(ours=ours.CUESTA, peer=peer, at_least=at_least, text=text)


def label_propagation(path: Path, min_abs_score: float, no_spark: str | None) -> Case:
    """The paper's community detection; GraphX breaks ties as they come, so answers may differ."""
    parameters = {
        "min_abs_score": min_abs_score,
        "method": "label-propagation",
        "iterations": LABEL_ROUNDS,
    }
    job = Job(workload="communities", inputs=(path,), parameters=parameters)
    connected = component_of_genes(path, min_abs_score)

    def ours_within(folder: Path) -> Answer:
        return rows.within(folder / "communities.tsv", connected, header=True)

    def peer_within(folder: Path) -> Answer:
        return rows.within(folder / "communities.tsv", connected)

    peer = graphx(path, min_abs_score, "label-propagation", peer_within)
    return Case(
        name=f"label propagation, {LABEL_ROUNDS} rounds, |score| >= {min_abs_score}",
        contestants=(ours.cuesta(job, ours_within), *(() if no_spark else (peer,))),
        bars=(bar("graphx", None, "GraphX, shown"),),
        amount=float(path.stat().st_size),
        unit="B",
        inputs=(path,),
        absent={"graphx": no_spark} if no_spark else {},
        notes=(
            "Label propagation: GraphX breaks ties as they come, so communities may differ; held "
            "equal are the genes with an edge, and no community reaches over two components.",
        ),
    )


def in_memory(
    name: str, find: Callable[[Any, Any], Any], path: Path, min_abs_score: float
) -> Contestant:
    """Edges by DuckDB into arrays, components by a library for graphs."""
    connection = duckdb_sql.connect()
    query = duckdb_sql.edges(duckdb_sql.text(path), min_abs_score)

    def work(folder: Path) -> None:
        edges = duckdb_sql.to_arrays(connection, query)
        labels = find(edges["gene1"], edges["gene2"])
        numpy_arrays.labels(labels, folder / "communities.tsv")

    return Contestant(
        name=f"duckdb + {name}",
        how=duckdb_sql.shown(query, path) + f"; components by {name}",
        work=work,
        answer=lambda folder: rows.communities(folder / "communities.tsv"),
    )


def component_of_genes(path: Path, min_abs_score: float) -> dict[int, int]:
    """The component of every gene that has an edge, by SciPy."""
    query = duckdb_sql.edges(duckdb_sql.text(path), min_abs_score)
    edges = duckdb_sql.to_arrays(duckdb_sql.connect(), query)
    labels = scipy_graph.components(edges["gene1"], edges["gene2"])
    genes = {*edges["gene1"].tolist(), *edges["gene2"].tolist()}
    return {gene: int(labels[gene]) for gene in genes}


def graphx(
    path: Path, min_abs_score: float, method: str, answer: Callable[[Path], Answer]
) -> Contestant:
    """Edges by Spark SQL, the graph and its communities by GraphX."""
    return Contestant(
        name="graphx",
        how=f"spark.read.csv().where(), GraphLoader.edgeListFile, {method} of GraphX; session up",
        work=lambda folder: spark_sql.communities(path, min_abs_score, method, folder),
        answer=answer,
        repeats_max=3,
    )


def _ours(folder: Path) -> Answer:
    return rows.communities(folder / "communities.tsv", header=True)


def _peer_answer(folder: Path) -> Answer:
    return rows.communities(folder / "communities.tsv")
