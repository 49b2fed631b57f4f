"""P- and q-values of correlations: by SciPy, on all engines that correlate, and in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cuesta

stats = pytest.importorskip("scipy.stats")

GENES, SAMPLES = 24, 14


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Matrix of genes x samples, of which one half follow a factor, with missing values."""
    draw = np.random.default_rng(11)
    values = draw.normal(size=(GENES, SAMPLES))
    values[: GENES // 2] += draw.normal(size=SAMPLES)
    values[draw.random(values.shape) < 0.1] = np.nan
    names = [f"gene {number}" for number in range(GENES)]
    return pd.DataFrame(values, index=names, columns=[f"s{number}" for number in range(SAMPLES)])


def expected(frame: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return score, samples, p and q of all pairs by SciPy, by names of genes."""
    rows: list[dict[str, Any]] = []
    for first in range(GENES):
        for second in range(first):
            both = frame.iloc[[first, second]].dropna(axis="columns").to_numpy()
            if both.shape[1] < SAMPLES // 2 + 1:
                continue
            function = stats.pearsonr if method == "pearson" else stats.spearmanr
            score = round(float(function(*both).statistic), 6)
            t = abs(score) * np.sqrt((both.shape[1] - 2) / (1 - score**2))
            p = 2 * stats.t.sf(t, both.shape[1] - 2)
            pair = {"name1": frame.index[first], "name2": frame.index[second]}
            rows.append(pair | {"score": score, "samples": both.shape[1], "p": p})
    table = pd.DataFrame(rows).set_index(["name1", "name2"])
    return table.assign(q=stats.false_discovery_control(table["p"]))


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_q_values_are_those_of_scipy_over_all_pairs(frame: pd.DataFrame, method: Any) -> None:
    right = expected(frame, method)
    choices: list[dict[str, Any]] = [{}, {"min_abs_score": 0.5}, {"top": 9, "format": "pairs"}]
    for options in choices:
        answer = cuesta.run(
            "correlate", frame, method=method, p_values=True, progress=False, **options
        )
        table = answer.table("edges", as_="pandas").set_index(["name1", "name2"])
        assert 0 < len(table) <= len(right)
        assert answer.counts["pairs_tested"] == len(right)
        of_table = right.loc[table.index]
        for column in ("score", "samples", "p", "q"):
            assert np.allclose(table[column], of_table[column], rtol=6e-6, atol=0), column


def test_engines_write_the_same_table(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "m.tsv", sep="\t", index_label="gene")
    tables = []
    for engine in ("native", "mpi", "dask"):
        output = tmp_path / engine
        cuesta.run(
            "correlate", tmp_path / "m.tsv", engine=engine, min_abs_score=0.4, p_values=True,
            output=output, progress=False,
        )  # fmt: skip
        tables.append((output / "edges.tsv").read_bytes())
    assert tables[1:] == tables[:-1]


def test_an_object_gets_the_table(frame: pd.DataFrame) -> None:
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(frame.T)
    cuesta.tl.correlate(data, min_abs_score=0.5, p_values=True, progress=False)
    edges = data.uns["correlations"]["edges"]
    assert list(edges.columns[-4:]) == ["score", "samples", "p", "q"]
    assert len(edges) == data.varp["correlations"].nnz / 2


def test_few_samples_are_remarked_with_the_remedy(frame: pd.DataFrame) -> None:
    for p_values in (False, True):
        answer = cuesta.run("correlate", frame, p_values=p_values, progress=False)
        remarks = [view for view in answer.record["preview"] if view["title"] == "Remarks"]
        text = remarks[0]["items"][0][0]
        assert text.startswith(f"14 samples: a pair needs {SAMPLES // 2 + 1} in common")
        assert ("--p-values" in text) != p_values
