"""Advice names the best choices with intervals, their limits, and the runs it follows from."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call
from cuesta_lab.model.advise import advise, consequences
from cuesta_lab.model.choices import Choice, Job, Range, choice, node_counts
from cuesta_lab.model.demands import Demand, demands
from cuesta_lab.model.machines import FOLDER, known, read
from cuesta_lab.model.ranking import best as best_of

HUMAN = 452e9
ASSEMBLE = ("assemble", "--input-size", "20GB")


def to_advice(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert call(["advise", *words, "--json"]) == 0
    advice: dict[str, Any] = json.loads(capsys.readouterr().out)
    return advice


def native() -> Demand:
    return next(demand for demand in demands("assemble") if not demand.many_nodes)


def test_each_choice_has_a_limit_an_interval_and_a_price_or_a_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    advice = to_advice(capsys, "assemble", "--input-size", "452GB")
    assert {option["machine"] for option in advice["choices"]} == set(known())
    for option in advice["choices"]:
        if option["refused"]:
            assert option["seconds"] is None
            continue
        seconds = option["seconds"]
        assert 0 < seconds["low"] < seconds["value"] < seconds["high"]
        assert option["limit"] == max(option["resources"], key=option["resources"].get)
        assert (option["dollars"] is None) is (
            advice["machines"][option["machine"]]["price"] is None
        )
        assert option["steps"]
        if option["dollars"]:
            runs, dollars = option["runs_per_dollar"], option["dollars"]
            assert runs["value"] * dollars["value"] == pytest.approx(1)
            assert runs["low"] * dollars["high"] == pytest.approx(1)


def test_three_different_choices_are_described_in_plain_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call(["advise", "assemble", "--input-size", "452GB"]) == 0
    lines = capsys.readouterr().out.splitlines()
    titles = [line.split(":")[0] for line in lines[1:4]]
    assert titles == ["1. most for a dollar", "2. fastest", "3. in between"]
    assert len({line.split(": ", 1)[1] for line in lines[1:4]}) == 3
    for line in lines[1:4]:
        assert re.search(r"nodes? of .+ \(.+ to .+\), .+ \$ \(.+ to .+\); limited by the", line)
    assert any(line.startswith("COST on ") for line in lines)


def test_the_explanation_has_sums_runs_and_assumptions(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["advise", "assemble", "--input-size", "90GB", "--machines", "ceres2", "--explain"]
    assert call(words) == 0
    output = capsys.readouterr().out
    for part in (
        "time = start + what one core does alone",
        "cores: 90 GB x 12.7 s/GB / (1 node x 2 cores x 0.65) = 879.2 s",
        "assumed, core_speed",
        "price: 879 $ a node, 2015-06-17, used for 4 years",
        "runs of native, 0.174 to 1.7 GB: data make reads",
    ):
        assert part in output


def test_machines_are_named_in_any_way_people_type_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    template = str(FOLDER / "template.toml")
    words = ["assemble", "--input-size", "1GB", "--machines", "ceres2,theta", template]
    advice = to_advice(capsys, *words)
    assert list(advice["machines"]) == ["ceres2", "theta", "template"]


def test_the_price_of_a_bought_node_falls_with_its_years(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["assemble", "--input-size", "1GB", "--machines", "ceres2"]
    four = to_advice(capsys, *words)["best"][0]["choice"]["dollars"]["value"]
    eight = to_advice(capsys, *words, "--years", "8")["best"][0]["choice"]["dollars"]["value"]
    assert four == pytest.approx(2 * eight)


def test_no_more_of_anything_makes_a_job_slower() -> None:
    machine, demand, job = known()["swat3-medium-hdd"], native(), Job(size_bytes=HUMAN, years=4)
    assert machine.disks
    before = choice(job, machine, demand, 1).seconds
    for better in (
        replace(machine, cores=32),
        replace(machine, memory_bytes=2 * machine.memory_bytes),
        replace(machine, disks=replace(machine.disks, count=4)),
        replace(machine, core_speed=1.0),
    ):
        after = choice(job, better, demand, 1).seconds
        assert before
        assert after
        assert after.value < before.value


def test_what_has_no_room_is_refused_with_what_would_have() -> None:
    job, demand = Job(size_bytes=HUMAN, years=4), native()
    cooley = choice(job, known()["cooley"], replace(demand, memory=1.0), 1)
    assert cooley.refused == "no disk to spill to; 2 nodes have the memory"
    ceres = choice(job, known()["ceres2"], demand, 1)
    assert "do not fit on its disks (225 GB usable)" in ceres.refused


def test_shared_storage_and_network_limit_what_passes_them() -> None:
    machine = read(FOLDER / "template.toml")
    assert machine.shared
    slow = replace(machine, shared=replace(machine.shared, read=1e6))
    job = Job(size_bytes=HUMAN, years=4)
    assert choice(job, slow, native(), 1).limit == "shared storage"
    mpi = next(demand for demand in demands("assemble") if demand.engine == "mpi")
    assert choice(job, replace(machine, network=1e5), mpi, 4).limit == "network"


def test_nodes_are_powers_of_two_and_the_largest_number_available() -> None:
    assert node_counts(known()["swat3-memory"]) == [1, 2, 4, 8, 16, 32, 64, 127]


def test_the_fastest_takes_no_nodes_that_gain_nothing() -> None:
    def choice_on(nodes: int, seconds: float) -> Choice:
        interval = Range(value=seconds, low=seconds / 2, high=2 * seconds)
        return Choice(
            machine="m", engine="mpi", nodes=nodes, cores=nodes, seconds=interval, limit="cores"
        )

    best = best_of([choice_on(64, 100.0), choice_on(8, 105.0), choice_on(2, 300.0)], {"m": "M"})
    assert [ranked.choice.nodes for ranked in best] == [8, 64, 2]


def test_the_next_choices_are_of_other_machines_where_the_list_has_more() -> None:
    def choice_on(machine: str, nodes: int, seconds: float) -> Choice:
        interval = Range(value=seconds, low=seconds / 2, high=2 * seconds)
        return Choice(
            machine=machine, engine="mpi", nodes=nodes, cores=nodes, seconds=interval, limit="cores"
        )

    possible = [
        choice_on("a", 1, 10.0),
        choice_on("a", 2, 15.0),
        choice_on("b", 1, 40.0),
        choice_on("a", 4, 16.0),
    ]
    best = best_of(possible, {"a": "A", "b": "B"})
    assert [(ranked.choice.machine, ranked.choice.nodes) for ranked in best] == [
        ("a", 1),
        ("b", 1),
        ("a", 2),
    ]


def test_scale_out_has_a_cost_and_a_single_node_turns_into_more() -> None:
    machines = [known()["swat3-medium-ssd"]]
    small = advise(Job(size_bytes=1e9, years=4), machines, demands("assemble"))
    assert small["scale_out"][0]["nodes_to_beat_it"]["spark"] is None
    large = advise(Job(size_bytes=HUMAN, years=4), machines, demands("assemble"))
    row = large["scale_out"][0]
    assert row["cores_to_beat_it"]["mpi"] == 16 * row["nodes_to_beat_it"]["mpi"]
    assert large["turns"]["size_bytes"] > HUMAN


def test_an_engine_is_left_out_far_beyond_its_measured_sizes() -> None:
    """An engine measured with 10 MB answered for 452 GB, because another had been run with more.
    Now each engine answers within its own measured sizes alone.
    """
    machine, job = known()["ec2-i4i"], Job(size_bytes=HUMAN, years=4)
    tiny = [
        replace(demand, sizes=(1e6, 1e7)) if demand.engine == "mpi" else demand
        for demand in demands("assemble")
    ]
    advice = advise(job, [machine], tiny)
    reasons = {option["refused"] for option in advice["choices"] if option["engine"] == "mpi"}
    assert reasons == {
        "452 GB is more than 1,000 times the 10 MB of the largest run of mpi; measure one of at"
        " least 452 MB and give it with --runs"
    }
    assert [f"Left out: {reason}." for reason in reasons] == [
        line for line in consequences(advice) if line.startswith("Left out")
    ]
    assert {ranked["choice"]["engine"] for ranked in advice["best"]} <= {"native", "spark"}
    assert set(advice["scale_out"][0]["nodes_to_beat_it"]) == {"spark"}


def test_less_than_was_measured_is_less_sure() -> None:
    machine = known()["swat3-medium-ssd"]
    choices = [choice(Job(size_bytes=size, years=4), machine, native(), 1) for size in (1e7, 2e8)]
    small, measured = (option.seconds for option in choices)
    assert small
    assert measured
    assert small.high / small.low > 1.3 * measured.high / measured.low
    none = choice(Job(size_bytes=1e5, years=4), machine, native(), 1)
    assert none.refused.startswith("100 kB is less than 1/1,000 of the 174 MB of the smallest")


def test_a_machine_without_storage_never_ranks_before_a_machine_with_it() -> None:
    """Cooley and Theta have no description of their storage, so reading cost them nothing and they
    ranked first. Now machines with storage rank before them.
    """
    complete = known()["ec2-i4i"]
    assert complete.disks
    bare = replace(complete, key="bare", name="Bare", disks=None)
    job = Job(size_bytes=1e11, years=4)
    advice = advise(job, [bare, complete], demands("assemble"))
    assert {ranked["choice"]["machine"] for ranked in advice["best"]} == {"ec2-i4i"}
    alone = advise(job, [bare], demands("assemble"))
    caveat = "; its storage is not described: reading and writing are not counted"
    assert all(ranked["words"].endswith(caveat) for ranked in alone["best"])
    ends = []
    for machine in (bare, replace(complete, disks=replace(complete.disks, read=1e18, write=1e18))):
        seconds = choice(job, machine, native(), 1).seconds
        assert seconds
        ends.append(seconds)
    assert ends[0].low == pytest.approx(ends[1].low)
    assert ends[0].high > 1.3 * ends[1].high
    assert {key for key, described in known().items() if not described.has_storage} == {
        "cooley",
        "theta",
    }


def test_an_explanation_and_a_page_list_what_is_not_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    words = ["advise", "assemble", "--input-size", "1GB", "--machines", "theta"]
    assert call([*words, "--explain", "-o", str(page)]) == 0
    caveat = "its storage is not described: reading and writing are not counted"
    assert f"\n   {caveat}\n" in capsys.readouterr().out
    assert caveat in page.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["assemble", "--input-size", "0"], "--input-size is 0; give the bytes of the input"),
        (["assemble", "--input-size", "1PB"], "1 PB is more than 1,000 times the 1.7 GB of"),
        (["assemble", "--input-size", "10kB"], "10 kB is less than 1/1,000 of the 174 MB of"),
        (["assemble", "--input-size", "much"], "--input-size is 'much', give a size"),
        (["assemble"], "Missing option '--input-size'"),
        (["nothing", "--input-size", "1GB"], "advise nothing: no such workload; known: "),
        (["images", "--input-size", "1GB"], "by `cuesta compare images PART --engines native,"),
        (["assemble", "--input-size", "1GB", "--machines", "none"], "no such file, and no machine"),
        (
            [*ASSEMBLE, "--machines", "ec2/zz*"],
            "no such instance; `cuesta model machines 'ec2/*'` lists",
        ),
        ([*ASSEMBLE, "--by", "speed"], "--by is 'speed', give one of time, price, energy"),
        (
            [*ASSEMBLE, "--by", "energy"],
            "no chosen machine that can do it says what power a node draws",
        ),
        (
            [*ASSEMBLE, "--by", "price", "--machines", "theta"],
            "no chosen machine that can do it has a price",
        ),
    ],
)
def test_a_question_without_an_answer_is_reported_in_a_single_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["advise", *words]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1


def test_a_lack_of_machines_with_room_is_a_single_line_with_reasons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (FOLDER / "ceres2.toml").read_text().replace("nodes_max = 44", "nodes_max = 2")
    (tmp_path / "two.toml").write_text(text)
    words = ["assemble", "--input-size", "1.5TB", "--machines", str(tmp_path / "two.toml")]
    assert call(["advise", *words]) == 2
    assert "no machine has room for 1.5 TB (CeresII, 1 node: " in capsys.readouterr().err


def test_a_page_holds_a_single_chart_and_the_best(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert call(["advise", "assemble", "--input-size", "452GB", "-o", str(page)]) == 0
    best = capsys.readouterr().out.splitlines()[1].split(": ", 1)[1]
    html = page.read_text().replace("\u00a0", " ")
    assert html.count('<svg class="chart') == 1
    assert best in html
    assert "What it follows from" in html
