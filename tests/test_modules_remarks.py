"""Remarks on matrices and powers of `modules`, `threshold` and `correlate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuesta
from cuesta.workloads import doubts, modules

POWERS = "power\tr_squared\tslope\n1\t0.91\t2.5\n2\t0.2\t0.1\n3\tNA\tNA\n4\t{}\t-1.2\n"


def matrix(path: Path, largest: int, decimals: int = 0) -> Path:
    """Write a matrix of 20 genes in 12 samples, with values up to a number."""
    values = np.random.default_rng(7).uniform(0, largest, (20, 12)).round(decimals)
    values[0, 0] = largest
    lines = ["\t".join(["gene", *(f"s{sample}" for sample in range(12))])]
    for gene, row in enumerate(values):
        lines.append("\t".join([f"g{gene}", *(f"{value:.{decimals}f}" for value in row)]))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("workload", ["correlate", "threshold", "modules"])
def test_values_that_look_like_raw_counts_are_remarked(workload: Any, tmp_path: Path) -> None:
    """Counts passed in silence, though a few large ones decide a correlation."""
    options: dict[str, Any] = {"min_module_size": 5} if workload == "modules" else {}

    def remarks(file: Path, name: str, **more: Any) -> list[str]:
        answer = cuesta.run(workload, file, output=tmp_path / name, **options, **more)
        return doubts.shown(answer.record["preview"])

    counts = matrix(tmp_path / "counts.tsv", 50_000)
    expected = "all values are whole numbers, up to 50,000, as raw counts are"
    assert any(line.startswith(expected) for line in remarks(counts, "counts"))
    cases: list[tuple[str, Path, dict[str, Any]]] = [
        ("logarithms", counts, {"log2": True}),
        ("few", matrix(tmp_path / "few.tsv", 900), {}),
        ("rates", matrix(tmp_path / "rates.tsv", 50_000, decimals=2), {}),
    ]
    for name, file, more in cases:
        assert not any("raw counts" in line for line in remarks(file, name, **more)), name
    if workload == "correlate":
        ranks = remarks(counts, "ranks", method="spearman")
        assert not any("raw counts" in line for line in ranks)


def test_names_and_scales_that_a_user_may_not_have_meant_are_remarked(tmp_path: Path) -> None:
    file = matrix(tmp_path / "m.tsv", 12, decimals=3)
    file.write_text(file.read_text().replace("g3\t", "1-Mar\t").replace("g4\t", "2-Sep\t"))
    answer = cuesta.run("threshold", file, output=tmp_path / "dates", log2=True)
    lines = doubts.shown(answer.record["preview"])
    assert "values are at most 12, as logarithms are already; leave --log2 out" in lines
    assert any(line.startswith("2 genes are named like a date, such as 1-Mar") for line in lines)
    rates = matrix(tmp_path / "rates.tsv", 5000, decimals=2)
    answer = cuesta.run("correlate", rates, output=tmp_path / "rates", min_samples=4)
    lines = doubts.shown(answer.record["preview"])
    assert any(line.startswith("values are up to 5,000, and no logarithms") for line in lines)


@pytest.mark.parametrize("workload", ["threshold", "modules"])
def test_a_power_whose_fit_rises_is_remarked(workload: str, tmp_path: Path) -> None:
    """R takes the smallest power that fits, even where most genes have most partners."""
    (tmp_path / "left_out.tsv").write_text("kind\tname\treason\n")
    counts = {"power": 1, "recommended_power": 1, "samples_used": 60, "modules": 1}
    counts |= {"recommended_millionths": 500_000, "edges": 7}

    def sentence(fit: float) -> str:
        (tmp_path / "powers.tsv").write_text(POWERS.format(fit))
        lines = modules.sentences(workload, {}, tmp_path, counts)
        (line,) = (line for line in lines if line.startswith("power 1:"))
        return line

    assert "; but it rises: most genes have many partners" in sentence(0.9)
    assert sentence(0.9).endswith(" 4 is the smallest that falls")
    assert "; set --power" in sentence(0.3)
    counts |= {"power": 4, "recommended_power": 4}
    (tmp_path / "powers.tsv").write_text(POWERS.format(0.9))
    assert not any("rises" in line for line in modules.sentences(workload, {}, tmp_path, counts))


def test_the_smallest_module_of_r_is_named_where_its_rules_are_taken(tmp_path: Path) -> None:
    (tmp_path / "left_out.tsv").write_text("kind\tname\treason\n")
    cases: list[tuple[dict[str, object], int, int]] = [
        ({}, 100, 30),
        ({"as": "wgcna-1.72"}, 100, 20),
        ({"as": "wgcna-1.72-colours"}, 18, 9),
        ({"as": "wgcna-1.72", "min_module_size": 7}, 100, 7),
    ]
    for parameters, genes, size in cases:
        counts = {"power": 6, "samples_used": 60, "genes_used": genes}
        lines = list(modules.sentences("modules", parameters, tmp_path, counts))
        assert any(f"no branch of the tree has --min-module-size {size} genes" in x for x in lines)


def test_a_search_by_random_matrices_states_its_result(tmp_path: Path) -> None:
    answer = cuesta.run(
        "threshold", matrix(tmp_path / "m.tsv", 9, decimals=2), output=tmp_path / "few",
        random_matrix="all",
    )  # fmt: skip
    expected = "no threshold by random matrix theory: no network has 50 distinct eigenvalues"
    assert expected in doubts.shown(answer.record["preview"])
    assert "random_matrix" in answer.tables
    header = "threshold\tgenes\teigenvalues\tchi_square\n"
    (tmp_path / "left_out.tsv").write_text("kind\tname\treason\n")
    (tmp_path / "powers.tsv").write_text(POWERS.format(0.9))
    (tmp_path / "thresholds.tsv").write_text("")
    name = "threshold_by_random_matrix"
    for counts, chi, sentence in [
        ({f"{name}_millionths": 812_000, f"{name}_confirmed": 1}, 80, "0.812 by"),
        ({f"{name}_millionths": 812_000, f"{name}_confirmed": 0}, 80, "confirmed: the"),
        ({f"{name}_confirmed": 0}, 120, "no chi-square is below 99.607"),
    ]:
        (tmp_path / "random_matrix.tsv").write_text(f"{header}0.990000\t70\t70\t{chi}\n")
        lines = list(modules.sentences("threshold", {}, tmp_path, {"samples_used": 60, **counts}))
        assert any(sentence in line for line in lines), lines
