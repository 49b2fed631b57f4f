"""Tested differences of a join: by NumPy, on two engines, with names, remarks and tables."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuesta as api
from labkit import ROOT

GENES, SAMPLES = 30, 80


def cuesta(*words: str | Path) -> str:
    """Run the command; return its output."""
    done = subprocess.run(
        [sys.executable, "-m", "cuesta", *map(str, words)],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def remarks(folder: Path) -> list[str]:
    """Return the remarks in the record of an answer."""
    record = json.loads((folder / "run.json").read_bytes())
    views: list[dict[str, Any]] = [v for v in record["preview"] if v["title"] == "Remarks"]
    return [item[0] for view in views for item in view["items"]]


@pytest.fixture(scope="module")
def values() -> np.ndarray[Any, Any]:
    """Values of genes: a factor of the first samples lifts one half of the genes."""
    draw = np.random.default_rng(5)
    values = draw.normal(size=(GENES, SAMPLES))
    values[: GENES // 2, : SAMPLES // 2] += 1.5 * draw.normal(size=SAMPLES // 2)
    return values


@pytest.fixture(scope="module")
def matrix(values: np.ndarray[Any, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Matrix of all samples, those of two groups in turn."""
    path = tmp_path_factory.mktemp("matrix") / "matrix.tsv"
    lines = ["\t".join(["gene", *(f"s{sample}" for sample in range(SAMPLES))])]
    rows = [[f"g{gene}", *(f"{value:.6f}" for value in row)] for gene, row in enumerate(values)]
    path.write_text("\n".join([*lines, *map("\t".join, rows)]) + "\n")
    return path


@pytest.fixture(scope="module")
def lists(matrix: Path) -> tuple[Path, Path]:
    """Pairs of both groups, as the guide makes them."""
    first, second = matrix.parent / "first", matrix.parent / "second"
    cuesta("run", "correlate", matrix, "--columns", f"2-{SAMPLES // 2 + 1}", "-o", first)
    cuesta("run", "correlate", matrix, "--columns", f"{SAMPLES // 2 + 2}-", "-o", second)
    return first, second


def expected(values: np.ndarray[Any, Any]) -> dict[tuple[int, int], tuple[float, float, float]]:
    """Return z, p and q of each pair by NumPy, with gene numbers from 1."""
    half = SAMPLES // 2
    rounded = np.round(values, 6)
    r = [np.round(np.corrcoef(part), 6) for part in (rounded[:, :half], rounded[:, half:])]
    z = np.round((np.arctanh(np.tril(r[1], -1)) - np.arctanh(np.tril(r[0], -1)))
                 / np.sqrt(2 / (half - 3)), 6)  # fmt: skip
    places = np.tril_indices(GENES, -1)
    p = np.array([math.erfc(abs(value) / math.sqrt(2)) for value in z[places]])
    order = np.argsort(p)
    q = np.empty_like(p)
    ranked = p[order] * len(p) / np.arange(1, len(p) + 1)
    q[order] = np.minimum.accumulate(ranked[::-1])[::-1]
    keys = [(int(x) + 1, int(y) + 1) for x, y in zip(*places, strict=True)]
    return dict(zip(keys, zip(z[places], p, q, strict=True), strict=True))


