"""Answers and records of earlier versions are read, verified and reported, and have equal digests.

A folder of `tests/records` is a version; what it holds was written by that version, from inputs of
`spec/cases`. Processor, kernel and networks of its machine are left out.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import cuesta
from cuesta.cli.app import call
from labkit import SCHEMA

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "tests" / "records"
ANSWERS = sorted(path.parent for path in RECORDS.glob("*/*/run.json"))
INPUTS = {"pairs.txt": "clusters-a.txt", "matrix.txt": "matrix.txt"}


@pytest.fixture(params=ANSWERS, ids=lambda path: f"{path.parent.name}-{path.name}")
def answer(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An answer of an earlier version, with its input at the place in its record."""
    source: Path = request.param
    folder = tmp_path / source.name
    shutil.copytree(source, folder)
    for name, case in INPUTS.items():
        shutil.copyfile(ROOT / "spec" / "cases" / case, tmp_path / name)
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace("INPUTS/", f"{tmp_path}/"))
    return folder


def record(folder: Path) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return fields


def test_answers_of_earlier_versions_exist() -> None:
    assert len(ANSWERS) >= 2
    versions = {record(path)["versions"]["cuesta"] for path in ANSWERS}
    assert versions == {path.parent.name for path in ANSWERS}
    assert cuesta.__version__ not in versions


def test_a_record_has_the_schema_of_today(answer: Path) -> None:
    jsonschema.validate(record(answer), SCHEMA)


def test_an_answer_is_verified(answer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["verify", str(answer)]) == 0
    assert record(answer)["answer"]["digest"] in capsys.readouterr().out


def test_a_changed_answer_is_refused(answer: Path) -> None:
    file = answer / record(answer)["answer"]["files"][-1]["name"]
    file.write_bytes(file.read_bytes().replace(b"1", b"2", 1))
    assert call(["verify", str(answer)]) == 1


def test_a_report_of_it_is_written(answer: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert call(["report", str(answer), "-o", str(page)]) == 0
    assert record(answer)["answer"]["digest"][:8] in page.read_text()


def test_the_same_command_has_the_same_digest(
    answer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = record(answer)["command"][1:]
    words[words.index("-o") + 1] = "again"
    assert call(words) == 0
    assert record(tmp_path / "again")["answer"]["digest"] == record(answer)["answer"]["digest"]
