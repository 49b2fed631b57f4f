"""The page: reads records, renders the template, writes the file in one step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from cuesta import generated, outputs
from cuesta.errors import InputError, in_words
from cuesta.report.blocks import Section
from cuesta.report.records import Group, read_groups
from cuesta.report.sections import sections


def write(paths: Sequence[Path], output: Path) -> Path:
    """Write the report of all runs at `paths` to the file `output`; return its path.

    A path is a run record, a `compare.json`, or a folder with either in it or below it. Runs that
    answer the same question of the same input share a section. `output` appears in one step, or
    not at all.

    Errors: `InputError` when a path holds no record or `output` cannot be written.
    """
    outputs.check_local(output)
    generated.check(output)
    if not paths:
        raise InputError("report: give at least one answer folder or run record")
    groups = read_groups(paths)
    if not groups:
        raise InputError(
            f"report: no run records in {', '.join(str(path) for path in paths)}; name answer "
            "folders"
        )
    return put(render(groups), output)


def write_section(section: Section, output: Path, origin: str) -> Path:
    """Write a page of one section that is not of run records; `origin` names its source in words.

    Errors: `InputError` when `output` cannot be written.
    """
    return put(rendered_section(section, origin), output)


def rendered_section(section: Section, origin: str) -> str:
    """A page of one section as HTML text."""
    return _page(section.question, [section], origin)


def put(html: str, output: Path) -> Path:
    """Write the page in one step, or not at all; it replaces only a file of Cuesta's."""
    outputs.check_local(output)
    try:
        generated.put(html, output)
    except OSError as error:
        raise InputError(f"{output}: {in_words(error)}") from None
    return output


def render(groups: Sequence[Group]) -> str:
    """The report as HTML text, a pure function of the groups."""
    made = sections(groups)
    title = made[0].question if len(made) == 1 else f"{len(made)} questions, measured"
    return _page(title, made, _records(sum(len(group.runs) for group in groups)))


def _records(runs: int) -> str:
    return (
        f"Made by `cuesta report` from {runs} run record{'' if runs == 1 else 's'} and nothing "
        "else: the same records give the same page."
    )


def _page(title: str, made: Sequence[Section], origin: str) -> str:
    return rendered(environment(), "report.html.j2", title=title, origin=origin, sections=made)


def rendered(templates: Environment, name: str, **values: object) -> str:
    """A page by the template of that name, with the style of all pages."""
    # The style sheet is ours: escaping it would break its quotation marks and child selectors.
    style = Markup(templates.get_template("style.css").render())
    return templates.get_template(name).render(
        style=style, generator=generated.mark("report"), **values
    )


def _code(words: str) -> Markup:
    """Escaped text in which what stands between grave accents is code."""
    parts = words.split("`")
    if len(parts) % 2 == 0:
        return escape(words)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else escape(part)
        for index, part in enumerate(parts)
    )


@cache
def environment() -> Environment:
    """The templates, with the filters that they use."""
    made = Environment(
        loader=PackageLoader("cuesta.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["code"] = _code
    return made
