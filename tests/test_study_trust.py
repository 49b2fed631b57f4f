"""A study file from elsewhere is data: parts that could run code need a person's consent."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuesta.cli.app import call
from cuesta.errors import InputError
from cuesta.safe_options import unsafe
from cuesta_lab.study import cells, file, trust
from studycommandkit import STUDY, write_study
from test_study_file import TINY, to_study

SORT = """
question = "Who runs this?"
workload = "sort"
engine = "{engine}"
repeats = 1

[settings]
inputs = ["records"]
cores = 1
memory = "1GiB"
engine_options = {options}

[[input]]
name = "records"
make = "tera"
rows = 100
"""


def write(folder: Path, engine: str, options: str) -> Path:
    path = folder / "hostile.toml"
    path.write_text(SORT.format(engine=engine, options=options))
    return path


@pytest.mark.parametrize(
    ("engine", "option", "value"),
    [
        ("spark", "spark.driver.extraJavaOptions", "-javaagent:CANARY"),
        ("spark", "spark.jars", "CANARY"),
        ("spark", "spark.plugins", "CANARY"),
        ("spark", "spark.driver.memory", "1g -javaagent:CANARY"),
        ("spark", "spark.serializer", "evil.Serializer"),
        ("spark", "spark.io.compression.codec", "evil.Codec"),
        ("spark", "spark.local.dir", "/home"),
        ("spark", "master", "spark://elsewhere:7077"),
        ("spark", "python", "CANARY"),
        ("dask", "scheduler", "tcp://elsewhere:8786"),
        ("hadoop", "conf", "CANARY"),
        ("hadoop", "examples", "CANARY"),
        ("hadoop", "mapreduce.map.java.opts", "-javaagent:CANARY"),
        ("array", "array", "CANARY"),
    ],
)
def test_a_study_that_names_code_or_a_host_is_refused_before_anything_is_made(
    engine: str,
    option: str,
    value: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`study run FILE` passed all options of the file on: a jar, a plugin, an interpreter. Now it
    refuses them without consent.
    """
    canary = tmp_path / "canary"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {canary}\n")
    script.chmod(0o755)
    value = value.replace("CANARY", str(script))
    study = write(tmp_path, engine, f'{{ "{option}" = "{value}" }}')
    out = tmp_path / "out"
    for words in (["run"], ["tune"]):
        assert call(["study", *words, str(study), "-o", str(out)]) == 2
        errors = capsys.readouterr().err
        assert option in errors
        assert "--allow-options" in errors
    assert not out.exists()
    assert not canary.exists()


def test_a_person_may_allow_what_a_study_sets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write(tmp_path, "array", '{ "array" = "elsewhere" }')
    assert call(["study", "run", str(study), "-o", str(tmp_path / "out"), "--allow-options"]) != 2
    assert "--allow-options" not in capsys.readouterr().err


def test_a_study_fetches_no_uri_and_names_no_folder_to_write_to_by_itself() -> None:
    uri = SORT.format(engine="native", options="{}").replace(
        'make = "tera"\nrows = 100', 'uri = "http://elsewhere/x"'
    )
    study = to_study(uri)
    with pytest.raises(InputError, match=r"http://elsewhere/x.*--allow-options"):
        trust.check(study, cells.combinations(study))
    resumes = uri.replace('"sort"', '"assemble"').replace('uri = "http', 'path = "http')
    resumes = resumes.replace("[settings]", '[settings]\nparameters = { resume = "elsewhere/x" }')
    study = to_study(resumes)
    with pytest.raises(InputError, match="the parameter resume=elsewhere/x"):
        trust.check(study, cells.combinations(study))


def test_a_study_names_no_file_and_no_folder_outside_by_itself() -> None:
    """A foreign study made a file wherever its `reference` pointed. Now it needs consent."""
    reads = SORT.format(engine="native", options="{}").replace(
        'make = "tera"\nrows = 100', 'make = "reads"\nreference = "/elsewhere/new.fa"'
    )
    study = to_study(reads.replace("[settings]", '[settings]\nscratch = "/elsewhere"'))
    with pytest.raises(InputError, match=r"reference=/elsewhere/new.fa.* scratch=/elsewhere"):
        trust.check(study, cells.combinations(study))


@pytest.mark.parametrize("name", file.names())
@pytest.mark.parametrize("smoke", [False, True])
def test_the_studies_of_the_project_need_no_word(name: str, smoke: bool) -> None:
    study = file.read(name, smoke=smoke)
    trust.check(study, cells.combinations(study))


def test_values_are_looked_at_wholly() -> None:
    assert not list(unsafe({"spark.driver.memory": "2g", "partitions": "64", "codec": "lz4"}))
    for value in ("2g\n-javaagent:x", "2g -Dx=y", "", "٣"):
        assert list(unsafe({"spark.driver.memory": value})) == ["spark.driver.memory"]


def test_commands_of_a_study_run_only_where_a_person_allows_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    canary = tmp_path / "canary"
    text = STUDY.replace("{python} make_numbers.py", f"touch {canary}").replace(
        "[settings]", f'[settings]\nsetup = ["touch {canary}"]\ncheck = ["touch {canary}\u202e"]'
    )
    study, out = write_study(tmp_path / "study", text), tmp_path / "out"
    harmless = write_study(tmp_path / "study", TINY, "harmless")
    for words in (["run", str(harmless)], ["run"], ["tune"], ["run", "--allow-options"]):
        assert call(["study", *words, str(study), "-o", str(out)]) == 2
        errors = capsys.readouterr().err
        assert len(errors.splitlines()) == 1
        assert f"touch {canary}" in errors
        assert "{python} sum.py {input} {answer} 1e-9" in errors
        assert "--allow-commands" in errors
        assert "\u202e" not in errors
    assert call(["study", "check", str(study)]) == 0
    printed = capsys.readouterr().out
    assert "{python} sum.py {input} {answer} 1e-9" in printed
    assert "--allow-commands" in printed
    assert not out.exists()
    assert not canary.exists()
    assert call(["study", "run", str(study), "-o", str(out), "--allow-commands"]) != 2
    assert canary.exists()


def test_allowed_commands_allow_no_other_setting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = STUDY.replace('command = "{python} make_numbers.py {answer} 1000"',
                         'uri = "http://elsewhere/x"')  # fmt: skip
    study = write_study(tmp_path / "study", text)
    words = ["study", "run", str(study), "-o", str(tmp_path / "out"), "--allow-commands"]
    assert call(words) == 2
    assert "http://elsewhere/x" in capsys.readouterr().err
