"""Pages from run records: complete, escaped, deterministic, and loud about faults."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import reportkit as kit
from cuesta.cli.app import call
from cuesta.errors import InputError
from cuesta.report import render, write
from cuesta.report.alarms import alarms
from cuesta.report.findings import find, machines_to_draw_level
from cuesta.report.records import Group, group, read_groups, to_run
from cuesta_lab.report.explain import lines

VOID = {"meta", "img", "br", "link", "input", "hr"}


class Outline(HTMLParser):
    """The structure of a page: its tags balanced, its text, its ids, its links."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "title", "desc"} & set(self.open[1:]):
            self.texts.append(data)

    @property
    def text(self) -> str:
        plain = " ".join(self.texts).replace("\u00a0", " ").replace("\u00d7", "x")
        return " ".join(plain.split())

    def values(self, name: str) -> list[str]:
        return [str(fields[name]) for _, fields in self.tags if name in fields]


def runs_of(*records: kit.Record) -> Sequence[Group]:
    return group([to_run(record, f"{index}/run.json") for index, record in enumerate(records)])


def page(*records: kit.Record) -> Outline:
    return Outline(render(runs_of(*records)))


def alarm_texts(*records: kit.Record) -> list[str]:
    (runs,) = runs_of(*records)
    return [alarm.text for alarm in alarms(runs, find(runs))]


MINIMAL: dict[str, Any] = {"schema": "cuesta.run/1"}


def test_the_records_of_these_tests_follow_the_schema() -> None:
    for record in (kit.native(), kit.spark(), kit.array(), kit.degrees(), kit.communities(),
                   kit.assembly()):  # fmt: skip
        jsonschema.validate(record, kit.SCHEMA)


def test_the_first_lines_name_who_won_by_how_much_and_what_for() -> None:
    text = page(kit.native(), kit.spark(), kit.array()).text
    assert "Which gene pairs of clusters.475.txt have an absolute score of at least 0.8" in text
    assert "5,220 of 2.06 million gene pairs pass (0.25 %)." in text
    assert "13x faster than spark and 2.6x faster than array" in text
    assert "With starting up and loading counted it is 37x faster than spark and 136x" in text
    assert "All three answers are equal (digest 04551f43…) and verified by another method" in text
    assert "ran at 0.82 of the rate at which this machine can read a file that is in memory" in text
    assert "You do not need a cluster for this." in text
    assert "longer than native needed for everything" in text


def test_all_measured_numbers_are_on_the_page() -> None:
    text = page(kit.native(), kit.spark(), kit.array()).text
    for expected in (
        "173 ms",
        "2.33 s",
        "454 ms",
        "4.09 s",
        "22.0 s",
        "166 ms to 180 ms",
        "98 % confidence",
        "7 samples",
        "39.3 MiB",
        "1.22 GiB",
        "775 MiB",
        "311 ms",
        "692 KiB",
        "6.00 GiB/s of 7.36 GiB/s",
        "0.062",
        "212 Gflop/s",
        "2,059,315",
        "04551f43b254d4d7d7c1c64212a7e447",
        "8.00 GiB",
        "local[2]",
        "Intel(R) Xeon(R) Platinum 8581C CPU @ 2.10GHz",
        "Linux 6.1.0-32-amd64",
        "2026-11-21 09:32:14 UTC",
        "4.3.0",
        "0.36.1",
        "cuesta compare scan data/clusters.475.txt --min-abs-score 0.8",
        "every input line read with the standard library and digested",
        "0.998120",
    ):
        assert expected in text, expected


def test_the_page_is_complete_well_formed_and_self_contained() -> None:
    html = render(runs_of(kit.native(), kit.spark(), kit.array(), kit.degrees()))
    outline = Outline(html)
    identifiers = outline.values("id")
    assert len(identifiers) == len(set(identifiers))
    assert {value[1:] for value in outline.values("href")} <= set(identifiers)
    assert all(value.startswith("#") for value in outline.values("href"))
    assert not outline.values("src")
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in outline.tags}
    assert "url(" not in html
    assert "@import" not in html
    assert "http" not in re.sub(r"<meta http-equiv=[^>]*>", "", html)


