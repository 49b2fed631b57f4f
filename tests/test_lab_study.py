"""A study: its file is checked, its trials run once, and its page says what scaled and what not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call
from cuesta.engines.mpi import MpiEngine, c_program
from cuesta.errors import InputError
from cuesta.lab import study
from cuesta.report import study as page
from cuesta.report.page import write_study

TINY = """
question = "Does it scale?"
workload = "dataflow"
engines = ["native"]
cores = [1]
repeats = 2
local_phases = ["pipeline"]

[parameters]
block_vectors = 100

[[series]]
name = "weak"
title = "Weak scaling"
scaling = "weak"
per_core = { blocks = 3 }

[[series]]
name = "strong"
scaling = "strong"
parameters = { blocks = 5 }
"""


def tiny(folder: Path, text: str = TINY) -> str:
    file = folder / "tiny.toml"
    file.write_text(text)
    return str(file)


def test_a_study_runs_goes_on_and_writes_its_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["study", "run", tiny(tmp_path), "-o", str(tmp_path / "out")]
    assert call(words) == 0
    assert f"report: {tmp_path}/out/report.html" in capsys.readouterr().out
    record = tmp_path / "out" / "weak" / "native-1" / "run.json"
    first = record.stat().st_mtime_ns
    found = json.loads(record.read_text())
    assert (found["parameters"]["blocks"], found["threads"], found["repeats"]) == (3, 1, 2)
    assert call(words) == 0
    assert record.stat().st_mtime_ns == first
    assert call([*words, "--repeat", "1"]) == 0
    assert json.loads(record.read_text())["repeats"] == 1
    text = (tmp_path / "out" / "report.html").read_text()
    for part in ("Does it scale?", "Weak scaling", "all answers verified and equal", "<svg"):
        assert part in text
    assert call(["report", str(tmp_path / "out"), "-o", str(tmp_path / "again.html")]) == 0
    assert (tmp_path / "again.html").read_text() == text


VARIANTS = """
question = "Does memory matter?"
workload = "sort"
engines = ["native"]
cores = [1]
repeats = 1

[[input]]
name = "records"
make = "tera"
rows = 1000

[[variant]]
name = "told"
title = "native, told something"
engine = "native"
engine_options = { ranks = 3 }

[[series]]
name = "both"
title = "Side by side"
scaling = "none"
"""


def test_variants_of_an_engine_are_compared_on_inputs_that_are_made_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["study", "run", tiny(tmp_path, VARIANTS), "-o", str(out)]
    assert call(words) == 0
    record = json.loads((out / "both" / "told-1" / "run.json").read_text())
    assert record["engine_options"] == {"ranks": "3"}
    assert record["inputs"][0]["path"] == str(out / "inputs" / "records")
    assert record["inputs"][0]["bytes"] == 100_000
    runs = json.loads((out / "study.json").read_text())["runs"]
    assert [run["label"] for run in runs] == ["native", "native, told something"]
    (section,) = page.sections(page.read(out))
    assert section.question == "Side by side"
    assert section.kind == "sort on native and native, told something"
    made = (out / "inputs" / "records").stat().st_mtime_ns
    assert call(words) == 0
    assert (out / "inputs" / "records").stat().st_mtime_ns == made
    assert call([*words[:2], tiny(tmp_path, VARIANTS.replace("1000", "500")), *words[3:]]) == 0
    assert (out / "inputs" / "records").stat().st_size == 50_000
    record = json.loads((out / "both" / "told-1" / "run.json").read_text())
    assert record["answer"]["counts"]["records"] == 500
    assert call(["study", "check", tiny(tmp_path, VARIANTS)]) == 0
    assert "told" in capsys.readouterr().out


WITH_C = (
    TINY
    + """
