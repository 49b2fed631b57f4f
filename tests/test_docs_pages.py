"""Pages of the site before Sphinx: links that lead somewhere, and references that are complete."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import typer.main

import cuesta
from cuesta.cli.commands import COMMANDS, build
from cuesta.workloads import WORKLOAD_NAMES, get_workload
from docpages import commands, interface, links, options, source

LINKS_MIN = 200


def test_all_links_of_the_repository_lead_somewhere(tmp_path: Path) -> None:
    assert source.copy(tmp_path) >= LINKS_MIN
    front = (tmp_path / "index.md").read_text()
    assert "](docs/guide/network.md)" in front
    assert "](docs/reference/python.md)" in front
    assert "](SECURITY.md)" in front


def test_all_pages_are_on_the_front_page_or_below_it() -> None:
    listed = "".join(
        (source.ROOT / name).read_text() for name in source.pages() if name.startswith("docs/")
    )
    patterns = ("docs/adr/", "spec/", "packages/")
    for name in source.pages():
        if name != source.FRONT and not name.startswith(patterns):
            assert f"/{name.removesuffix('.md')}\n" in listed, name


@pytest.mark.parametrize(
    ("link", "written"),
    [
        ("there.md#part", "[x](../docs/there.md#part)"),
        ("https://example.org/a", "[x](https://example.org/a)"),
        ("#here", "[x](#here)"),
        ("../LICENSE", "[x](path:../LICENSE)"),
        ("../adr", "x"),
        ("../README.md", "[x](../index.md)"),
        ("reference/python.md", "[x](reference/python.md)"),
    ],
)
def test_a_link_is_rewritten_for_the_site(link: str, written: str, tmp_path: Path) -> None:
    root, target = tree(tmp_path, f"[x]({link})\n\n```\n[x](nothing.md)\n```\n")
    source.copy(target, root)
    assert (target / "docs" / "page.md").read_text().startswith(written)


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    root, target = tree(tmp_path, "[x](nothing.md)\n")
    with pytest.raises(source.DeadLink, match=r"docs/page.md: \[x\]\(nothing.md\)"):
        source.copy(target, root)


def tree(folder: Path, text: str) -> tuple[Path, Path]:
    """A repository with a page of this text, and the folder to copy it to."""
    root = folder / "root"
    for name in ("docs/there.md", "docs/index.md", "README.md", "LICENSE", "adr/x.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("# A\n")
    (root / "docs" / "page.md").write_text(text)
    return root, folder / "target"


def test_all_commands_and_their_options_are_documented() -> None:
    pages = commands.pages()
    assert tuple(pages) == COMMANDS
    application: Any = typer.main.get_command(build())
    for name, page in pages.items():
        command = application.commands[name]
        for word, inner in {"": command, **getattr(command, "commands", {})}.items():
            assert f"cuesta {name} {word}".strip() in page
            for parameter in inner.params:
                if not getattr(parameter, "hidden", False) and parameter.name != "help":
                    assert all(f"`{option}" in page for option in parameter.opts if "-" in option)
        assert "<str>" not in page


def test_all_parameters_are_documented_from_the_specification() -> None:
    page = options.page()
    for name in WORKLOAD_NAMES:
        assert f"## {name}\n" in page
        assert all(f"| `{each.name}` |" in page for each in get_workload(name).parameters)


def test_all_public_names_of_python_are_documented() -> None:
    assert interface.undocumented() == []
    page = interface.page()
    names = interface.public_names()
    assert {"run", "compare", "assess", "report", "data", "Answer", "CuestaError"} <= set(names)
    assert all(f"## cuesta.{name}\n" in page for name in names)
    methods = [part for part, _ in inspect.getmembers(cuesta.Answer) if not part.startswith("_")]
    assert all(f"### Answer.{name}" in page for name in methods if name not in ("path",))


def test_dead_links_of_a_site_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top"><a href="b.html#there">x</a><a href="#top">y</a><a href="c.html">z</a>'
        '<a href="b.html#nowhere">z</a><a href="https://example.org">w</a>'
    )
    (tmp_path / "b.html").write_text(
        '<p id="there"><script src="https://cdn.example/x.js"></script>'
    )
    count, faults = links.check(tmp_path)
    assert count == 4
    assert faults == [
        "a.html: c.html leads to nothing",
        "a.html: b.html#nowhere has no such place",
    ]
    assert links.foreign(tmp_path) == {"https://cdn.example/x.js"}
