"""Advice names the best choices with intervals, says what limits them, and what it follows from."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call
from cuesta.model.advise import advise, three_best
from cuesta.model.choices import Choice, Job, Range, choice, node_counts
from cuesta.model.demands import Demand, demands
from cuesta.model.machines import FOLDER, known, read

HUMAN = 452e9


def to_advice(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert call(["advise", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def native() -> Demand:
    return next(one for one in demands("assemble") if not one.many_nodes)


def test_every_choice_has_a_limit_an_interval_and_a_price_or_a_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = to_advice(capsys, "assemble", "--input-size", "452GB")
    assert {one["machine"] for one in found["choices"]} == set(known())
    for one in found["choices"]:
        if one["refused"]:
            assert one["seconds"] is None
            continue
        seconds = one["seconds"]
        assert 0 < seconds["low"] < seconds["value"] < seconds["high"]
        assert one["limit"] == max(one["resources"], key=one["resources"].get)
        assert (one["dollars"] is None) is (found["machines"][one["machine"]]["price"] is None)
        assert one["steps"]


def test_three_different_choices_are_said_in_plain_words(
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
    shown = capsys.readouterr().out
    for part in (
        "time = start + what one core does alone",
        "cores: 90 GB x 12.7 s/GB / (1 node x 2 cores x 0.65) = 879.2 s",
        "assumed, core_speed",
        "price: 879 $ a node, 2015-06-17, used for 4 years",
        "runs of native, 0.174 to 1.7 GB: data make reads",
    ):
        assert part in shown


def test_machines_are_named_in_any_way_people_type_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    template = str(FOLDER / "template.toml")
    words = ["assemble", "--input-size", "1GB", "--machines", "ceres2,theta", template]
    found = to_advice(capsys, *words)
    assert list(found["machines"]) == ["ceres2", "theta", "template"]


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
    mpi = next(one for one in demands("assemble") if one.engine == "mpi")
    assert choice(job, replace(machine, network=1e5), mpi, 4).limit == "network"


def test_nodes_are_powers_of_two_and_the_most_there_are() -> None:
    assert node_counts(known()["swat3-memory"]) == [1, 2, 4, 8, 16, 32, 64, 127]


def test_the_fastest_takes_no_nodes_that_gain_nothing() -> None:
    def made(nodes: int, seconds: float) -> Choice:
        there = Range(value=seconds, low=seconds / 2, high=2 * seconds)
        return Choice(
            machine="m", engine="mpi", nodes=nodes, cores=nodes, seconds=there, limit="cores"
        )

    best = three_best([made(64, 100.0), made(8, 105.0), made(2, 300.0)], {"m": "M"})
    assert [one.choice.nodes for one in best] == [8, 64, 2]


def test_scale_out_has_a_cost_and_one_node_turns_into_more() -> None:
    machines = [known()["swat3-medium-ssd"]]
    small = advise(Job(size_bytes=1e9, years=4), machines, demands("assemble"))
    assert small["scale_out"][0]["nodes_to_beat_it"]["spark"] is None
    large = advise(Job(size_bytes=HUMAN, years=4), machines, demands("assemble"))
    row = large["scale_out"][0]
    assert row["cores_to_beat_it"]["mpi"] == 16 * row["nodes_to_beat_it"]["mpi"]
    assert large["turns"]["size_bytes"] > HUMAN


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["assemble", "--input-size", "0"], "--input-size is 0; give the bytes of the input"),
        (["assemble", "--input-size", "1PB"], "1e+06 GB are more than 1,000 times the 1.7 GB"),
        (["assemble", "--input-size", "much"], "--input-size is 'much', give a size"),
        (["assemble"], "Missing option '--input-size'"),
        (["nothing", "--input-size", "1GB"], "advise nothing: no such workload; known: "),
        (["images", "--input-size", "1GB"], "what images needs was not measured"),
        (["assemble", "--input-size", "1GB", "--machines", "none"], "no such file, and no machine"),
    ],
)
def test_a_question_without_an_answer_is_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["advise", *words]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1


def test_no_machine_with_room_is_one_line_with_reasons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (FOLDER / "ceres2.toml").read_text().replace("nodes_max = 44", "nodes_max = 2")
    (tmp_path / "two.toml").write_text(text)
    words = ["assemble", "--input-size", "1.5TB", "--machines", str(tmp_path / "two.toml")]
    assert call(["advise", *words]) == 2
    assert "no machine has room for 1,500 GB (CeresII, 1 nodes: " in capsys.readouterr().err


def test_a_page_holds_one_chart_and_the_best(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert call(["advise", "assemble", "--input-size", "452GB", "-o", str(page)]) == 0
    best = capsys.readouterr().out.splitlines()[1].split(": ", 1)[1]
    html = page.read_text()
    assert html.count('<svg class="chart') == 1
    assert best in html
    assert "What it follows from" in html


def record(engine: str, size_bytes: int, seconds: float, start: float = 0.0) -> dict[str, Any]:
    return {
        "schema": "cuesta.run/1",
        "workload": "sort",
        "engine": engine,
        "engine_options": {},
        "parameters": {"seed": 3},
        "inputs": [{"path": "x", "bytes": size_bytes}],
        "threads": 2,
        "memory_bytes": 2**30,
        "verified": True,
        "machine": {"cpu": "here"},
        "phases": [{"name": "start", "seconds": start}, {"name": "sort", "seconds": seconds}],
        "statistics": {"wall_seconds": {"median": seconds}},
    }


def test_runs_made_here_are_choices_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [
        record("native", 10**9, 3.0),
        record("native", 2 * 10**9, 6.0),
        record("spark", 10**9, 10.0, start=9.0),
        record("mpi", 10**9, 4.0),
    ]
    for index, one in enumerate(made):
        (tmp_path / str(index)).mkdir()
        (tmp_path / str(index) / "run.json").write_text(json.dumps(one))
    far = to_advice(capsys, "sort", "--input-size", "20GB", "--runs", str(tmp_path))
    assert [one["choice"]["engine"] for one in far["best"]] == ["spark", "native", "mpi"]
    assert far["best"][0]["choice"]["seconds"]["value"] == pytest.approx(29.0)
    near = to_advice(capsys, "sort", "--input-size", "2GB", "--runs", str(tmp_path))
    assert near["best"][0]["choice"]["engine"] == "native"
    page = tmp_path / "page.html"
    words = ["advise", "sort", "--input-size", "2GB", "--runs", str(tmp_path), "-o", str(page)]
    assert call(words) == 0
    assert page.read_text().count('<svg class="chart') == 1
    assert call(["advise", "sort", "--input-size", "200GB", "--runs", str(tmp_path)]) == 2
    assert "its largest run had 1 GB; measure at least 6.67 GB" in capsys.readouterr().err
    assert call(["advise", "scan", "--input-size", "1GB", "--runs", str(tmp_path)]) == 2
    assert "no run of scan in what --runs names; there is sort" in capsys.readouterr().err
