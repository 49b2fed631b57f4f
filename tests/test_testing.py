"""The conformance suite of engines, as who writes an engine outside of the package runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ENGINE = """
from pathlib import Path

from cuesta.engines import Capabilities, Engine, rounds
from cuesta.testing import EngineContract
from cuesta.trial import Outcome, Trial


def outputs(job, round_):
    done = [
        job.worker().task(number, round_.shared, task) for number, task in enumerate(round_.tasks)
    ]
    results = [output for output, _, _ in done]
    return rounds.combined(job.worker(), round_, results) if round_.combines else results


class Plain(Engine):
    name = "plain"
    workloads = frozenset({"scan"})
    capabilities = Capabilities(reads_uris=True)

    def missing(self):
        return None

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        means = rounds.Means(slots=1, memory_bytes=trial.memory_bytes, tasks=3)
        return rounds.run(trial, (output, scratch), means, outputs)


class TestPlain(EngineContract):
    make = Plain
"""


def outcome(folder: Path, text: str, test: str = "") -> tuple[int, str]:
    """Return exit code and output of pytest on a file of this text, in an empty folder."""
    (folder / "test_plain.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-W", "error::pytest.PytestWarning", "test_plain.py", "-k", test],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_an_engine_of_a_user_passes_by_a_few_lines(tmp_path: Path) -> None:
    code, output = outcome(tmp_path, ENGINE)
    assert code == 0, output
    assert "skipped" not in output


@pytest.mark.parametrize(
    ("old", "new", "test"),
    [
        ("enumerate(round_.tasks)", "enumerate(round_.tasks[:-1])", "a_golden_case_has_its_answer"),
        ("reads_uris=True", "has_log=True", "a_capability_is_a_function_of_the_engine"),
        ("reads_uris=True", "has_stages=True", "a_run_has_the_log_and_the_stages"),
        ("reads_uris=True", "", "uris_are_read"),
        ('{"scan"}', '{"scan", "sums"}', "its_workloads_are_known"),
    ],
)
def test_a_faulty_engine_of_a_user_fails(old: str, new: str, test: str, tmp_path: Path) -> None:
    code, output = outcome(tmp_path, ENGINE.replace(old, new), test)
    assert code == 1, output
    assert f"FAILED test_plain.py::TestPlain::test_{test}" in output


def test_the_package_itself_does_not_import_pytest() -> None:
    code = "import sys, cuesta, cuesta.engines, cuesta.cli.app; sys.exit('pytest' in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_PLUGINS"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
