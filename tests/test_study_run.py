"""A study runs in its order, continues after a stop, and reports failures."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call
from cuesta.engines import Engine, get_engine
from cuesta.errors import EngineError, InputError, VerificationError
from cuesta.lab.observer import Silent
from cuesta_lab.cli.study_means import started_store
from cuesta_lab.study import cells, estimate, file, order, result, run
from cuesta_lab.study.trials import StudyEnvironment, Tier
from labkit import CopyEngine
from test_study_file import TINY, to_study

MEANS = StudyEnvironment(engine=get_engine)
SORT = """
question = "Does memory matter?"
workload = "sort"
repeats = 1

[settings]
inputs = ["records"]
cores = 1
memory = "1GiB"

[[input]]
name = "records"
make = "tera"
rows = 1000

[[factor]]
name = "tool"
levels = [
    { name = "plain" },
    { name = "told", engine_options = { ranks = 3 } },
    { name = "stored", store = "64MiB" },
    { name = "cold", store = "64MiB", cache = "cold" },
    { name = "held", store = "64MiB", cache = "cold", holds = true },
]
"""


def test_a_study_runs_and_continues(tmp_path: Path) -> None:
    study = to_study(TINY)
    study_result, outcomes = run.run(study, tmp_path / "out", MEANS, Silent())
    assert [len(outcome.runs) for outcome in outcomes] == [2, 2, 2, 0]
    cell = study_result["cells"][1]
    assert cell["levels"] == {"scaling": "weak", "cores": "two"}
    assert cell["runs"] == ["runs/weak_two/1", "runs/weak_two/2"]
    assert len(cell["measures"]["work"]) == 2
    assert all(seconds > 0 for seconds in cell["measures"]["typed"])
    assert study_result["cells"][3]["left_out"] == "it is the same"
    folder = tmp_path / "out" / "runs" / "weak_two" / "1"
    assert [path.name for path in folder.iterdir()] == ["run.json"]
    record = json.loads((folder / "run.json").read_text())
    assert (record["parameters"]["blocks"], record["threads"]) == (6, 2)
    before = (folder / "run.json").stat().st_mtime_ns
    (tmp_path / "out" / "runs" / "weak_one" / "2" / "run.json").unlink()
    resumed, _ = run.run(study, tmp_path / "out", MEANS, Silent())
    assert (folder / "run.json").stat().st_mtime_ns == before
    assert len(resumed["cells"][0]["runs"]) == 2
    # With other settings no earlier run is reused.
    other = to_study(TINY.replace("blocks = 3", "blocks = 4"))
    run.run(replace(other, repeats=1), tmp_path / "out", MEANS, Silent())
    record = json.loads((folder / "run.json").read_text())
    assert record["parameters"]["blocks"] == 8
    result.raise_errors(outcomes)


def test_warm_runs_precede_the_measured_run_in_its_session(tmp_path: Path) -> None:
    study = to_study(TINY.replace("\n[[factor]]", "warm_runs = 2\n\n[[factor]]", 1))
    found, outcomes = run.run(replace(study, repeats=1), tmp_path / "out", MEANS, Silent())
    result.raise_errors(outcomes)
    record = json.loads((tmp_path / "out" / "runs" / "weak_two" / "1" / "run.json").read_text())
    assert (record["session_runs"], record["repeats"], len(record["samples"])) == (2, 1, 1)
    assert found["cells"][1]["measures"]["warm-runs"] == [2.0]


class Notes(Silent):
    """Observer that stores its reports."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


def test_a_resumed_study_reports_its_earlier_runs_and_keeps_its_times(tmp_path: Path) -> None:
    """It recorded that it had begun just now, and that it took no time. Now it adds its earlier
    runs.
    """
    study, out = to_study(TINY), tmp_path / "out"
    first, _ = run.run(study, out, MEANS, Silent())
    first |= {"started": "2026-01-02T03:04:05Z", "seconds": 1000.0}
    result.write(first, out)
    notes = Notes()
    resumed, _ = run.run(study, out, MEANS, notes)
    assert "6 of 6 runs were here already; nothing was run" in notes.said
    assert (resumed["started"], resumed["seconds"]) == ("2026-01-02T03:04:05Z", 1000.0)
    (out / "runs" / "weak_one" / "2" / "run.json").unlink()
    notes = Notes()
    more, _ = run.run(study, out, MEANS, notes)
    assert "5 of 6 runs were here already; 1 were run now" in notes.said
    assert more["started"] == "2026-01-02T03:04:05Z"
    assert more["seconds"] > 1000.0


