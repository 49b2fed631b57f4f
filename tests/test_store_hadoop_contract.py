"""Hadoop's own contract tests, through the jar and a store; what cannot apply has a reason."""

from __future__ import annotations

import os
import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import restart_store
from cuesta.store.control import MEMORY_ROOT
from hadoopkit import Hadoop, hadoop
from storekit import running_store

__all__ = ["hadoop"]

BLOCKS = 1024
WAYS = [
    (write, kills) for kills in (True, False) for write in ("through", "back", "bypass", "memory")
]
"""Modes of writing; with kills the store dies before each tenth test, and another is started."""
SUITES = 18
"""Of `org.apache.hadoop.fs.contract`; the others are those of every file system."""
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
"""Why tests are skipped, and how many (`CORRECTNESS.md`)."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("write", "kills"), WAYS if os.environ.get("CUESTA_SOAK") else WAYS[:1])
def test_the_contract_of_hadoop_holds(
    hadoop: Hadoop, tmp_path: Path, write: str, kills: bool
) -> None:
    # Most of the time would be the disk's.
    with (
        TemporaryDirectory(prefix="cuesta-test-", dir=MEMORY_ROOT) as under,
        running_store(Path(under), blocks=BLOCKS, write=write) as store,
    ):
        restart = [sys.executable, restart_store.__file__, str(store.folder), under]
        restart += [str(BLOCKS), write]
        words = ["-Dcuesta.restart=" + "\t".join(restart)] if kills else []
        words += ["org.junit.platform.console.ConsoleLauncher"]
        words += ["execute", "--disable-banner", "--details", "none"]
        words.append(f"--scan-classpath={hadoop.classes.split(':')[0]}")
        words.append(f"--reports-dir={tmp_path / 'reports'}")
        first = store.status()["pid"]
        done = hadoop.run(store, *words, cwd=tmp_path)
        assert (store.status()["pid"] != first) == kills
    assert (tmp_path / "reports").is_dir(), done.stderr[:2000]
    tree = ET.parse(tmp_path / "reports" / "TEST-junit-jupiter.xml")
    cases = list(tree.iter("testcase"))
    failed = [
        f"{one.get('classname')}.{one.get('name')}: {bad.get('message')}"
        for one in cases
        for bad in (*one.iter("failure"), *one.iter("error"))
    ]
    assert not failed, "\n".join(failed)
    assert done.returncode == 0, done.stderr[-2000:]
    ran = {str(one.get("classname")) for one in cases if one.find("skipped") is None}
    assert sum("ContractSuites" in name for name in ran) == SUITES
    assert len(cases) - len(list(tree.iter("skipped"))) >= TESTS_MIN
    skipped = Counter(reason_of(one.text or "") for one in tree.iter("skipped"))
    assert skipped == REASONS


def reason_of(text: str) -> str:
    """The declared reason that a text gives, or the text."""
    return next((reason for reason in REASONS if re.search(reason, text)), text)
