"""Running a trial: refusals, measurements, the record and what remains."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cuesta.engines import ENGINE_NAMES, Engine, Progress, get_engine
from cuesta.errors import EngineMissing, InputError, VerificationError
from cuesta.lab import record
from cuesta.lab.run import run_trial
from cuesta.lab.verify import Verification
from cuesta.trial import Trial
from labkit import SCHEMA, CopyEngine, input_sizes, names, plan, same_as_input, scan_trial

CEILINGS = {"file_read_warm_bytes_per_s": 16.0}
BLAKE3 = "f8d36ca9802308912373b0876ab6af1ee2d51ad6017c24445bd71603ba35ffbe"
"""Checksum of the file that `scan_trial` makes."""


class Listener:
    """Observer that stores its reports."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.stages: list[str] = []
        self.done: list[tuple[int, int]] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def detail(self, text: str) -> None: ...

    def stage(self, name: str) -> None:
        self.stages.append(name)

    def progress(self, done: int, total: int) -> None:
        self.done.append((done, total))

    def close(self) -> None:
        pass


def test_a_run_leaves_an_answer_with_a_record_of_the_published_schema(tmp_path: Path) -> None:
    chosen_plan = plan(tmp_path, repeats=3, ceilings=CEILINGS, command=("cuesta", "run"))
    run_record = run_trial(CopyEngine(), scan_trial(tmp_path), chosen_plan)
    assert names(tmp_path) == {"answer", "input.txt"}
    assert names(tmp_path / "answer") == {"pairs.txt", "run.json"}
    assert json.loads((tmp_path / "answer" / "run.json").read_text()) == run_record
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(run_record, SCHEMA)


def test_the_record_describes_the_request_and_the_result(tmp_path: Path) -> None:
    now_s = datetime(2026, 11, 21, 9, 0, tzinfo=UTC).timestamp()
    run_record = run_trial(CopyEngine(), scan_trial(tmp_path, seed=5), plan(tmp_path, now=now_s))
    assert (run_record["workload"], run_record["engine"], run_record["seed"]) == ("scan", "copy", 5)
    assert run_record["parameters"]["min_abs_score"] == 0.0
    assert input_sizes(run_record) == [
        {"path": str(tmp_path / "input.txt"), "bytes": 4, "files": 1}
    ]
    assert run_record["answer"]["counts"] == {"rows_read": 3, "rows_kept": 1, "rows": 1}
    assert run_record["answer"]["files"] == [{"name": "pairs.txt", "bytes": 4, "blake3": BLAKE3}]
    assert run_record["verified"] is True
    assert run_record["verification"]["method"] == "reading the input"
    assert run_record["versions"]["copy"] == "1.2"
    assert run_record["started"] == "2026-11-21T09:00:00Z"
    assert run_record["ceilings"] is None


def test_a_phase_is_compared_with_its_ceiling_where_that_is_known(tmp_path: Path) -> None:
    run_record = run_trial(CopyEngine(), scan_trial(tmp_path), plan(tmp_path, ceilings=CEILINGS))
    first, second = run_record["phases"]
    assert "fraction_of_ceiling" not in first
    assert second["rate_per_s"] == 8.0
    assert second["fraction_of_ceiling"] == 0.5


def test_a_cold_run_is_held_against_the_device(tmp_path: Path) -> None:
    ceilings = CEILINGS | {"file_read_direct_bytes_per_s": 80.0}
    chosen_plan = plan(tmp_path, ceilings=ceilings, cache="input-dropped")
    run_record = run_trial(CopyEngine(), scan_trial(tmp_path), chosen_plan)
    assert run_record["cache"] == "input-dropped"
    assert run_record["phases"][1]["ceiling"] == "file_read_direct_bytes_per_s"
    assert run_record["phases"][1]["fraction_of_ceiling"] == 0.1


def test_repeats_run_in_emptied_folders_and_are_all_recorded(tmp_path: Path) -> None:
    engine = CopyEngine()
    run_record = run_trial(engine, scan_trial(tmp_path), plan(tmp_path, repeats=7))
    assert len(engine.runs) == len(run_record["samples"]) == run_record["repeats"] == 7
    walls = sorted(sample["wall_seconds"] for sample in run_record["samples"])
    assert (
        run_record["wall_seconds"] == run_record["statistics"]["wall_seconds"]["median"] == walls[3]
    )
    assert run_record["statistics"]["wall_seconds"]["confidence"] == 1 - 2 / 2**7


def test_a_wrong_answer_gets_no_name_and_is_left_for_a_look(tmp_path: Path) -> None:
    engine = CopyEngine(extra="5\t2\n")
    with pytest.raises(VerificationError, match=r"reading the input gives .* are left in"):
        run_trial(engine, scan_trial(tmp_path), plan(tmp_path))
    assert not (tmp_path / "answer").exists()
    (left,) = tmp_path.glob("answer.partial-*")
    assert record.read(left / "answer")["verified"] is False


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("bug"), InputError("data")])
def test_an_engine_that_fails_leaves_nothing_and_is_closed(
    tmp_path: Path, error: BaseException
) -> None:
    def fail(_trial: Trial, _output: Path) -> None:
        raise error

    engine = CopyEngine(before=fail)
    with pytest.raises(type(error)):
        run_trial(engine, scan_trial(tmp_path), plan(tmp_path))
    assert names(tmp_path) == {"input.txt"}
    assert engine.closed == 1