def test_pictures_are_named_and_tables_have_scopes() -> None:
    outline = page(kit.native(), kit.spark(), kit.array())
    charts = [fields for tag, fields in outline.tags if tag == "svg" and "role" in fields]
    identifiers = set(outline.values("id"))
    assert len(charts) >= 5
    for chart in charts:
        assert set(str(chart["aria-labelledby"]).split()) <= identifiers
    assert all(fields.get("scope") in ("row", "col") for tag, fields in outline.tags if tag == "th")


def test_the_same_records_give_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    folder = kit.write_comparison(tmp_path / "a", [kit.native(), kit.spark(), kit.array()])
    first = write([folder], tmp_path / "1.html").read_bytes()
    assert write([folder], tmp_path / "2.html").read_bytes() == first
    assert call(["report", str(folder), "-o", str(tmp_path / "3.html")]) == 0
    assert (tmp_path / "3.html").read_bytes() == first


def test_a_record_with_nothing_in_it_still_makes_a_page() -> None:
    text = page(MINIMAL).text
    assert "What does unnamed say about its input?" in text
    assert "NOT VERIFIED" in text
    assert "You do not need a cluster" not in text


@pytest.mark.parametrize("wrong", [None, 7, "text", [], [[]], {"a": []}, -1, 1e300, True, [None]])
def test_a_field_of_a_wrong_type_is_as_good_as_missing(wrong: object) -> None:
    for name in kit.native():
        if name != "schema":
            record = kit.native(2) | {name: wrong}
            assert page(record, kit.spark()).text
            assert list(lines(runs_of(record)[0]))


def test_markup_in_any_text_of_a_record_remains_text() -> None:
    html = render(runs_of(kit.hostile()))
    outline = Outline(html)
    assert "<script" not in html
    assert "<img" not in html
    assert kit.MARKUP in outline.text


def test_many_samples_and_phases_stay_readable() -> None:
    phases = {f"step{index:02}": 0.01 + index / 1000 for index in range(40)}
    times = kit.timings(phases, 2000)
    html = render(runs_of(kit.record("native", times, 5 << 20)))
    assert len(html) < 100_000
    assert "step39" in html
    assert "1,000 samples" in Outline(html).text


def test_workloads_get_a_section_each_and_a_line_of_contents() -> None:
    outline = page(kit.native(), kit.degrees(), kit.communities())
    assert outline.values("href") == ["#q1", "#q2", "#q3"]
    assert "How many partners has each gene in the network of clusters.475.txt" in outline.text
    assert "5,387 of 6,830 genes have at least one of the 41,220 edges" in outline.text
    assert "belong together, as connected components" in outline.text
    assert "5 communities hold 4,060 of 6,830 genes; the largest has 3,811." in outline.text
    assert "names" not in outline.text


def test_runs_of_the_same_question_share_a_section_and_get_distinct_labels() -> None:
    other = kit.native(threads=1)
    (runs,) = runs_of(kit.native(), other, kit.native(), kit.spark())
    assert runs.labels == (
        "native, 2 threads",
        "native, 1 thread",
        "native, 2 threads (2)",
        "spark",
    )
    other["parameters"]["min_abs_score"] = 0.9
    assert len(runs_of(kit.native(), other)) == 2


def test_different_digests_are_the_loudest_thing_and_no_speed_is_claimed() -> None:
    wrong = kit.spark(
        answer={"digest": kit.OTHER_DIGEST, "counts": {}, "files": []}, verified=False
    )
    text = page(kit.native(), wrong).text
    assert "Not comparable The answers differ" in text
    assert "The answers differ: native 04551f43 and spark d154be8a" in text
    assert "The answer of spark is wrong" in text
    assert "faster than" not in text
    assert "You do not need a cluster" not in text


def test_an_answer_that_was_not_verified_is_never_the_best_of_verified_ones() -> None:
    (runs,) = runs_of(kit.native(verified=False), kit.spark())
    assert find(runs).best_label == "spark"