def test_the_table_is_that_of_numpy(
    values: np.ndarray[Any, Any], lists: tuple[Path, Path], tmp_path: Path
) -> None:
    text = cuesta("run", "join", *lists, "--test", "-o", tmp_path / "out")
    assert "pairs tested 435" in text
    rows = [line.split("\t") for line in (tmp_path / "out/differences.tsv").read_text().split("\n")]
    assert rows[0] == [
        "gene1", "gene2", "cluster", "a_score", "a_p", "a_samples", "b_score", "b_p", "b_samples",
        "z", "p", "q", "class", "name1", "name2",
    ]  # fmt: skip
    want = expected(values)
    assert len(rows) == len(want) + 2
    for row in rows[1:-1]:
        z, p, q = want[int(row[0]), int(row[1])]
        assert float(row[9]) == pytest.approx(z, abs=2e-5)
        assert float(row[10]) == pytest.approx(p, rel=2e-3)
        assert float(row[11]) == pytest.approx(q, rel=2e-3)
        assert row[5] == row[8] == str(SAMPLES // 2)
        assert row[13:] == [f"g{int(row[0]) - 1}", f"g{int(row[1]) - 1}"]
    sizes = [abs(float(row[9])) for row in rows[1:-1]]
    assert sizes == sorted(sizes, reverse=True)
    assert {row[12] for row in rows[1:11]} <= {"+/0", "+/-", "+/+"}
    assert remarks(tmp_path / "out") == []


def test_the_preview_and_the_api_have_the_table(lists: tuple[Path, Path], tmp_path: Path) -> None:
    answer = api.run("join", *lists, test=True, output=tmp_path / "out")
    assert answer.tables[:2] == ("pairs", "differences")
    table = answer.table("differences", as_="python")
    assert isinstance(table["z"][0], float)
    assert isinstance(table["a_samples"][0], int)
    record = json.loads((tmp_path / "out" / "run.json").read_bytes())
    titles = [view["title"] for view in record["preview"]]
    assert "Pairs whose correlation differs most" in titles
    counts = record["answer"]["counts"]
    assert counts["pairs_tested"] == counts["both"] == 435
    assert 0 < counts["pairs_different"] < 435


def test_each_engine_has_the_same_table(lists: tuple[Path, Path], tmp_path: Path) -> None:
    texts = []
    for engine in ("native", "mpi"):
        cuesta("run", "join", *lists, "--test", "--engine", engine, "-o", tmp_path / engine)
        texts.append((tmp_path / engine / "differences.tsv").read_bytes())
    assert texts[0] == texts[1]


def test_lists_that_were_cut_are_remarked(
    matrix: Path, lists: tuple[Path, Path], tmp_path: Path
) -> None:
    cuesta("run", "correlate", matrix, "--columns", "2-41", "--min-abs-score", "0.5",
           "-o", tmp_path / "cut")  # fmt: skip
    text = cuesta("run", "join", tmp_path / "cut", lists[1], "--test", "-o", tmp_path / "out")
    sentence = "cut/pairs.txt has only pairs with |score| of at least 0.5, by its record"
    assert sentence in " ".join(text.split())
    assert "by correlate without --min-abs-score" in remarks(tmp_path / "out")[0]
    (tmp_path / "cut" / "run.json").unlink()
    file = tmp_path / "cut" / "pairs.txt"
    cuesta("run", "join", file, lists[1], "--test", "-o", tmp_path / "other")
    shown = remarks(tmp_path / "other")
    assert "are in one list only, and not tested" in shown[0]
    assert f"{file} has no record of its correlation; Pearson's" in shown[1]
    cuesta("run", "join", *lists, "--test", "--min-abs-score", "0.2", "-o", tmp_path / "third")
    assert "--min-abs-score 0.2 leaves out pairs" in remarks(tmp_path / "third")[0]


def test_scores_of_another_correlation_are_remarked(
    matrix: Path, lists: tuple[Path, Path], tmp_path: Path
) -> None:
    for method in ("spearman", "bicor"):
        cuesta("run", "correlate", matrix, "--columns", "2-41", "--method", method,
               "-o", tmp_path / method)  # fmt: skip
    same = "make both by the same method of correlate"
    cases: list[tuple[str | Path, str | Path, str]] = [
        ("spearman", "spearman", "has Spearman's correlations, by its record; give --method"),
        ("bicor", "bicor", "has biweight midcorrelations, by its record; they are tested as"),
        ("spearman", lists[1], same),
    ]
    for number, (first, second, sentence) in enumerate(cases):
        output = tmp_path / f"of-{number}"
        copies = [tmp_path / f"{number}-{side}" for side in (1, 2)]
        for copy, original in zip(copies, (first, second), strict=True):
            shutil.copytree(tmp_path / original, copy)
        cuesta("run", "join", *copies, "--test", "-o", output)
        assert sentence in remarks(output)[0]


def test_edge_lists_without_samples_are_not_tested(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("gene1\tgene2\tscore\nA\tB\t0.5\nC\tB\t0.25\n")
    cuesta("run", "join", tmp_path / "a.txt", tmp_path / "b.txt", "--test", "-o", tmp_path / "out")
    shown = " ".join(remarks(tmp_path / "out"))
    assert "2 pairs of both are not tested" in shown
    assert "edge lists have no numbers of samples" in shown


def test_a_changed_table_fails_verification(lists: tuple[Path, Path], tmp_path: Path) -> None:
    cuesta("run", "join", *lists, "--test", "-o", tmp_path / "out")
    assert "right" in cuesta("verify", tmp_path / "out").lower()
    path = tmp_path / "out" / "differences.tsv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], *lines[2:]]))
    done = subprocess.run(
        [sys.executable, "-m", "cuesta", "verify", tmp_path / "out"],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 1
    assert "differences.tsv" in done.stdout + done.stderr
