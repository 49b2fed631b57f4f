"""`tools/papers.py`: the page of figures, and its refusals."""

from __future__ import annotations

import csv
import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import papers
import paperslist
from modelkit import published
from published import judge

ROOT = Path(__file__).resolve().parent.parent
LIST = """
[[paper]]
id = "000"
name = "One"
title = "Title"
source = "Source"
figures = 2
tables = 0

[[figure]]
id = "000:figure-1"
title = "First"
shows = "What it shows."

[[figure]]
id = "000:figure-2"
title = "Second"
shows = "What it shows."
waits = "a machine"
"""
CLAIM = """
question = "Why?"

[[claim]]
name = "one"
figures = ["000:figure-1"]
finding = "It was fast | so it was."
expected = "As fast."
measure = "work"
over = "size"
trend = "rises"
"""
JUDGED = {
    "name": "one",
    "figures": ["000:figure-1"],
    "measure": "work",
    "over": "size",
    "trend": "rises",
    "verdict": "holds",
    "said": "Time of work grew.",
}


def tree(folder: Path, listed: str = LIST, study: str = CLAIM, **result: Any) -> Path:
    """A checkout with a list, a study and its result."""
    for name in ("spec", paperslist.STUDIES, paperslist.RESULTS, "docs"):
        (folder / name).mkdir(parents=True)
    (folder / "spec/papers.toml").write_text(listed)
    (folder / paperslist.STUDIES / "one.toml").write_text(study)
    recorded = {"smoke": False, "claims": [JUDGED], **result}
    (folder / paperslist.RESULTS / "one.json").write_text(json.dumps(recorded))
    return folder