def test_a_single_sample_a_noisy_spread_and_missing_ceilings_are_reported() -> None:
    assert any("one sample, without any interval" in text for text in alarm_texts(kit.native(1)))
    noisy = kit.record(
        "native", [kit.Timing(phases={"scan": seconds}) for seconds in (0.1, 0.1, 0.16)], 1 << 20
    )
    assert any("spread widely" in text for text in alarm_texts(noisy))
    assert any(
        "ceilings were not measured" in text for text in alarm_texts(kit.native(ceilings=None))
    )
    assert alarm_texts(kit.native(), kit.spark(), kit.array()) == []


def test_runs_that_differ_in_more_than_the_engine_are_reported() -> None:
    texts = alarm_texts(kit.native(), kit.spark(threads=4, cache="input-dropped"))
    assert any(
        "the number of threads and the state of the page cache differ" in text for text in texts
    )


def test_a_memory_limit_that_was_passed_and_a_stale_ceiling_are_reported() -> None:
    assert any(
        "more than the limit" in text for text in alarm_texts(kit.native(memory_bytes=1 << 20))
    )
    fast = kit.record("native", [kit.Timing(phases={"scan": 0.05})] * 2, 1 << 20)
    assert any("measure the ceilings again" in text for text in alarm_texts(fast))


def test_a_machine_that_was_busy_before_the_first_run_is_reported_once() -> None:
    busy, after = kit.native(), kit.spark()
    assert not any("busy" in text for text in alarm_texts(busy, after))
    for record in (busy, after):
        record["samples"][0]["load_average"] = 7.5
    texts = [text for text in alarm_texts(busy, after) if "busy" in text]
    assert [text.replace("\u00a0", " ") for text in texts] == [
        "The machine was busy before the run: a load of 7.5 on 2 cores for native."
    ]


def test_a_small_difference_of_single_samples_is_no_difference() -> None:
    slower = kit.native(1, threads=1)
    slower["samples"][0]["wall_seconds"] *= 1.3
    assert "no clear difference from" in page(kit.native(1), slower).text


def test_parameters_have_their_units_and_what_none_means() -> None:
    text = page(kit.native(), kit.degrees()).text
    assert "min cluster samples 30 samples" in text
    assert "max missing no limit" in text
    assert "genes the largest gene of an edge" in text


def test_overlapping_intervals_are_no_difference() -> None:
    near_record = kit.record("array", kit.timings({"query": 0.167}, 7), 1 << 20)
    assert "no clear difference from" in page(kit.native(), near_record).text


def test_an_engine_that_must_load_first_is_not_the_best_though_its_work_is_faster() -> None:
    """An array with a query in a fraction of a scan must still be filled for a single question."""
    quick = kit.record("array", kit.timings({"load": 2.0, "query": 0.05}, 7), 1 << 20)
    (runs,) = runs_of(quick, kit.native())
    assert find(runs).best_label == "native"
    text = page(quick, kit.native()).text
    assert "Native took 173 ms: 3.2x slower than array in the work alone." in text
    assert "With starting up and loading counted it is 13x faster than array." in text


def test_bars_become_logarithmic_when_ratios_are_large() -> None:
    slow = kit.record("array", kit.timings({"query": 60.0}, 3), 1 << 20)
    assert "Logarithmic scale" in page(kit.native(peak_resident_bytes=1 << 20), slow).text
    assert "Logarithmic scale" not in page(kit.native(), kit.native(threads=1)).text


