"""Numbers of a storage: `study run --fact`, and the premises that need them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuesta.engines import get_engine
from cuesta.errors import InputError
from cuesta.lab.observer import Silent
from cuesta_lab.cli.study import _facts
from cuesta_lab.study import file, run
from cuesta_lab.study.trials import StudyEnvironment

STUDY = """
title = "Sorting"
question = "Does a place have numbers?"
workload = "sort"

[settings]
inputs = ["rows"]
cores = 1

[[input]]
name = "rows"
make = "tera"
rows = 1000

[[factor]]
name = "at"
levels = [{ name = "here" }, { name = "apart", place = "parallel" }]
"""


def test_facts_are_numbers_by_place_and_name() -> None:
    texts = ["parallel:stripes=4", "parallel:data_nodes=2", "hdfs:data_nodes=3"]
    assert _facts(texts) == {
        "parallel": {"stripes": 4.0, "data_nodes": 2.0},
        "hdfs": {"data_nodes": 3.0},
    }


@pytest.mark.parametrize("text", ["stripes=4", "parallel:stripes", "parallel:stripes=-1", ":a=1"])
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="give PLACE:NAME=NUMBER"):
        _facts([text])


def test_two_numbers_of_a_name_are_refused() -> None:
    with pytest.raises(InputError, match="two of parallel:stripes"):
        _facts(["parallel:stripes=4", "parallel:stripes=2"])


def test_a_run_on_a_place_has_its_numbers_and_a_run_elsewhere_none(tmp_path: Path) -> None:
    (tmp_path / "place.toml").write_text(STUDY)
    (tmp_path / "apart").mkdir()
    environment = StudyEnvironment(
        engine=get_engine,
        places={"parallel": str(tmp_path / "apart")},
        facts={"parallel": {"stripes": 4.0}},
    )
    study = file.read(str(tmp_path / "place.toml"))
    result, _ = run.run(study, tmp_path / "out", environment, Silent())
    here, apart = (cell["measures"] for cell in result["cells"])
    assert set(apart["place stripes"]) == {4.0}
    assert "place stripes" not in here
