"""Depth of contigs and the components of their graph as pictures, small for any assembly."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import reportkit as kit
from cuesta.report.page import write
from cuesta.workloads.assembly import components, coverage
from cuesta.workloads.assembly.files import Files

Segment = tuple[int, float, float]
"""Bases, depth and GC of a segment."""


def answer(
    folder: Path,
    segments: Sequence[Segment],
    links: Sequence[str] = (),
    circles: Sequence[int] = (),
) -> Files:
    """Write an answer with a graph alone; a link has the form `1+ 2-`."""
    lines = ["H\tVN:Z:1.2"]
    for number, (length, depth, gc) in enumerate(segments, start=1):
        bases = "G" * round(length * gc) + "A" * (length - round(length * gc))
        shape = "\tTP:Z:circular" if number in circles else ""
        lines.append(f"S\tcontig_{number}\t{bases}\tLN:i:{length}\tKC:i:9\tDP:f:{depth}{shape}")
    for link in links:
        (source, source_strand), (target, target_strand) = (
            (end[:-1], end[-1]) for end in link.split()
        )
        lines.append(f"L\tcontig_{source}\t{source_strand}\tcontig_{target}\t{target_strand}\t30M")
    (folder / "graph.gfa").write_text("".join(f"{line}\n" for line in lines))
    (folder / "stats.json").write_text(json.dumps({"min_contig": 200, "levels": []}))
    return Files(folder, 8)


def only(views: list[dict[str, object]]) -> Any:
    (view,) = views
    assert json.loads(json.dumps(view)) == view
    return view


def test_points_are_depth_by_length_and_by_gc_in_groups(tmp_path: Path) -> None:
    contigs = [(9000, 40.0, 0.5), (4000, 80.0, 0.52), (5000, 160.0, 0.4), (300, 41.0, 0.5)]
    view = only(coverage.views(answer(tmp_path, contigs, ["1+ 2+"], [3])))
    by_length, by_gc = view["panels"]
    assert by_length["points"] == [
        [4000, 80, 1, 0], [9000, 40, 1, 0], [300, 41, 1, 1], [5000, 160, 1, 2],
    ]  # fmt: skip
    assert [52, 80, 1, 0] in by_gc["points"]
    assert by_gc["names"] == [["contig_2", 52, 80], ["contig_3", 40, 160]]
    assert "one point" not in view["note"]


def test_many_contigs_are_few_points_that_count_them_all(tmp_path: Path) -> None:
    chance = random.Random(1)
    many = [
        (200 + int(chance.expovariate(1 / 900)), chance.gauss(30, 4), chance.uniform(0.3, 0.6))
        for _ in range(3000)
    ]
    view = only(coverage.views(answer(tmp_path, many)))
    for panel in view["panels"]:
        assert len(panel["points"]) <= coverage.SPOTS_MAX
        assert sum(count for _, _, count, _ in panel["points"]) == 3000
    assert "3,000 contigs" in view["note"]
    assert len(json.dumps(view)) < 30_000


def test_a_single_contig_and_contigs_below_the_minimum_are_no_points(tmp_path: Path) -> None:
    assert coverage.views(answer(tmp_path, [(9000, 40.0, 0.5), (199, 40.0, 0.5)])) == []


def ends(line: list[Any]) -> tuple[tuple[int, int], tuple[int, int]]:
    x1, y1, _, _, x2, y2 = line[4]
    return (x1, y1), (x2, y2)


def test_a_chain_is_straight_and_its_segments_are_as_long_as_their_logarithms(
    tmp_path: Path,
) -> None:
    contigs = [(100_000, 40.0, 0.5), (1000, 40.0, 0.5), (10_000, 40.0, 0.5)]
    view = only(components.views(answer(tmp_path, contigs, ["1+ 2+", "2+ 3+"])))
    (panel,) = view["panels"]
    assert panel["title"] == "3\xa0segments, 111,000 bases"
    lengths = [math.dist(*ends(line)) for line in panel["lines"]]
    by_name = {line[0]: length for line, length in zip(panel["lines"], lengths, strict=True)}
    total = sum(lengths)
    assert by_name["contig_1"] / total == pytest.approx(4 / 9, abs=0.01)
    assert by_name["contig_2"] / total == pytest.approx(2 / 9, abs=0.01)
    assert panel["high"] < components.HIGH / 4


def test_segments_meet_where_links_are_on_whichever_strand(tmp_path: Path) -> None:
    """Two paths around a bubble, from the end of the first segment to that of the reversed last."""
    contigs = [(5000, 40.0, 0.5), (900, 20.0, 0.5), (800, 20.0, 0.5), (4000, 40.0, 0.5)]
    links = ["1+ 2+", "1+ 3-", "2+ 4-", "3- 4-"]
    (panel,) = only(components.views(answer(tmp_path, contigs, links)))["panels"]
    places = {line[0]: ends(line) for line in panel["lines"]}
    begin, end = places["contig_1"][1], places["contig_4"][1]
    assert begin != end
    assert places["contig_2"] == (begin, end)
    # Lines between the same places start at the same place, and bend apart.
    assert set(places["contig_3"]) == {begin, end}
    controls = {tuple(line[4][2:4]) for line in panel["lines"]}
    assert len(controls) == 4


def test_circles_are_rings_and_a_segment_linked_to_itself_is_a_loop(tmp_path: Path) -> None:
    contigs = [(9000, 40.0, 0.5), (5000, 90.0, 0.5), (3000, 40.0, 0.5), (100, 40.0, 0.5)]
    view = only(components.views(answer(tmp_path, contigs, ["2+ 2+", "3+ 3+"], [2])))
    loop, alone = view["panels"]
    assert [line[0] for line in loop["lines"]] == ["contig_3"]
    assert len(set(ends(loop["lines"][0]))) == 1
    ring, line = alone["lines"]
    assert (ring[0], line[0]) == ("contig_2", "contig_1")
    assert ring[3] > 0
    assert len(ring[4]) == 2
    assert alone["title"] == "2\xa0contigs without links, 14,000 bases"


def test_a_large_component_is_drawn_by_its_longest_segments_still_connected(
    tmp_path: Path,
) -> None:
    """A circle of long segments with a short one between any two."""
    contigs = [(200, 80.0, 0.5) if index % 2 else (5000 + index, 40.0, 0.5) for index in range(180)]
    links = [f"{index + 1}+ {(index + 1) % 180 + 1}+" for index in range(180)]
    (panel,) = only(components.views(answer(tmp_path, contigs, links)))["panels"]
    assert len(panel["lines"]) == components.LINES_MAX
    assert panel["title"].endswith("; the 90 longest are drawn")
    met: dict[tuple[int, int], int] = {}
    for line in panel["lines"]:
        for end in ends(line):
            met[end] = met.get(end, 0) + 1
    assert set(met.values()) == {2}


def test_the_picture_is_reproducible_and_within_its_frame(tmp_path: Path) -> None:
    chance = random.Random(5)
    contigs = [(chance.randrange(100, 90_000), chance.gauss(40, 9), 0.5) for _ in range(300)]
    links = {
        f"{chance.randint(1, 300)}{chance.choice('+-')} {chance.randint(1, 300)}"
        f"{chance.choice('+-')}"
        for _ in range(250)
    }
    view = only(components.views(answer(tmp_path, contigs, sorted(links))))
    assert view == only(components.views(Files(tmp_path, 8)))
    assert len(view["panels"]) <= components.COMPONENTS_MAX + 1
    for panel in view["panels"]:
        for *_, radius, places in panel["lines"]:
            if len(places) == 6 and places[:2] == places[4:]:
                del places[2:4]  # The control point of a loop; the loop ends before it.
            for x, y in zip(places[::2], places[1::2], strict=True):
                assert radius <= x <= components.SIDE - radius
                assert radius <= y <= panel["high"] - radius
    assert len(json.dumps(view)) < 30_000


def test_a_single_linear_segment_is_no_picture_and_a_single_circle_is(tmp_path: Path) -> None:
    assert components.views(answer(tmp_path, [(9000, 40.0, 0.5)])) == []
    assert len(components.views(answer(tmp_path, [(9000, 40.0, 0.5)], circles=[1]))) == 1


@pytest.mark.parametrize(
    "text",
    ["S\tcontig_2\tACGT\tDP:f:3\n", "S\tcontig_1\tACGT\n", "S\tcontig_1\n",
     "S\tcontig_1\tACGT\tDP:f:3\nL\tcontig_1\t+\tcontig_9\t+\t30M\n"],
)  # fmt: skip
def test_another_programs_graph_is_not_looked_at(tmp_path: Path, text: str) -> None:
    (tmp_path / "graph.gfa").write_text(text)
    with pytest.raises((ValueError, LookupError)):
        assert Files(tmp_path, 8).graph


def test_the_page_draws_points_names_lines_rings_and_sentences(tmp_path: Path) -> None:
    contigs = [(90_000, 40.0, 0.5), (4000, 80.0, 0.52), (5000, 160.0, 0.4), (300, 10.0, 0.3)]
    files = answer(tmp_path, contigs, ["1+ 2+"], [3])
    steps = {"kind": "list", "title": "What to do next", "items": [["Read <deeper>", "4 times."]]}
    preview = [*coverage.views(files), *components.views(files), steps]
    record = kit.assembly(preview=preview)
    html = write([kit.write_run(tmp_path / "a", record)], tmp_path / "r.html").read_text()
    assert html.count('class="point s1"') == html.count('class="point s2"') * 2 == 4
    assert html.count(">contig_3</text>") == 2
    assert "<title>contig_3: 5,000 bases, depth 160</title>" in html
    assert len(re.findall(r'<circle [^>]*class="strand p2"', html)) == 1
    assert len(re.findall(r'<path [^>]*class="strand p[12]"', html)) == 2
    assert 'viewBox="0 0 1000 ' in html
    assert "<dt>Read &lt;deeper&gt;</dt><dd>4 times.</dd>" in html
    assert html.count('class="panels of-2"') == 2


@pytest.mark.parametrize(
    "view",
    [
        {"kind": "scatter", "panels": [{"points": [[1, 0, 1, 0], ["a", 1, 1, 0], [1, 2]]}]},
        {"kind": "scatter", "groups": ["a"], "panels": [{"points": [[1, 2, 1, 7]]}]},
        {"kind": "scatter", "groups": 3, "panels": 4},
        {"kind": "graph", "panels": [{"lines": [["a", 1, 2, 0, [1, 2]], [], 3]}]},
        {"kind": "graph", "panels": {}},
        {"kind": "list", "items": [["a"], 3]},
    ],
)
def test_a_damaged_preview_is_no_picture(tmp_path: Path, view: dict[str, object]) -> None:
    record = kit.assembly(preview=[view | {"title": "Odd one"}])
    html = write([kit.write_run(tmp_path / "a", record)], tmp_path / "r.html").read_text()
    assert "Odd one" not in html
