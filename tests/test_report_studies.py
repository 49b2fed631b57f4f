"""The page of a study: its content and order, and its warnings."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import studypagekit as kit
from cuesta.errors import InputError
from cuesta.numerals import MINUS
from cuesta.report import scales, write_any
from cuesta.report.blocks import Panels
from cuesta_lab.report import studies, write_study
from cuesta_lab.report.studies import StudyPage
from cuesta_lab.report.studies.measure import Measure
from cuesta_lab.report.studies.reading import to_study


def page_of(study_result: kit.Result) -> StudyPage:
    return studies.made(to_study(study_result, lambda place: None))


def html_of(folder: Path, study_result: kit.Result) -> str:
    return write_study(kit.write(folder, study_result), folder / "report.html").read_text("utf-8")


def test_verdicts_come_first_and_all_views_after_them(tmp_path: Path) -> None:
    html = html_of(tmp_path, kit.loading())
    places = [
        html.index(words)
        for words in (
            "<h1",
            "When does loading",
            'class="verdicts"',
            "Time of a question",
            "Where the time goes",
            "From nothing to the answer",
            "What is missing",
            "Every combination",
            "Provenance",
        )
    ]
    assert places == sorted(places)


def test_a_verdict_has_a_word_a_sign_and_the_figures_of_the_paper() -> None:
    page = page_of(kit.loading())
    signs = [(row.verdict, row.sign, row.tone) for row in page.verdicts]
    assert signs == [
        ("holds", "\u2713", "holds"),
        ("does not hold", "\u2717", "fails"),
        ("cannot be tested", "\u2013", "untested"),
        ("undecided", "?", "undecided"),
    ]
    assert page.verdicts[0].figures == "Figure\u00a02 and Figure\u00a07 of\u00a0000"
    assert page.verdicts[0].parts[0].words == "6.2\u00d7 (6.0 to 6.5)"
    summary = "Of 4 findings 1 holds, 1 does not hold, 1 cannot be tested here and 1 is undecided."
    assert page.summary == summary
    assert page_of(kit.loading(claims=[kit.CLAIMS[1]] * 3)).summary == "None of 3 findings holds."
    single = page_of(kit.loading(claims=kit.CLAIMS[:1])).summary
    assert single == "The one finding looked at holds."


def test_the_last_part_of_a_trend_is_that_of_the_complete_trend() -> None:
    steps = [("300k", 2.0), ("1M", 3.0), ("1M", 6.0)]
    parts = [
        {"levels": {"size": name}, "verdict": "undecided", "ratio": {"median": ratio}}
        for name, ratio in steps
    ]
    claim = kit.CLAIMS[0] | {"trend": "rises", "parts": parts}
    (row,) = page_of(kit.loading(claims=[claim])).verdicts
    assert [part.where for part in row.parts] == ["300k", "1M", "in all"]
    assert {part.sign for part in row.parts} == {"?"}


def test_a_power_is_shown_as_a_power_with_its_interval_also_below_zero() -> None:
    ratios = [(0.17, -0.04, 0.38), (-0.13, -0.54, 0.28)]
    parts = [
        {"levels": {}, "holds": False, "ratio": {"median": median, "low": low, "high": high}}
        for median, low, high in ratios
    ]
    claim = kit.CLAIMS[1] | {"exponent": [1.2, 4], "parts": parts}
    (row,) = page_of(kit.loading(claims=[claim])).verdicts
    assert [part.words for part in row.parts] == [
        f"power 0.17 ({MINUS}0.040 to 0.38)",
        f"power {MINUS}0.13 ({MINUS}0.54 to 0.28)",
    ]


def test_panels_share_their_axes_and_draw_intervals(tmp_path: Path) -> None:
    html = html_of(tmp_path, kit.loading())
    view = html[html.index("Time of a question") : html.index("Where the time goes")]
    panels = view.split("<figure>")[1:]
    assert len(panels) == 2
    ticks = [re.findall(r'class="tick"[^>]*>([^<]+)<', panel) for panel in panels]
    assert ticks[0] == ticks[1]
    assert all("whisker" in panel for panel in panels)
    assert "3M: 5.01" in view


def test_a_factor_that_a_view_does_not_name_splits_its_panels() -> None:
    views = [{"title": "x", "kind": "lines", "across": "size", "curves": "tool"}]
    page = page_of(kit.loading(views=views))
    (block,) = page.views[0].blocks
    assert isinstance(block, Panels)
    assert [item.heading for item in block.items] == ["warm", "cold"]


def test_a_study_without_views_is_drawn_over_its_first_factor_with_values() -> None:
    page = page_of(kit.loading(views=[]))
    assert [part.title for part in page.views] == ["Time of the work"]
    assert len(page.views[0].blocks) == 1


def test_a_view_without_measurements_is_marked() -> None:
    views = [{"title": "Pages", "kind": "lines", "across": "size", "measure": "count pages"}]
    page = page_of(kit.loading(views=views))
    assert page.views[0].aside == ("Nothing was measured of this.",)


def test_omissions_and_failures_are_listed_with_the_reason(tmp_path: Path) -> None:
    html = html_of(tmp_path, kit.loading())
    assert "needs 30 GB of disk" in html
    assert "the process was killed (signal 9)" in html
    assert "1\u00a0run failed" in html


def test_only_a_grave_alarm_that_spoils_figures_stamps_the_page(tmp_path: Path) -> None:
    grave = {"rule": "verification", "text": "2 runs were not verified", "grave": True}
    other = {"rule": "factors", "text": "the load was high", "grave": False}
    assert page_of(kit.loading(alarms=[other])).stamp == ""
    html = html_of(tmp_path, kit.loading(alarms=[grave, other]))
    assert "Not comparable" in html
    assert "2 runs were not verified" in html
    assert "the load was high" in html


def test_a_phase_without_communication_that_grows_under_weak_scaling_is_an_alert() -> None:
    assert page_of(kit.scaling("strong")).alerts == ()
    (alert,) = page_of(kit.scaling("weak")).alerts
    assert alert.text.startswith("`generate` needs no communication, yet takes longer the more")
    assert "1.5\u00d7 at 8 against 1 (tasks, lazy)" in alert.text
    assert "and less in 4 more. They share" in alert.text


def test_cost_is_described_in_words() -> None:
    page = page_of(kit.scaling("strong"))
    assert page.views[0].aside[0] == (
        "COST, cached: to be faster than kernel with 1, ranks needs 2 and tasks needs 8 cores."
    )
    assert page_of(kit.scaling("weak")).views[0].aside == ()


def test_a_time_line_has_strips_over_phases_and_stages(tmp_path: Path) -> None:
    folder = kit.timelines(tmp_path, 5)
    html = write_study(folder, tmp_path / "page.html").read_text("utf-8")
    charts = re.findall(r'<svg class="chart plot strips".*?</svg>\n</figure>', html, re.DOTALL)
    assert len(charts) == 2
    for title in ("processor, cores busy", "memory of the run, MiB", "devices, MiB/s",
                  "devices, requests/s", "time with a task waiting for I/O, %", "phases",
                  "networks, MiB/s", "stages"):  # fmt: skip
        assert title in charts[0]
    assert "mapPartitions at Job.scala:40: 2.16\u00a0s, 4\u00a0tasks" in charts[0]
    assert "All have the same axes." in html


def test_panels_have_the_same_strips_though_a_run_left_the_device_alone(tmp_path: Path) -> None:
    folder = kit.timelines(tmp_path)
    for file in tmp_path.glob("runs/memory/*/run.json"):
        record = json.loads(file.read_text("utf-8"))
        del record["timeline"]["devices"]
        file.write_text(json.dumps(record), "utf-8")
    html = write_study(folder, tmp_path / "page.html").read_text("utf-8")
    assert html.count(">devices, MiB/s<") == 2


def test_many_stages_are_packed_and_the_longest_listed(tmp_path: Path) -> None:
    folder = kit.timelines(tmp_path, 60, ("vda", "vdb", "vdc", "vdd"), 9)
    html = write_study(folder, tmp_path / "page.html").read_text("utf-8")
    assert "60 stages" in html
    assert "The longest stages" in html
    assert "Each has its own axis of time." in html
    # The three devices with the most traffic.
    assert "vdc read" in html
    assert "vdd read" not in html


def test_a_time_line_without_records_is_marked(tmp_path: Path) -> None:
    views = [{"title": "Time line", "kind": "timeline", "across": "size"}]
    page = page_of(kit.loading(views=views))
    assert page.views[0].aside == ("No record of these runs has a time line here.",)


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"seconds": [1, 2]},
        {"seconds": [1, 2], "machine": {"user_seconds": [1]}, "devices": [], "networks": 5},
        {
            "seconds": [0, 0],
            "machine": {"user_seconds": [None, -4]},
            "tree": {"resident_bytes": [1e40, "x"]},
        },
        {"seconds": "x", "devices": {"a": {"read_bytes": [1]}}},
        {"seconds": [3, 1, 2], "pressure": {"io_some_seconds": [5, 9, 7]}},
        {"seconds": [1, 2], "devices": {kit.MARKUP: {"reads": [1, 2], "read_bytes": [0, 1]}}},
    ],
)
def test_a_time_line_with_holes_is_no_error(tmp_path: Path, line: dict[str, Any]) -> None:
    folder = kit.timelines(tmp_path)
    for file in tmp_path.glob("runs/*/*/run.json"):
        record = json.loads(file.read_text("utf-8")) | {"timeline": line}
        record |= {"stages": [{"name": kit.MARKUP * 9, "began": -5, "seconds": -1}, 5, {}]}
        file.write_text(json.dumps(record), "utf-8")
    html = write_study(folder, tmp_path / "page.html").read_text("utf-8")
    assert "Provenance" in html
    assert "<script" not in html


def test_an_axis_over_levels_is_logarithmic_where_they_are_geometric() -> None:
    assert scales.over([(1, "1"), (2, "2"), (4, "4"), (8, "8")], 300).log
    assert not scales.over([(1, "1"), (2, "2"), (3, "3"), (4, "4")], 300).log
    assert not scales.over([(0, "0"), (10, "10"), (100, "100")], 300).log
    crowded = scales.over([(float(number), "long label") for number in range(1, 30)], 300)
    assert crowded.ticks[0].value == 1
    assert len(crowded.ticks) < 5


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (3, 40, [2, 5, 10, 20, 50]),
        (0.09, 8, [0.1, 1, 10]),
        (7, 7, [5, 10]),
        (1, 1e6, [1, 100, 1e4, 1e6]),
    ],
)
def test_a_geometric_axis_ends_near_its_values(low: float, high: float, ticks: list[float]) -> None:
    axis = scales.geometric(low, high, str)
    assert [tick.value for tick in axis.ticks] == pytest.approx(ticks)
    assert axis.low <= low
    assert axis.high >= high


@pytest.mark.parametrize(
    "change",
    [
        {"cells": []},
        {"factors": [], "cells": [kit.cell({}, {"work": [1.0]})]},
        {"cells": [kit.cell({"size": "1M"}, {"work": [0.0, 0.0]})]},
        {"views": [{"kind": "pie", "across": 7, "where": "x"}], "claims": ["x", {}]},
        {"file": None, "phases": "x", "alarms": {}, "machine": None, "versions": []},
        {"cells": [kit.cell({"size": "1M"}, {"work": ["x", None], "phase x": [1e99]})]},
    ],
)
def test_a_result_with_holes_still_makes_a_page(tmp_path: Path, change: dict[str, Any]) -> None:
    study_result = kit.loading() | {"views": []} | change
    assert "Provenance" in html_of(tmp_path, study_result)
    views = [{"kind": kind, "across": "size"} for kind in ("bars", "stack", "efficiency", "lines")]
    assert "Provenance" in html_of(tmp_path, study_result | {"views": views})


def test_markup_in_a_result_remains_text(tmp_path: Path) -> None:
    study_result = kit.hostile()
    html = html_of(tmp_path, study_result)
    assert "<script" not in html
    assert "<img" not in html


def test_a_stored_result_without_its_runs_makes_a_page_too(tmp_path: Path) -> None:
    folder = kit.write(tmp_path / "kept", kit.loading())
    file = (folder / "study.json").rename(folder / "loading.json")
    html = write_any([file], tmp_path / "page.html").read_text("utf-8")
    assert "Loading against in situ" in html


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    assert html_of(tmp_path, kit.loading()) == html_of(tmp_path, kit.loading())


def test_a_folder_without_a_study_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"study\.json"):
        studies.read(tmp_path)
    kit.write(tmp_path, {"schema": "cuesta.study/9"})
    with pytest.raises(InputError, match="schema cuesta"):
        studies.read(tmp_path)


@pytest.mark.parametrize(
    ("name", "title", "words", "unit"),
    [
        ("work", "time of the work", "2.50\u00a0s", "s"),
        ("peak", "peak memory", "2\u00a0bytes", "bytes"),
        ("phase load", "time of load", "2.50\u00a0s", "s"),
        ("rate read", "rate of read", "2\u00a0bytes/s", "bytes/s"),
        ("count contigs", "contigs", "2.50", ""),
        ("log shuffle_write_bytes", "shuffle write", "2\u00a0bytes", "bytes"),
        ("log run_seconds", "run", "2.50\u00a0s", "s"),
        ("machine iowait_seconds/s", "time of cores waiting for I/O, per second", "2.50", ""),
        ("device written_bytes/s", "written to devices, per second", "2\u00a0bytes/s", "bytes/s"),
        ("device reads", "requests to read", "2.50", ""),
    ],
)
def test_a_measure_is_written_in_its_unit(name: str, title: str, words: str, unit: str) -> None:
    measure = Measure(name=name)
    assert (measure.title, measure.words(2.5), measure.axis([2.5])[0]) == (title, words, unit)


REAL = """
title = "Sorting in more and in less memory"
question = "What does a sort cost that goes through the disk?"
workload = "sort"
repeats = 3
phases = ["read", "sort", "spill", "merge", "write"]

