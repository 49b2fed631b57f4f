"""The verified part of an answer: recorded, and shown on each page, at all levels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cuesta.cli.app import call
from cuesta.errors import InputError, VerificationError
from cuesta.lab.compare import compare
from cuesta.lab.run import run_trial
from cuesta.lab.verify import UNVERIFIED, Verification, strictly
from cuesta.trial import Outcome, Trial
from labkit import SCHEMA, CopyEngine, plan, same_as_input, scan_trial

LINE = "3\t1\t1\t1\t4\t0\t0\t0\t0\t0.900000\t1111\n"


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.txt"
    path.write_text(LINE)
    return path


def ran(pairs: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[dict[str, Any], str]:
    """Return the record of a scan, and its output."""
    out = pairs.parent / "out"
    capsys.readouterr()
    assert call(["run", "scan", str(pairs), "-o", str(out), *words]) == 0
    record = json.loads((out / "run.json").read_text())
    jsonschema.validate(record, SCHEMA)
    return record, capsys.readouterr().out


def test_without_a_word_all_of_it_is_verified(
    pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record, output = ran(pairs, capsys)
    assert (record["verified"], record["verification"]["level"]) == (True, "full")
    assert "verified, digest" in output


def test_an_unverified_answer_is_marked_everywhere(
    pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record, output = ran(pairs, capsys, "--verify", "none")
    assert record["verified"] is None
    assert record["answer"]["digest"] is None
    assert record["verification"]["level"] == "none"
    assert record["verification"]["method"] is None
    assert record["answer"]["files"][0]["blake3"]
    assert "NOT VERIFIED" in output
    out = pairs.parent / "out"
    assert call(["explain", str(out)]) == 0
    assert capsys.readouterr().out.count("NOT VERIFIED") == 2
    page = pairs.parent / "report.html"
    assert call(["report", str(out), "-o", str(page)]) == 0
    text = page.read_text()
    assert "Do not trust this yet" in text
    assert text.count("NOT VERIFIED") >= 4
    assert call(["verify", str(out)]) == 0


def test_a_sample_is_verified_and_named_as_a_sample(
    pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record, output = ran(pairs, capsys, "--verify", "sample")
    assert record["verified"] is True
    assert record["verification"]["level"] == "sample"
    assert "verified on a sample, digest" in output
    out = pairs.parent / "out"
    assert call(["explain", str(out)]) == 0
    assert "verified on a sample by another method" in capsys.readouterr().out
    page = pairs.parent / "report.html"
    assert call(["report", str(out), "-o", str(page)]) == 0
    assert "Only a sample of the answer of native was held against its input" in page.read_text()


def test_another_level_and_a_comparison_at_less_than_full_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--verify is 'half', give one of full, sample, none"):
        run_trial(CopyEngine(), scan_trial(tmp_path), plan(tmp_path, verify="half"))
    with pytest.raises(InputError, match="--verify sample: a comparison holds answers equal"):
        compare([CopyEngine()], scan_trial(tmp_path), plan(tmp_path, verify="sample"))


def test_the_verifier_receives_the_level_and_reports_progress(tmp_path: Path) -> None:
    levels: list[str] = []
    done: list[tuple[int, int]] = []

    class Listener:
        def note(self, text: str) -> None: ...

        def detail(self, text: str) -> None: ...

        def stage(self, name: str) -> None: ...

        def progress(self, now: int, total: int) -> None:
            done.append((now, total))

        def close(self) -> None: ...

    def reporting(trial: Trial, answer: Path, scratch: Path, **how: Any) -> Verification:
        levels.append(how["level"])
        how["progress"](7, 9)
        return same_as_input(trial, answer, scratch, **how)

    chosen_plan = plan(tmp_path, verify="sample", verifier=reporting)
    run_trial(CopyEngine(), scan_trial(tmp_path), chosen_plan, Listener())
    assert levels == ["sample"]
    assert (7, 9) in done


def verification(**changes: Any) -> Verification:
    known_fields: dict[str, Any] = {
        "verified": True, "digest": "d", "expected": "d", "method": "m", "seconds": 0.0,
        "counts": {"rows": 3}, "files": ("pairs.txt",),
    }  # fmt: skip
    return Verification(**known_fields | changes)


def test_a_file_that_was_not_looked_at_makes_an_answer_wrong() -> None:
    assert strictly(verification(), ["pairs.txt"], []).verified is True
    result = strictly(verification(), ["pairs.txt", "more.txt"], [])
    assert result.verified is False
    assert result.fault == "more.txt is no file of it: nothing says what it should be"


def test_a_verifier_that_names_no_file_covers_them_all() -> None:
    assert strictly(verification(files=()), ["more.txt"], []).verified is True


def test_a_differing_count_makes_an_answer_wrong_and_an_unmatched_count_does_not() -> None:
    assert strictly(verification(), [], [{"rows": 3, "rows_read": 9}]).verified is True
    result = strictly(verification(), [], [{"rows": 3}, {"rows": 4}])
    assert result.verified is False
    assert result.fault == "rows was said to be 4, its files have 3"


def test_what_is_wrong_already_keeps_its_first_fault() -> None:
    wrong = verification(verified=False, expected="e")
    assert strictly(wrong, ["more.txt"], [{"rows": 1}]).fault == "its digest is d, m gives e"


def test_what_was_not_verified_is_neither_right_nor_wrong() -> None:
    assert strictly(UNVERIFIED, ["more.txt"], [{"rows": 1}]).verified is None


def test_an_engine_whose_counts_differ_from_its_files_is_wrong(tmp_path: Path) -> None:
    class Boasts(CopyEngine):
        def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
            outcome = super().run(trial, output, scratch)
            return Outcome(phases=outcome.phases, counts={**outcome.counts, "rows": 2})

    with pytest.raises(VerificationError, match="rows was said to be 2, its files have 1"):
        run_trial(Boasts(), scan_trial(tmp_path), plan(tmp_path))
    (left,) = tmp_path.glob("answer.partial-*")
    record = json.loads((left / "answer" / "run.json").read_text())
    jsonschema.validate(record, SCHEMA)
    assert record["verification"]["fault"] == "rows was said to be 2, its files have 1"
