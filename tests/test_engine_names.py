"""Every engine's answer gets the same names and the same network, and digests stay equal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cuesta.engines import get_engine
from nameskit import ALL, make_pairs, rows, write_list

ENGINES = ("native", "array", "spark", "spark-scala")
ADDED = {
    "scan": ("genes.tsv", "edges.tsv", "network.graphml"),
    "communities": ("communities.tsv", "network.graphml"),
    "degrees": ("degrees.tsv",),
    "join": ("pairs.tsv",),
}
"""Files that have names, by workload."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    make_pairs(folder / "a.txt")
    make_pairs(folder / "b.txt", variant=1)
    write_list(folder / "names.txt")
    return folder


@pytest.mark.parametrize(
    ("workload", "engines"),
    [("scan", ENGINES), ("communities", ENGINES), ("degrees", ENGINES[:2]), ("join", ENGINES[:2])],
)
def test_every_engine_gives_the_same_names_and_network(
    workload: str, engines: tuple[str, ...], folder: Path, tmp_path: Path
) -> None:
    able = [name for name in engines if get_engine(name).missing() is None]
    inputs = ["a.txt", "b.txt"] if workload == "join" else ["a.txt"]
    graph = ["--graph", "graphml"] if "network.graphml" in ADDED[workload] else []
    words = [
        "compare", workload, *inputs, "--genes", "names.txt", *graph, "--min-abs-score", "0.3",
        "--engines", ",".join(able), "--threads", "2", "--memory", "2GiB", "--json",
        "-o", str(tmp_path / "out"),
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "cuesta", *words], cwd=folder, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["equal"]
    first = tmp_path / "out" / "native"
    for name in able:
        answer = tmp_path / "out" / name
        record = json.loads((answer / "run.json").read_text())
        assert record["verified"]
        assert record["names"]["path"] == str(folder / "names.txt")
        files = {one["name"] for one in record["answer"]["files"]}
        assert files >= set(ADDED[workload])
        for file in ADDED[workload]:
            assert (answer / file).read_bytes() == (first / file).read_bytes(), (name, file)
    if workload != "scan":
        table = rows(first / ADDED[workload][0])
        gene = "gene1" if workload == "join" else "gene"
        assert [row[gene.replace("gene", "name")] for row in table] == [
            ALL[int(row[gene]) - 1] for row in table
        ]