[settings]
inputs = ["rows"]
cores = 1

[[input]]
name = "rows"
make = "tera"
rows = 500000

[[factor]]
name = "memory"
title = "memory"
unit = "MiB"
levels = [
    { name = "96", value = 96, memory = "96MiB" },
    { name = "1024", value = 1024, memory = "1GiB" },
]

[[view]]
title = "Time"
across = "memory"

[[view]]
title = "Over time"
kind = "timeline"
across = "memory"

[[view]]
title = "Phases"
kind = "stack"
across = "memory"

[[claim]]
name = "less-memory-costs"
finding = "A sort through the disk takes longer."
expected = "The same, by less: the disk is cached."
measure = "phase read"
over = "memory"
trend = "falls"
"""


def test_a_study_that_was_run_has_all_parts_of_its_page(tmp_path: Path) -> None:
    file = tmp_path / "sorting.toml"
    file.write_text(REAL, "utf-8")
    # In a separate process: trials inherit the memory of the process that runs the study.
    words = ["-m", "cuesta", "study", "run", str(file), "-o", str(tmp_path / "out")]
    subprocess.run([sys.executable, *words], check=True)
    page = studies.made(studies.read(tmp_path / "out"))
    assert [part.title for part in page.views] == ["Time", "Over time", "Phases"]
    assert all(part.blocks for part in page.views)
    assert page.marks[0].tone == "good"
    assert page.verdicts[0].result
    html = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "processor, cores busy" in html
