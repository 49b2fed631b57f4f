"""The list of known faults is current, and the tool that tries them notices a missed one."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import faults
from faults import BROKEN, FOUND, MISSED, Fault
from labkit import ROOT

AREAS = ("engines", "records", "rounds", "store")
FAULTS = faults.load(AREAS)


def test_each_area_has_at_least_15_faults_that_differ() -> None:
    counts = Counter(fault.area for fault in FAULTS)
    assert all(counts[area] >= 15 for area in AREAS), counts
    assert len({(fault.file, fault.old, fault.new) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.area}: {fault.why}")
def test_the_text_of_a_fault_is_once_in_its_file_and_its_test_exists(fault: Fault) -> None:
    assert faults.occurrences(ROOT, fault) == 1
    assert fault.old != fault.new
    if fault.crate:
        crate = ROOT / "crates" / fault.crate.removeprefix("cuesta-")
        name = fault.test.rpartition("::")[2]
        folder = crate if fault.target == "lib" else crate / "tests" / fault.target
        sources = folder.rglob("*.rs")
        assert any(f"fn {name}(" in path.read_text() for path in sources)
    else:
        file, _, name = fault.test.partition("::")
        assert re.search(rf"def {name}\(", (ROOT / file).read_text())


def fault_of(new: str) -> Fault:
    """Return a fault of a small module."""
    return Fault(
        area="sums",
        file="sums.py",
        old="a + b",
        new=new,
        test="test_sums.py::test_a_sum",
        why="a sum is wrong",
    )


@pytest.mark.parametrize(
    ("new", "outcome"), [("a - b", FOUND), ("b + a", MISSED), ("a +* b", BROKEN)]
)
def test_a_fault_is_caught_if_its_test_fails(new: str, outcome: str, tmp_path: Path) -> None:
    source = "def add(a, b):\n    return a + b\n"
    (tmp_path / "sums.py").write_text(source)
    test = "from sums import add\n\n\ndef test_a_sum():\n    assert add(1, 2) == 3\n"
    (tmp_path / "test_sums.py").write_text(test)
    assert faults.tried(tmp_path, fault_of(new)) == outcome
    assert (tmp_path / "sums.py").read_text() == source


def test_a_fault_that_does_not_compile_was_not_tried() -> None:
    rust = Fault(area="a", file="b", old="c", new="d", test="e", why="f", crate="g")
    assert faults.outcome_of(rust, 101, "error: could not compile") == BROKEN
    assert faults.outcome_of(rust, 101, "test result: FAILED. 0 passed; 1 failed") == FOUND
    assert faults.outcome_of(rust, 0, "test result: ok. 1 passed") == MISSED


def test_a_report_fails_where_a_fault_is_missed(capsys: pytest.CaptureFixture[str]) -> None:
    fault = fault_of("b + a")
    assert faults.report([(fault, FOUND)]) == 0
    assert faults.report([(fault, FOUND), (fault, MISSED)]) == 1
    assert "faults: sums: 1 of 2 found" in capsys.readouterr().out
