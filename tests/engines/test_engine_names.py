"""The answers of all engines get the same names and the same network, with equal digests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cuesta.engines import get_engine
from nameskit import check_columns, inputs_of, make_inputs

ENGINES = ("native", "array", "spark", "spark-scala")
ADDED = {
    "scan": ("genes.tsv", "edges.tsv", "network.graphml"),
    "communities": ("communities.tsv", "network.graphml"),
    "degrees": ("degrees.tsv",),
    "join": ("pairs.tsv",),
}
"""Files with names, by workload."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_inputs(tmp_path_factory.mktemp("made"))


@pytest.mark.parametrize(
    ("workload", "engines"),
    [("scan", ENGINES), ("communities", ENGINES), ("degrees", ENGINES[:2]), ("join", ENGINES[:2])],
)
def test_all_engines_produce_the_same_names_and_network(
    workload: str, engines: tuple[str, ...], folder: Path, tmp_path: Path
) -> None:
    able = [name for name in engines if get_engine(name).missing() is None]
    inputs = [path.name for path in inputs_of(workload, folder)]
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
        files = {entry["name"] for entry in record["answer"]["files"]}
        assert files >= set(ADDED[workload])
        for file in ADDED[workload]:
            assert (answer / file).read_bytes() == (first / file).read_bytes(), (name, file)
    check_columns(workload, first)
