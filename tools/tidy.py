"""Hold the repository to its limits: sizes, plain words, names of types, links, arrows.

    python tools/tidy.py [PATH...]

Without paths it looks at every file that git tracks or would track. Prints one line a finding and
exits with 1 when there is any. There is no list of exceptions. Names of public Rust types that
several files define, and circles of imports, are looked for among the files that it looks at.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tidyrules import (
    Finding,
    SourceFile,
    arrows,
    budgets,
    circles,
    citation,
    engines,
    functions,
    links,
    plain,
    remedies,
    removal,
    rooms,
    sizes,
    types,
    words,
)

_RULES = (
    sizes.check,
    functions.check,
    words.check,
    links.check,
    arrows.check,
    budgets.check,
    engines.check,
    rooms.check,
    remedies.check,
    removal.check,
)


def main(arguments: list[str]) -> int:
    """Check the named files, or all; the number of findings decides the exit code."""
    root = Path(__file__).resolve().parent.parent
    paths = arguments or repository_paths(root)
    all_findings = sorted(
        set(findings(root, paths)), key=lambda finding: (finding.path, finding.line, finding.rule)
    )
    for finding in all_findings:
        print(finding)
    for sentence in citation.warnings(root):
        print(f"warning: {sentence}")
    print(f"tidy: {len(paths)} files, {len(all_findings)} findings")
    return 1 if all_findings else 0


def repository_paths(root: Path) -> list[str]:
    """Files that git tracks, or would track if they were added."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    paths = sorted(set(listing.stdout.split("\0")) - {""})
    # A link is a file of another place, which is looked at there.
    return [path for path in paths if (root / path).is_file() and not (root / path).is_symlink()]


def findings(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """Every broken rule in the given files of the checkout at `root`."""
    files = [SourceFile(root, path) for path in paths]
    for file in files:
        yield from sizes.check_bytes(file)
        if file.is_text:
            for rule in _RULES:
                yield from rule(file)
    yield from types.repeated(files)
    yield from plain.excess(files)
    yield from circles.of_modules(files)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