def test_the_total_command_time_is_shown_with_the_work_and_for_a_single_run() -> None:
    (runs,) = runs_of(kit.native(), kit.spark())
    native, spark = (run.typed for run in runs.runs)
    assert native is not None
    assert spark is not None
    assert native.work_seconds == pytest.approx(runs.runs[0].work.median)
    assert native.seconds == pytest.approx(native.work_seconds + 0.31 + 0.012 + 0.143)
    assert spark.work_seconds == pytest.approx(runs.runs[1].work.median)
    assert spark.start_seconds + spark.work_seconds == pytest.approx(runs.runs[1].total_seconds)
    assert spark.seconds == pytest.approx(runs.runs[1].total_seconds + 0.31 + 0.012 + 0.143)
    text = page(kit.native(), kit.spark()).text
    assert "native, the work alone; 638 ms as typed" in text
    assert "310 ms to verify" in text
    assert "The whole command, as typed" in text


def test_a_record_without_total_times_shows_the_work_only() -> None:
    old = kit.native()
    del old["time"]
    text = page(old).text
    assert "as typed" not in text
    assert "Native took 173 ms." in text


def test_a_wrong_answer_is_shown_with_its_fault() -> None:
    wrong = kit.native(1, verified=False)
    wrong["verification"]["fault"] = "notes.txt is no file of it"
    assert "The answer of native is wrong: notes.txt is no file of it." in alarm_texts(wrong)
    wrong["verification"].update(fault=None, expected=kit.OTHER_DIGEST)
    assert any("another method gives d154be8a7916" in text for text in alarm_texts(wrong))


def test_a_session_that_starts_once_counts_once_and_a_level_is_shown() -> None:
    (runs,) = runs_of(kit.native(), kit.spark())
    finding = find(runs)
    spark = finding.compared[0].run
    assert spark.setup_seconds("start") == pytest.approx(4.212 * 0.97)
    assert spark.total_seconds == pytest.approx(spark.work.median + spark.setup_seconds("start"))
    assert machines_to_draw_level(finding.best, spark) is None
    slow = kit.record("native", kit.timings({"scan": 100.0}, 3), 1 << 20)
    (runs,) = runs_of(slow, kit.spark())
    assert find(runs).best_label == "spark"


def test_a_folder_of_answers_is_searched_and_a_record_is_read_once(tmp_path: Path) -> None:
    kit.write_comparison(tmp_path / "deep" / "one", [kit.native(), kit.spark()])
    kit.write_run(tmp_path / "two", kit.degrees())
    record = tmp_path / "two" / "run.json"
    assert sum(len(section.runs) for section in read_groups([tmp_path, record])) == 3
    assert (
        sum(len(section.runs) for section in read_groups([record, tmp_path / "deep" / "one"])) == 3
    )


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": "other/1"}', "[" * 100_000, "\0"])
def test_a_file_that_is_no_record_is_reported_in_a_single_line_with_exit_code_2(
    tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.json"
    path.write_text(content)
    assert call(["report", str(path), "-o", str(tmp_path / "report.html")]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert str(path) in message
    assert not (tmp_path / "report.html").exists()


def test_missing_and_empty_paths_are_reported_in_a_single_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        write([tmp_path / "none"], tmp_path / "report.html")
    with pytest.raises(InputError, match=r"no run\.json or compare\.json in or below it"):
        write([tmp_path], tmp_path / "report.html")
    with pytest.raises(InputError, match="at least one"):
        write([], tmp_path / "report.html")


def test_a_failed_output_is_a_single_line_and_leaves_nothing(tmp_path: Path) -> None:
    folder = kit.write_run(tmp_path / "a", kit.native())
    (tmp_path / "report.html").mkdir()
    with pytest.raises(InputError, match=r"report\.html"):
        write([folder], tmp_path / "report.html")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"):
        write([folder], tmp_path / "file" / "report.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "file", "report.html"]


def test_a_comparison_that_names_a_missing_record_is_a_single_line(tmp_path: Path) -> None:
    folder = kit.write_comparison(tmp_path / "a", [kit.native(), kit.spark()])
    (folder / "spark" / "run.json").unlink()
    with pytest.raises(InputError, match=r"spark/run\.json"):
        write([folder], tmp_path / "report.html")
    (folder / "compare.json").write_text(json.dumps({"schema": "cuesta.compare/1", "records": {}}))
    with pytest.raises(InputError, match="no run records"):
        write([folder], tmp_path / "report.html")
