"""A study file is checked completely: its combinations, its inputs, and its faults."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call
from cuesta.errors import InputError
from cuesta_lab.study import cells, file
from cuesta_lab.study.model import Study

TINY = """
question = "Does it scale?"
workload = "dataflow"
repeats = 2

[settings]
parameters = { block_vectors = 100 }
memory = "256MiB"

[[factor]]
name = "scaling"
levels = [
    { name = "weak", per_core = { blocks = 3 } },
    { name = "strong", parameters = { blocks = 5 } },
]

[[factor]]
name = "cores"
levels = [{ name = "one", value = 1, cores = 1 }, { name = "two", value = 2, cores = 2 }]

[[without]]
where = { scaling = "strong", cores = ["two"] }
why = "it is the same"

[smoke]
repeats = 1

[smoke.factor.scaling]
keep = ["weak"]

[smoke.factor.scaling.weak]
per_core = { blocks = 1 }
"""


def to_study(text: str, *, smoke: bool = False) -> Study:
    return file.parse("tiny", tomllib.loads(text), smoke=smoke)


def test_levels_are_crossed_and_lie_over_the_settings_of_the_study() -> None:
    combinations = cells.combinations(to_study(TINY))
    assert [combination.name for combination in combinations] == [
        "weak_one",
        "weak_two",
        "strong_one",
        "strong_two",
    ]
    weak = combinations[1].settings
    assert weak.workload_parameters == {"block_vectors": 100, "blocks": 6}
    assert (weak.cores, weak.memory_bytes, weak.engine) == (2, 256 << 20, "native")
    assert [combination.left_out for combination in combinations] == [
        None,
        None,
        None,
        "it is the same",
    ]
    assert combinations[0].answers != combinations[2].answers
    assert cells.combinations(to_study(TINY), 1 << 26)[0].settings.memory_bytes == 1 << 26


def test_a_trial_run_is_small() -> None:
    study = to_study(TINY, smoke=True)
    assert study.smoke
    assert study.repeats == 1
    combinations = cells.combinations(study)
    assert [combination.settings.workload_parameters["blocks"] for combination in combinations] == [
        1,
        2,
    ]


def test_only_some_levels_are_chosen() -> None:
    factors = to_study(TINY).factors
    assert [len(factor.levels) for factor in cells.only(factors, ["cores=two"])] == [2, 1]
    for words, message in (
        ("x=1", "x is no factor; there are scaling, cores"),
        ("cores=9", "no 9"),
    ):
        with pytest.raises(InputError, match=message):
            cells.only(factors, [words])


WITH_INPUT = TINY + '\n[[input]]\nname = "x"\nmake = "tera"\nrows = 10\n'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('workload = "dataflow"', 'job = "x"'), "job is not known in the study"),
        (('workload = "dataflow"', ""), "workload is missing"),
        (('workload = "dataflow"', 'workload = "x"'), "workload is 'x', give one of"),
        (("repeats = 2", "repeats = true"), "repeats is True, give a number from 1 to 1000"),
        (('memory = "256MiB"', 'memory = "1 parsec"'), "memory is '1 parsec', give a size"),
        (('memory = "256MiB"', "memory = 5"), "memory is 5, give a size"),
        (('memory = "256MiB"', 'disk = "x"'), "disk is not a setting; there are answer, cache"),
        (('memory = "256MiB"', 'cache = "hot"'), "cache is 'hot', give one of warm, cold"),
        (('memory = "256MiB"', 'inputs = ["y"]'), "there is no input y"),
        (('memory = "256MiB"', "inputs = 1"), "inputs is 1, give a list of names"),
        (('memory = "256MiB"', "machine = 1"), "machine is 1, give a table"),
        (("cores = 1 }", "cores = 0 }"), "cores is 0, give at least 1"),
        (("block_vectors = 100", "colour = 1"), "colour"),
        (('name = "weak"', 'name = "../weak"'), "give small letters"),
        (('name = "two"', 'name = "one"'), "there are two levels called one"),
        (("value = 2", 'value = "b"'), "level two: value is 'b', give a number"),
        (('scaling = "strong", cores', "colour"), "colour is not a factor; there are scaling"),
        (('["two"]', '["nine"]'), "'nine' is not a level of cores"),
        (('why = "it is the same"', ""), "why is missing"),
        (('make = "tera"', 'make = "x"'), "input x: make is 'x', give one of"),
        (("rows = 10", "size = 1"), "size is not known in an input to make; it takes first"),
        (("rows = 10", 'get = "x"'), "input x: give one of make, get, path, uri"),
        (('make = "tera"\nrows = 10', 'get = "x"'), "x"),
    ],
)
def test_a_wrong_file_is_reported_in_a_single_line(change: tuple[str, str], message: str) -> None:
    assert change[0] in WITH_INPUT
    with pytest.raises(InputError, match=message) as caught:
        cells.combinations(to_study(WITH_INPUT.replace(*change)))
    assert "\n" not in str(caught.value)


WRONG: list[Any] = [None, True, -1, 1.5, "", "x", [], [1], ["x"], {}, {"x": 1}, [{}], [{"name": 1}]]


def test_no_value_of_another_kind_is_a_defect() -> None:
    """Any value in any place is accepted or refused in words."""
    table = tomllib.loads(WITH_INPUT)

    def places(node: Any) -> list[tuple[Any, Any]]:
        keys = node.keys() if isinstance(node, dict) else range(len(node))
        spots = []
        for key in keys:
            spots.append((node, key))
            if isinstance(node[key], (dict, list)):
                spots += places(node[key])
        return spots

    refused = []
    for node, key in places(table):
        before = node[key]
        for value in WRONG:
            node[key] = value
            try:
                cells.combinations(file.parse("tiny", table))
                cells.combinations(file.parse("tiny", table, smoke=True))
            except InputError as error:
                refused.append(str(error))
        node[key] = before
    assert len(refused) > 300
    assert not any("\n" in message for message in refused)


def test_studies_that_come_along_are_listed_and_checked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call(["study", "list"]) == 0
    assert "spark-hpc" in capsys.readouterr().out
    for name in file.names():
        assert call(["study", "check", name]) == 0
        assert call(["study", "check", name, "--smoke"]) == 0
    assert "combinations, each run up to" in capsys.readouterr().out


def test_a_missing_study_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["study", "check", str(tmp_path / "none.toml")]) == 2
    assert "give a TOML file or one of" in capsys.readouterr().err
