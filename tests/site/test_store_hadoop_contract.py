"""Hadoop's own contract tests, through the jar and a store; skipped tests have a reason."""

from __future__ import annotations

import os
import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import restart_store
from cuesta_store.control import MEMORY_ROOT
from hadoopkit import Hadoop, hadoop
from storekit import running_peers, running_store

__all__ = ["hadoop"]

BLOCKS = 1024
MODES = ("through", "back", "bypass", "memory")
COMBINATIONS = [(write, dies) for dies in ("store", "peer", None) for write in MODES]
"""Write modes, and the store that dies: the store before each tenth test, and another is started;
or a second store of the job before each twentieth, which is absent for ten tests.
"""
ALWAYS = (("through", "store"),)
"""Combinations of the short run."""
SUITES = 18
"""Suites of `org.apache.hadoop.fs.contract`; the rest are those of all file systems."""
TESTS_MIN = 465
REASONS = {
    "delays visibility of newly created files": 1,
    "newly created files are not immediately visible": 1,
    "it looks for a file that is not closed yet": 1,
    "what is appended to is a new file under the old name": 1,
    "keeps no modes": 3,
    "paths size less than or equal to page size: 1": 3,
    r"does not support \[data\(allowChange=\w+\), loc\(allowChange=true\)\]": 20,
}
"""Reasons of skipped tests, and their numbers (`CORRECTNESS.md`)."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("write", "dies"), COMBINATIONS if os.environ.get("CUESTA_SOAK") else ALWAYS
)
def test_the_contract_of_hadoop_holds(
    hadoop: Hadoop, tmp_path: Path, write: str, dies: str | None
) -> None:
    # The disk would take most of the time.
    with TemporaryDirectory(prefix="cuesta-test-", dir=MEMORY_ROOT) as under, ExitStack() as stack:
        if dies == "peer":
            store, mortal = stack.enter_context(running_peers(Path(under), 2, BLOCKS, write=write))
        else:
            store = stack.enter_context(running_store(Path(under), BLOCKS, write=write))
            mortal = store
        words = ["org.junit.platform.console.ConsoleLauncher"]
        words += ["execute", "--disable-banner", "--details", "none"]
        words.append(f"--scan-classpath={hadoop.classes.split(':')[0]}")
        words.append(f"--reports-dir={tmp_path / 'reports'}")
        if dies is not None:
            restart_step = "restart" if mortal is store else "turn"
            command = [sys.executable, restart_store.__file__, mortal.request(), restart_step]
            words.insert(0, "-Dcuesta.restart=" + "\t".join(command))
        first = mortal.status()["pid"]
        done = hadoop.run(store, *words, cwd=tmp_path)
        assert (restart_store.running(mortal.folder) != first) == (dies is not None)
        if mortal is not store:
            # Nothing was in the memory of the other store alone, so nothing is missing.
            assert store.status()["peers"]["losses"] == 0
    assert (tmp_path / "reports").is_dir(), done.stderr[:2000]
    tree = ET.parse(tmp_path / "reports" / "TEST-junit-jupiter.xml")
    cases = list(tree.iter("testcase"))
    failed = [
        f"{case.get('classname')}.{case.get('name')}: {bad.get('message')}"
        for case in cases
        for bad in (*case.iter("failure"), *case.iter("error"))
    ]
    assert not failed, "\n".join(failed)
    assert done.returncode == 0, done.stderr[-2000:]
    classes_run = {str(case.get("classname")) for case in cases if case.find("skipped") is None}
    assert sum("ContractSuites" in name for name in classes_run) == SUITES
    assert len(cases) - len(list(tree.iter("skipped"))) >= TESTS_MIN
    skipped = Counter(reason_of(skip.text or "") for skip in tree.iter("skipped"))
    assert skipped == REASONS


def reason_of(text: str) -> str:
    """Return the declared reason that matches a text, or the text."""
    return next((reason for reason in REASONS if re.search(reason, text)), text)
