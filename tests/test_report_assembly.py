"""An assembly on a page: the spectrum with its fit, contigs by length; never a reason to fail."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reportkit as kit
from cuesta.report.page import write
from cuesta.workloads.preview import LIMITS, preview

LENGTHS = (9000, 5000, 3000, 2000, 1000)
FIT = {"min_count": 5, "depth": 30.0, "deviation": 5.0, "genome_size": 19_876, "error_rate": 0.004}


def level(**changes: Any) -> dict[str, Any]:
    rounds = [{"tips": 8, "islands": 1, "bubbles": 2, "connections": 0}]
    fields = {"k": 31, "min_count": 5, "fit": FIT, "distinct": 700, "solid": 600, "unitigs": 17}
    return fields | {"rounds": rounds} | changes


def spectrum() -> dict[int, int]:
    """A spectrum of errors, a peak at 30, and a k-mer of a repeat."""
    bell = {x: round(1000 * math.exp(-(((x - 30) / 5) ** 2) / 2)) for x in range(12, 49)}
    return {1: 90_000, 2: 4000, 3: 200, 4: 10} | bell | {900: 1}


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    """The files of an answer, with contigs not ordered by length."""
    write_spectrum(tmp_path, spectrum())
    write_contigs(tmp_path, (5000, 9000, 1000, 3000, 2000))
    (tmp_path / "stats.json").write_text(json.dumps({"levels": [level()]}))
    return tmp_path


def write_spectrum(folder: Path, kmers_by_count: dict[int, int]) -> None:
    rows = "".join(f"{count}\t{kmers}\n" for count, kmers in kmers_by_count.items())
    (folder / "spectrum.tsv").write_text("count\tkmers\n" + rows)


def write_contigs(folder: Path, lengths: tuple[int, ...]) -> None:
    with (folder / "contigs.fa").open("w") as out:
        for number, length in enumerate(lengths, start=1):
            mark = " circular=true" if number == 2 else ""
            head = f">contig_{number} length={length} depth={number}.5{mark}"
            out.write(f"{head}\n{'A' * length}\n")


def look(folder: Path) -> list[dict[str, Any]]:
    views = preview("assemble", folder, {})
    assert len(views) <= LIMITS.views
    assert json.loads(json.dumps(views)) == views
    return views


def titles(folder: Path) -> list[str]:
    return [view["title"].split(",")[0].split(" of ")[0] for view in look(folder)]


def test_the_spectrum_has_cutoff_peak_and_estimates(answer: Path) -> None:
    view = look(answer)[0]
    assert view["marks"] == [{"text": "cutoff 5", "x": 5}, {"text": "peak 30.0", "x": 30.5}]
    assert "so the genome has about 19,900 bases." in view["note"]
    assert "About one base in 250 of the reads is wrong." in view["note"]
    distinct = sum(spectrum().values())
    assert f"Of {distinct:,} distinct k-mers, 94,210 were taken for errors." in view["note"]
    assert "Not drawn are 1 seen 76 times or more" in view["note"]
    assert [low for low, _, _ in view["bins"]] == list(range(1, 76))


def test_the_curve_of_the_fit_is_on_the_peak_and_holds_its_kmers(answer: Path) -> None:
    points = look(answer)[0]["line"]["points"]
    middle, height = max(points, key=lambda point: point[1])
    assert middle == pytest.approx(30.5)
    assert height == pytest.approx(1000, rel=0.01)
    step = points[1][0] - points[0][0]
    peak = sum(many for count, many in spectrum().items() if 12 <= count < 900)
    assert step * sum(y for _, y in points) == pytest.approx(peak, rel=0.01)


def test_bars_of_errors_are_cut_off_above_the_peak(answer: Path) -> None:
    view = look(answer)[0]
    assert 1000 < view["top"] < 1300
    assert "cut off" in view["note"]


def test_a_deep_spectrum_has_bars_of_several_counts_that_begin_at_the_cutoff(
    answer: Path,
) -> None:
    deep = {"min_count": 7, "fit": FIT | {"min_count": 7, "depth": 400.0, "deviation": 60.0}}
    (answer / "stats.json").write_text(json.dumps({"levels": [level(**deep)]}))
    write_spectrum(answer, dict.fromkeys(range(1, 1200), 100))
    view = look(answer)[0]
    assert len(view["bins"]) <= LIMITS.bins + 1
    assert 7 in {low for low, _, _ in view["bins"]}
    assert view["bins"][0][0] == 1
    assert all(mean == 100 for _, _, mean in view["bins"])
    assert "A bar is the mean of 13 counts." in view["note"]


def test_a_spectrum_without_a_peak_is_points_and_no_estimate(answer: Path) -> None:
    (answer / "stats.json").write_text(
        json.dumps({"levels": [level(min_count=2, fit=FIT | {"depth": 0.0})]})
    )
    view = look(answer)[0]
    assert view["kind"] == "distribution"
    assert "bases" not in view["note"]


def test_many_genomes_have_no_common_size(answer: Path) -> None:
    view = preview("assemble", answer, {"profile": "metagenome"})[0]
    assert view["kind"] == "distribution"
    assert "There is no one peak" in str(view["note"])


def test_circles_are_listed_with_their_size_and_copies(answer: Path) -> None:
    """A contig of the graph, and a scaffold of a circle that the graph has not closed.

    One copy is as deep as contigs of 1,000 bases in `contigs.fa`, as in `replicons.tsv`.
    """
    segments = "".join(
        f"S\tcontig_{number}\t{'A' * length}\tLN:i:{length}\tKC:i:1\tDP:f:{depth}{circle}\n"
        for number, length, depth, circle in [
            (1, 9000, 2.0, ""), (2, 5000, 9.0, "\tTP:Z:circular"), (3, 3000, 5.0, "")
        ]
    )  # fmt: skip
    paths = "P\tscaffold_1\tcontig_1+;contig_3+\t40J\nP\tscaffold_3\tcontig_3+\t*\tTP:Z:circular\n"
    (answer / "graph.gfa").write_text(f"H\tVN:Z:1.2\n{segments}{paths}")
    heads = {1: " gaps=1", 3: " gaps=0 circular=true"}
    (answer / "scaffolds.fa").write_text(
        "".join(f">scaffold_{number} length=3000 depth=5.0{more}\n{'A' * 3000}\n"
                for number, more in heads.items())
    )  # fmt: skip
    stats = {"levels": [level()], "min_contig": 200}
    (answer / "stats.json").write_text(json.dumps(stats))
    (table,) = [view for view in look(answer) if view["title"] == "Circular replicons"]
    assert table["rows"] == [["contig_2", 9000, 2.5, 1.0], ["scaffold_3", 3000, 5.0, 2.0]]


def test_libraries_are_listed_with_the_orientation_of_their_reads(answer: Path) -> None:
    libraries = [
        {"orientation": "fr", "insert": 300.0, "deviation": 20.0, "pairs": 5000},
        {"orientation": "rf", "insert": 2500.0, "deviation": 90.5, "pairs": 1200},
    ]
    stats = {"levels": [level()], "scaffolds": {"libraries": libraries}}
    (answer / "stats.json").write_text(json.dumps(stats))
    (table,) = [view for view in look(answer) if view["title"] == "Libraries of read pairs"]
    assert table["rows"] == [
        ["to each other (fr)", 300.0, 20.0, 5000], ["away from each other (rf)", 2500.0, 90.5, 1200]
    ]  # fmt: skip


def test_contigs_lie_side_by_side_with_n50_and_aun(answer: Path) -> None:
    view = look(answer)[1]
    assert [high - low for low, high, _ in view["bins"]] == list(LENGTHS)
    assert [height for _, _, height in view["bins"]] == list(LENGTHS)
    assert view["marks"] == [
        {"text": "N50 5,000", "x": 10_000, "y": 5000},
        {"text": "auN 6,000", "y": 6000},
    ]
    assert look(answer)[2]["rows"][0] == ["contig_2", 9000, 2.5, "circular"]


def test_narrow_contigs_are_drawn_together_over_the_same_area(answer: Path) -> None:
    lengths = (50_000, *range(900, 200, -1))
    write_contigs(answer, lengths)
    view = look(answer)[1]
    assert len(view["bins"]) <= LIMITS.bins + 1
    assert view["bins"][-1][1] == sum(lengths)
    area = sum((high - low) * height for low, high, height in view["bins"])
    assert area == pytest.approx(sum(length * length for length in lengths), rel=1e-3)
    assert "drawn together" in view["note"]


def test_a_single_contig_is_no_curve(answer: Path) -> None:
    write_contigs(answer, (10_000,))
    assert titles(answer) == ["How often 31-mers were seen", "Largest contigs", "By size"]


SPECTRUM, CURVE, TABLE, LEVELS = (
    "How often 31-mers were seen", "Contigs", "Largest contigs", "By size"
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("spectrum.tsv", [CURVE, TABLE, LEVELS]),
        ("contigs.fa", [SPECTRUM, LEVELS]),
        ("stats.json", [CURVE, TABLE]),
    ],
)
@pytest.mark.parametrize(
    "harm",
    [Path.unlink, lambda path: path.write_text("{}\nx"), lambda path: path.write_text("[]")],
)
def test_a_missing_or_damaged_file_removes_only_its_pictures(
    answer: Path, name: str, left: list[str], harm: Callable[[Path], Any]
) -> None:
    assert titles(answer) == [SPECTRUM, CURVE, TABLE, LEVELS]
    harm(answer / name)
    assert titles(answer) == left


def test_contigs_cut_short_are_not_drawn(answer: Path) -> None:
    text = (answer / "contigs.fa").read_text()
    (answer / "contigs.fa").write_text(text.replace("A" * 5000, "A" * 4000, 1))
    assert titles(answer) == [SPECTRUM, LEVELS]


def test_the_page_draws_fit_marks_and_colours(tmp_path: Path) -> None:
    html = write([kit.write_run(tmp_path / "a", kit.assembly())], tmp_path / "r.html").read_text()
    for label in ("cutoff 4", "peak 17.0", "N50 1,967", "auN 2,374"):
        assert f">{label}</text>" in html
    assert html.count('class="bin under"') == 3
    assert html.count('class="curve fit"') == len(kit.SPECTRUM["line"]["points"]) - 1
    assert html.count('class="spot"') == 1
    keys = re.findall(r'<span class="swatch (\w+)"></span>([^<]*)', html)
    assert [tone for tone, _ in keys][:3] == ["under", "bin", "fit"]
    assert "<title>1: 1.541M distinct k-mers</title>" in html
    assert "Marked: N50 1,967, auN 2,374." in html


def test_invisible_colours_have_no_key(tmp_path: Path) -> None:
    wide = kit.SPECTRUM | {"bins": [[1, 2, 71], [2, 1000, 5]], "split": 2}
    record = kit.assembly(preview=[wide])
    html = write([kit.write_run(tmp_path / "a", record)], tmp_path / "r.html").read_text()
    assert 'swatch under"' not in html
    assert 'swatch fit"' in html


def test_what_vertex_programs_took_is_a_table(answer: Path) -> None:
    traffic = {"chains": {"supersteps": 14, "messages": 5000, "bytes": 313_376}}
    (answer / "stats.json").write_text(json.dumps({"levels": [level(traffic=traffic), level()]}))
    table = look(answer)[-1]
    assert table["title"] == "What the vertex programs took"
    assert table["columns"] == ["k", "work", "supersteps", "messages", "bytes"]
    assert table["rows"] == [["31", "chains", 14, 5000, 313_376]]


def test_what_the_first_stage_of_the_paper_would_have_moved_is_shown_with_what_was_moved(
    answer: Path,
) -> None:
    first = {"pairs": 900, "pair_bytes": 57_600, "vertices": 400, "edges": 450,
             "adjacency_bytes": 27_200}  # fmt: skip
    stats = {"levels": [level(first_stage=first, bucket_bytes=1234)]}
    (answer / "stats.json").write_text(json.dumps(stats))
    assert "Bytes of the paper's first stage" not in titles(answer)
    (answer / "unitigs.fa").write_text(">0\nACGT\n")
    table = look(answer)[-1]
    assert table["title"] == "Bytes of the paper's first stage"
    assert table["rows"] == [["from map to reduce", 57_600, 1234], ["graph written", 27_200, 8]]
    assert "900 pairs" in table["note"]
    assert "400 k-mers" in table["note"]
