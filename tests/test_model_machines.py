"""Machine descriptions are read, checked, and agree with the papers, contradictions included."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from cuesta.cli.app import call
from cuesta.errors import InputError
from cuesta_lab.model.findings import DOES_NOT_FOLLOW, FOLLOWS, NOT_CHECKED, findings
from cuesta_lab.model.machine_names import chosen
from cuesta_lab.model.machines import FOLDER, Price, known, read


def test_each_machine_is_read_and_names_the_sources_of_its_numbers() -> None:
    machines = known()
    assert len(machines) >= 15
    for key, machine in machines.items():
        assert machine.key == key
        assert machine.source
        assert machine.cores * machine.memory_bytes * machine.network > 0
        if machine.price:
            assert len(machine.price.date) == len("2015-06-17")


def test_the_template_is_a_complete_machine() -> None:
    assert read(FOLDER / "template.toml").nodes_max == 16


@pytest.mark.parametrize(
    ("key", "price", "parts"),
    [
        ("supermike2", 3804, 3804),
        ("swat3-basic-hdd", 3829, 3829),
        ("swat3-basic-ssd", 4300, 4300),
        ("swat3-memory", 6526, 6526),
        ("swat3-fullscaleup-ssd", 9226, 9226),
        ("swat3-fullscaleup-hdd", 6545, 7175),
        ("swat3-medium-ssd", 5068, 5068),
        ("swat3-medium-hdd", 4302, 4482),
        ("ceres2", 879, 801),
    ],
)
def test_prices_are_those_of_table_1_and_parts_those_of_table_2(
    key: str, price: float, parts: float
) -> None:
    machine = known()[key]
    assert machine.price
    assert (machine.price.node, machine.price.parts) == (price, parts)
    if price != parts:
        assert any(f"{parts:,}" in note and f"{price:,}" in note for note in machine.notes)


def test_a_bought_node_costs_by_its_years_and_a_rented_node_by_the_hour() -> None:
    bought = Price(node=8766.0, hour=None, date="", source="", parts=None)
    rented = Price(node=None, hour=1.373, date="", source="", parts=None)
    assert bought.by_hour(4) == pytest.approx(0.25)
    assert rented.by_hour(4) == 1.373


def test_the_findings_of_pga_are_judged_by_the_numbers_of_pga() -> None:
    by_name = {finding.name: finding for finding in findings()}
    assert {name for name, finding in by_name.items() if finding.verdict == DOES_NOT_FOLLOW} == {
        "magnitude",
        "human-hdd-hadoop",
        "human-ssd-giraph",
    }
    unknown = {name for name, finding in by_name.items() if finding.verdict == NOT_CHECKED}
    assert unknown == {"fullscaleup-ssd-giraph", "fullscaleup-hdd-giraph"}
    assert by_name["human-hdd-hadoop"].derived == pytest.approx(4.2, abs=0.05)
    assert by_name["human-ssd-hadoop"].derived == pytest.approx(3.0, abs=0.05)
    assert by_name["human-ssd-hadoop"].verdict == FOLLOWS


def test_the_commands_print_tables_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["model", "machines", "ceres2"]) == 0
    assert "Parts of Table II add up to 801" in capsys.readouterr().out
    assert call(["model", "machines", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(known())
    assert call(["model", "findings"]) == 0
    assert "does not follow" in capsys.readouterr().out
    assert call(["model", "findings", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(findings())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cores = 32 ", "cores = 0 ", "node.cores: 0, give a number above zero"),
        ("cores = 32 ", "cores = 2.5 ", "node.cores: 2.5, not a whole number"),
        ('memory = "128GiB"', 'memory = "much"', "node.memory is 'much', give a size"),
        ('network = "10Gbit/s"', 'network = "fast"', "node.network is 'fast', give a rate"),
        ('kind = "ssd"', 'kind = "tape"', "node.disks.kind: 'tape', give one of hdd, ssd, nvme"),
        ("node = 9000", "", "price.node: give either what a node costs (node) or what an hour"),
        ("nodes_max = 16 ", "colour = 1 #", "nodes_max: missing"),
        ('name = "My cluster"', 'name = "x"\ncolour = 1', "colour: not known; the fields are"),
        ("[node]", "[node", "not TOML"),
    ],
)
def test_a_wrong_field_is_named_with_its_file(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    text = (FOLDER / "template.toml").read_text()
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as error:
        read(path)
    assert message in str(error.value)
    assert "mine.toml" in str(error.value)


def test_a_name_that_is_no_machine_is_refused_with_the_list_of_machines() -> None:
    with pytest.raises(InputError, match=r"--machines nowhere: no such file, .* ceres2"):
        chosen(["nowhere"])
    assert [machine.key for machine in chosen(["theta", str(FOLDER / "cooley.toml")])] == [
        "theta",
        "cooley",
    ]


def test_each_finding_names_existing_machines() -> None:
    table = tomllib.loads((FOLDER / "findings.toml").read_text())
    for finding in table["finding"]:
        assert {finding["machine"], finding["base"]["machine"]} <= set(known())
