"""A study may vary the nodes of a cluster, which is brought up for each run."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from cuesta.cli.study_means import started_cluster
from cuesta.engines import get_engine
from cuesta.lab.observer import Silent
from cuesta.lab.study import file, run
from cuesta.lab.study.trials import Means

NODES = """
question = "Does a second node pay?"
workload = "sort"
repeats = 1
[settings]
inputs = ["records"]
cores = 1
memory = "2GiB"
[[input]]
name = "records"
make = "tera"
rows = 1000
[[factor]]
name = "engine"
levels = [{ name = "native" }, { name = "spark", nodes = 2, engine = "spark" }]
"""


@pytest.mark.skipif(get_engine("spark").missing() is not None, reason="Spark is not installed")
@pytest.mark.parametrize("link", ["", "machine = { link-rate = '200mbit' },"])
def test_nodes_are_brought_up_for_a_run(tmp_path: Path, link: str) -> None:
    """Side by side on this machine, or each with a network of its own and a link of some rate."""
    study = file.parsed("nodes", tomllib.loads(NODES.replace("nodes = 2,", f"nodes = 2, {link}")))
    means = Means(engine=get_engine, cluster=started_cluster)
    whole, found = run.run(study, tmp_path, means, Silent())
    if found[1].left_out:
        pytest.skip(found[1].left_out)
    assert [one.failed for one in found] == [[], []]
    assert len({cell["digest"] for cell in whole["cells"]}) == 1
