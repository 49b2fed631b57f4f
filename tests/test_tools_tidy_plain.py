"""The lint of private words and of doc comments that open with a relative clause."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidyrules import SourceFile, plain

HITS = [
    ("a.py", "found = read()\n"),
    ("a.py", "def read_kept(path: str) -> None: ...\n"),
    ("a.py", "class Asked:\n    pass\n"),
    ("a.py", "for one in peers:\n    pass\n"),
    ("a.py", '"""What a peer sends."""\n'),
    ("a.rs", "fn f() {\n    let mut told = 3;\n}\n"),
    ("a.rs", "struct A {\n    pub own: u8,\n}\n"),
    ("a.rs", "fn f(given: u8) {}\n"),
    ("a.rs", "fn f() {\n    g(|others| others + 1);\n}\n"),
    ("a.rs", "/// Which peer sends.\nfn f() {}\n"),
    ("a.scala", "val wholeTable = 3\n"),
    ("A.java", "/** Those of a node. */\nclass A {}\n"),
]
PLAIN = [
    ("a.py", "results = read()\n"),
    ("a.py", 'print("found = 3")\n# one = 2\n'),
    ("a.py", "phone = ask(ones=1, everything=2)\n"),
    ("a.py", '"""Whether a peer sends."""\n'),
    ("a.rs", "/// Returns the whole number of records.\nfn rounded() {}\n"),
    ("a.md", "What is found here.\n"),
]


def findings(root: Path, path: str, text: str) -> list[str]:
    (root / path).write_text(text, encoding="utf-8")
    return [str(finding) for finding in plain.excess([SourceFile(root, path)])]


@pytest.mark.parametrize(("path", "text"), HITS)
def test_a_private_word_is_reported_with_its_line(tmp_path: Path, path: str, text: str) -> None:
    reported = findings(tmp_path, path, text)
    assert len(reported) == 1
    assert reported[0].startswith(f"{path}:")


@pytest.mark.parametrize(("path", "text"), PLAIN)
def test_plain_names_and_openings_pass(tmp_path: Path, path: str, text: str) -> None:
    assert findings(tmp_path, path, text) == []


def test_a_hit_in_a_thousand_lines_passes_and_a_second_does_not(tmp_path: Path) -> None:
    hit = "found = read()\n"
    assert findings(tmp_path, "a.py", hit + "pass\n" * 999) == []
    assert len(findings(tmp_path, "a.py", hit * 2 + "pass\n" * 998)) == 2
