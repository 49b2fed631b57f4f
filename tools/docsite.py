"""Build the documentation: `build/site/html` to look at, `build/site/man` for `man`.

    python tools/docsite.py [lock]

Pages of the repository are copied to where they lie, references are written from the commands, the
docstrings and `spec/`, then Sphinx makes pages and man pages, and every link is looked at. A
warning or a dead link fails. `lock` writes `tools/requirements-docs.txt` anew.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pinned
import setup
from docpages import commands, interface, links, options, source

ROOT = Path(__file__).resolve().parent.parent
TOOLS = pinned.Environment(
    extra="docs",
    folder=ROOT / "build" / "docs-venv",
    lock_command="python tools/docsite.py lock",
)
SITE = ROOT / "build" / "site"
CONFIGURATION = ROOT / "docs" / "conf.py"
LINKS_MIN = 1000
"""A check that looked at fewer links than this has looked at the wrong thing."""


class SiteError(Exception):
    """A fault of the site, in one line."""


def main(arguments: Sequence[str]) -> int:
    """Build the site, or pin its packages."""
    began = time.monotonic()
    try:
        if list(arguments) == ["lock"]:
            TOOLS.lock()
            return 0
        count = build(SITE)
    except (SiteError, source.DeadLink, setup.SetupError) as error:
        print(f"docs: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"docs: Sphinx ended with code {error.returncode}", file=sys.stderr)
        return 1
    seconds = time.monotonic() - began
    print(f"docs: {SITE / 'html' / 'index.html'}, {count} links, {seconds:.0f} s")
    return 0


def build(site: Path) -> int:
    """Build pages and man pages; return the number of links. Errors: `SiteError`."""
    TOOLS.install()
    pages = site / "source"
    shutil.rmtree(pages, ignore_errors=True)
    source.copy(pages)
    write_references(pages / "docs" / "reference")
    shutil.copyfile(CONFIGURATION, pages / "conf.py")
    shutil.copytree(ROOT / "docs" / "_static", pages / "_static")
    for builder in ("html", "man"):
        sphinx(builder, pages, site / builder)
    count, faults = links.check(site / "html")
    faults += [f"{address} is loaded from elsewhere" for address in links.foreign(site / "html")]
    if faults:
        raise SiteError(f"{len(faults)} dead links: {'; '.join(faults[:20])}")
    if count < LINKS_MIN:
        raise SiteError(f"only {count} links were looked at")
    return count


def write_references(folder: Path) -> None:
    """Write the pages that follow from the code."""
    missing = interface.undocumented()
    if missing:
        raise SiteError(f"names of Python without a docstring: {', '.join(missing)}")
    (folder / "commands").mkdir(parents=True, exist_ok=True)
    for name, text in commands.pages().items():
        (folder / "commands" / f"{name}.md").write_text(text, encoding="utf-8")
    (folder / "python.md").write_text(interface.page(), encoding="utf-8")
    (folder / "parameters.md").write_text(options.page(), encoding="utf-8")


def sphinx(builder: str, pages: Path, target: Path) -> None:
    """Run Sphinx; a warning is an error."""
    shutil.rmtree(target, ignore_errors=True)
    words = ["-b", builder, "-q", "-W", "--keep-going", "-j", "2"]
    cache = ["-d", str(target.parent / f"doctrees-{builder}")]
    command = [str(TOOLS.folder / "bin" / "python"), "-m", "sphinx", *words, *cache]
    subprocess.run([*command, str(pages), str(target)], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