def test_a_part_of_a_study_replaces_nothing_of_the_rest(tmp_path: Path) -> None:
    study, out = replace(to_study(TINY), repeats=1), tmp_path / "out"
    two = cells.only(study.factors, ["cores=two"])
    part, outcomes = run.run(study, out, MEANS, Silent(), two)
    assert len(outcomes) == 2
    assert [len(cell["runs"]) for cell in part["cells"]] == [0, 1, 0, 0]
    assert part["cells"][3]["left_out"] == "it is the same"
    single = cells.only(study.factors, ["cores=one"])
    rest, _ = run.run(study, out, MEANS, Silent(), single)
    assert [len(cell["runs"]) for cell in rest["cells"]] == [1, 1, 1, 0]
    assert rest["cells"][1] == part["cells"][1]
    assert rest["factors"] == part["factors"]
    assert [len(factor["levels"]) for factor in rest["factors"]] == [2, 2]


def test_a_check_distinguishes_levels_of_memory_and_names_the_impossible(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    levels = """
[[factor]]
name = "memory"
levels = [{ name = "small", memory = "1GiB" }, { name = "large", memory = "2GiB" },
          { name = "none", memory = "900TiB" }]
"""
    file = tmp_path / "tiny.toml"
    file.write_text(SORT[: SORT.index("[[factor]]")] + levels)
    assert call(["study", "check", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("1 cores, memory 1 GiB")
    assert lines[1].endswith("1 cores, memory 2 GiB")
    assert "not run: needs 900 TiB of memory, there are" in lines[2]


def test_inputs_are_made_once_and_may_lie_in_a_store(tmp_path: Path) -> None:
    study = file.parse("tiny", tomllib.loads(SORT))
    pinned: list[Any] = []

    @contextmanager
    def store(*arguments: Any) -> Iterator[Tier]:
        with started_store(*arguments) as tier:
            yield replace(tier, hold=lambda path: pinned.append((path, tier.hold(path))))

    environment = StudyEnvironment(engine=get_engine, store=store)
    out = tmp_path / "out"
    study_result, outcomes = run.run(study, out, environment, Silent())
    assert [outcome.failed for outcome in outcomes] == [[]] * 5
    assert len({cell["digest"] for cell in study_result["cells"]}) == 1
    record = json.loads((out / "runs/stored/1/run.json").read_text())
    assert record["inputs"][0]["path"] == "cuesta:///records"
    assert record["cache"] == "as-is"
    assert [(path, moved["bytes"]) for path, moved in pinned] == [("/records", 100_000)] * 2
    for name in ("cold", "held"):
        repeat_record = json.loads((out / "runs" / name / "1/run.json").read_text())
        assert repeat_record["cache"] == "input-dropped"
    modified_ns = (out / "inputs" / "records").stat().st_mtime_ns
    run.run(study, out, environment, Silent())
    assert (out / "inputs" / "records").stat().st_mtime_ns == modified_ns
    smaller = file.parse("tiny", tomllib.loads(SORT.replace("1000", "500")))
    resumed, _ = run.run(smaller, out, environment, Silent())
    assert [cell["measures"]["count records"] for cell in resumed["cells"]] == [[500.0]] * 5


def test_inputs_may_lie_apart(tmp_path: Path) -> None:
    text = SORT.replace("rows = 1000", 'rows = 1000\nat = "remote"')
    study = file.parse("tiny", tomllib.loads(text))
    with pytest.raises(InputError, match="say where by --remote URI"):
        run.run(study, tmp_path / "out", MEANS, Silent())
    apart = f"local://{tmp_path}/apart"
    environment = StudyEnvironment(engine=get_engine, places={"remote": apart})
    in_blocks = text.replace('"remote"', '"remote"\nblock = "1MiB"')
    blocks = file.parse("tiny", tomllib.loads(in_blocks))
    with pytest.raises(InputError, match="no blocks whose size could be chosen; give one of hdfs"):
        run.run(blocks, tmp_path / "out", environment, Silent())
    plain = replace(study, factors=cells.only(study.factors, ["tool=plain"]))
    study_result, _ = run.run(plain, tmp_path / "out", environment, Silent())
    assert (tmp_path / "apart" / "records").stat().st_size == 100_000
    assert study_result["cells"][0]["measures"]["count records"] == [1000.0]


def test_places_of_inputs_have_names(tmp_path: Path) -> None:
    """An input here, and in two other places: their answers are held to be equal."""
    text = SORT.replace(
        SORT[SORT.index("levels") :],
        """levels = [
    { name = "here" }, { name = "there", place = "a" }, { name = "elsewhere", place = "b" },
]
""",
    )
    study = file.parse("tiny", tomllib.loads(text))
    out, first, second = (tmp_path / name for name in ("out", "a folder", "b"))
    with pytest.raises(InputError, match="say where by --remote b=URI"):
        run.run(study, out, StudyEnvironment(engine=get_engine, places={"a": str(first)}), Silent())
    environment = StudyEnvironment(
        engine=get_engine, places={"a": str(first), "b": f"local://{second}"}
    )
    _, outcomes = run.run(study, out, environment, Silent())
    paths = [
        json.loads((out / "runs" / name / "1" / "run.json").read_text())["inputs"][0]["path"]
        for name in ("here", "there", "elsewhere")
    ]
    expected = [
        str(out / "inputs" / "records"),
        str(first / "records"),
        f"local://{second}/records",
    ]
    assert paths == expected
    result.raise_errors(outcomes)
    assert len({outcome.combination.answers for outcome in outcomes}) == 1


def scan(
    folder: Path, engines: dict[str, Engine]
) -> tuple[result.Result, list[result.CombinationRuns]]:
    """Run a study of test engines on a file of two lines."""
    folder.mkdir(exist_ok=True)
    (folder / "pairs.txt").write_text("")
    text = f"""
question = "?"
workload = "scan"
repeats = 2
[settings]
inputs = ["a"]
cores = 1
parameters = {{ min_abs_score = 0.5 }}
[[input]]
name = "a"
path = "{folder}/pairs.txt"
[[factor]]
name = "tool"
levels = [{{ name = "one", engine = "native" }}, {{ name = "two", engine = "spark" }}]
"""
    environment = StudyEnvironment(engine=lambda name: engines[name])
    return run.run(file.parse("s", tomllib.loads(text)), folder / "out", environment, Silent())


def test_an_engine_that_lacks_something_is_left_out_and_a_wrong_answer_has_no_time(
    tmp_path: Path,
) -> None:
    engines: dict[str, Engine] = {
        "native": CopyEngine(name="native", extra="0\t0\n"),
        "spark": CopyEngine(name="spark", lacking="there is no Java"),
    }
    study_result, outcomes = scan(tmp_path / "wrong", engines)
    wrong, omitted = study_result["cells"]
    assert omitted["left_out"] == "there is no Java"
    assert wrong["measures"] == {}
    assert "is wrong" in wrong["failed"][0]["why"]
    assert len(wrong["failed"]) == 1
    with pytest.raises(VerificationError, match="one: the answer of scan on native is wrong"):
        result.raise_errors(outcomes)
    # A continued study keeps the failure, though the engine is right now.
    engines["native"] = CopyEngine(name="native")
    resumed, _ = scan(tmp_path / "wrong", engines)
    assert resumed["cells"][0]["failed"] == wrong["failed"]
    assert resumed["cells"][0]["measures"] == {}

    def dies(*_: object) -> None:
        raise EngineError("it broke")

    engines["native"] = CopyEngine(name="native", before=dies)
    _, outcomes = scan(tmp_path / "broken", engines)
    with pytest.raises(EngineError, match="one: it broke"):
        result.raise_errors(outcomes)


def test_answers_that_must_be_equal_are_held_equal(tmp_path: Path) -> None:
    study = file.parse("tiny", tomllib.loads(SORT))
    combined = cells.combinations(study)
    outcomes = [
        result.CombinationRuns(combination=combination, digest=str(i))
        for i, combination in enumerate(combined)
    ]
    with pytest.raises(VerificationError, match="answers differ: plain 0, told 1"):
        result.raise_errors(outcomes)
    del tmp_path


def test_the_order_is_drawn_and_stops_where_it_is_tight() -> None:
    combined = cells.combinations(to_study(TINY))
    drawn = [
        (combination.name, repeat)
        for combination, repeat in order.rounds(combined, 5, 1, lambda _: False)
    ]
    assert drawn == [
        (combination.name, repeat)
        for combination, repeat in order.rounds(combined, 5, 1, lambda _: False)
    ]
    orders = [tuple(name for name, repeat in drawn if repeat == r) for r in range(1, 6)]
    assert len(set(orders)) > 2
    assert {tuple(sorted(turn)) for turn in orders} == {tuple(sorted(orders[0]))}
    assert order.is_tight([1.0, 1.01, 1.0, 1.0, 1.0, 0.99], 0.05)
    assert not order.is_tight([1.0, 1.01, 1.0, 1.0, 1.0], 0.05)  # an interval of 94 %
    assert not order.is_tight([1.0, 1.3, 1.0, 1.0, 1.0, 0.99], 0.05)
    assert not order.is_tight([1.0] * 9, None)


def test_a_budget_ends_a_study_and_the_rest_comes_later(tmp_path: Path) -> None:
    study = to_study(TINY)
    short, outcomes = run.run(replace(study, minutes=1e-9), tmp_path / "out", MEANS, Silent())
    assert short["budget_spent"]
    assert sum(len(outcome.runs) for outcome in outcomes) <= 1
    assert "3 of 4 combinations, each run up to 2 times" in estimate.sentence(
        study, cells.combinations(study), None
    )
    study_result, _ = run.run(study, tmp_path / "out", MEANS, Silent())
    assert not study_result["budget_spent"]
    sentence = estimate.sentence(study, cells.combinations(study), study_result)
    assert ": about " in sentence


def test_the_command_prints_its_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    words = ["study", "run", str(tmp_path / "tiny.toml"), "-o", str(tmp_path / "out")]
    assert call([*words, "--smoke", "--only", "cores=one"]) == 0
    output = capsys.readouterr().out
    assert "scaling weak, cores one: " in output
    assert f"report: {tmp_path}/out/report.html" in output
    assert "Does it scale?" in (tmp_path / "out" / "report.html").read_text()
    report_words = ["report", str(tmp_path / "out"), "-o", str(tmp_path / "again.html")]
    assert call(report_words) == 0
    assert call(["study", "check", str(tmp_path / "out")]) == 1
    assert "Every answer is verified" in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "study.json").read_text())["smoke"]
    assert call([*words, "--only", "cores=nine"]) == 2
    assert "cores has no nine; it has one, two" in capsys.readouterr().err


HELD = """
question = "?"
workload = "sort"
repeats = 1
[settings]
inputs = ["records"]
cores = 1
memory = "1GiB"
[[input]]
name = "records"
make = "tera"
rows = 40000
[[factor]]
name = "disk"
levels = [
    { name = "free" },
    { name = "slow", machine = { disk-rate = "2MB/s", disk-holds = "input,output" } },
]
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="factors of the machine need root")
def test_a_level_may_hold_the_machine_to_a_rate(tmp_path: Path) -> None:
    study = file.parse("held", tomllib.loads(HELD))
    study_result, outcomes = run.run(study, tmp_path / "out", MEANS, Silent())
    if outcomes[1].left_out:
        pytest.skip(outcomes[1].left_out)
    free, slow = study_result["cells"]
    assert slow["failed"] == []
    assert slow["digest"] == free["digest"]
    record = json.loads((tmp_path / "out/runs/slow/1/run.json").read_text())
    assert record["machine_factors"]["asked"]["disk-rate"] == "2MB/s"
    assert any(name.startswith("disk") for name in record["machine_factors"]["probed"])
    assert [path.name for path in (tmp_path / "out/runs/slow/1").iterdir()] == ["run.json"]


def test_a_factor_that_needs_root_is_left_out_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    study = file.parse("held", tomllib.loads(HELD))
    _, outcomes = run.run(study, tmp_path / "out", MEANS, Silent())
    assert [outcome.left_out for outcome in outcomes] == [
        None,
        "machine factor disk-holds needs root",
    ]
    wrong = file.parse("held", tomllib.loads(HELD.replace("disk-rate", "disk-colour")))
    with pytest.raises(InputError, match="disk-colour"):
        cells.combinations(wrong)
