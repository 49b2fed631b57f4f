"""Previews: small looks at answer files, bounded, repeatable, and never a reason to fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cuesta.workloads import preview as module
from cuesta.workloads.preview import LIMITS, preview

FILES = ("pairs.txt", "pairs.tsv", "degrees.tsv", "distribution.tsv", "communities.tsv")


def kinc(gene1: int, gene2: int, scores: str, samples: int = 5) -> str:
    return f"{gene1}\t{gene2}\t1\t1\t{samples}\t0\t0\t0\t0\t{scores}\t1111100\n"


def look(workload: str, folder: Path, **parameters: object) -> list[dict[str, Any]]:
    views = preview(workload, folder, parameters)
    assert len(views) <= LIMITS.views
    assert json.loads(json.dumps(views)) == views
    return views


def test_scores_are_binned_alike_on_both_sides_of_zero(tmp_path: Path) -> None:
    rows = [kinc(2, 1, "0.800000"), kinc(3, 1, "0.849999"), kinc(4, 1, "0.850000")]
    rows += [kinc(3, 2, "-0.800400"), kinc(4, 2, "-0.800000"), kinc(4, 3, "1.000000")]
    (tmp_path / "pairs.txt").write_text("#Done\n" + "".join(rows) + "\n")
    histogram, table = look("scan", tmp_path, score_index=0)
    counts = {(low, high): many for low, high, many in histogram["bins"] if many}
    assert counts == {(-0.85, -0.8): 2, (0.8, 0.85): 2, (0.85, 0.9): 1, (0.95, 1.0): 1}
    assert table["rows"][0] == ["4", "3", "1", "1.000000", 5]
    assert [row[3] for row in table["rows"]][2:4] == ["0.849999", "\u22120.800400"]
    assert "note" not in histogram


def test_the_chosen_score_counts_and_missing_ones_are_reported(tmp_path: Path) -> None:
    rows = [kinc(2, 1, "0.1,0.9"), kinc(3, 1, "0.2,nan"), kinc(3, 2, "0.3,0.7"), kinc(4, 1, "0.4")]
    (tmp_path / "pairs.txt").write_text("".join(rows))
    histogram, table = look("correlate", tmp_path, score_index=1)
    assert sum(many for _, _, many in histogram["bins"]) == 2
    assert histogram["note"] == "2 rows have no score."
    assert [row[:2] for row in table["rows"]] == [["2", "1"], ["3", "2"]]


def test_ties_go_to_the_pair_with_the_smaller_numbers(tmp_path: Path) -> None:
    rows = [kinc(gene, 1, "0.9") for gene in range(40, 1, -1)]
    (tmp_path / "pairs.txt").write_text("".join(rows))
    table = look("scan", tmp_path)[1]
    assert [row[0] for row in table["rows"]] == [str(gene) for gene in range(2, 2 + LIMITS.rows)]


def test_a_large_answer_is_looked_at_through_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = module.Limits(lines=240, windows=8)
    monkeypatch.setattr(module, "LIMITS", small)
    rows = [kinc(gene, 1, f"{0.5 + (gene % 400) / 1000:.6f}") for gene in range(2, 2000)]
    (tmp_path / "pairs.txt").write_text("".join(rows))
    views = look("scan", tmp_path)
    assert [view["kind"] for view in views] == ["histogram"]
    assert "even sample" in views[0]["note"]
    assert 200 < sum(many for _, _, many in views[0]["bins"]) < 280
    assert len(views[0]["bins"]) <= small.bins


def test_a_join_shows_sides_and_differences(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text(
        "gene1\tgene2\tcluster\tside\tscore_a\tscore_b\tdifference\n"
        "2\t1\t1\tboth\t0.900000\t0.910000\t0.010000\n"
        "3\t1\t1\tleft\t0.800000\t\t\n"
        "3\t2\t1\tboth\t0.900000\t0.890000\t-0.010000\n"
        "4\t1\t1\tboth\tnan\t0.890000\tnan\n"
    )
    bars, histogram, table = look("join", tmp_path)
    assert bars["items"] == [["in both", 3], ["in the first only", 1]]
    assert sum(many for _, _, many in histogram["bins"]) == 2
    assert histogram["x"] == "second score less first"
    assert table["title"] == "Pairs whose scores differ most"
    assert table["rows"] == [
        ["2", "1", "1", "0.900000", "0.910000", "0.010000"],
        ["3", "2", "1", "0.900000", "0.890000", "\u22120.010000"],
    ]


def test_genes_are_shown_by_name_and_number(tmp_path: Path) -> None:
    (tmp_path / "genes.tsv").write_text("gene\tname\n1\tTP53\n2\tβ (2)\n3\tTP53\n")
    (tmp_path / "pairs.txt").write_text(kinc(3, 1, "0.9") + kinc(3, 2, "-0.8"))
    assert [row[:2] for row in look("scan", tmp_path)[1]["rows"]] == [
        ["TP53 (3)", "TP53 (1)"], ["TP53 (3)", "β (2) (2)"],
    ]  # fmt: skip
    (tmp_path / "pairs.tsv").write_text(
        "gene1\tgene2\tcluster\tside\tscore_a\tscore_b\tdifference\tname1\tname2\n"
        "2\t1\t1\tboth\t0.900000\t0.910000\t0.010000\tβ (2)\tTP53\n"
        "3\t1\t1\tleft\t0.800000\t\t\tTP53\tTP53\n"
    )
    assert look("join", tmp_path)[1]["rows"] == [
        ["β (2) (2)", "TP53 (1)", "1", "0.900000", "0.910000", "0.010000"]
    ]
    (tmp_path / "degrees.tsv").write_text(
        "gene\tin\tout\ttotal\tname\n1\t0\t1\t1\tTP53\n2\t1\t2\t3\tβ (2)\n"
    )
    assert look("degrees", tmp_path)[0]["rows"] == [["β (2) (2)", 1, 2, 3], ["TP53 (1)", 0, 1, 1]]


def test_communities_are_shown_with_the_names_of_their_first_genes(tmp_path: Path) -> None:
    rows = [(1, 1), (2, 1), (3, 3), (4, 4), (5, 4), *((gene, 1) for gene in range(6, 12))]
    (tmp_path / "communities.tsv").write_text(
        "gene\tcommunity\tname\n"
        + "".join(f"{gene}\t{community}\tG{gene}\n" for gene, community in rows)
    )
    _, table = look("communities", tmp_path)
    assert table["columns"][-1] == "its first genes"
    assert table["rows"] == [
        ["1", 8, "72.73 %", "G1, G2, G6, G7, G8, …"],
        ["4", 2, "18.18 %", "G4, G5"],
    ]


def test_degrees_show_the_distribution_and_the_hubs(tmp_path: Path) -> None:
    (tmp_path / "distribution.tsv").write_text(
        "degree\tin\tout\ttotal\n0\t3\t2\t1\n1\t1\t2\t2\n3\t0\t0\t1\n"
    )
    (tmp_path / "degrees.tsv").write_text(
        "gene\tin\tout\ttotal\n1\t0\t1\t1\n2\t1\t2\t3\n3\t0\t0\t0\n4\t1\t0\t1\n"
    )
    distribution, table = look("degrees", tmp_path)
    assert [series["name"] for series in distribution["series"]] == ["total", "in", "out"]
    assert distribution["series"][0]["points"] == [[1, 2], [3, 1]]
    assert "1 gene has no edge." in distribution["note"]
    assert table["rows"] == [["2", 1, 2, 3], ["1", 0, 1, 1], ["4", 1, 0, 1]]


def test_a_long_distribution_is_thinned_and_labelled_as_thinned(tmp_path: Path) -> None:
    rows = "".join(f"{degree}\t1\t1\t1\n" for degree in range(1, 5000))
    (tmp_path / "distribution.tsv").write_text(f"degree\tin\tout\ttotal\n{rows}")
    (distribution,) = look("degrees", tmp_path)
    points = distribution["series"][0]["points"]
    assert len(points) <= LIMITS.points
    assert points[0] == [1, 1]
    assert points[-1] == [4999, 1]
    assert "Only some of the points are drawn." in distribution["note"]


def test_communities_show_sizes_and_leave_lone_genes_out(tmp_path: Path) -> None:
    rows = [(1, 1), (2, 1), (3, 1), (4, 4), (5, 5), (6, 5)]
    (tmp_path / "communities.tsv").write_text(
        "gene\tcommunity\n" + "".join(f"{gene}\t{community}\n" for gene, community in rows)
    )
    bars, table = look("communities", tmp_path)
    assert bars["items"] == [["community 1", 3], ["community 5", 2]]
    assert "1 gene has no community with another gene." in bars["note"]
    assert table["rows"] == [["1", 3, "50.00 %"], ["5", 2, "33.33 %"]]


@pytest.mark.parametrize("workload", ["scan", "join", "degrees", "communities", "load", "other"])
@pytest.mark.parametrize("content", [None, b"", b"\n", b"x\ty\n1\n", b"\xff" + b"\t" * 10])
def test_an_unreadable_file_produces_no_preview_and_no_error(
    tmp_path: Path, workload: str, content: bytes | None
) -> None:
    if content is not None:
        for name in (
            "pairs.txt",
            "pairs.tsv",
            "degrees.tsv",
            "distribution.tsv",
            "communities.tsv",
        ):
            (tmp_path / name).write_bytes(content)
    assert look(workload, tmp_path) == []
