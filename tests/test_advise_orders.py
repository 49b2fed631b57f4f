"""Advice by time, price or energy alone, and on the cloud instances of a dated table."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call
from cuesta.report import plots
from cuesta_lab.model.instances import instances
from cuesta_lab.model.machines import FOLDER, known
from cuesta_lab.report import advice as advice_page
from cuesta_lab.report.advice import SPOTS_MAX
from test_advise import ASSEMBLE, to_advice


def powered(folder: Path, name: str, watts: int) -> str:
    """Write the file of a machine of which each node draws so much; return its path."""
    text = (FOLDER / "ec2-m5d.toml").read_text(encoding="utf-8")
    path = folder / f"{name}.toml"
    path.write_text(f'{text}\n[power]\nwatts = {watts}\nsource = "a meter"\n', encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("file", "instance"), [("ec2-m5d", "m5d.8xlarge"), ("ec2-d3", "d3.8xlarge")]
)
def test_an_instance_is_the_machine_of_the_file_about_it(file: str, instance: str) -> None:
    ours, theirs = instances()[f"ec2/{instance}"], known()[file]
    for name in ("cores", "core_speed", "memory_bytes", "network", "nodes_max"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.price
    assert theirs.price
    assert (ours.price.hour, ours.price.date) == (theirs.price.hour, theirs.price.date)
    for name in ("count", "read", "write"):
        assert getattr(ours.disks, name) == getattr(theirs.disks, name), name


def test_instances_have_dated_prices_and_plausible_parts() -> None:
    assert len(instances()) > 200
    for key, machine in instances().items():
        assert machine.price, key
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", machine.price.date), key
        assert 0.005 < (machine.price.hour or 0) / machine.cores < 2, key
        assert 2**30 <= machine.memory_bytes / machine.cores < 2**37, key
        assert machine.assumed, key


@pytest.mark.parametrize(("by", "value"), [("time", "seconds"), ("price", "dollars")])
def test_the_best_by_time_or_price_are_on_three_machines_in_that_order(
    by: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    advice = to_advice(capsys, *ASSEMBLE, "--machines", "ec2/m*", "--by", by)
    best = [entry["choice"] for entry in advice["best"]]
    assert len({choice["machine"] for choice in best}) == 3
    least = min(choice[value]["value"] for choice in advice["choices"] if choice[value])
    # Of times within a tenth, that of the fewest nodes counts as the shortest.
    assert best[0][value]["value"] <= least * (1.1 if by == "time" else 1)
    if by == "price":
        assert all(a[value]["value"] <= b[value]["value"] for a, b in pairwise(best))


def test_energy_is_power_by_time_of_all_nodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [powered(tmp_path, "thrifty", 100), powered(tmp_path, "greedy", 900)]
    words = [*ASSEMBLE, "--machines", *files, "ec2-d3", "--inputs", "6"]
    advice = to_advice(capsys, *words, "--by", "energy")
    watts = {"thrifty": 100, "greedy": 900}
    for choice in advice["choices"]:
        power = watts.get(choice["machine"])
        if power is None or choice["seconds"] is None:
            assert choice["kilowatt_hours"] is None
            continue
        hours = choice["seconds"]["value"] / 3600
        expected = hours * choice["nodes"] * power / 1000
        assert choice["kilowatt_hours"]["value"] == pytest.approx(expected)
    assert advice["best"][0]["choice"]["machine"] == "thrifty"
    assert "kWh" in advice["best"][0]["words"]
    page = tmp_path / "advice.html"
    assert call(["advise", *words, "-o", str(page)]) == 0
    assert " kWh" in page.read_text(encoding="utf-8")
    capsys.readouterr()


def test_a_page_of_all_instances_draws_the_best_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "advice.html"
    assert call(["advise", *ASSEMBLE, "--machines", "ec2/*", "-o", str(page)]) == 0
    capsys.readouterr()
    text = page.read_text(encoding="utf-8")
    assert "with more time by price than these are not drawn" in text
    assert text.count("<circle") <= SPOTS_MAX + 20
    assert len(text) < 400_000


def test_machines_of_a_pattern_share_their_notes(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["model", "machines", "ec2/c7g.*"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("ec2/c7g.12xlarge, ")
    assert sum("Storage beside the instance" in line for line in lines) == 1


def test_the_axes_hold_the_best_choices_where_few_points_are_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn: list[plots.Axes] = []
    curves = plots.curves

    def record(frame: Any, points: Any, axes: plots.Axes) -> str:
        drawn.append(axes)
        return curves(frame, points, axes)

    monkeypatch.setattr(advice_page, "SPOTS_MAX", 4)
    monkeypatch.setattr(plots, "curves", record)
    words = (*ASSEMBLE, "--machines", "ec2/*")
    best = to_advice(capsys, *words)["best"]
    assert call(["advise", *words, "-o", str(tmp_path / "advice.html")]) == 0
    (axes,) = drawn
    for entry in best:
        assert axes.across.low <= entry["choice"]["dollars"]["value"] <= axes.across.high
