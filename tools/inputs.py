#!/usr/bin/env python3
"""Writes the tables of docs/guide/inputs.md from the lists of the readers.

    python tools/inputs.py           write the page
    python tools/inputs.py --check   fail where it is not current

Each table stands between `<!-- NAME -->` and `<!-- end of NAME -->`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "guide" / "inputs.md"
SOURCES = ROOT / "crates" / "input" / "src" / "table"
TITLES = {
    "read": ("input", "form", "what is done"),
    "two_readings": ("input", "two readings", "what decides"),
    "other_kinds": ("input", "the file is", "what to do"),
}


def lists() -> dict[str, list[tuple[str, str, str]]]:
    """Return the rows of each table, from the constants of the readers."""
    text = (SOURCES / "forms.rs").read_text("utf-8")
    words = dict(re.findall(r'const (\w+): &str = "(.*)";', text))
    tables: dict[str, list[tuple[str, str, str]]] = {}
    for name, body in re.findall(r"pub const (\w+): \[InputForm; \d+\] = \[(.*?)\n\];", text, re.S):
        calls = re.findall(r'form\(\s*("[^"]*"|\w+),\s*"([^"]*)",\s*"([^"]*)",?\s*\)', body)
        rows = [(words.get(word, word.strip('"')), form, use) for word, form, use in calls]
        assert len(rows) == body.count("form("), f"{name}: a form is not understood"
        tables[name.lower()] = rows
    tables["other_kinds"] = kinds(words["TABLES"])
    return tables


def kinds(inputs: str) -> list[tuple[str, str, str]]:
    """Return the kinds of files that are refused as tables or as reads, and the remedies."""
    text = (SOURCES / "kinds.rs").read_text("utf-8")
    words = dict(re.findall(r'const (\w+): &str\s*= "(.*)";', text))
    kind = r'kind\(\s*"([^"]*)",\s*("[^"]*"|\w+),'
    shared = {
        constant: (name, remedy)
        for constant, name, remedy in re.findall(rf"const (\w+): OtherKind =\s*{kind}", text)
    }
    rows = []
    for group, constant in ((inputs, "OTHER_KINDS"), ("reads", "OTHER_READS")):
        listed = re.search(rf"{constant}: \[OtherKind; (\d+)\] = \[(.*?)\n\];", text, re.S)
        assert listed is not None, f"{constant} is not there"
        items = re.findall(rf"\n    (?:{kind}|(\w+),(?=\n))", f"{listed[2]}\n")
        assert len(items) == int(listed[1]), f"{constant}: a kind is not understood"
        for name, remedy, word in items:
            name, remedy = shared[word] if word else (name, remedy)
            remedy = words.get(remedy, remedy.strip('"')).replace("\\\\", "\\")
            rows.append((group, name, remedy))
    return rows


def current(text: str) -> str:
    """Return the page with the tables that the readers' lists make."""
    for name, rows in lists().items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = before + begin + table(TITLES[name], rows) + end + after
    return text


def table(titles: tuple[str, str, str], rows: list[tuple[str, str, str]]) -> str:
    """Return rows as a table of Markdown."""
    cells = [titles, ("---", "---", "---"), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def main() -> int:
    """Write or check the page."""
    text = PAGE.read_text("utf-8")
    made = current(text)
    if "--check" in sys.argv[1:]:
        if made != text:
            sys.stderr.write("docs/guide/inputs.md is not current; run python tools/inputs.py\n")
        return int(made != text)
    PAGE.write_text(made, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