[[variant]]
name = "mpi-c"
title = "MPI/C"
engine = "mpi"
engine_options = { kernels = "c" }
"""
)


@pytest.mark.skipif(MpiEngine().missing() is not None, reason="MPI is not installed")
def test_a_variant_that_lacks_something_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(c_program, "missing", lambda: "there is no mpicc")
    assert call(["study", "run", tiny(tmp_path, WITH_C), "-o", str(tmp_path / "out")]) == 0
    found = json.loads((tmp_path / "out" / "study.json").read_text())
    assert found["left_out"] == {"MPI/C": "there is no mpicc"}
    assert {run["label"] for run in found["runs"]} == {"native"}


def test_the_programs_of_the_paper_on_spark_and_mpi_are_variants_of_its_study() -> None:
    options = {
        one.title: (one.engine, dict(one.engine_options))
        for one in study.read("spark-hpc").variants
    }
    assert options["MPI/C"] == ("mpi", {"kernels": "c"})
    assert options["PySpark with NumPy"] == ("spark", {"kernels": "numpy"})


def test_studies_that_come_along_are_listed_and_checked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call(["study", "list"]) == 0
    assert "spark-hpc" in capsys.readouterr().out
    for name in study.names():
        assert call(["study", "check", name]) == 0
    assert "weak-lazy" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('workload = "dataflow"', 'job = "x"'), "job is not known"),
        (('engines = ["native"]', ""), "engines is missing"),
        (("cores = [1]", "cores = [0]"), "neither .all. nor a list"),
        (('scaling = "weak"', 'scaling = "odd"'), "wrong scaling"),
        (('name = "weak"', 'name = "../weak"'), "small letters"),
        (("repeats = 2", "repeats = "), r"tiny\.toml: "),
        (("[[series]]", "[[variant]]\nname = 'x'\n[[series]]"), "variant x names no engine"),
        (("[[series]]", "[[variant]]\ncolour = 'x'\n[[series]]"), "a variant has a wrong colour"),
        (("[[series]]", "[[input]]\nmake = 'x'\n[[series]]"), "an input has a wrong make"),
        (
            ("[[series]]", "[[input]]\nname = 'x'\nmake = 'tera'\nsize = 1\n[[series]]"),
            "an input has a wrong size; it takes first, kind, make, name, rows, seed",
        ),
    ],
)
def test_a_wrong_file_is_one_line(change: tuple[str, str], told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=told):
        study.read(tiny(tmp_path, TINY.replace(*change)))


def test_what_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["study", "check", str(tmp_path / "none.toml")]) == 2
    assert "give a TOML file or one of" in capsys.readouterr().err
    words = ["study", "run", tiny(tmp_path), "-o", str(tmp_path / "out")]
    assert call([*words, "--engines", "spark"]) == 2
    assert "the study has no spark; it has native" in capsys.readouterr().err
    with pytest.raises(InputError, match="no study"):
        write_study(tmp_path, tmp_path / "report.html")


def made(folder: Path, times: dict[tuple[str, int], float], scaling: str) -> page.Study:
    """A study of runs that took so long."""
    rows = []
    for (engine, cores), seconds in times.items():
        place = folder / f"{engine}-{cores}"
        place.mkdir(parents=True)
        phases = [{"name": "pipeline", "seconds": seconds}]
        record: dict[str, Any] = {
            "schema": "cuesta.run/1",
            "workload": "dataflow",
            "engine": engine,
            "parameters": {"blocks": cores},
            "inputs": [],
            "answer": {"digest": "0" * 32, "counts": {}, "files": []},
            "verified": True,
            "phases": phases,
            "wall_seconds": seconds,
            "samples": [{"wall_seconds": seconds, "phases": phases}] * 3,
        }
        (place / "run.json").write_text(json.dumps(record))
        rows.append({"series": "s", "engine": engine, "cores": cores, "record": place.name})
    text = {
        "schema": "cuesta.study/1",
        "question": "?",
        "local_phases": ["pipeline"],
        "series": [{"name": "s", "title": "S", "scaling": scaling}],
        "left_out": {"array": "it is not installed"},
        "runs": rows,
    }
    (folder / "study.json").write_text(json.dumps(text))
    return page.read(folder)


def test_a_local_phase_that_is_not_flat_is_flagged(tmp_path: Path) -> None:
    times = {("a", 1): 1.0, ("a", 4): 1.05, ("b", 1): 1.0, ("b", 4): 2.0}
    (section,) = page.sections(made(tmp_path, times, "weak"))
    told = [alert.text for alert in section.alerts]
    assert len(told) == 2
    assert "`pipeline` of b needs no communication, yet takes 2.0" in told[0]
    assert told[1] == "array was left out: it is not installed."


def test_the_cost_is_the_cores_that_beat_one(tmp_path: Path) -> None:
    times = {("fast", 1): 1.0, ("mid", 1): 1.5, ("mid", 2): 0.8, ("slow", 1): 9.0, ("slow", 2): 5.0}
    (section,) = page.sections(made(tmp_path, times, "strong"))
    assert section.lead[-1].endswith("fast 1, mid 2 and slow more than 2.")
    assert section.marks[0].tone == "good"