def test_the_page_of_this_repository_is_current() -> None:
    done = subprocess.run(
        [sys.executable, "tools/papers.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_a_figure_has_the_verdict_and_the_sentence_of_the_result(tmp_path: Path) -> None:
    root = tree(tmp_path)
    assert papers.main([], root) == 0
    page = (root / "docs/papers.md").read_text()
    assert "| [Figure 1](#000-figure-1-first) | What it shows. | 1 holds |" in page
    assert (
        "| **holds** | It was fast \\| so it was. | As fast. | Time of work grew. "
        "| [one](../packages/lab/cuesta_lab/studies/one.toml) |"
    ) in page
    assert "| Figure 2 | What it shows. | waits for a machine |" in page
    assert papers.main(["--check"], root) == 0


def test_a_claim_without_a_result_is_not_run(tmp_path: Path) -> None:
    root = tree(tmp_path)
    (root / paperslist.RESULTS / "one.json").unlink()
    papers.main([], root)
    assert "1 not run" in (root / "docs/papers.md").read_text()


def test_a_claim_that_a_result_has_no_run_of_is_not_run(tmp_path: Path) -> None:
    root = tree(tmp_path)
    place = root / paperslist.RESULTS / "one.json"
    result = json.loads(place.read_text())
    for claim in result["claims"]:
        claim |= {"verdict": "undecided", "parts": []}
    place.write_text(json.dumps(result))
    papers.main([], root)
    assert "1 not run" in (root / "docs/papers.md").read_text()


def test_an_untested_claim_explains_why_without_a_result(tmp_path: Path) -> None:
    study_text = CLAIM.partition("measure")[0] + 'untested = "no such machine"\n'
    root = tree(tmp_path, study=study_text)
    (root / paperslist.RESULTS / "one.json").unlink()
    papers.main([], root)
    assert "| **cannot be tested** |" in (root / "docs/papers.md").read_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"listed": LIST.replace("figures = 2", "figures = 3")}, "000:figure-3 is missing"),
        ({"listed": LIST.replace("figures = 2", "figures = 1")}, "000 has no figure 2"),
        ({"listed": LIST.replace("figure-2", "figure-1")}, "000:figure-1 is there twice"),
        ({"listed": LIST.replace('waits = "a machine"', "")}, "000:figure-2 has no study"),
        ({"listed": f"{LIST}required = true"}, "000:figure-2 must have a study"),
        ({"listed": LIST.replace("waits", "wats")}, "000:figure-2: wats is not known"),
        ({"listed": LIST.replace('shows = "What it shows."', "", 1)}, "shows is missing"),
        ({"listed": LIST.replace("000:figure-2", "001:figure-2")}, "001:figure-2 is no id"),
        (
            {"study": CLAIM.replace("figure-1", "figure-2")},
            f"waits and {paperslist.STUDIES}/one.toml; leave one",
        ),
        ({"study": CLAIM.replace("figure-1", "figure-9")}, "000:figure-9 is not in spec/papers"),
        ({"study": CLAIM.replace("rises", "falls")}, "claim one has changed since; run the study"),
        ({"smoke": True}, "is of the smoke size"),
        ({"claims": []}, "claim one has changed since"),
    ],
)
def test_what_is_wrong_is_named(
    change: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(tmp_path, **change)
    assert papers.main(["--check"], root) == 1
    assert message in capsys.readouterr().out


def test_a_page_that_is_not_current_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(tmp_path)
    assert papers.main(["--check"], root) == 1
    assert "docs/papers.md is not current" in capsys.readouterr().out


def test_a_result_is_stored_with_what_its_claims_use(tmp_path: Path) -> None:
    root = tree(tmp_path)
    (root / "run").mkdir()
    samples = {"work": [1.23456789], "cpu": [2.0], "phase load": [3.0], "log tasks": [4.0]}
    sides = {"faster": {"measure": "log tasks"}, "than": {"a": "b"}}
    full_result: dict[str, Any] = {
        "name": "one",
        "smoke": False,
        "phases": ["load"],
        "claims": [{**JUDGED, **sides}],
        "views": [],
        "cells": [{"levels": {}, "runs": ["runs/a/1"], "measures": samples}],
        "machine": {"cpu": "x", "filesystems": ["/somewhere"]},
    }
    (root / "run/study.json").write_text(json.dumps(full_result))
    assert papers.main(["--keep", str(root / "run")], root) == 0
    recorded = json.loads((root / paperslist.RESULTS / "one.json").read_text())
    expected = {"work": [1.23457], "phase load": [3.0], "log tasks": [4.0]}
    assert recorded["cells"][0] == {"levels": {}, "runs": [], "measures": expected}
    assert recorded["machine"] == {"cpu": "x"}
    busy = {"rule": "timing", "grave": False, "text": "The machine was busy: a load of 9, 2 cores."}
    few = {"rule": "intervals", "grave": True, "text": "Fewer than 3 repeats."}
    for alarm in (busy, few):
        (root / "run/study.json").write_text(json.dumps(full_result | {"alarms": [alarm]}))
        with pytest.raises(SystemExit, match="cannot be compared: "):
            papers.main(["--keep", str(root / "run")], root)
    (root / "run/study.json").write_text(json.dumps(full_result | {"smoke": True}))
    with pytest.raises(SystemExit, match="is of the smoke size"):
        papers.main(["--keep", str(root / "run")], root)


def test_a_stored_result_is_judged_by_the_claims_of_today(tmp_path: Path) -> None:
    levels = {"name": "size", "levels": [{"name": name, "value": int(name)} for name in "12"]}
    table = 'name = "size"\nlevels = [{ name = "1", value = 1 }, { name = "2", value = 2 }]'
    study = CLAIM.replace("[[claim]]", f"[[factor]]\n{table}\n\n[[claim]]")
    slow = [{"levels": {"size": name}, "measures": {"work": [int(name)] * 3}} for name in "12"]
    file = {"factor": [levels], "claim": [JUDGED]}
    result: dict[str, Any] = {"name": "one", "views": [], "factors": [levels], "cells": slow}
    root = tree(tmp_path, study=study, file=file, **result)
    result_file = root / paperslist.RESULTS / "one.json"
    (root / paperslist.STUDIES / "one.toml").write_text(study.replace('"rises"', '"falls"'))
    assert papers.main(["--judge", "one"], root) == 0
    claim = json.loads(result_file.read_text())["claims"][0]
    assert (claim["trend"], claim["verdict"]) == ("falls", "does not hold")
    assert papers.main(["--check"], root) == 0
    (root / paperslist.STUDIES / "one.toml").write_text(study.replace('"work"', '"log tasks"'))
    assert papers.main(["--judge", "one"], root) == 0
    claim = json.loads(result_file.read_text())["claims"][0]
    assert claim["verdict"] == "premise not met"
    assert claim["said"].startswith("Tasks was not counted, or 0 on both sides, at 1, 2; to meet")
    (root / paperslist.STUDIES / "one.toml").write_text(study.replace("value = 2", "value = 3"))
    with pytest.raises(SystemExit, match="factor of the study has changed since"):
        papers.main(["--judge", "one"], root)


def test_a_stored_result_of_a_busy_machine_has_no_verdict(tmp_path: Path) -> None:
    levels = {"name": "size", "levels": [{"name": name, "value": int(name)} for name in "12"]}
    table = 'name = "size"\nlevels = [{ name = "1", value = 1 }, { name = "2", value = 2 }]'
    study = CLAIM.replace("[[claim]]", f"[[factor]]\n{table}\n\n[[claim]]")
    slow = [{"levels": {"size": name}, "measures": {"work": [int(name)] * 3}} for name in "12"]
    alarm = {
        "rule": "timing",
        "grave": False,
        "text": "The machine was busy: a load of 9, 2 cores.",
    }
    root = tree(
        tmp_path, study=study, file={"factor": [levels]}, name="one", views=[], factors=[levels],
        cells=slow, alarms=[alarm],
    )  # fmt: skip
    assert papers.main(["--judge", "one"], root) == 0
    (claim,) = json.loads((root / paperslist.RESULTS / "one.json").read_text())["claims"]
    assert claim["verdict"] == "premise not met"
    assert claim["said"].startswith("The machine was busy: a load of 9, 2 cores. To meet it: run")


def test_a_result_without_a_study_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(tmp_path)
    (root / paperslist.RESULTS / "one.json").rename(root / paperslist.RESULTS / "two.json")
    assert papers.main(["--check"], root) == 1
    assert "packages/lab/results/two.json has no study" in capsys.readouterr().out


TIMES = """\
machine,engine,nodes,scaling,cached,overall_s
far,mpi,1,weak,0,2
far,mpi,2,weak,0,4
far,spark,1,weak,0,50
far,spark,2,weak,0,60
far,spark,2,strong,0,99
"""
PUBLISHED = """
sha256 = "DIGEST"

[[claim]]
name = "slow"
figures = ["000:figure-2"]
finding = "Spark is slow."
expected = "Yes."
where = { machine = "far", scaling = "weak" }
faster = { engine = "mpi" }
than = { engine = ["spark"] }
paper = 20

[[claim]]
name = "grows"
figures = ["000:figure-2"]
finding = "Times grow in proportion."
expected = "No."
where = { scaling = "weak" }
exponent = [0.9, 1.1]
"""


def test_published_times_have_a_separate_kind_of_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(tmp_path, listed=LIST.replace('waits = "a machine"', ""))
    times = tmp_path / "times.csv"
    times.write_text(TIMES)
    digest = hashlib.sha256(TIMES.encode()).hexdigest()
    listed = PUBLISHED.replace("DIGEST", digest)
    (root / "spec/published.toml").write_text(listed)
    assert papers.main(["--published", str(times)], root) == 0
    stored = json.loads((root / "spec/published.json").read_text())
    assert [claim["verdict"] for claim in stored["claims"]] == ["holds", "does not hold"]
    assert stored["claims"][0]["values"] == {
        "far, spark, 1 node, weak": 25, "far, spark, 2 nodes, weak": 15
    }  # fmt: skip
    page = (root / "docs/papers.md").read_text()
    assert "| **holds** by the authors' own data | Spark is slow. | Yes. | Overall time of" in page
    assert "15 to 25, on average 19.4; 25 (far, spark, 1 node, weak)" in page
    assert "| [published times](../spec/published.toml) |" in page
    assert "2 by the authors' own data" in page
    assert papers.main(["--check"], root) == 0
    (root / "spec/published.toml").write_text(listed.replace("paper = 20", "paper = 30"))
    assert papers.main(["--check"], root) == 1
    assert "claim slow is not judged; run --published CSV" in capsys.readouterr().out
    (root / "spec/published.toml").write_text(listed.replace(digest, "0"))
    assert papers.main(["--check"], root) == 1
    assert "is of another file than" in capsys.readouterr().out


def test_verdicts_by_published_times_are_those_of_the_file() -> None:
    """The file itself may not be redistributed; where it is at hand, its verdicts are current."""
    rows = list(csv.DictReader(published().read_text().splitlines()))
    listed = tomllib.loads((ROOT / paperslist.PUBLISHED).read_text())
    stored = json.loads((ROOT / "spec/published.json").read_text())
    assert judge(listed["claim"], rows, listed["sha256"]) == stored
    theta = [
        value
        for claim in stored["claims"]
        if claim["name"].startswith("theta-thirty")
        for value in claim["values"].values()
    ]
    assert (round(min(theta), 1), round(max(theta), 1)) == (12.6, 30.2)