def test_the_peak_covers_the_verification_and_samples_do_not(tmp_path: Path) -> None:
    def greedy(trial: Trial, answer: Path, scratch: Path, **how: Any) -> Verification:
        taken = bytearray(b"1") * (200 << 20)
        assert taken[-1]
        return same_as_input(trial, answer, scratch, **how)

    run_record = run_trial(CopyEngine(), scan_trial(tmp_path), plan(tmp_path, verifier=greedy))
    more_bytes = run_record["peak_resident_bytes"] - run_record["samples"][0]["peak_resident_bytes"]
    assert more_bytes > 100 << 20
    assert run_record["verification"]["peak_resident_bytes"] == run_record["peak_resident_bytes"]
    assert run_record["verification"]["cpu_seconds"] > 0


def test_the_total_time_is_reported_part_by_part(tmp_path: Path) -> None:
    def slow(trial: Trial, answer: Path, scratch: Path, **how: Any) -> Verification:
        time.sleep(0.1)
        return replace(same_as_input(trial, answer, scratch, **how), seconds=0.1)

    chosen_plan = plan(tmp_path, verifier=slow, repeats=3, startup_seconds=2.0)
    run_record = run_trial(CopyEngine(), scan_trial(tmp_path), chosen_plan)
    durations = run_record["time"]
    assert durations["work_seconds"] == sum(
        sample["wall_seconds"] for sample in run_record["samples"]
    )
    assert durations["verification_seconds"] == 0.1
    assert durations["rest_seconds"] >= 2.0
    assert durations["as_typed_seconds"] > 2.1
    parts = [value for name, value in durations.items() if name != "as_typed_seconds"]
    assert durations["as_typed_seconds"] == pytest.approx(sum(parts))
    assert record.single_run_seconds(run_record) < durations["as_typed_seconds"]


def test_an_interrupt_while_verifying_leaves_nothing(tmp_path: Path) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_trial(CopyEngine(), scan_trial(tmp_path), plan(tmp_path, verifier=interrupted))
    assert names(tmp_path) == {"input.txt"}


def test_what_cannot_work_is_refused_before_any_work(tmp_path: Path) -> None:
    trial = scan_trial(tmp_path)
    engine = CopyEngine()
    for bad, text in (
        (
            scan_trial(tmp_path, workload="degrees", parameters={}),
            "copy does not run degrees; it runs join, scan",
        ),
        (scan_trial(tmp_path, inputs=(str(tmp_path / "none"),)), "none: no such file or folder"),
        (scan_trial(tmp_path, inputs=()), "scan takes at least 1 input"),
        (scan_trial(tmp_path, parameters={"min_abs_score": 2}), "--min-abs-score is 2"),
    ):
        with pytest.raises(InputError, match=text):
            run_trial(engine, bad, plan(tmp_path))
    for changes, text in (
        ({"repeats": 0}, "--repeat is 0"),
        ({"scratch": tmp_path / "none"}, "no such folder"),
        ({"output": tmp_path}, "exists already"),
    ):
        with pytest.raises(InputError, match=text):
            run_trial(engine, trial, plan(tmp_path, **changes))
    with pytest.raises(EngineMissing, match="pip install copy"):
        run_trial(CopyEngine(lacking="pip install copy"), trial, plan(tmp_path))
    assert engine.runs == []
    assert names(tmp_path) == {"input.txt"}


def test_the_observer_receives_an_estimate_first_and_then_each_stage(tmp_path: Path) -> None:
    class Reporting(CopyEngine):
        def with_progress(self, progress: Progress) -> Engine:
            progress(1, 2)
            return self

    listener = Listener()
    run_trial(Reporting(), scan_trial(tmp_path), plan(tmp_path, repeats=2), listener)
    assert listener.notes[0] == "to read: 4 B in 1 file"
    assert listener.notes[1].startswith("memory: at most 1 GiB")
    assert listener.stages == ["run 1 of 2", "run 2 of 2", "verifying", "writing to the disk"]
    assert listener.done == [(1, 2)]


def test_a_record_is_read_back_and_other_files_are_refused(tmp_path: Path) -> None:
    run_record = run_trial(CopyEngine(), scan_trial(tmp_path), plan(tmp_path))
    assert record.read(tmp_path / "answer") == run_record
    assert record.trial_of(run_record) == scan_trial(tmp_path)
    (tmp_path / "other.json").write_text('{"schema": "cuesta.run/9"}')
    for path, text in ((tmp_path, "no run record"), (tmp_path / "other.json", "not a run record")):
        with pytest.raises(InputError, match=text):
            record.read(path)


def test_an_unknown_engine_is_refused_with_those_that_are() -> None:
    with pytest.raises(InputError, match=", ".join(ENGINE_NAMES)):
        get_engine("sparc")


def test_the_verifier_of_these_tests_notices_a_difference(tmp_path: Path) -> None:
    (tmp_path / "pairs.txt").write_text("other")
    assert not same_as_input(scan_trial(tmp_path), tmp_path, tmp_path).verified
